"""Random tables of routes, and addresses that tell longest prefix match from everything else."""

from collections.abc import Callable
from typing import Any

from slowpath.insights.accelerators.harness.noise import Noise
from slowpath.insights.accelerators.references.lpm import BITS, Route, lookup

_ROUTES = 120
_ADDRESSES = 1500
_HOPS = 200
"""Next hops are small: some tables keep them in a byte. 0 often means that there is none."""
_NESTED = 2
Answer = Callable[[int], int]


def some_routes(noise: Noise, count: int = _ROUTES, *, default: bool = False) -> list[Route]:
    """Prefixes, half of them inside of others; none twice."""
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
    """Addresses in prefixes, at their edges and beside them, and anywhere."""
    found = []
    for _ in range(_ADDRESSES):
        route = noise.choice(routes)
        outside = noise.getrandbits(BITS)
        inside = route.prefix | outside & ~route.mask
        edge = route.prefix | ~route.mask & 0xFFFFFFFF
        beside = (edge + 1) & 0xFFFFFFFF
        found.append(noise.choice((inside, inside, inside, edge, route.prefix, beside, outside)))
    return found


def agreement(routes: list[Route], addresses: list[int], answer: Answer) -> int | None:
    """How many lookups agree with the reference: all, or None. What has no route is one number."""
    missed = set[int]()
    hops = set[int]()
    for address in addresses:
        got, route = answer(address), lookup(routes, address)
        if route is None:
            missed.add(got)
        elif got != route.hop:
            return None
        else:
            hops.add(got)
    if len(missed) > 1 or len(hops) < 10:  # noqa: PLR2004 - of 200
        return None
    return len(addresses)


def agreed(routes: list[Route], addresses: list[int], answer: Answer) -> tuple[int, int] | None:
    """How many lookups agree, and how long prefixes are that count; None when they do not agree.

    Some tables, of loops over bits that end one too early, do not know routes to one address.
    """
    answers = {one: answer(one) for one in addresses}
    for longest in (BITS, BITS - 1):
        known = [one for one in routes if one.length <= longest]
        count = agreement(known, addresses, answers.__getitem__)
        if count:
            return count, longest
    return None


def lpm_finding(count: int, routes: int, parameters: dict[str, str]) -> dict[str, Any]:
    """What is said of a longest prefix match."""
    return {
        "kind": "lpm",
        "algorithm": "longest prefix match (IPv4)",
        "parameters": {"routes": str(routes), **parameters},
        "inputs": count,
        "lengths": [4, 4],
    }
