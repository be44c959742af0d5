"""Analyses calls between functions of an LLVM module, and replaces code of framework functions.

A SmartNIC provides the framework functions, such as hash table lookups. So their bodies do not
count as code of the program, and calls replace inlined code of them.
"""

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.core.terminal import first_few
from slowpath.insights.source.functions import Function
from slowpath.insights.source.modules import arguments, value

_RECEIVES = "rte_eth_rx_burst"
_UNSENT = "rte_eth_tx_buffer_set_err_callback"
_CALLED_BACK = frozenset(
    {
        "rte_eth_add_first_rx_callback",
        "rte_eth_add_rx_callback",
        "rte_eth_add_tx_callback",
        _UNSENT,
    }
)
"""Functions of DPDK that register a callback for packets. The callback that `_UNSENT` registers
gets packets that could not be sent."""
_NAMED = re.compile(r'@("[^"]*"|[\w.$-]+)')


def reachable_functions(functions: Mapping[str, Function], entry: str) -> set[str]:
    """Return `entry` and the functions that it may call directly or indirectly, by symbol.

    Functions without a body in the module are left out.
    """
    found, left = {entry}, [entry]
    while left:
        new = {name for name in functions[left.pop()].calls if name in functions} - found
        found |= new
        left += new
    return found


def dominated_by(calls: Mapping[str, Collection[str]], function: str) -> frozenset[str]:
    """Return the functions that run only when `function` runs, and `function` itself.

    They are called by no other way. `calls` maps each function with a body to the functions that it
    calls, with or without bodies.
    """
    called = {name for callees in calls.values() for name in callees}
    entries = {name for name in calls if name not in called} - {function}
    return frozenset(
        reachable_from(calls, [function]) - reachable_from(calls, entries, excluded=function)
    ) | {function}


def reachable_from(
    calls: Mapping[str, Collection[str]],
    entries: Collection[str],
    pointed: Mapping[str, Collection[str]] = MappingProxyType({}),
    *,
    excluded: str | None = None,
) -> set[str]:
    """Return the functions `entries` and those that they may call directly or indirectly.

    `calls` maps each function with a body to the functions that it calls; other functions are left
    out. `pointed` maps a function to the functions that it may call through pointers. Calls of the
    function `excluded` are ignored.
    """
    found = {name for name in entries if name in calls}
    left = list(found)
    while left:
        name = left.pop()
        callees = (*calls[name], *pointed.get(name, ()))
        new = {callee for callee in callees if callee in calls and callee != excluded}
        left += new - found
        found |= new
    return found


def receives_dpdk_packets(functions: Mapping[str, Function], entry: str) -> bool:
    """Return true if `entry`, or a function that it calls, receives packets from a DPDK port."""
    reached = (functions[name] for name in reachable_functions(functions, entry))
    return any(function.shown == _RECEIVES and function.supports for function in reached)


def dpdk_callbacks(functions: Mapping[str, Function]) -> dict[str, bool]:
    """Return the functions that the source registers as DPDK callbacks for packets, by symbol.

    The value is true if the callback gets the packets that could not be sent.
    """
    found = dict[str, bool]()
    for function in functions.values():
        for block in function.blocks:
            for one in block.instructions:
                if one.opcode != "call":
                    continue
                called, *passed = [name.strip('"') for name in _NAMED.findall(one.text)] or [""]
                shown = functions[called].shown if called in functions else called
                if shown in _CALLED_BACK:
                    found |= {name: shown == _UNSENT for name in passed if name in functions}
    return found


def recursive(functions: Mapping[str, Function]) -> set[str]:
    """Return the functions that may call themselves, directly or through others, by symbol."""
    left = _reaching_cycles(functions)
    return {
        name
        for name, function in left.items()
        if any(name in reachable_functions(left, one) for one in function.calls if one in left)
    }


def _reaching_cycles(functions: Mapping[str, Function]) -> dict[str, Function]:
    """Return the functions that may call a recursive function, directly or through others.

    `recursive` then searches only these; in most sources, there are none.
    """
    callers: dict[str, set[str]] = {name: set() for name in functions}
    calls = {name: set(one.calls) & functions.keys() for name, one in functions.items()}
    for name, callees in calls.items():
        for callee in callees:
            callers[callee].add(name)
    done = [name for name, callees in calls.items() if not callees]
    found = dict(functions)
    while done:
        name = done.pop()
        del found[name]
        for caller in callers[name]:
            calls[caller].discard(name)
            if not calls[caller]:
                done.append(caller)
    return found


