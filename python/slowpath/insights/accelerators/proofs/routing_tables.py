"""Longest prefix match by an insert and a lookup function."""

import ctypes
import re
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import Any

from slowpath.insights.accelerators.harness.bench import (
    CONTEXT,
    KEY,
    NONCE,
    OUT,
    Bench,
    SharedMemoryRun,
    filled,
    kinds,
    noise_of,
)
from slowpath.insights.accelerators.proofs.routing import (
    PLENTY,
    Roles,
    TableCalls,
    agreed,
    entry_text,
    lpm_finding,
    some_addresses,
    some_routes,
    ways,
)
from slowpath.insights.accelerators.references.hashes import BITS, Route, lookup
from slowpath.insights.sandbox.native import SIZE
from slowpath.insights.sandbox.trials import Attempt, CrashRecord

_SLOT = 16
"""Bytes of memory for each prefix, because functions may keep its address."""
_APART = 64
"""Bytes between the targets of two pointers through which a function writes."""
_REACH = 64
"""Bytes behind a returned address in which a next hop is searched."""
_SIX = re.compile(r"(?:ip_?v?|lpm|fib|v|look_?up)6", re.IGNORECASE)
"""Names of functions for IPv6, whose addresses are longer than the bytes that are compared."""
_CALLS = ("value", "memory")
"""Locations of next hops that need only calls of functions, and follow no returned address."""


def lookup_attempts(bench: Bench, roles: Roles) -> tuple[list[Attempt], CrashRecord]:
    """Return attempts on a routing table, and a record of the calls that they share.

    If variables are not restored, each attempt needs a process of its own.
    """
    every: dict[Attempt, TableCalls] = {
        partial(_tried, bench, roles, way): way for way in ways(bench, roles)
    }
    for ascending in {way.ascending for way in every.values()}:
        _asked(ascending=ascending)  # fill the cache once for all processes
    # An attempt that follows a returned address may die of that, so it shares no call.
    calls = {tried: way._replace(result="") for tried, way in every.items() if way.result in _CALLS}
    return list(every), CrashRecord(calls)


@cache
def _asked(*, ascending: bool) -> tuple[list[Route], list[int]]:
    """Return routes in the order in which they are added, and addresses to look up."""
    noise = noise_of(83)
    routes = some_routes(noise)
    if ascending:
        routes.sort(key=lambda one: one.length)
    return routes, some_addresses(noise, routes)


def _tried(bench: Bench, roles: Roles, way: TableCalls) -> dict[str, Any] | None:
    stage = SharedMemoryRun(bench, [one for one in roles if one is not None])
    stage.start({}, zero=(CONTEXT, OUT))
    stage.regions[CONTEXT].write(bytes(_size(bench, roles.look)))
    table = _table(bench, stage, roles, way)
    if table is None:
        return None
    routes, addresses = _asked(ascending=way.ascending)
    for number, route in enumerate(routes):
        table = _added(bench, stage, roles, way, table, route, number)

    def result_of(address: int) -> int:
        return _looked(bench, stage, roles, way, table or 0, address)

    answer: Callable[[int], int] | None = result_of
    if way.result != "value":
        answer = _field(stage, way, result_of, routes, addresses)
    if answer is None or agreed(routes, addresses[:40], answer) is None:
        return None
    found = agreed(routes, addresses, answer)
    if found is None:
        return None
    count, longest = found
    said = {"addresses": "network order" if way.swapped else "host order"}
    if way.behind:
        said["addresses"] += ", in memory"
    if way.mask:
        said["lengths"] = "as masks"
    if way.ascending:
        said["routes added"] = "from the shortest to the longest"
    if longest < BITS:
        said["longest prefix"] = f"{longest} bits"
    finding = lpm_finding(count, len(routes), said)
    if way.behind and _SIX.search(roles.look):
        finding["algorithm"] = f"longest prefix match (IPv6, by the first {BITS} bits)"
    return finding


def _size(bench: Bench, name: str) -> int:
    """Return the size in bytes of the table that a function takes, by its type."""
    described = [one.described for one in bench.functions[name].parameters]
    return min(SIZE, max((one.size for one in described if one is not None), default=0))


