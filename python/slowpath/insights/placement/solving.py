"""Searches for the best placement of data structures, and proves how good the result is.

A local search yields a good start, and the solver HiGHS proves the optimum of an integer program.

`local_search` has a table of the costs of all moves, by part and memory level, so that all moves
and swaps of parts are compared at once. Random moves leave local optima; they are equal in every
run.

`improved` limits the number of examined placements, not the time. The same start thus always leads
to the same result.

HiGHS calculates with floating-point numbers: it accepts a count of 0.999999 as 1, so a level may
exceed its capacity. Each solution is therefore checked in integers. If a level overflows, the
problem is solved again with distinct parts, and overflowing combinations of parts are forbidden one
by one.
"""

import math
import random
import time
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.core.arrays import Floats
from slowpath.insights.placement.bounds import fix_variables, relaxed
from slowpath.insights.placement.integer_program import (
    IntegerProgram,
    Row,
    Solved,
    build_integer_program,
    least_cost,
    least_time,
)
from slowpath.insights.placement.problem import (
    COST,
    THROUGHPUT,
    Case,
    Objective,
    PartCounts,
    Units,
    Value,
    spread_of,
    units,
    value,
)

_MAX_PARTS = 300
"""Maximum number of parts for local search; the work for swaps grows with its square."""
_KICKS, _KICKED = 150, 6
_STEPS = 1000
_FORBIDDEN = 1e30
_MIN_REDUCTION = 1e-9
"""Minimum share by which a step of the local search must reduce the cost."""


class _Parts(NamedTuple):
    """The parts of all data structures as arrays, with costs of accesses and copies, for speed."""

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
    """Improve the placement `start` by local search until no move of a part reduces the cost.

    The result fits the capacities. Return None if no placement that fits was found, or if there are
    too many parts. Accesses without a price are free if `free`, else forbidden.
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
    """Return the cost that each part would have on each memory level.

    The other parts stay on their levels, which are in `places`.
    """
    found = parts.cost.copy()
    copies = parts.copies[np.arange(len(parts.one)), :, places[parts.other]]
    np.add.at(found, parts.one, copies)
    return found


def _room(parts: _Parts, places: NDArray[np.int64]) -> Floats:
    return parts.capacity - np.bincount(places, weights=parts.sizes, minlength=len(parts.capacity))


def _fitting(parts: _Parts, places: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Move parts away from levels whose capacity is exceeded; return None if that fails.

    The moves that cost least per byte come first. `places` has the level of each part.
    """
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
    """Make the best move or swap of parts until none reduces the cost.

    `places` has the level of each part at the start. Return the levels at the end, and the cost.
    """
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
    """Return the total cost of a placement; `places` has the memory level of each part.

    `_prices` counts a copy at both parts, so the cost of copies is halved.
    """
    every = np.arange(len(places))
    alone = parts.cost[every, places].sum()
    return float(alone + (_prices(parts, places)[every, places].sum() - alone) / 2)


_MAX_PLACEMENTS = 5000  # maximum number of examined placements


def fits(case: Case, spread: PartCounts) -> bool:
    """Return true if a placement fits the capacity of each memory level."""
    return all(room >= 0 for room in _free_room(case, spread))


def _free_room(case: Case, spread: PartCounts) -> list[int]:
    """Return the free bytes on each memory level; negative if the capacity is exceeded."""
    room = [case.card.capacity[level] for level in case.card.levels]
    for one, counts in zip(case.structures, spread, strict=True):
        for level, count in enumerate(counts):
            room[level] -= one.part_size * count
    return room


def first_fit(case: Case, *, free: bool) -> PartCounts | None:
    """Place each unit (set of equal parts) on the cheapest level with room, largest units first.

    Return None if a unit fits on no level. Accesses without a price are free if `free`, else
    forbidden.
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
    """Improve the placement `start` by moving or swapping parts, as long as that helps.

    The number of examined placements is limited, so a further change may still improve the result.
    Accesses without a price are free if `free`, else forbidden.
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
    """Yield the placements that a single change makes of `spread`.

    First one part is moved to another level, then two parts are swapped.
    """
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


# --- search with a solver -------------------------------------------------------------------------

_SLACK = 1e-7
"""Share of throughput that may be lost to find a cheaper placement."""


class Placement(NamedTuple):
    """A placement of data structures, with its value and a bound of the best possible value."""

    spread: PartCounts
    value: Value
    bound: float
    """Lower bound of `value.first` for all placements."""
    proven: bool
    """True if no placement is better."""


class OutOfTime(Exception):  # noqa: N818 - not an error
    """Raised if the time limit passes before any placement is found."""


class _Request(NamedTuple):
    """A placement problem and its objective, with the deadline `until` on the monotonic clock."""

    case: Case
    objective: Objective
    free: bool
    until: float

    def value(self, spread: PartCounts) -> Value:
        return value(self.case, self.objective, spread, free=self.free)


class _Program(NamedTuple):
    """An integer program for a placement problem, with the units whose parts its variables count.

    A unit is a set of equal parts of structures.
    """

    found: Units
    problem: IntegerProgram

    def spread(self, case: Case, x: Floats) -> PartCounts:
        counts = self.problem.counts(x, len(self.found.units), len(case.card.levels))
        return spread_of(case, self.found, counts)

    def rounded(self, case: Case, x: Floats) -> PartCounts:
        """Convert a solution with fractions of parts to a placement with whole parts.

        `x` has the values of the variables. All numbers are rounded down, then those with the
        largest fractions up until all parts are placed.
        """
        levels = range(len(case.card.levels))
        counts = []
        for index, unit in enumerate(self.found.units):
            shares = np.array(
                [
                    x[at] if (at := self.problem.placed.get((index, level))) is not None else -1.0
                    for level in levels
                ]
            )
            floors = np.floor(np.maximum(shares, 0.0) + 1e-9).astype(int)
            missing = len(unit.members) - int(floors.sum())
            floors[np.argsort(floors - shares, kind="stable")[:missing]] += 1
            counts.append(floors.tolist())
        return spread_of(case, self.found, counts)