def source_functions(functions: Mapping[str, Function]) -> list[str]:
    """Return the symbols of the functions that the source file defines.

    If it defines none, return the functions of the user's headers.
    """
    users = [name for name, one in functions.items() if not one.supports]
    return [name for name in users if functions[name].own] or users


def roots(file: str, functions: Mapping[str, Function]) -> list[str]:
    """Return the symbols of the functions that no other function of the source calls.

    One of them probably receives the packets. `main` is ignored unless it is the only function: it
    takes no packets, and often just calls other functions to test them.

    Raises:
        InputError: if each function is called by another function.
    """
    own = [name for name in source_functions(functions) if functions[name].shown != "main"]
    own = own or source_functions(functions)
    own = [name for name in own if not functions[name].inlined] or own
    called = {one for name in own for one in functions[name].calls if one != name}
    found = [name for name in own if name not in called]
    if not found:
        raise InputError(
            codes.ENTRY_NOT_CHOSEN,
            file,
            "all functions are called by other functions; name one with --entry",
        )
    return found


def find_entry(file: str, functions: Mapping[str, Function], entry: str) -> str:
    """Return the symbol of the function that the user names `entry`.

    The user may give its name in the source or its symbol.

    Raises:
        InputError: if there is no function or several, or it reaches inline assembly or recursion.
    """
    named = [
        name
        for name, function in functions.items()
        if entry in (name, function.shown) or name == entry.partition("(")[0]
    ] or [name for name, function in functions.items() if function.shown.endswith(f"::{entry}")]
    if not named:
        known = sorted(
            {function.shown for name, function in functions.items() if not function.supports}
        )
        has = f"it has {first_few(known, 8)}" if known else "it does not define a function"
        if "::" in entry:
            has += "; clang does not compile methods inside a class that nothing calls"
        raise InputError(
            codes.NO_SUCH_FUNCTION, file, f"the source does not have a function {entry!r}; {has}"
        )
    if len(named) > 1:
        raise InputError(
            codes.NO_SUCH_FUNCTION,
            file,
            f"the name {entry!r} matches {len(named)} functions; name one by its symbol: "
            f"{', '.join(named)}",
        )
    inside = reachable_functions(functions, named[0])
    for name in sorted(inside):
        function = functions[name]
        if function.assembly is not False:
            line = function.assembly if not isinstance(function.assembly, bool) else None
            where = f"{line.file}:{line.line}: " if line else ""
            raise InputError(
                codes.SOURCE_NOT_SUPPORTED,
                file,
                f"{where}{function.shown} has inline assembly, which is not supported",
            )
    cycles = recursive({name: functions[name] for name in inside})
    if cycles:
        first = functions[min(cycles)]
        raise InputError(
            codes.SOURCE_NOT_SUPPORTED,
            file,
            f"{first.place}: the function {first.shown} is recursive, which the card does not "
            "support; use a loop",
        )
    return named[0]


# --- framework functions --------------------------------------------------------------------------

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
    """A rewritten line of LLVM IR, with the framework function that it now calls, if any.

    The line is rewritten because its operation is the framework's work.
    """

    text: str | None  # None: the line is removed
    calls: tuple[str, str] | None = None  # function called instead: symbol, name in reports
    unsupported: str | None = None  # an operation that BPF lacks; another is counted instead


def framework(functions: Mapping[str, Function]) -> dict[str, str]:
    """Return the framework functions of a module, which the SmartNIC provides.

    The result maps their symbols to the names by which the source calls them.
    """
    return {
        name: _CALLED.get(function.shown, _CALLED.get(name, name))
        for name, function in functions.items()
        if function.shown in _CALLED
        or function.engine
        or (name.startswith(_OURS) and name not in RECEIVING)
    }


def rewrite_line(line: str) -> Line:
    """Rewrite a line of LLVM IR whose operation is the framework's work, such as a long copy.

    The new line calls a function instead. Updates of counters that slowpath's headers maintain are
    removed.
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
    """Rewrite a line of LLVM IR that reads the clock, or uses a counter of slowpath's headers.

    A read of the clock becomes a call; a counter reads as 0, and updates are removed.
    """
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
    """Return true if clang expands a copy or fill of memory to loads and stores.

    `copy` is the call in LLVM IR. A longer copy stays a call, which BPF lacks.
    """
    to, from_, length = arguments(copy.strip())[:3]
    size = value(length) or ""
    if not size.isdigit():
        return False
    aligned = [int(found[1]) if (found := _ALIGNED.search(one)) else 1 for one in (to, from_)]
    step = aligned[0] if "@llvm.memset" in copy else min(aligned)
    return int(size) // min(_MAX_STORE_BYTES, step) <= _MAX_STORES
