"""Searches for the best placement, and bounds how far the result is from the optimum.

The solver HiGHS calculates with floating-point numbers: it accepts a count of 0.999999 as 1, so a
level may exceed its capacity. Each solution is therefore checked in integers. If a level overflows,
the problem is solved again with distinct parts, and overflowing combinations of parts are forbidden
one by one.
"""

import math
import time
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats
from slowpath.insights.placement.bounds import fix_variables, relaxed
from slowpath.insights.placement.costs import COST, THROUGHPUT, Objective, Value, value
from slowpath.insights.placement.heuristics import first_fit, fits, improved, local_search
from slowpath.insights.placement.integer_program import (
    IntegerProgram,
    Row,
    Solved,
    build_integer_program,
    least_cost,
    least_time,
)
from slowpath.insights.placement.problem import Case, PartCounts
from slowpath.insights.placement.units import Units, spread_of, units

_SLACK = 1e-7
"""Share of throughput that may be lost to find a cheaper placement."""


class Placement(NamedTuple):
    """A placement of data structures, with its value and a bound."""

    spread: PartCounts
    value: Value
    bound: float
    """Lower bound of `value.first` for all placements."""
    proven: bool
    """True if no placement is better."""


class OutOfTime(Exception):  # noqa: N818 - not an error
    """The time limit passed before any placement was found."""


class _Request(NamedTuple):
    """A request for a placement; `until` is its deadline on the monotonic clock."""

    case: Case
    objective: Objective
    free: bool
    until: float

    def value(self, spread: PartCounts) -> Value:
        return value(self.case, self.objective, spread, free=self.free)


class _Program(NamedTuple):
    """An integer program for a placement problem, with the units (sets of equal parts) in it."""

    found: Units
    problem: IntegerProgram

    def spread(self, case: Case, x: Floats) -> PartCounts:
        counts = self.problem.counts(x, len(self.found.units), len(case.card.levels))
        return spread_of(case, self.found, counts)

    def rounded(self, case: Case, x: Floats) -> PartCounts:
        """Round the numbers of parts per level in a solution to integers, and return the placement.

        All numbers are rounded down, then those with the largest fractions up until all parts are
        placed.
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

    With `alike`, equal parts form units; rounding in the solver may then overfill memory levels.
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
    """Return a good placement, and the program restricted to placements that cost no more.

    Return None if no such placement is found.
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
    """Return the best placement of a program, proved optimal if time allows.

    `known` is a placement from which the program was restricted; it may be as good as the solution.
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
    """Improve the best placement that was found before the deadline, by local search.

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
    """Return the cheapest placement with the throughput of `best`, or `best` if none is found."""
    within = request.value(best).first * (1 + _SLACK)
    solved = least_cost(program.problem, cuts, request.until, within)
    if solved is None or solved.x is None:
        return best
    other = program.spread(request.case, solved.x)
    found = request.value(other)
    better = found.first <= within * (1 + _SLACK) and found.second < request.value(best).second
    return other if better and fits(request.case, other) else best


def _overfull(case: Case, program: _Program, x: Floats | None) -> list[Row]:
    """Return constraints that forbid the combination of parts in `x` on overfull memory levels."""
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
