"""Finds groups of functions that may together compute one algorithm on a shared state.

An example is a digest with one function each to begin, continue and end it. The functions of a
group are then run together, to prove that an accelerator could replace them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from slowpath.insights.accelerators.proofs.harness import Bench, kinds
from slowpath.insights.accelerators.proofs.routing import Roles, entry_layout
from slowpath.insights.source.functions import Function

_MAX_GROUPS = 48
"""Maximum number of groups to try for each kind of algorithm; the likeliest groups are tried."""
_ADDRESS = 32
_ADD_NAMES = tuple(
    re.compile(one, re.IGNORECASE) for one in ("add|insert", "update|set|put|announce")
)
_LOOKUP_NAMES = tuple(
    re.compile(
        f"^(?!.*(add|insert|update|change|del|remove|free|new|set|put)).*({one})", re.IGNORECASE
    )
    for one in ("look|find|search|match|best", "get|query|route")
)
"""Names of lookup functions of routing tables: likely names first."""
_STREAM_NAMES = tuple(
    re.compile(one, re.IGNORECASE)
    for one in (
        "init|start|begin|reset",
        "update|add|process|input|write|append|absorb",
        "final|done|end|finish|digest|result|close",
    )
)
"""Names of functions that begin, continue and end a digest."""
_OTHER_NAMES = re.compile("del|remove|free|find|look|select", re.IGNORECASE)
"""Names of functions that neither initialise a table nor add entries."""
_LENGTH = re.compile(r"len|depth|mask|cidr|bits|prefix", re.IGNORECASE)


def streams(bench: Bench, names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return groups of three functions that may begin, continue and end a digest computation.

    Groups are formed from the functions `names`, by the types of their parameters. The likeliest
    groups come first, and unlikely ones are cut off.
    """
    patterns = {name: kinds(bench, name) for name in names}
    begins = [
        name
        for name, one in patterns.items()
        if one in ("p", "pi", "ip") or not bench.functions[name].parameters
    ]
    updates = [
        name for name, one in patterns.items() if sorted(one) in (["i", "p"], ["i", "p", "p"])
    ]
    ends = [
        name
        for name, one in patterns.items()
        if one in ("p", "pp", "ppi", "pip", "ipp", "pi") or not bench.functions[name].parameters
    ]
    found = [
        (begin, more, end)
        for more in updates
        for begin, end in product(begins, ends)
        if len({begin, more, end}) == 3  # noqa: PLR2004 - three functions
        and related(bench, more, begin)
        and related(bench, more, end)
    ]
    return sorted(found, key=lambda one: _unlikely_stream(bench, one))[:_MAX_GROUPS]


def _unlikely_stream(bench: Bench, names: Sequence[str]) -> tuple[bool, int, int, int]:
    """Return a sort key for a group of three functions; likely digests sort first.

    Groups whose functions share state come first, then those with fitting names, then those whose
    functions are close to each other in the module.
    """
    unnamed = sum(
        pattern.search(bench.functions[name].shown) is None
        for pattern, name in zip(_STREAM_NAMES, names, strict=True)
    )
    ends = _distance(bench, (names[0], names[-1]))
    return not share_state(bench, names), unnamed, _distance(bench, names), ends


