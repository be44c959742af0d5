"""Calls of framework functions, which a card provides: they are called, not compiled."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from slowpath.insights.source.functions import Function
from slowpath.insights.source.operands import arguments, value

RECEIVE = "slowpath_click_receive"
"""Fills in what is kept of a packet; part of what makes a program of an element."""
RECEIVING = frozenset({RECEIVE})
FETCHED = "_ZN7Element7fetchedEv"
"""Gives a packet to a method that asks for one."""
_CALLED = {
    "Packet::kill": "Packet::kill",
    "Element::sent": "Element::Port::push",
    "Element::fetched": "Element::Port::pull",
    "click_random": "click_random",
    "slowpath_click_take": "Packet::make",
    **{name: name for name in ("rte_pktmbuf_alloc", "rte_pktmbuf_free", "rte_pktmbuf_copy")},
    "rte_pktmbuf_free_seg": "rte_pktmbuf_free_seg",
    # Their bytes move.
    "rte_pktmbuf_gathered": "rte_pktmbuf_linearize",
    "rte_pktmbuf_bytes": "rte_pktmbuf_read",
    **{name: name for name in ("rte_eth_tx_burst", "rte_eth_rx_burst")},
    # The length of its keys is known at run time only.
    "rte_hash_hash": "rte_hash_hash",
    "rte_hash_find_slot": "rte_hash_lookup",
    "rte_hash_take_slot": "rte_hash_add_key",
}
_OURS = ("slowpath_click_", "slowpath_dpdk_")
"""What symbols of functions begin with that a card's framework has."""
_NOW = re.compile(r"@slowpath_(?:click|dpdk)_now\b")
_TOTALS = re.compile(r"@slowpath_(?:click|dpdk)_totals\b")
_CLOCK = "slowpath_click_clock"
_COPY = re.compile(r"^( *)(?:tail )?call void @llvm\.(memcpy|memmove|memset)\.[\w.]+(\(.*)$")
_ALIGNED = re.compile(r"\balign (\d+)")
_MADE = re.compile(r"^( *%\S+ = )load (\w+), ")
_DIVIDES = re.compile(r"^( *%\S+ = )s(div|rem) ")
_PIECES = 128
"""Stores that clang makes of a copy for BPF; a longer one is a call, which BPF does not have."""
_WIDEST = 8


class Line(NamedTuple):
    """What becomes of a line of a function."""

    text: str | None  # None: nothing
    calls: tuple[str, str] | None = None  # a function that it calls instead: symbol, what it is
    apart: str | None = None  # what of it BPF has not, and that it is counted otherwise


def framework(functions: Mapping[str, Function]) -> dict[str, str]:
    """By symbol, how the source calls what a framework does."""
    return {
        name: _CALLED.get(function.shown, _CALLED.get(name, name))
        for name, function in functions.items()
        if function.shown in _CALLED
        or function.engine
        or (name.startswith(_OURS) and name not in RECEIVING)
    }


def as_called(line: str) -> Line:
    """A line of a function with calls for what is the framework's or a library's.

    What the run counts for its own ends is left out.
    """
    if _NOW.search(line) or _TOTALS.search(line):
        return _of_the_run(line)
    if "@llvm.trap()" in line:
        return Line(None)
    copy = _COPY.match(line)
    if copy and not _is_inlined(line):
        symbol = f"slowpath_{copy[2]}"
        given = ", ".join(arguments(line.strip())[:3])
        return Line(f"{copy[1]}call void @{symbol}({given})", (symbol, copy[2]))
    if _DIVIDES.match(line):
        return Line(_DIVIDES.sub(r"\g<1>u\g<2> ", line), None, "a signed division")
    return Line(line)


def _of_the_run(line: str) -> Line:
    """What reads the time of the run, or counts for it."""
    made = _MADE.match(line)
    if made and _NOW.search(line):
        text = f"{made[1]}call {made[2]} @{_CLOCK}()"
        return Line(text, (_CLOCK, "Timestamp::now"))
    if _TOTALS.search(line) and made:
        return Line(f"{made[1]}add {made[2]} 0, 0")
    if _TOTALS.search(line) and line.lstrip().startswith("store "):
        return Line(None)
    return Line(line)


def _is_inlined(copy: str) -> bool:
    """Whether clang makes loads and stores of a copy."""
    to, from_, length = arguments(copy.strip())[:3]
    size = value(length) or ""
    if not size.isdigit():
        return False
    aligned = [int(found[1]) if (found := _ALIGNED.search(one)) else 1 for one in (to, from_)]
    step = aligned[0] if "@llvm.memset" in copy else min(aligned)
    return int(size) // min(_WIDEST, step) <= _PIECES
