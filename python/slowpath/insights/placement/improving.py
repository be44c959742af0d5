"""Placements without a solver, for when its time is over: any that fits, and better ones beside it.

Work is counted in placements that are looked at, so that the same start has the same end.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from slowpath.insights.placement.problem import Case, Spread
from slowpath.insights.placement.units import spread_of, units
from slowpath.insights.placement.value import Objective, value

_MOST = 5000  # placements that are looked at


def fits(case: Case, spread: Spread) -> bool:
    """Whether no level has more bytes than it holds."""
    return all(room >= 0 for room in _room(case, spread))


def _room(case: Case, spread: Spread) -> list[int]:
    """Bytes that are left on each level."""
    room = [case.card.capacity[level] for level in case.card.levels]
    for one, counts in zip(case.structures, spread, strict=True):
        for level, count in enumerate(counts):
            room[level] -= one.part_size * count
    return room


def first_fit(case: Case, *, free: bool) -> Spread | None:
    """Largest first, each where it then costs least; None where one finds no place."""
    found = units(case, free=free, alike=False)
    room = [case.card.capacity[level] for level in case.card.levels]
    chosen = dict[int, int]()
    order = sorted(range(len(found.units)), key=lambda at: (-found.units[at].size, at))
    for at in order:
        unit = found.units[at]
        cost = unit.cost.copy()
        for (one, other), copies in found.pairs.items():
            if one == at and other in chosen:
                cost += copies[:, chosen[other]]
            elif other == at and one in chosen:
                cost += copies[chosen[one]]
        cost[[unit.size > left for left in room]] = np.inf
        best = int(np.argmin(cost))
        if not np.isfinite(cost[best]):
            return None
        chosen[at] = best
        room[best] -= unit.size
    counts = [
        [int(chosen[at] == level) for level in range(len(room))] for at in range(len(found.units))
    ]
    return spread_of(case, found, counts)


def improved(case: Case, objective: Objective, start: Spread, *, free: bool) -> Spread:
    """A placement that no part elsewhere, and no two parts in each other's places, makes better."""
    best = [[*counts] for counts in start]
    known = value(case, objective, best, free=free)
    looked = 0
    better = True
    while better:
        better = False
        for changed in _beside(best):
            if looked == _MOST:
                return best
            looked += 1
            if not fits(case, changed):
                continue
            other = value(case, objective, changed, free=free)
            if other < known:
                best, known, better = changed, other, True
                break
    return best


def _beside(spread: list[list[int]]) -> Iterator[list[list[int]]]:
    """One part moved, then two exchanged."""
    levels = range(len(spread[0]) if spread else 0)
    there = [(at, level) for at, counts in enumerate(spread) for level in levels if counts[level]]
    for (at, level), to in product(there, levels):
        if to != level:
            yield _moved(spread, (at, level, to))
    for (at, level), (other, to) in product(there, there):
        if at < other and level != to:
            yield _moved(spread, (at, level, to), (other, to, level))


def _moved(spread: list[list[int]], *moves: tuple[int, int, int]) -> list[list[int]]:
    found = [*spread]
    for at, level, to in moves:
        found[at] = [*found[at]]
        found[at][level] -= 1
        found[at][to] += 1
    return found
