"""Longest prefix match over an array of entries: prefix, mask or length, next hop."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations
from typing import Any, NamedTuple

from slowpath.insights.accelerators.execution.trials import Attempt
from slowpath.insights.accelerators.harness.bench import Bench
from slowpath.insights.accelerators.harness.noise import noise_of
from slowpath.insights.accelerators.harness.stage import CONTEXT, OUT, Stage, filled, kinds
from slowpath.insights.accelerators.proofs.routing.routes import (
    agreement,
    lpm_finding,
    some_addresses,
    some_routes,
)
from slowpath.insights.accelerators.references.lpm import BITS, Route
from slowpath.insights.preparation.functions import Function
from slowpath.insights.preparation.metadata import Member

_PREFIX = re.compile(r"prefix|net|addr|dest|dst|ip|key|start|base", re.IGNORECASE)
_MASK = re.compile(r"mask", re.IGNORECASE)
_LENGTH = re.compile(r"len|depth|cidr|bits|plen|size", re.IGNORECASE)
_HOP = re.compile(r"hop|next|gw|gate|port|if|dev|val|idx|index|out|nh|action|data", re.IGNORECASE)
_MOST = 60


class Layout(NamedTuple):
    """Where an entry has what."""

    size: int
    prefix: Member
    mask: Member | None
    length: Member | None
    hop: Member | None


def entries_attempts(bench: Bench, name: str) -> Iterator[Attempt]:
    """Whether it is a function of entries, their number and an address."""
    function, pattern = bench.functions[name], kinds(bench, name)
    if pattern.count("i") not in (1, 2, 3) or not 1 <= pattern.count("p") <= 2:  # noqa: PLR2004
        return
    stage = Stage(bench, [name])
    for layout in layouts(function):
        for order in permutations((CONTEXT, OUT)[: pattern.count("p")]):
            for numbers in _numbers(pattern.count("i")):
                yield partial(_entries, stage, name, pattern, order, numbers, layout)


def layouts(function: Function) -> Iterator[Layout]:
    """How entries may be laid out that a function takes, by the names of members."""
    for parameter in function.parameters:
        described = parameter.described
        if described is None or not described.members:
            continue
        members = [one for one in described.members if one.size in (1, 2, 4)]

        def named(
            what: re.Pattern[str], sizes: tuple[int, ...], members: Sequence[Member] = members
        ) -> list[Member]:
            return [one for one in members if what.search(one.name) and one.size in sizes]

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
    stage: Stage,
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
                given = int.from_bytes(address.to_bytes(4), "little") if swapped else address
                values = {"count": len(table) // layout.size, "address": given, "zero": 0}
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
            for how, meaning in _meanings(stage, layout, routes):

                def answer(
                    address: int,
                    meaning: Callable[[int], int] = meaning,
                    ask: Callable[[int], int] = ask,
                ) -> int:
                    return meaning(ask(address))

                count = agreement(routes, addresses[:40], answer)
                count = count and agreement(routes, addresses, answer)
                if count:
                    said = {"result": how}
                    if sort is not None:
                        said["entries sorted by"] = "prefix"
                    said["addresses"] = "network order" if swapped else "host order"
                    return lpm_finding(count, len(routes), said)
    return None


def _by_prefix(route: Route) -> tuple[int, int]:
    return route.prefix, route.length


def _meanings(
    stage: Stage, layout: Layout, routes: list[Route]
) -> Iterator[tuple[str, Callable[[int], int]]]:
    base = stage.address(CONTEXT)

    def at(index: int) -> int:
        return routes[index].hop if 0 <= index < len(routes) else -1

    yield "next hop", lambda result: result
    yield "index of the entry", at
    yield "the entry", lambda result: at((result - base) // layout.size)
    yield "next hop, in memory", lambda _: int.from_bytes(stage.read(OUT, 4), "little")


def entry_text(layout: Layout, route: Route, *, swapped: bool) -> bytes:
    """A route in memory; `swapped`: prefix and mask in network order."""
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
