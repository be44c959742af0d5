"""Longest prefix match by two functions of a module: one adds a route, one looks an address up."""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations, product
from typing import Any, NamedTuple

from slowpath.insights.accelerators.execution.trials import Attempt
from slowpath.insights.accelerators.harness.bench import Bench
from slowpath.insights.accelerators.harness.noise import noise_of
from slowpath.insights.accelerators.harness.stage import (
    CONTEXT,
    KEY,
    OUT,
    Stage,
    filled,
    kinds,
)
from slowpath.insights.accelerators.proofs.routing.entries import Layout, entry_text, layouts
from slowpath.insights.accelerators.proofs.routing.routes import (
    agreement,
    lpm_finding,
    some_addresses,
    some_routes,
)
from slowpath.insights.accelerators.references.lpm import Route, lookup
from slowpath.insights.preparation.functions import Function

_PLENTY = 1 << 10
"""What functions that make a table take for its size."""


class Roles(NamedTuple):
    """The functions of a table; each but the two that count may be missing."""

    make: str | None  # returns a table
    begin: str | None  # prepares one in memory
    add: str
    look: str


class Way(NamedTuple):
    """What arguments mean."""

    entry: Layout | None  # of what is added as a whole, in memory; None: numbers are
    added: tuple[str, ...]  # of the numbers that are added
    looked: tuple[str, ...]
    root: str  # where the table is: `memory`, `made`, `returned`, `nowhere`
    swapped: bool  # addresses in network order
    mask: bool  # lengths as masks
    result: str


def lookup_attempts(bench: Bench, roles: Roles) -> Iterator[Attempt]:
    """Attempts, each for a process of its own: what one adds is not there for the next."""
    for way in _ways(bench, roles):
        yield partial(_tried, bench, roles, way)


def _ways(bench: Bench, roles: Roles) -> Iterator[Way]:
    add, look = kinds(bench, roles.add), kinds(bench, roles.look)
    layout = entry_layout(bench.functions[roles.add])
    if layout is not None and 1 <= look.count("i") <= 2:  # noqa: PLR2004
        places = _results(bench, roles, two=add.count("p") > 1)
        root = "nowhere" if add.count("p") == 1 else "made" if roles.make else "memory"
        for swapped, one in product((False, True), places):
            for looked in permutations(("address", "zero")[: look.count("i")]):
                yield Way(layout, (), looked, root, swapped, mask=False, result=one)
        return
    if not 2 <= add.count("i") <= 4 or not 1 <= look.count("i") <= 2:  # noqa: PLR2004
        return
    names = ("prefix", "length", "hop", "zero")[: add.count("i")]
    orders = [one for one in permutations(names) if _natural(one)]
    roots = ["made"] if roles.make else ["memory", "returned"] if "p" in add else ["nowhere"]
    if bench.functions[roles.add].result != "pointer" and "returned" in roots:
        roots.remove("returned")
    results = _results(bench, roles, two=roots != ["nowhere"])
    for root, added, swapped, mask, result in product(
        roots, orders, (False, True), (False, True), results
    ):
        for looked in permutations(("address", "zero")[: look.count("i")]):
            yield Way(None, added, looked, root, swapped, mask, result)


def _results(bench: Bench, roles: Roles, *, two: bool) -> list[str]:
    """Where a next hop may come out; `two`: the first pointer is the table."""
    function = bench.functions[roles.look]
    results = ["value"] if function.result.startswith("i") else []
    results += ["memory"] if kinds(bench, roles.look).count("p") > two else []
    return results + (["pointed"] if function.result == "pointer" else [])


def entry_layout(function: Function) -> Layout | None:
    """How a route is described in memory that a function takes, if it takes one so."""
    if any(one.kind == "integer" and one.bits > 1 for one in function.parameters):
        return None
    return next((one for one in layouts(function) if one.hop is not None), None)


def _natural(order: Sequence[str]) -> bool:
    """Prefixes come before lengths: nobody does it the other way round."""
    return order.index("prefix") < order.index("length") if "length" in order else True


