"""Recognises functions that implement a routing table: one adds a route, one looks up an address.

The lookups are compared with longest prefix match.
"""

import ctypes
import re
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import Any

from slowpath.insights.accelerators.proofs.harness import (
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
from slowpath.insights.accelerators.proofs.reference_hashes import BITS, Route, lookup
from slowpath.insights.accelerators.proofs.routing import (
    TABLE_SIZE,
    Roles,
    TableCalls,
    agreed,
    entry_text,
    lpm_finding,
    some_addresses,
    some_routes,
    table_calls,
)
from slowpath.insights.native import SIZE
from slowpath.insights.trials import Attempt, CrashRecord

_SLOT = 16
"""Bytes of memory for each prefix; prefixes share no memory, as functions may keep their addresses.
"""
_OUTPUT_DISTANCE = 64
"""Distance in bytes between the targets of two output pointers."""
_REACH = 64
"""Number of bytes, counted from a returned address, among which the next hop is searched."""
_IPV6_NAME = re.compile(r"(?:ip_?v?|lpm|fib|v|look_?up)6", re.IGNORECASE)
"""Names of functions for IPv6; the comparison covers only the first bytes of their addresses."""
_CALLS = ("value", "memory")
"""Values of `TableCalls.result` with which no returned address is followed to read the next hop."""


def lookup_attempts(bench: Bench, roles: Roles) -> tuple[list[Attempt], CrashRecord]:
    """Return attempts to recognise a routing table, and a record of calls that crashed.

    Each attempt assumes other meanings of the functions' arguments. It skips calls that the record
    lists as crashed in an earlier attempt. If an attempt leaves variables that cannot be restored,
    the next one needs a process of its own.
    """
    attempts: dict[Attempt, TableCalls] = {
        partial(_tried, bench, roles, calls): calls for calls in table_calls(bench, roles)
    }
    for ascending in {calls.ascending for calls in attempts.values()}:
        _inputs(ascending=ascending)  # fill the cache once for all processes
    # An attempt that follows a returned address may crash because of it, so it shares no call.
    calls = {
        tried: calls._replace(result="")
        for tried, calls in attempts.items()
        if calls.result in _CALLS
    }
    return list(attempts), CrashRecord(calls)


@cache
def _inputs(*, ascending: bool) -> tuple[list[Route], list[int]]:
    """Return random routes in the order of their insertion, and addresses to look up.

    With `ascending`, routes with short prefixes are inserted first.
    """
    noise = noise_of(83)
    routes = some_routes(noise)
    if ascending:
        routes.sort(key=lambda one: one.length)
    return routes, some_addresses(noise, routes)


def _tried(bench: Bench, roles: Roles, calls: TableCalls) -> dict[str, Any] | None:
    stage = SharedMemoryRun(bench, [one for one in roles if one is not None])
    stage.start({}, zero=(CONTEXT, OUT))
    stage.regions[CONTEXT].write(bytes(_size(bench, roles.look)))
    table = _table(bench, stage, roles, calls)
    if table is None:
        return None
    routes, addresses = _inputs(ascending=calls.ascending)
    for number, route in enumerate(routes):
        table = _added(bench, stage, roles, calls, table, route, number)

    def result_of(address: int) -> int:
        return _looked(bench, stage, roles, calls, table or 0, address)

    answer: Callable[[int], int] | None = result_of
    if calls.result != "value":
        answer = _field(stage, calls, result_of, routes, addresses)
    if answer is None or agreed(routes, addresses[:40], answer) is None:
        return None
    found = agreed(routes, addresses, answer)
    if found is None:
        return None
    count, longest = found
    parameters = {"addresses": "network order" if calls.swapped else "host order"}
    if calls.by_address:
        parameters["addresses"] += ", in memory"
    if calls.mask:
        parameters["lengths"] = "as masks"
    if calls.ascending:
        parameters["routes added"] = "from the shortest to the longest"
    if longest < BITS:
        parameters["longest prefix"] = f"{longest} bits"
    finding = lpm_finding(count, len(routes), parameters)
    if calls.by_address and _IPV6_NAME.search(roles.look):
        finding["algorithm"] = f"longest prefix match (IPv6, by the first {BITS} bits)"
    return finding


def _size(bench: Bench, name: str) -> int:
    """Return the size in bytes of the largest structure that the function `name` takes.

    The result is at most `SIZE`, the size of a memory region for arguments.
    """
    described = [one.described for one in bench.functions[name].parameters]
    return min(SIZE, max((one.size for one in described if one is not None), default=0))


def _table(bench: Bench, stage: SharedMemoryRun, roles: Roles, calls: TableCalls) -> int | None:
    """Create a routing table with the program's functions, and return its address in memory.

    `calls` has the arguments to pass. Return 0 if `add`, the function that inserts a route, will
    return the address. Return None if no table was created.
    """
    if roles.make is not None:
        pattern = kinds(bench, roles.make)
        if "p" in pattern:
            return None
        made = stage.call(roles.make, [calls.size] * len(pattern))
        return made or None
    if roles.begin is not None:
        pattern = kinds(bench, roles.begin)
        numbers = [calls.size] * pattern.count("i")
        # A second pointer is to a structure with the table's size: noise gives a large size.
        pointers = [stage.address(CONTEXT), stage.address(KEY)][: pattern.count("p")]
        stage.call(roles.begin, filled(pattern, pointers, numbers))
    return 0 if calls.root == "returned" else stage.address(CONTEXT)


def _added(  # noqa: PLR0913, PLR0917 - a way to call
    bench: Bench,
    stage: SharedMemoryRun,
    roles: Roles,
    calls: TableCalls,
    table: int,
    route: Route,
    number: int,
) -> int:
    pattern = kinds(bench, roles.add)
    pointers = [] if calls.root == "nowhere" else [table]
    if calls.entry is not None:
        text = entry_text(calls.entry, route, swapped=calls.swapped)
        pointers.append(_written(stage, KEY, text, number * -(-len(text) // _SLOT) * _SLOT))
        stage.call(roles.add, pointers)
        return table
    length = route.mask if calls.mask else route.length
    if calls.swapped and calls.mask:
        length = _byte_swapped(length)
    if calls.by_address:
        pointers.append(_written(stage, KEY, _bytes(calls, route.prefix), number * _SLOT))
    # Further pointers stand for the next hop.
    pointers += [route.hop] * 2
    values = {
        "prefix": _byte_swapped(route.prefix) if calls.swapped else route.prefix,
        "length": length,
        "hop": route.hop,
        "four": BITS // 8,
        "zero": 0,
    }
    numbers = [values[one] for one in calls.add_numbers]
    result = stage.call(roles.add, filled(pattern, pointers, numbers))
    return result if calls.root == "returned" else table


def _looked(  # noqa: PLR0913, PLR0917 - a way to call
    bench: Bench, stage: SharedMemoryRun, roles: Roles, calls: TableCalls, table: int, address: int
) -> int:
    pattern = kinds(bench, roles.look)
    pointers = [] if calls.root == "nowhere" else [table]
    if calls.by_address:
        pointers.append(_written(stage, NONCE, _bytes(calls, address), 0))
    out = stage.address(OUT)
    pointers += [out, out + _OUTPUT_DISTANCE, out + 2 * _OUTPUT_DISTANCE]
    values = {
        "address": _byte_swapped(address) if calls.swapped else address,
        "four": BITS // 8,
        "bits": BITS,
        "zero": 0,
    }
    stage.regions[OUT].write(bytes(3 * _OUTPUT_DISTANCE))
    return stage.call(
        roles.look, filled(pattern, pointers, [values[one] for one in calls.look_numbers])
    )


def _byte_swapped(number: int) -> int:
    return int.from_bytes(number.to_bytes(4), "little")


def _bytes(calls: TableCalls, address: int) -> bytes:
    """Return an IPv4 address as bytes, padded with zeros to the size of a slot.

    The byte order is the one that `calls` assumes.
    """
    return address.to_bytes(4, "big" if calls.swapped else "little") + bytes(_SLOT - 4)


def _written(stage: SharedMemoryRun, region: int, text: bytes, at: int) -> int:
    """Write `text` to the memory region with index `region` at offset `at`; return its address."""
    stage.regions[region].write(text, at)
    return stage.address(region) + at


def _field(
    stage: SharedMemoryRun,
    calls: TableCalls,
    result_of: Callable[[int], int],
    routes: list[Route],
    addresses: list[int],
) -> Callable[[int], int] | None:
    """Find the place where a lookup leaves the next hop.

    Return a function that maps an address to its next hop, or None if the next hop is not found. It
    is the return value, or in memory that the lookup function writes, or near the address that it
    returns.

    `result_of` calls the lookup function of the program. The known `routes` tell the next hop that
    has to appear for one of the `addresses`.
    """
    routed = (one for one in addresses if (route := lookup(routes, one)) and route.length < BITS)
    first = next(routed, None)
    route = None if first is None else lookup(routes, first)
    if first is None or route is None:
        return None
    returned = result_of(first)
    if calls.result == "memory":
        text = stage.read(OUT, 3 * _OUTPUT_DISTANCE)
    elif returned == route.hop:
        return result_of
    elif returned < TABLE_SIZE:
        return None
    else:
        text = ctypes.string_at(returned, _REACH)
    for size, offset in product((4, 8, 2, 1), range(len(text))):
        if offset % size or int.from_bytes(text[offset : offset + size], "little") != route.hop:
            continue

        def read(address: int, size: int = size, offset: int = offset) -> int:
            at = result_of(address)
            if calls.result == "memory":
                return int.from_bytes(stage.read(OUT, size, offset), "little")
            if at < TABLE_SIZE:
                return at
            return int.from_bytes(ctypes.string_at(at + offset, size), "little")

        if agreed(routes, addresses[:60], read):
            return read
    return None
