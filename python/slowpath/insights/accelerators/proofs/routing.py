"""Recognises longest prefix match over arrays of routes, and guesses calls of table functions.

Functions that add or look up routes take prefix, length, mask and next hop in different orders.
This module yields the possible orders.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations, product
from typing import Any, NamedTuple

from slowpath.insights.accelerators.proofs.harness import (
    CONTEXT,
    OUT,
    Bench,
    Noise,
    SharedMemoryRun,
    filled,
    kinds,
    noise_of,
)
from slowpath.insights.accelerators.proofs.oracles import finding
from slowpath.insights.accelerators.proofs.reference_hashes import BITS, Route, lookup
from slowpath.insights.source.functions import Function
from slowpath.insights.source.metadata import Member
from slowpath.insights.trials import Attempt

_ROUTES = 120
_ADDRESSES = 1500
_HOPS = 200
"""All next hops are below this number, so that they fit into a byte; 0 may mean no route."""
_NESTED = 2
Answer = Callable[[int], int]


def some_routes(noise: Noise, count: int = _ROUTES, *, default: bool = False) -> list[Route]:
    """Return `count` random routes with different prefixes; half are nested in other prefixes.

    `default` adds a route that matches all addresses.
    """
    found = dict[tuple[int, int], Route]()
    if default:
        found[0, 0] = Route(0, 0, 1)
    while len(found) < count:
        length = noise.randrange(8, BITS + 1)
        prefix = noise.getrandbits(BITS)
        if found and noise.randrange(_NESTED):
            outer = noise.choice(list(found.values()))
            if outer.length < BITS:
                length = noise.randrange(max(8, outer.length + 1), BITS + 1)
                prefix = outer.prefix | prefix & ~outer.mask
        mask = ((1 << length) - 1) << (BITS - length)
        prefix &= mask
        found[prefix, length] = Route(prefix, length, noise.randrange(1, _HOPS))
    routes = list(found.values())
    noise.shuffle(routes)
    return routes


def some_addresses(noise: Noise, routes: list[Route]) -> list[int]:
    """Return random addresses to look up in a table of `routes`.

    They are inside prefixes, at their edges, next to them, and anywhere.
    """
    found = []
    for _ in range(_ADDRESSES):
        route = noise.choice(routes)
        anywhere = noise.getrandbits(BITS)
        inside = route.prefix | anywhere & ~route.mask
        edge = route.prefix | ~route.mask & 0xFFFFFFFF
        next_to = (edge + 1) & 0xFFFFFFFF
        found.append(noise.choice((inside, inside, inside, edge, route.prefix, next_to, anywhere)))
    return found


def agreement(routes: list[Route], addresses: list[int], answer: Answer) -> int | None:
    """Check a lookup function against longest prefix match among `routes`.

    `answer` maps an address to a next hop. Return the number of `addresses` if all next hops are
    right, else None. For addresses without a route, `answer` must always give the same number.
    """
    missed = set[int]()
    hops = set[int]()
    for address in addresses:
        hop, route = answer(address), lookup(routes, address)
        if route is None:
            missed.add(hop)
        elif hop != route.hop:
            return None
        else:
            hops.add(hop)
    if len(missed) > 1 or len(hops) < 10:  # noqa: PLR2004 - distinct next hops
        return None
    return len(addresses)


def agreed(routes: list[Route], addresses: list[int], answer: Answer) -> tuple[int, int] | None:
    """Compare a lookup function with longest prefix match among `routes`.

    `answer` maps an address to a next hop. Return the number of correct lookups of `addresses`, and
    the length in bits of the longest prefix that the table supports. Some tables ignore routes to
    single addresses, because their loop over bits ends one bit early. Return None if other lookups
    are wrong.
    """
    answers = {one: answer(one) for one in addresses}
    for longest in (BITS, BITS - 1):
        known = [one for one in routes if one.length <= longest]
        count = agreement(known, addresses, answers.__getitem__)
        if count:
            return count, longest
    return None


def lpm_finding(count: int, routes: int, parameters: dict[str, str]) -> dict[str, Any]:
    """Return the JSON description of a function that does longest prefix match.

    It agreed with the reference on `count` lookups in a table of `routes` routes.
    """
    parameters = {"routes": str(routes), **parameters}
    return finding("lpm", "longest prefix match (IPv4)", parameters, count, [4])


_PREFIX = re.compile(r"prefix|net|addr|dest|dst|ip|key|start|base", re.IGNORECASE)
_MASK = re.compile(r"mask", re.IGNORECASE)
_LENGTH = re.compile(r"len|depth|cidr|bits|plen|size", re.IGNORECASE)
_HOP = re.compile(r"hop|next|gw|gate|port|if|dev|val|idx|index|out|nh|action|data", re.IGNORECASE)
_MOST = 60


class Layout(NamedTuple):
    """Layout of a route structure in memory: size in bytes, and locations of its members."""

    size: int
    prefix: Member
    mask: Member | None
    length: Member | None
    hop: Member | None


def entries_attempts(bench: Bench, name: str) -> Iterator[Attempt]:
    """Yield attempts to recognise longest prefix match over an array of routes in a function.

    Each attempt assumes another layout of the routes, or another order of the arguments.
    """
    function, pattern = bench.functions[name], kinds(bench, name)
    if pattern.count("i") not in (1, 2, 3) or not 1 <= pattern.count("p") <= 2:  # noqa: PLR2004
        return
    stage = SharedMemoryRun(bench, [name])
    for layout in layouts(function):
        for order in permutations((CONTEXT, OUT)[: pattern.count("p")]):
            for numbers in _numbers(pattern.count("i")):
                yield partial(_entries, stage, name, pattern, order, numbers, layout)


def layouts(function: Function) -> Iterator[Layout]:
    """Yield possible layouts of the route structure that a function takes.

    They are guessed from the names of the structure's members.
    """
    for parameter in function.parameters:
        described = parameter.described
        if described is None or not described.members:
            continue
        members = [one for one in described.members if one.size in (1, 2, 4)]

        def named(
            pattern: re.Pattern[str], sizes: tuple[int, ...], members: Sequence[Member] = members
        ) -> list[Member]:
            return [one for one in members if pattern.search(one.name) and one.size in sizes]

        for prefix in named(_PREFIX, (4,)):
            masks = [one for one in named(_MASK, (4,)) if one is not prefix]
            lengths = [one for one in named(_LENGTH, (1, 2, 4)) if one not in (prefix, *masks)]
            hops = [
                one
                for one in named(_HOP, (1, 2, 4))
                if one not in (prefix, *masks[:1], *lengths[:1])
            ]
            if masks or lengths:
                yield Layout(
                    described.size,
                    prefix,
                    masks[0] if masks else None,
                    lengths[0] if lengths else None,
                    hops[0] if hops else None,
                )
                break


def _numbers(count: int) -> Iterator[tuple[str, ...]]:
    yield from permutations(("count", "address", "zero")[:count] if count > 1 else ("address",))


def _entries(  # noqa: PLR0913, PLR0917 - a way to call
    stage: SharedMemoryRun,
    name: str,
    pattern: str,
    order: Sequence[int],
    numbers: Sequence[str],
    layout: Layout,
) -> dict[str, Any] | None:
    for sort in (None, _by_prefix):
        for swapped in (False, True):
            noise = noise_of(79)
            routes = some_routes(noise, min(_MOST, 2000 // max(1, layout.size)), default=True)
            if sort is not None:
                routes.sort(key=sort)
            table = b"".join(entry_text(layout, one, swapped=swapped) for one in routes)

            def ask(address: int, swapped: bool = swapped, table: bytes = table) -> int:
                passed = int.from_bytes(address.to_bytes(4), "little") if swapped else address
                values = {"count": len(table) // layout.size, "address": passed, "zero": 0}
                stage.start({CONTEXT: table}, zero=(CONTEXT, OUT))
                return stage.call(
                    name,
                    filled(
                        pattern,
                        [stage.address(at) for at in order],
                        [values[one] for one in numbers],
                    ),
                )

            addresses = some_addresses(noise, routes)
            for result, meaning in _meanings(stage, layout, routes):

                def answer(
                    address: int,
                    meaning: Callable[[int], int] = meaning,
                    ask: Callable[[int], int] = ask,
                ) -> int:
                    return meaning(ask(address))

                count = agreement(routes, addresses[:40], answer)
                count = count and agreement(routes, addresses, answer)
                if count:
                    parameters = {"result": result}
                    if sort is not None:
                        parameters["entries sorted by"] = "prefix"
                    parameters["addresses"] = "network order" if swapped else "host order"
                    return lpm_finding(count, len(routes), parameters)
    return None


def _by_prefix(route: Route) -> tuple[int, int]:
    return route.prefix, route.length


def _meanings(
    stage: SharedMemoryRun, layout: Layout, routes: list[Route]
) -> Iterator[tuple[str, Callable[[int], int]]]:
    base = stage.address(CONTEXT)

    def at(index: int) -> int:
        return routes[index].hop if 0 <= index < len(routes) else -1

    yield "next hop", lambda result: result
    yield "index of the entry", at
    yield "the entry", lambda result: at((result - base) // layout.size)
    yield "next hop, in memory", lambda _: int.from_bytes(stage.read(OUT, 4), "little")


def entry_text(layout: Layout, route: Route, *, swapped: bool) -> bytes:
    """Return the bytes of a route structure that describes `route`.

    With `swapped`, prefix and mask are in network byte order.
    """
    text = bytearray(layout.size)
    order = "big" if swapped else "little"

    def put(member: Member | None, value: int, order: str = "little") -> None:
        if member is not None:
            part = value.to_bytes(8, "little")[: member.size]
            text[member.offset : member.offset + member.size] = (
                part[::-1] if order == "big" else part
            )

    put(layout.prefix, route.prefix, order)
    put(layout.mask, route.mask & ((1 << BITS) - 1), order)
    put(layout.length, route.length)
    put(layout.hop, route.hop)
    return bytes(text)


TABLE_SIZE = 1 << 10
"""Number of entries to request from functions that create a table."""
_LOGARITHM = 20
"""Number to pass to functions that take the logarithm of the table size to base 2."""


class Roles(NamedTuple):
    """Names of the functions that create, initialise, fill and search a routing table.

    `make` and `begin` are None if the program has no such function.
    """

    make: str | None  # returns a new table
    begin: str | None  # initialises a table in given memory
    add: str
    look: str


class TableCalls(NamedTuple):
    """A guess at the arguments and results of the functions of a routing table."""

    entry: Layout | None  # layout of a route in memory; None if numbers describe a route
    add_numbers: tuple[str, ...]  # meanings of the numbers that `add` takes
    look_numbers: tuple[str, ...]  # meanings of the numbers that `look` takes
    root: str  # location of the table: `memory`, `made`, `returned`, `nowhere`
    swapped: bool  # true if addresses are in network order
    mask: bool  # true if masks are passed instead of prefix lengths
    result: str  # location of the next hop: `value`, `memory`, `pointed`
    by_address: bool = False  # true if pointers to addresses are passed
    size: int = TABLE_SIZE  # size that is passed to a function that creates a table
    ascending: bool = False  # true if routes are added in the order of prefix lengths


def table_calls(bench: Bench, roles: Roles) -> Iterator[TableCalls]:
    """Yield guesses at how to call the functions of a routing table, likely ones first."""
    layout = entry_layout(bench.functions[roles.add])
    found = (
        _by_entry(bench, roles, layout)
        if layout is not None
        else (*_by_number(bench, roles), *_by_address(bench, roles))
    )
    maker = roles.make or roles.begin
    sized = maker is not None and "i" in kinds(bench, maker)
    amounts = (TABLE_SIZE, _LOGARITHM) if sized else (TABLE_SIZE,)
    for ascending, size, calls in product((False, True), amounts, tuple(found)):
        yield calls._replace(size=size, ascending=ascending)


def entry_layout(function: Function) -> Layout | None:
    """Return the layout of the route structure that a function takes as its only description.

    Return None if the function takes numbers or no such structure.
    """
    if any(one.kind == "integer" and one.bits > 1 for one in function.parameters):
        return None
    return next((one for one in layouts(function) if one.hop is not None), None)


def _by_entry(bench: Bench, roles: Roles, layout: Layout) -> Iterator[TableCalls]:
    add, look = kinds(bench, roles.add), kinds(bench, roles.look)
    if not 1 <= look.count("i") <= 2:  # noqa: PLR2004
        return
    root = "nowhere" if add.count("p") == 1 else "made" if roles.make else "memory"
    places = _results(bench, roles, before=int(add.count("p") > 1))
    for swapped, one in product((False, True), places):
        for look_numbers in permutations(("address", "zero")[: look.count("i")]):
            yield TableCalls(layout, (), look_numbers, root, swapped, mask=False, result=one)


def _by_number(bench: Bench, roles: Roles) -> Iterator[TableCalls]:
    """Yield guesses at how to call the functions of a routing table.

    Prefixes and addresses are passed as numbers.
    """
    add, look = kinds(bench, roles.add), kinds(bench, roles.look)
    if not 2 <= add.count("i") <= 4 or not 1 <= look.count("i") <= 2:  # noqa: PLR2004
        return
    names = ("prefix", "length", "hop", "zero")[: add.count("i")]
    orders = [one for one in permutations(names) if _prefix_first(one)]
    for root in _roots(bench, roles, "p" in add):
        results = _results(bench, roles, before=int(root != "nowhere"))
        for add_numbers, swapped, mask, result in product(
            orders, (False, True), (False, True), results
        ):
            for look_numbers in permutations(("address", "zero")[: look.count("i")]):
                yield TableCalls(None, add_numbers, look_numbers, root, swapped, mask, result)


def _by_address(bench: Bench, roles: Roles) -> Iterator[TableCalls]:
    """Yield guesses at how to call the functions of a routing table.

    Prefixes and addresses are passed as pointers to memory.
    """
    add, look = kinds(bench, roles.add), kinds(bench, roles.look)
    numbers = {0: ((),), 1: (("four",), ("bits",), ("zero",))}
    look_numbers: tuple[tuple[str, ...], ...] = numbers.get(look.count("i"), ())
    for root in _roots(bench, roles, add.count("p") > 1):
        before = 0 if root == "nowhere" else 1
        hop_pointer = add.count("p") - before - 1  # 1 if the next hop is passed as a pointer
        if hop_pointer not in (0, 1) or look.count("p") <= before:
            continue
        results = _results(bench, roles, before=before + 1)
        for swapped, add_numbers, each, result in product(
            (True, False),
            _add_numbers(add.count("i"), hop_pointer=bool(hop_pointer)),
            look_numbers,
            results,
        ):
            yield TableCalls(None, add_numbers, each, root, swapped, False, result, by_address=True)


def _add_numbers(count: int, *, hop_pointer: bool) -> Sequence[tuple[str, ...]]:
    """Return possible orders of the numeric arguments of `add`, the function that inserts a route.

    They are prefix length, next hop and others; the prefix itself is in memory. `count` is the
    number of numeric parameters. With `hop_pointer`, the next hop is not among them, because a
    pointer to it is passed.
    """
    if hop_pointer:
        names = {1: ("length",), 2: ("four", "length"), 3: ("four", "length", "zero")}
    else:
        names = {2: ("length", "hop"), 3: ("four", "length", "hop")}
    return list(permutations(names[count])) if count in names else []


def _roots(bench: Bench, roles: Roles, pointer: bool) -> list[str]:
    """Return possible locations of the routing table, see `TableCalls.root`.

    `pointer` is true if `add`, the function that inserts a route, may take a pointer to the table.
    """
    if roles.make:
        return ["made"] if pointer else []
    found = ["memory"] if pointer else ["nowhere"]
    if pointer and bench.functions[roles.add].result == "pointer":
        found.append("returned")
    shared = bench.changeable(roles.add) & bench.changeable(roles.look)
    if pointer and shared and roles.begin is None:
        found.append("nowhere")
    return found


def _results(bench: Bench, roles: Roles, *, before: int) -> list[str]:
    """Return the places in which a lookup may leave the next hop, as in `TableCalls.result`.

    The first `before` pointer arguments of the lookup function have other uses.
    """
    function = bench.functions[roles.look]
    results = ["value"] if function.result.startswith("i") else []
    results += ["memory"] if kinds(bench, roles.look).count("p") > before else []
    return results + (["pointed"] if function.result == "pointer" else [])


def _prefix_first(order: Sequence[str]) -> bool:
    """Return true if the prefix precedes its length in `order`, or `order` has no length.

    `order` has the meanings of a function's arguments.
    """
    return order.index("prefix") < order.index("length") if "length" in order else True
