"""Builds and examines the call graph of a module of LLVM IR."""

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.core.terminal import first_few
from slowpath.insights.source.functions import Function

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
    """Return the entry and all functions with bodies that it may call, directly or indirectly."""
    found, left = {entry}, [entry]
    while left:
        new = {name for name in functions[left.pop()].calls if name in functions} - found
        found |= new
        left += new
    return found


def dominated_by(calls: Mapping[str, Collection[str]], function: str) -> frozenset[str]:
    """Return the functions that run only if `function` runs, including `function`.

    `calls` maps each function with a body to the functions that it calls, with or without bodies.
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
    """Return the entries and the functions with bodies that they reach, except through `excluded`.

    `calls` maps each function with a body to the functions that it calls; `pointed` maps a function
    to the functions that it may call through pointers.
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
    """Return true if a function, or one that it calls, receives packets from a DPDK port."""
    reached = (functions[name] for name in reachable_functions(functions, entry))
    return any(function.shown == _RECEIVES and function.supports for function in reached)


def dpdk_callbacks(functions: Mapping[str, Function]) -> dict[str, bool]:
    """Return the functions that are registered as DPDK callbacks for packets, by symbol.

    The value is true if the callback gets packets that could not be sent.
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
    """Return the functions that may call themselves, directly or through other functions."""
    left = _reaching_cycles(functions)
    return {
        name
        for name, function in left.items()
        if any(name in reachable_functions(left, one) for one in function.calls if one in left)
    }


def _reaching_cycles(functions: Mapping[str, Function]) -> dict[str, Function]:
    """Return the functions from which a cycle of calls can be reached.

    Most sources have no cycles, so that `recursive` has nothing to search.
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
    """Return the symbols of the functions in the source file, or else in the user's headers."""
    users = [name for name, one in functions.items() if not one.supports]
    return [name for name in users if functions[name].own] or users


def roots(file: str, functions: Mapping[str, Function]) -> list[str]:
    """Return the symbols of the functions that no other function of the source calls.

    `main` is ignored unless it is the only function: it takes no packets, and often just calls
    other functions to test them.

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
    """Return the symbol of the function that the user calls `entry`: its source name or symbol.

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
