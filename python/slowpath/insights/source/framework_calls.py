"""Replaces bodies of framework functions by calls, because a SmartNIC provides these functions."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from slowpath.insights.source.functions import Function
from slowpath.insights.source.operands import arguments, value

RECEIVE = "slowpath_click_receive"
"""Function that fills in the metadata of a packet; part of slowpath, not of the framework."""
RECEIVING = frozenset({RECEIVE})
FETCHED = "_ZN7Element7fetchedEv"
"""Function from which a `pull` method of a Click element gets a packet."""
_CALLED = {
    "Packet::kill": "Packet::kill",
    "Element::sent": "Element::Port::push",
    "Element::fetched": "Element::Port::pull",
    "click_random": "click_random",
    "slowpath_click_take": "Packet::make",
    **{name: name for name in ("rte_pktmbuf_alloc", "rte_pktmbuf_free", "rte_pktmbuf_copy")},
    "rte_pktmbuf_free_seg": "rte_pktmbuf_free_seg",
    # These move packet bytes.
    "rte_pktmbuf_gathered": "rte_pktmbuf_linearize",
    "rte_pktmbuf_bytes": "rte_pktmbuf_read",
    **{name: name for name in ("rte_eth_tx_burst", "rte_eth_rx_burst")},
    # The key length is known only at run time.
    "rte_hash_hash": "rte_hash_hash",
    "rte_hash_find_slot": "rte_hash_lookup",
    "rte_hash_take_slot": "rte_hash_add_key",
}
_OURS = ("slowpath_click_", "slowpath_dpdk_")
"""Prefixes of the symbols of functions that the framework of a SmartNIC provides."""
_NOW = re.compile(r"@slowpath_(?:click|dpdk)_now\b")
_TOTALS = re.compile(r"@slowpath_(?:click|dpdk)_totals\b")
_CLOCK = "slowpath_click_clock"
_COPY = re.compile(r"^( *)(?:tail )?call void @llvm\.(memcpy|memmove|memset)\.[\w.]+(\(.*)$")
_ALIGNED = re.compile(r"\balign (\d+)")
_MADE = re.compile(r"^( *%\S+ = )load (\w+), ")
_DIVIDES = re.compile(r"^( *%\S+ = )s(div|rem) ")
_MAX_STORES = 128
"""Maximum number of stores to which clang expands a copy for BPF. A longer copy is a call, which
BPF lacks."""
_MAX_STORE_BYTES = 8


class Line(NamedTuple):
    """A line of a function in LLVM IR after rewriting."""

    text: str | None  # None: the line is removed
    calls: tuple[str, str] | None = None  # function called instead: symbol, name in reports
    unsupported: str | None = None  # an operation that BPF lacks; another is counted instead


def framework(functions: Mapping[str, Function]) -> dict[str, str]:
    """Map the symbols of framework functions to the names by which the source calls them."""
    return {
        name: _CALLED.get(function.shown, _CALLED.get(name, name))
        for name, function in functions.items()
        if function.shown in _CALLED
        or function.engine
        or (name.startswith(_OURS) and name not in RECEIVING)
    }


def rewrite_line(line: str) -> Line:
    """Rewrite a line of LLVM IR that does framework work inline, so that it calls a function.

    Updates of counters that slowpath's headers maintain are removed.
    """
    if _NOW.search(line) or _TOTALS.search(line):
        return _without_counters(line)
    if "@llvm.trap()" in line:
        return Line(None)
    copy = _COPY.match(line)
    if copy and not _is_inlined(line):
        symbol = f"slowpath_{copy[2]}"
        passed = ", ".join(arguments(line.strip())[:3])
        return Line(f"{copy[1]}call void @{symbol}({passed})", (symbol, copy[2]))
    if _DIVIDES.match(line):
        return Line(_DIVIDES.sub(r"\g<1>u\g<2> ", line), None, "a signed division")
    return Line(line)


def _without_counters(line: str) -> Line:
    """Rewrite a line of LLVM IR that reads the clock, or uses a counter of slowpath's headers."""
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
    """Return true if clang expands a call that copies or fills memory to loads and stores."""
    to, from_, length = arguments(copy.strip())[:3]
    size = value(length) or ""
    if not size.isdigit():
        return False
    aligned = [int(found[1]) if (found := _ALIGNED.search(one)) else 1 for one in (to, from_)]
    step = aligned[0] if "@llvm.memset" in copy else min(aligned)
    return int(size) // min(_MAX_STORE_BYTES, step) <= _MAX_STORES