def pairs(bench: Bench, starts: Sequence[str], works: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of a function that may set up a key, and one that may use the key.

    The first function of a pair is from `starts`, the second from `works`. Likely pairs come first.
    """
    found = [
        (start, work)
        for start, work in product(starts, works)
        if start != work and related(bench, start, work)
    ]
    return sorted(found, key=lambda one: (not share_state(bench, one), _distance(bench, one)))[
        :_MAX_GROUPS
    ]


def tables(bench: Bench, names: Sequence[str]) -> list[Roles]:
    """Return groups of functions that may implement a routing table.

    The functions of a group may create the table, add a route, and look up an address. Groups whose
    function names fit these roles come first.
    """
    patterns = {name: kinds(bench, name) for name in names}
    adds = [
        name
        for name in names
        if _adds(bench.functions[name], patterns[name])
        or _adds_by_address(bench.functions[name], patterns[name])
        or (patterns[name] in ("p", "pp") and entry_layout(bench.functions[name]) is not None)
    ]
    looks = [
        name
        for name in names
        if _looks_up(bench.functions[name], patterns[name])
        or _looks_up_by_address(bench.functions[name], patterns[name])
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
        initialisers = [
            one for one in begins if one not in (add, look) and related(bench, one, add)
        ]
        if "p" in patterns[add]:
            found += [Roles(one, None, add, look) for one in makes if one not in (add, look)]
        found += [Roles(None, one, add, look) for one in (None, *initialisers)]
        if len(found) >= _MAX_GROUPS:
            break
    return found[:_MAX_GROUPS]


def _configures(function: Function, pattern: str) -> bool:
    """Return true if a header function initialises a table from a structure with the table's size.

    `pattern` has a letter for each parameter of the function: p (pointer) or i (integer).
    """
    last = function.parameters[-1].described if function.parameters else None
    return function.supports and pattern == "pp" and last is not None and last.constant


def names_fit(functions: Mapping[str, Function], roles: Roles) -> bool:
    """Return true if no function of slowpath's headers has a name that contradicts its role.

    `roles` assigns functions to the roles of a routing table, such as adding a route. Only names of
    header functions are checked, because names in a user's source are less reliable.
    """
    named = (one for one in (roles.begin, roles.add) if one is not None)
    return not any(_OTHER_NAMES.search(functions[one].shown) for one in named)


def _unlikely(bench: Bench, add: str, look: str) -> int:
    """Return a penalty for the names of a function that adds routes, and one that looks them up.

    The penalty is 0 if both names fit best, and grows with the index of the matching name patterns.
    """
    return _rank(_ADD_NAMES, bench.functions[add].shown) + _rank(
        _LOOKUP_NAMES, bench.functions[look].shown
    )


def _rank(names: Sequence[re.Pattern[str]], name: str) -> int:
    """Return the index of the first pattern of `names` that matches the function's name.

    Return `len(names)` if no pattern matches.
    """
    return next((at for at, one in enumerate(names) if one.search(name)), len(names))


def _adds(function: Function, pattern: str) -> bool:
    numbers = [one.bits for one in function.parameters if one.kind == "integer"]
    return 2 <= len(numbers) <= 4 and max(numbers) >= _ADDRESS and pattern.count("p") <= 2  # noqa: PLR2004


def _adds_by_address(function: Function, pattern: str) -> bool:
    """Return true if a function may add a route whose prefix is passed by address.

    `pattern` has a letter for each parameter of the function: p (pointer) or i (integer).
    """
    names = [
        one.described.name if one.described else ""
        for one in function.parameters
        if one.kind == "integer"
    ]
    return (
        1 <= len(names) <= 3  # noqa: PLR2004 - two lengths and a next hop
        and 1 <= pattern.count("p") <= 3  # noqa: PLR2004 - a table, a prefix, a next hop
        and _takes_address(function)
        and (any(map(_LENGTH.search, names)) or not all(names))
    )


def _looks_up(function: Function, pattern: str) -> bool:
    numbers = [one.bits for one in function.parameters if one.kind == "integer"]
    return (
        1 <= len(numbers) <= 2  # noqa: PLR2004 - an address and a further number
        and max(numbers) >= _ADDRESS
        and pattern.count("p") <= 3  # noqa: PLR2004 - a table, and an output for the next hop
        and (function.result != "void" or pattern.count("p") >= 2)  # noqa: PLR2004
    )


def _looks_up_by_address(function: Function, pattern: str) -> bool:
    """Return true if a function may look up a network address that is passed by pointer.

    `pattern` has a letter for each parameter of the function: p (pointer) or i (integer).
    """
    pointers = pattern.count("p")
    return (
        pattern.count("i") <= 1
        and 1 <= pointers <= 4  # noqa: PLR2004 - a table, an address, and an output for the next hop
        and (function.result != "void" or pointers >= 2)  # noqa: PLR2004
        and _takes_address(function)
    )


def _takes_address(function: Function) -> bool:
    """Return true if a parameter of the function may point to a network address.

    Such a pointer points to bytes, to a word, or to an unknown type.
    """
    described = [one.described for one in function.parameters if one.kind == "pointer"]
    return any(one is None or one.size in (0, 1, 4) for one in described)


def related(bench: Bench, one: str, other: str) -> bool:
    """Return true if two functions may work on the same structure or variables.

    This is a necessary condition for a group that computes one algorithm.
    """
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


def share_state(bench: Bench, names: Sequence[str]) -> bool:
    """Return true if all functions `names` take the same structure, or change the same variable."""
    structures = [_structures(bench.functions[name]) for name in names]
    changed = [bench.changeable(name) for name in names]
    return bool(set.intersection(*structures) or set.intersection(*changed))


def _distance(bench: Bench, names: Sequence[str]) -> int:
    """Return the distance in the module between the first and the last of `names`.

    The distance is counted in functions; related functions are usually close to each other.
    """
    order = {name: at for at, name in enumerate(bench.functions)}
    positions = [order[name] for name in names]
    return max(positions) - min(positions)


def parts(functions: Mapping[str, Function], proved: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (part, whole) for each function `part` that a proved function `whole` calls.

    Indirect calls count as well. `proved` lists the functions that compute the algorithm of an
    accelerator: it replaces their callees, too. Functions that do little work are left out.
    """
    from slowpath.insights.accelerators.candidates import is_substantial
    from slowpath.insights.source.calls import reachable_functions

    seen = set(proved)
    for name in proved:
        for inner in sorted(reachable_functions(functions, name) - seen):
            if is_substantial(functions[inner]):
                seen.add(inner)
                yield inner, name