def place(
    case: Case, objective: Objective, *, free: bool = False, seconds: float | None = None
) -> Placement | None:
    """Return the best placement; None if the structures do not fit on levels with prices.

    Args:
        case: structures to place.
        objective: least cost; or highest throughput, then least cost.
        free: true if accesses without a price are free, false if they are forbidden.
        seconds: time limit, if any.

    Raises:
        OutOfTime: when the time limit passes before any placement is found.
    """
    until = math.inf if seconds is None else time.monotonic() + seconds
    request = _Request(case, objective, free, until)
    if not case.structures:
        return Placement([], request.value([]), 0.0, proven=True)
    found = _placed(request, alike=True)
    if found is not None and not fits(case, found.spread):
        found = _placed(request, alike=False)
    return found


def _placed(request: _Request, *, alike: bool) -> Placement | None:
    """Return the best placement; None if the structures do not fit.

    With `alike`, equal parts form units, which is faster. But rounding in the solver may then
    overfill memory levels.
    """
    found = units(request.case, free=request.free, alike=alike)
    program = _Program(found, build_integer_program(request.case, found))
    if not all(row.terms for row in program.problem.rows):
        return None
    if request.objective == COST:
        good = _known(request, program)
        if good is not None:
            known, reduced = good
            placed = _solved(request, program._replace(problem=reduced), known, alike=alike)
            if placed is not None and (placed.proven or time.monotonic() > request.until):
                return placed
    return _solved(request, program, None, alike=alike)


def _known(request: _Request, program: _Program) -> tuple[PartCounts, IntegerProgram] | None:
    """Return a good placement, and the integer program without solutions that cost more.

    Return None if no good placement is found.
    """
    relaxation = relaxed(request.case, program.found, program.problem)
    if relaxation is None:
        return None
    start = program.rounded(request.case, relaxation.x)
    good = local_search(request.case, start, free=request.free)
    if good is None or not fits(request.case, good) or math.isinf(request.value(good).first):
        return None
    return good, fix_variables(program.problem, relaxation, request.value(good).first)


def _solved(
    request: _Request, program: _Program, known: PartCounts | None, *, alike: bool
) -> Placement | None:
    """Solve a program, and return the best placement; it is proved optimal if time allows.

    The program may be restricted to placements that cost no more than `known`. This placement may
    be as good as the solution. If not `alike`, solutions that exceed a capacity are forbidden, and
    the program is solved again.
    """
    cuts = list[Row]()
    while True:
        least = least_time if request.objective == THROUGHPUT else least_cost
        solved = least(program.problem, cuts, request.until)
        if solved is None:
            return None
        spread = None if solved.x is None else program.spread(request.case, solved.x)
        if spread is None or alike or fits(request.case, spread):
            break
        cuts += _overfull(request.case, program, solved.x)
    if spread is None or not solved.proven:
        candidates = [one for one in (spread, known) if one is not None]
        return _stopped(request, min(candidates, key=request.value, default=None), solved)
    if request.objective == THROUGHPUT:
        spread = _cheapest(request, program, spread, cuts)
    elif known is not None:
        spread = min(spread, known, key=request.value)  # equal except for rounding
    best = request.value(spread)
    return Placement(spread, best, best.first, proven=True)


def _stopped(request: _Request, spread: PartCounts | None, solved: Solved) -> Placement:
    """Return the best placement known at the deadline, after improving it by local search.

    `spread` is the best placement of the solver, if any. `solved` has the bound.

    Raises:
        OutOfTime: if no placement is known.
    """
    start = first_fit(request.case, free=request.free) if spread is None else spread
    if start is None:
        raise OutOfTime
    better = improved(request.case, request.objective, start, free=request.free)
    best = request.value(better)
    return Placement(better, best, min(solved.bound, best.first), proven=False)


def _cheapest(
    request: _Request, program: _Program, best: PartCounts, cuts: list[Row]
) -> PartCounts:
    """Return the cheapest placement with the same throughput as `best`, or `best` itself.

    `cuts` are additional constraints of the integer program.
    """
    within = request.value(best).first * (1 + _SLACK)
    solved = least_cost(program.problem, cuts, request.until, within)
    if solved is None or solved.x is None:
        return best
    other = program.spread(request.case, solved.x)
    found = request.value(other)
    better = found.first <= within * (1 + _SLACK) and found.second < request.value(best).second
    return other if better and fits(request.case, other) else best


def _overfull(case: Case, program: _Program, x: Floats | None) -> list[Row]:
    """Return constraints that forbid a solution on the memory levels whose capacity it exceeds.

    `x` has the values of the variables. Each constraint forbids the combination of parts on one
    level.
    """
    rows = []
    for level, name in enumerate(case.card.levels):
        parts = {
            at: program.found.units[unit].size
            for (unit, on), at in program.problem.placed.items()
            if on == level and x is not None and round(x[at])
        }
        if sum(parts.values()) > case.card.capacity[name]:
            rows.append(Row(dict.fromkeys(parts, 1.0), 0.0, len(parts) - 1.0))
    return rows
