"""Finds good placements without a solver and without a proof that they are optimal.

`local_search` yields a start for the solver. A table by part and memory level has the costs of all
moves, so that all moves and swaps of parts are compared at once. Random moves leave local optima;
they are equal in every run.

`improved` limits the number of examined placements, not the time. The same start thus always leads
to the same result.
"""

import random
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.core.arrays import Floats
from slowpath.insights.placement.costs import Objective, value
from slowpath.insights.placement.problem import Case, PartCounts
from slowpath.insights.placement.units import Units, spread_of, units

_MAX_PARTS = 300
"""Maximum number of parts for local search; the work for swaps grows with its square."""
_KICKS, _KICKED = 150, 6
_STEPS = 1000
_FORBIDDEN = 1e30
_MIN_REDUCTION = 1e-9
"""Minimum share by which a step of the local search must reduce the cost."""


class _Parts(NamedTuple):
    """The parts of all data structures as arrays, with the costs of accesses and copies."""

    found: Units
    sizes: Floats
    cost: Floats
    """Cost of each part by level, without copies to other parts."""
    one: NDArray[np.int64]
    other: NDArray[np.int64]
    copies: Floats
    """Cost of copies between two parts by their levels; each pair of parts occurs in both
    orders."""
    capacity: Floats


def local_search(case: Case, start: PartCounts, *, free: bool) -> PartCounts | None:
    """Return a locally optimal placement that fits the capacities, found from `start`.

    Return None if no placement that fits was found, or if there are too many parts. Accesses
    without a price are free if `free`, else forbidden.
    """
    parts = _parts(case, free=free)
    if len(parts.sizes) > _MAX_PARTS:
        return None
    levels = [level for counts in start for level, count in enumerate(counts) for _ in range(count)]
    places = _fitting(parts, np.array(levels))
    if places is None:
        return None
    places, best = _downhill(parts, places)
    dice = random.Random(0)  # noqa: S311 - kicks, no secrets
    for _ in range(_KICKS):
        kicked = places.copy()
        for at in dice.sample(range(len(places)), min(_KICKED, len(places))):
            kicked[at] = dice.randrange(len(parts.capacity))
        fitting = _fitting(parts, kicked)
        if fitting is not None:
            other, cost = _downhill(parts, fitting)
            if cost < best:
                places, best = other, cost
    counts = [[int(level == at) for at in range(len(parts.capacity))] for level in places]
    return spread_of(case, parts.found, counts)


def _parts(case: Case, *, free: bool) -> _Parts:
    found = units(case, free=free, alike=False)
    levels = len(case.card.levels)
    pairs = [*found.pairs, *((other, one) for one, other in found.pairs)]
    copies = [*found.pairs.values(), *(one.T for one in found.pairs.values())]
    return _Parts(
        found,
        np.array([float(unit.size) for unit in found.units]),
        np.minimum(np.array([unit.cost for unit in found.units]), _FORBIDDEN),
        np.array([one for one, _ in pairs], dtype=np.int64),
        np.array([other for _, other in pairs], dtype=np.int64),
        np.minimum(np.array(copies).reshape(-1, levels, levels), _FORBIDDEN),
        np.array([float(case.card.capacity[level]) for level in case.card.levels]),
    )


def _prices(parts: _Parts, places: NDArray[np.int64]) -> Floats:
    """Return the cost of each part on each memory level, given the levels of all other parts."""
    found = parts.cost.copy()
    copies = parts.copies[np.arange(len(parts.one)), :, places[parts.other]]
    np.add.at(found, parts.one, copies)
    return found


def _room(parts: _Parts, places: NDArray[np.int64]) -> Floats:
    return parts.capacity - np.bincount(places, weights=parts.sizes, minlength=len(parts.capacity))


