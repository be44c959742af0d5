"""Search for the best placement, with its optimality gap.

HiGHS calculates with floating-point numbers: it accepts a count of 0.999999 as 1, so that a level
can exceed its capacity. Each solution is therefore checked in integers. If a level overflows, the
problem is solved again with distinct parts; each overflowing combination is then forbidden until no
level overflows.
"""

import math
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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

Floats = NDArray[np.float64]

_SLACK = 1e-7
"""Relative loss of throughput that is tolerated for a cheaper placement."""


class Placement(NamedTuple):
    """A placement of structures, with its value and a bound."""

    spread: PartCounts
    value: Value
    bound: float
    """Lower bound of `value.first` of all placements."""
    proven: bool
    """True if no placement is better."""


class OutOfTime(Exception):  # noqa: N818 - not an error, only no answer
    """The time limit passed before any placement was found."""


class _Asked(NamedTuple):
    """A request for a placement."""

    case: Case
    objective: Objective
    free: bool
    until: float

    def value(self, spread: PartCounts) -> Value:
        return value(self.case, self.objective, spread, free=self.free)


class _Written(NamedTuple):
    """A case as an integer program, with the conversion of its solutions."""

    found: Units
    problem: IntegerProgram

    def spread(self, case: Case, x: Floats) -> PartCounts:
        counts = self.problem.counts(x, len(self.found.units), len(case.card.levels))
        return spread_of(case, self.found, counts)

    def rounded(self, case: Case, x: Floats) -> PartCounts:
        """Round a solution with fractions of parts, preferring the levels with large fractions."""
        levels = range(len(case.card.levels))
        counts = []
        for index, unit in enumerate(self.found.units):
            shares = np.array(
                [
                    x[at] if (at := self.problem.placed.get((index, level))) is not None else -1.0
                    for level in levels
                ]
            )
            whole = np.floor(np.maximum(shares, 0.0) + 1e-9).astype(int)
            left = len(unit.members) - int(whole.sum())
            whole[np.argsort(whole - shares, kind="stable")[:left]] += 1
            counts.append(whole.tolist())
        return spread_of(case, self.found, counts)


def place(
    case: Case, objective: Objective, *, free: bool = False, seconds: float | None = None
) -> Placement | None:
    """Return the best placement; None if structures do not fit, or one has no level with prices.

    Args:
        case: structures to place.
        objective: least cost; or highest throughput, and then least cost.
        free: true if accesses without a price cost nothing instead of being forbidden.
        seconds: time limit; None: no limit.

    Raises:
        OutOfTime: when the time limit passes before any placement is found.
    """
    until = math.inf if seconds is None else time.monotonic() + seconds
    asked = _Asked(case, objective, free, until)
    if not case.structures:
        return Placement([], asked.value([]), 0.0, proven=True)
    found = _placed(asked, alike=True)
    if found is not None and not fits(case, found.spread):
        found = _placed(asked, alike=False)
    return found


def _placed(asked: _Asked, *, alike: bool) -> Placement | None:
    """Return the best placement; with `alike`, equal parts are counted and levels may overflow."""
    found = units(asked.case, free=asked.free, alike=alike)
    written = _Written(found, build_integer_program(asked.case, found))
    if not all(row.terms for row in written.problem.rows):
        return None
    if asked.objective == COST:
        known = _known(asked, written)
        if known is not None:
            near, fewer = known
            placed = _solved(asked, written._replace(problem=fewer), near, alike=alike)
            if placed is not None and (placed.proven or time.monotonic() > asked.until):
                return placed
    return _solved(asked, written, None, alike=alike)


def _known(asked: _Asked, written: _Written) -> tuple[PartCounts, IntegerProgram] | None:
    """Return a good placement, and the program of placements that cost no more; None if none."""
    relaxation = relaxed(asked.case, written.found, written.problem)
    if relaxation is None:
        return None
    start = written.rounded(asked.case, relaxation.x)
    near = local_search(asked.case, start, free=asked.free)
    if near is None or not fits(asked.case, near) or math.isinf(asked.value(near).first):
        return None
    return near, fix_variables(written.problem, relaxation, asked.value(near).first)


def _solved(
    asked: _Asked, written: _Written, near: PartCounts | None, *, alike: bool
) -> Placement | None:
    """Return the best placement of a program, proved if time allows; `near` is a known one."""
    cuts = list[Row]()
    while True:
        least = least_time if asked.objective == THROUGHPUT else least_cost
        solved = least(written.problem, cuts, asked.until)
        if solved is None:
            return None
        spread = None if solved.x is None else written.spread(asked.case, solved.x)
        if spread is None or alike or fits(asked.case, spread):
            break
        cuts += _overfull(asked.case, written, solved.x)
    if spread is None or not solved.proven:
        those = [one for one in (spread, near) if one is not None]
        return _stopped(asked, min(those, key=asked.value, default=None), solved)
    if asked.objective == THROUGHPUT:
        spread = _cheapest(asked, written, spread, cuts)
    elif near is not None:
        spread = min(spread, near, key=asked.value)  # equal except for rounding
    best = asked.value(spread)
    return Placement(spread, best, best.first, proven=True)


def _stopped(asked: _Asked, spread: PartCounts | None, solved: Solved) -> Placement:
    """Improve the best placement found within the time limit by local search."""
    start = first_fit(asked.case, free=asked.free) if spread is None else spread
    if start is None:
        raise OutOfTime
    near = improved(asked.case, asked.objective, start, free=asked.free)
    best = asked.value(near)
    return Placement(near, best, min(solved.bound, best.first), proven=False)


def _cheapest(asked: _Asked, written: _Written, best: PartCounts, cuts: list[Row]) -> PartCounts:
    """Return the cheapest placement of the same throughput, if time is left."""
    within = asked.value(best).first * (1 + _SLACK)
    solved = least_cost(written.problem, cuts, asked.until, within)
    if solved is None or solved.x is None:
        return best
    other = written.spread(asked.case, solved.x)
    found = asked.value(other)
    better = found.first <= within * (1 + _SLACK) and found.second < asked.value(best).second
    return other if better and fits(asked.case, other) else best


def _overfull(case: Case, written: _Written, x: Floats | None) -> list[Row]:
    """Return rows that forbid the combination of parts on each overfull level."""
    rows = []
    for level, name in enumerate(case.card.levels):
        those = {
            at: written.found.units[unit].size
            for (unit, on), at in written.problem.placed.items()
            if on == level and x is not None and round(x[at])
        }
        if sum(those.values()) > case.card.capacity[name]:
            rows.append(Row(dict.fromkeys(those, 1.0), 0.0, len(those) - 1.0))
    return rows
