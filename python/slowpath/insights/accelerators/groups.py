"""Groups of functions that share a state."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from slowpath.insights.accelerators.harness.bench import Bench, kinds
from slowpath.insights.accelerators.proofs.routing import Roles, entry_layout
from slowpath.insights.source.functions import Function

_MOST = 48
"""Limit on groups of a kind; a module with more groups has more than one subject."""
_ADDRESS = 32
_ADDING = tuple(re.compile(one, re.IGNORECASE) for one in ("add|insert", "update|set|put|announce"))
_LOOKING = tuple(
    re.compile(
        f"^(?!.*(add|insert|update|change|del|remove|free|new|set|put)).*({one})", re.IGNORECASE
    )
    for one in ("look|find|search|match|best", "get|query|route")
)
"""Names of functions of routing tables."""
_STEPS = tuple(
    re.compile(one, re.IGNORECASE)
    for one in (
        "init|start|begin|reset",
        "update|add|process|input|write|append|absorb",
        "final|done|end|finish|digest|result|close",
    )
)
"""Names of functions that begin, continue and end a digest."""
_NEITHER = re.compile("del|remove|free|find|look|select", re.IGNORECASE)
"""Names of functions that neither prepare a table nor add to it."""
_LENGTH = re.compile(r"len|depth|mask|cidr|bits|prefix", re.IGNORECASE)


def streams(bench: Bench, names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return groups of functions that may begin, continue and end a digest."""
    patterns = {name: kinds(bench, name) for name in names}
    begins = [
        name
        for name, one in patterns.items()
        if one in ("p", "pi", "ip") or not bench.functions[name].parameters
    ]
    mores = [name for name, one in patterns.items() if sorted(one) in (["i", "p"], ["i", "p", "p"])]
    ends = [
        name
        for name, one in patterns.items()
        if one in ("p", "pp", "ppi", "pip", "ipp", "pi") or not bench.functions[name].parameters
    ]
    found = [
        (begin, more, end)
        for more in mores
        for begin, end in product(begins, ends)
        if len({begin, more, end}) == 3  # noqa: PLR2004 - three functions
        and related(bench, more, begin)
        and related(bench, more, end)
    ]
    return sorted(found, key=lambda one: _unlikely_stream(bench, one))[:_MOST]


def _unlikely_stream(bench: Bench, names: Sequence[str]) -> tuple[bool, int, int, int]:
    """Return a sort key: first come functions of one state, with fitting names, side by side."""
    unnamed = sum(
        what.search(bench.functions[name].shown) is None
        for what, name in zip(_STEPS, names, strict=True)
    )
    ends = _distance(bench, (names[0], names[-1]))
    return not akin(bench, names), unnamed, _distance(bench, names), ends