def _tried(bench: Bench, roles: Roles, way: Way) -> dict[str, Any] | None:
    stage = Stage(bench, [one for one in roles if one is not None])
    stage.start({}, zero=(CONTEXT, OUT))
    table = _table(bench, stage, roles, way)
    if table is None:
        return None
    noise = noise_of(83)
    routes = some_routes(noise)
    if way.root != "memory":
        routes.sort(key=lambda one: one.length)
    for number, route in enumerate(routes):
        table = _added(bench, stage, roles, way, table, route, number)
    addresses = some_addresses(noise, routes)

    def result_of(address: int) -> int:
        return _looked(bench, stage, roles, way, table or 0, address)

    pointed = way.result == "pointed"
    answer = _pointed(result_of, routes, addresses) if pointed else result_of
    if answer is None or agreement(routes, addresses[:40], answer) is None:
        return None
    count = agreement(routes, addresses, answer)
    if not count:
        return None
    said = {"addresses": "network order" if way.swapped else "host order"}
    if way.mask:
        said["lengths"] = "as masks"
    return lpm_finding(count, len(routes), said)


def _table(bench: Bench, stage: Stage, roles: Roles, way: Way) -> int | None:
    """Where the table is."""
    if roles.make is not None:
        pattern = kinds(bench, roles.make)
        if "p" in pattern:
            return None
        made = stage.call(roles.make, [_PLENTY] * len(pattern))
        return made or None
    if roles.begin is not None:
        pattern = kinds(bench, roles.begin)
        numbers = [_PLENTY] * pattern.count("i")
        pointers = [stage.address(CONTEXT)] * pattern.count("p")
        stage.call(roles.begin, filled(pattern, pointers, numbers))
    return 0 if way.root == "returned" else stage.address(CONTEXT)


def _added(  # noqa: PLR0913, PLR0917 - a way to call
    bench: Bench, stage: Stage, roles: Roles, way: Way, table: int, route: Route, number: int
) -> int:
    pattern = kinds(bench, roles.add)
    if way.entry is not None:
        text = entry_text(way.entry, route, swapped=way.swapped)
        at = number * -(-len(text) // 16) * 16
        stage.regions[KEY].write(text, at)
        address = stage.address(KEY) + at
        stage.call(roles.add, [address] if way.root == "nowhere" else [table, address])
        return table
    prefix, length = route.prefix, route.mask if way.mask else route.length
    if way.swapped:
        prefix = int.from_bytes(prefix.to_bytes(4), "little")
        length = int.from_bytes(length.to_bytes(4), "little") if way.mask else length
    values = {"prefix": prefix, "length": length, "hop": route.hop, "zero": 0}
    # A second pointer is what belongs to the route: an address that stands for the next hop.
    pointers = [table, route.hop, route.hop] if way.root != "nowhere" else [route.hop] * 2
    numbers = [values[one] for one in way.added]
    result = stage.call(roles.add, filled(pattern, pointers, numbers))
    return result if way.root == "returned" else table


def _looked(  # noqa: PLR0913, PLR0917 - a way to call
    bench: Bench, stage: Stage, roles: Roles, way: Way, table: int, address: int
) -> int:
    pattern = kinds(bench, roles.look)
    given = int.from_bytes(address.to_bytes(4), "little") if way.swapped else address
    values = {"address": given, "zero": 0}
    out = stage.address(OUT)
    pointers = [table, out, out] if way.root != "nowhere" else [out] * 2
    stage.regions[OUT].write(bytes(8))
    result = stage.call(roles.look, filled(pattern, pointers, [values[one] for one in way.looked]))
    if way.result == "memory":
        return int.from_bytes(stage.read(OUT, 4), "little")
    return result


def _pointed(
    answer: Callable[[int], int], routes: list[Route], addresses: list[int]
) -> Callable[[int], int] | None:
    """The next hop as what is returned, or behind it."""
    first = next((one for one in addresses if lookup(routes, one) is not None), None)
    if first is None:
        return None
    route = lookup(routes, first)
    got = answer(first)
    if route is not None and got == route.hop:
        return answer
    if got < _PLENTY:
        return None
    text = ctypes.string_at(got, 64)
    for size, offset in product((4, 8, 2, 1), range(0, 64, 1)):
        if offset % size or route is None:
            continue
        if int.from_bytes(text[offset : offset + size], "little") == route.hop:

            def read(address: int, size: int = size, offset: int = offset) -> int:
                at = answer(address)
                if at < _PLENTY:
                    return at
                return int.from_bytes(ctypes.string_at(at + offset, size), "little")

            if agreement(routes, addresses[:60], read):
                return read
    return None