def _table(bench: Bench, stage: SharedMemoryRun, roles: Roles, way: TableCalls) -> int | None:
    """Return the address of the table, 0 if `add` returns it; None if none was created."""
    if roles.make is not None:
        pattern = kinds(bench, roles.make)
        if "p" in pattern:
            return None
        made = stage.call(roles.make, [way.amount] * len(pattern))
        return made or None
    if roles.begin is not None:
        pattern = kinds(bench, roles.begin)
        numbers = [way.amount] * pattern.count("i")
        # A second pointer is to a description of the table's size: noise gives a large size.
        pointers = [stage.address(CONTEXT), stage.address(KEY)][: pattern.count("p")]
        stage.call(roles.begin, filled(pattern, pointers, numbers))
    return 0 if way.root == "returned" else stage.address(CONTEXT)


def _added(  # noqa: PLR0913, PLR0917 - a way to call
    bench: Bench,
    stage: SharedMemoryRun,
    roles: Roles,
    way: TableCalls,
    table: int,
    route: Route,
    number: int,
) -> int:
    pattern = kinds(bench, roles.add)
    pointers = [] if way.root == "nowhere" else [table]
    if way.entry is not None:
        text = entry_text(way.entry, route, swapped=way.swapped)
        pointers.append(_written(stage, KEY, text, number * -(-len(text) // _SLOT) * _SLOT))
        stage.call(roles.add, pointers)
        return table
    length = route.mask if way.mask else route.length
    if way.swapped and way.mask:
        length = _turned(length)
    if way.behind:
        pointers.append(_written(stage, KEY, _bytes(way, route.prefix), number * _SLOT))
    # A further pointer belongs to the route: an address that stands for the next hop.
    pointers += [route.hop] * 2
    values = {
        "prefix": _turned(route.prefix) if way.swapped else route.prefix,
        "length": length,
        "hop": route.hop,
        "four": BITS // 8,
        "zero": 0,
    }
    numbers = [values[one] for one in way.added]
    result = stage.call(roles.add, filled(pattern, pointers, numbers))
    return result if way.root == "returned" else table


def _looked(  # noqa: PLR0913, PLR0917 - a way to call
    bench: Bench, stage: SharedMemoryRun, roles: Roles, way: TableCalls, table: int, address: int
) -> int:
    pattern = kinds(bench, roles.look)
    pointers = [] if way.root == "nowhere" else [table]
    if way.behind:
        pointers.append(_written(stage, NONCE, _bytes(way, address), 0))
    out = stage.address(OUT)
    pointers += [out, out + _APART, out + 2 * _APART]
    values = {
        "address": _turned(address) if way.swapped else address,
        "four": BITS // 8,
        "bits": BITS,
        "zero": 0,
    }
    stage.regions[OUT].write(bytes(3 * _APART))
    return stage.call(roles.look, filled(pattern, pointers, [values[one] for one in way.looked]))


def _turned(number: int) -> int:
    """Reverse the bytes of a 4-byte number."""
    return int.from_bytes(number.to_bytes(4), "little")


def _bytes(way: TableCalls, address: int) -> bytes:
    """Return an address as bytes in memory."""
    return address.to_bytes(4, "big" if way.swapped else "little") + bytes(_SLOT - 4)


def _written(stage: SharedMemoryRun, region: int, text: bytes, at: int) -> int:
    """Write a text to a region, and return its address."""
    stage.regions[region].write(text, at)
    return stage.address(region) + at


def _field(
    stage: SharedMemoryRun,
    way: TableCalls,
    result_of: Callable[[int], int],
    routes: list[Route],
    addresses: list[int],
) -> Callable[[int], int] | None:
    """Return a function that reads the next hop of an address.

    The next hop is the return value, or in memory: at the returned address, or in an output.

    Return None if it is in none of these places.
    """
    usual = (one for one in addresses if (route := lookup(routes, one)) and route.length < BITS)
    first = next(usual, None)
    route = None if first is None else lookup(routes, first)
    if first is None or route is None:
        return None
    got = result_of(first)
    if way.result == "memory":
        text = stage.read(OUT, 3 * _APART)
    elif got == route.hop:
        return result_of
    elif got < PLENTY:
        return None
    else:
        text = ctypes.string_at(got, _REACH)
    for size, offset in product((4, 8, 2, 1), range(len(text))):
        if offset % size or int.from_bytes(text[offset : offset + size], "little") != route.hop:
            continue

        def read(address: int, size: int = size, offset: int = offset) -> int:
            at = result_of(address)
            if way.result == "memory":
                return int.from_bytes(stage.read(OUT, size, offset), "little")
            if at < PLENTY:
                return at
            return int.from_bytes(ctypes.string_at(at + offset, size), "little")

        if agreed(routes, addresses[:60], read):
            return read
    return None