def pairs(bench: Bench, starts: Sequence[str], works: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of functions, of which the first may prepare a key for the second."""
    found = [
        (start, work)
        for start, work in product(starts, works)
        if start != work and related(bench, start, work)
    ]
    return sorted(found, key=lambda one: (not akin(bench, one), _distance(bench, one)))[:_MOST]


def tables(bench: Bench, names: Sequence[str]) -> list[Roles]:
    """Return groups that may create a routing table, add a route, and look up an address.

    Groups with fitting names come first.
    """
    patterns = {name: kinds(bench, name) for name in names}
    adds = [
        name
        for name in names
        if _adds(bench.functions[name], patterns[name])
        or _adds_there(bench.functions[name], patterns[name])
        or (patterns[name] in ("p", "pp") and entry_layout(bench.functions[name]) is not None)
    ]
    looks = [
        name
        for name in names
        if _looks(bench.functions[name], patterns[name])
        or _looks_there(bench.functions[name], patterns[name])
    ]
    makes = [
        name
        for name in names
        if bench.functions[name].result == "pointer"
        and "p" not in patterns[name]
        and len(patterns[name]) <= 2  # noqa: PLR2004 - sizes
    ]
    begins = [
        name
        for name in names
        if patterns[name] in ("p", "pi", "pii")
        or _configures(bench.functions[name], patterns[name])
        or (not bench.functions[name].parameters and bench.variables(name))
    ]
    found = list[Roles]()
    for add, look in sorted(
        product(adds, looks), key=lambda pair: (_unlikely(bench, *pair), _distance(bench, pair))
    ):
        if add == look or not related(bench, add, look):
            continue
        mine = [one for one in begins if one not in (add, look) and related(bench, one, add)]
        if "p" in patterns[add]:
            found += [Roles(one, None, add, look) for one in makes if one not in (add, look)]
        found += [Roles(None, one, add, look) for one in (None, *mine)]
        if len(found) >= _MOST:
            break
    return found[:_MOST]


def _configures(function: Function, pattern: str) -> bool:
    """Return true if a header's function prepares a table from a description of its size."""
    last = function.parameters[-1].described if function.parameters else None
    return function.supports and pattern == "pp" and last is not None and last.constant


def sensible(functions: Mapping[str, Function], roles: Roles) -> bool:
    """Return true if the names of library functions fit the roles for which they are tried.

    Names in a library are reliable; names in a source are not.
    """
    named = (one for one in (roles.begin, roles.add) if one is not None)
    return not any(_NEITHER.search(functions[one].shown) for one in named)


def _unlikely(bench: Bench, add: str, look: str) -> int:
    """Return how poorly the names of two functions fit a routing table."""
    return _rank(_ADDING, bench.functions[add].shown) + _rank(_LOOKING, bench.functions[look].shown)


def _rank(names: Sequence[re.Pattern[str]], name: str) -> int:
    """Return the index of the first pattern that a name matches, or their number."""
    return next((at for at, one in enumerate(names) if one.search(name)), len(names))


def _adds(function: Function, pattern: str) -> bool:
    numbers = [one.bits for one in function.parameters if one.kind == "integer"]
    return 2 <= len(numbers) <= 4 and max(numbers) >= _ADDRESS and pattern.count("p") <= 2  # noqa: PLR2004


def _adds_there(function: Function, pattern: str) -> bool:
    """Return true if a function may add a route whose prefix is in memory."""
    names = [
        one.described.name if one.described else ""
        for one in function.parameters
        if one.kind == "integer"
    ]
    return (
        1 <= len(names) <= 3  # noqa: PLR2004 - two lengths and a next hop
        and 1 <= pattern.count("p") <= 3  # noqa: PLR2004 - a table, a prefix, a next hop
        and _addressed(function)
        and (any(map(_LENGTH.search, names)) or not all(names))
    )


def _looks(function: Function, pattern: str) -> bool:
    numbers = [one.bits for one in function.parameters if one.kind == "integer"]
    return (
        1 <= len(numbers) <= 2  # noqa: PLR2004 - an address and a further number
        and max(numbers) >= _ADDRESS
        and pattern.count("p") <= 3  # noqa: PLR2004 - a table, and an output for the next hop
        and (function.result != "void" or pattern.count("p") >= 2)  # noqa: PLR2004
    )


def _looks_there(function: Function, pattern: str) -> bool:
    """Return true if a function may look up an address that is in memory."""
    pointers = pattern.count("p")
    return (
        pattern.count("i") <= 1
        and 1 <= pointers <= 4  # noqa: PLR2004 - a table, an address, and an output for the next hop
        and (function.result != "void" or pointers >= 2)  # noqa: PLR2004
        and _addressed(function)
    )


def _addressed(function: Function) -> bool:
    """Return true if a pointer may be to an address: its type is bytes, a word or unknown."""
    described = [one.described for one in function.parameters if one.kind == "pointer"]
    return any(one is None or one.size in (0, 1, 4) for one in described)


def related(bench: Bench, one: str, other: str) -> bool:
    """Return true if two functions may work on the same structure or variables."""
    first, second = _structures(bench.functions[one]), _structures(bench.functions[other])
    if first and second:
        return bool(first & second)
    if bench.changeable(one) & bench.changeable(other):
        return True
    pointers = [
        any(parameter.kind == "pointer" for parameter in bench.functions[name].parameters)
        for name in (one, other)
    ]
    return all(pointers)


def _structures(function: Function) -> set[str]:
    return {
        f"{one.described.pointee} {one.described.size}"
        for one in function.parameters
        if one.described is not None and one.described.members
    }


def akin(bench: Bench, names: Sequence[str]) -> bool:
    """Return true if all functions take the same structure, or change the same variable."""
    structures = [_structures(bench.functions[name]) for name in names]
    changed = [bench.changeable(name) for name in names]
    return bool(set.intersection(*structures) or set.intersection(*changed))


def _distance(bench: Bench, names: Sequence[str]) -> int:
    """Return the distance between functions in the module."""
    order = {name: at for at, name in enumerate(bench.functions)}
    places = [order[name] for name in names]
    return max(places) - min(places)


def parts(functions: Mapping[str, Function], proved: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield functions that do part of a proved function's work, each with that function."""
    from slowpath.insights.accelerators.candidates import toils
    from slowpath.insights.source.calls import reachable_functions

    seen = set(proved)
    for name in proved:
        for inner in sorted(reachable_functions(functions, name) - seen):
            if toils(functions[inner]):
                seen.add(inner)
                yield inner, name