def _fitting(parts: _Parts, places: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Move parts away from overfull levels, cheapest moves per byte first; None if that fails."""
    places = places.copy()
    every = np.arange(len(places))
    for _ in range(len(places) + 1):
        room = _room(parts, places)
        prices = _prices(parts, places)
        present = prices[every, places]
        bad = (room[places] < 0) | (present >= _FORBIDDEN)
        if not bad.any():
            return places
        costs = (prices - present[:, None]) / np.maximum(parts.sizes, 1.0)[:, None]
        costs[(parts.sizes[:, None] > room[None, :]) | ~bad[:, None] | (prices >= _FORBIDDEN)] = (
            np.inf
        )
        part, level = np.unravel_index(int(np.argmin(costs)), costs.shape)
        if not np.isfinite(costs[part, level]):
            return None
        places[part] = level
    return None


def _downhill(parts: _Parts, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
    """Make the best move or swap until none reduces the cost; return the placement and its cost."""
    places = places.copy()
    every = np.arange(len(places))
    linked = np.zeros((len(places), len(places)), dtype=bool)
    linked[parts.one, parts.other] = True
    for _ in range(_STEPS):
        room = _room(parts, places)
        prices = _prices(parts, places)
        present = prices[every, places]
        min_reduction = _MIN_REDUCTION * max(1.0, float(present.sum()))
        moved = prices - present[:, None]
        moved[parts.sizes[:, None] > room[None, :]] = np.inf
        moved[every, places] = 0.0
        part, level = np.unravel_index(int(np.argmin(moved)), moved.shape)
        if moved[part, level] < -min_reduction:
            places[part] = level
            continue
        swapped = prices[:, places] - present[:, None]
        swapped = swapped + swapped.T
        difference = parts.sizes[:, None] - parts.sizes[None, :]
        # Each level must have room for the difference in size.
        swapped[
            (difference > room[places][None, :]) | (-difference > room[places][:, None]) | linked
        ] = np.inf
        one, other = np.unravel_index(int(np.argmin(swapped)), swapped.shape)
        if not swapped[one, other] < -min_reduction:
            break
        places[one], places[other] = places[other], places[one]
    return places, _cost(parts, places)


def _cost(parts: _Parts, places: NDArray[np.int64]) -> float:
    """Return the cost of a placement.

    `_prices` counts a copy at both parts, so the cost of copies is halved.
    """
    every = np.arange(len(places))
    alone = parts.cost[every, places].sum()
    return float(alone + (_prices(parts, places)[every, places].sum() - alone) / 2)


_MAX_PLACEMENTS = 5000  # maximum number of examined placements


def fits(case: Case, spread: PartCounts) -> bool:
    """Return true if a placement exceeds the capacity of no memory level."""
    return all(room >= 0 for room in _free_room(case, spread))


def _free_room(case: Case, spread: PartCounts) -> list[int]:
    """Return the free bytes on each memory level; the number is negative if a level is overfull."""
    room = [case.card.capacity[level] for level in case.card.levels]
    for one, counts in zip(case.structures, spread, strict=True):
        for level, count in enumerate(counts):
            room[level] -= one.part_size * count
    return room


def first_fit(case: Case, *, free: bool) -> PartCounts | None:
    """Place each unit, largest first, on the cheapest level with room.

    Return None if a unit fits on no level.
    """
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
        cost[[unit.size > free for free in room]] = np.inf
        best = int(np.argmin(cost))
        if not np.isfinite(cost[best]):
            return None
        chosen[at] = best
        room[best] -= unit.size
    counts = [
        [int(chosen[at] == level) for level in range(len(room))] for at in range(len(found.units))
    ]
    return spread_of(case, found, counts)


def improved(case: Case, objective: Objective, start: PartCounts, *, free: bool) -> PartCounts:
    """Return a placement that no move of a part, and no swap of two parts, improves.

    The number of examined placements is limited, so the result may still be improvable.
    """
    best = [[*counts] for counts in start]
    known = value(case, objective, best, free=free)
    examined = 0
    better = True
    while better:
        better = False
        for changed in _neighbours(best):
            if examined == _MAX_PLACEMENTS:
                return best
            examined += 1
            if not fits(case, changed):
                continue
            other = value(case, objective, changed, free=free)
            if other < known:
                best, known, better = changed, other, True
                break
    return best


def _neighbours(spread: list[list[int]]) -> Iterator[list[list[int]]]:
    """Yield placements with one part moved, then placements with two parts swapped."""
    levels = range(len(spread[0]) if spread else 0)
    occupied = [
        (at, level) for at, counts in enumerate(spread) for level in levels if counts[level]
    ]
    for (at, level), to in product(occupied, levels):
        if to != level:
            yield _moved(spread, (at, level, to))
    for (at, level), (other, to) in product(occupied, occupied):
        if at < other and level != to:
            yield _moved(spread, (at, level, to), (other, to, level))


def _moved(spread: list[list[int]], *moves: tuple[int, int, int]) -> list[list[int]]:
    found = [*spread]
    for at, level, to in moves:
        found[at] = [*found[at]]
        found[at][level] -= 1
        found[at][to] += 1
    return found
