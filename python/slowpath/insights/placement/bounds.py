"""Lower bounds of decisions, and variables fixed by them.

With a price for each byte of a level, the decisions of units depend on each other by copies alone,
and these are few: units are taken out one after the other, each leaving a table over those that it
copies with (Bertele and Brioschi, Nonserial Dynamic Programming, 1972; on trees, dynamic
programming). On the way back each table is completed by what the rest costs at least. So for each
unit and level, and for both levels of a copy, the least cost of a solution that has this is known,
at these prices exactly; with limits it costs no less. Reduced costs of the linear relaxation are
weaker: they count what a decision itself costs, not what it makes its copies cost.

The linear relaxation has a price for each row. Whatever these prices are, the cost of a solution is
no less than a bound that is calculated from them, plus the reduced cost of each variable times its
value (weak duality). With a placement that is known, variables are 0 of which one alone makes a
solution dearer than it (reduced-cost fixing; Nemhauser and Wolsey, Integer and Combinatorial
Optimization, 1988, section II.5.2). With the prices of room alone, what a variable makes a solution
cost at least is known exactly (`eliminating.py`), which shows it of more of them. Both are
calculated here, in sums of doubles, from prices that need not be exact, and held against the
placement with a margin that is larger than rounding.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.insights.placement.integer_program import Programme, matrix
from slowpath.insights.placement.problem import Case
from slowpath.insights.placement.units import Units

Floats = NDArray[np.float64]

_LARGEST = 200_000
"""Entries of a table; where copies need a larger one, nothing is calculated."""


class Least(NamedTuple):
    """The least cost of solutions, at prices of room."""

    alone: Floats
    """By unit and level, of those that have a member there; infinite where none can be."""
    both: dict[tuple[int, int], Floats]
    """By pair of units, of those that have members on two levels."""


class _Step(NamedTuple):
    """A unit that is taken out, and those that it then still copies with, the next one first."""

    unit: int
    beside: tuple[int, ...]


class _Left(NamedTuple):
    """What is left of a unit when it is taken out."""

    table: Floats
    """What it and those before it cost, by its level and those of the units beside it."""
    message: Floats
    """The least of that, by the levels of the units beside it."""


def least(found: Units, prices: Floats, capacity: Sequence[int]) -> Least | None:
    """Of all decisions, with a price for each byte by level; None where tables are too large."""
    steps = _steps(found, len(prices))
    if steps is None:
        return None
    left = _taken_out(found, prices, steps)
    room = float(prices @ np.array(capacity, dtype=float))
    total = sum(float(left[step.unit].message) for step in steps if not step.beside)
    after = {step.unit: step.beside for step in steps}
    whole = dict[int, Floats]()
    alone = np.empty((len(found.units), len(prices)))
    both = dict[tuple[int, int], Floats]()
    for unit, beside in reversed(steps):
        rest = np.array(total)
        if beside:
            names = (beside[0], *after[beside[0]])
            without = tuple(at for at, name in enumerate(names) if name not in beside)
            rest = whole[beside[0]].min(axis=without)
        table = _completed(left[unit], rest)
        whole[unit] = table
        others = [*range(1, table.ndim)]
        alone[unit] = table.min(axis=tuple(others)) - room
        for other, at in zip(beside, others, strict=True):
            costs = table.min(axis=tuple(one for one in others if one != at)) - room
            if (unit, other) in found.pairs:
                both[unit, other] = costs
            elif (other, unit) in found.pairs:
                both[other, unit] = costs.T
    return Least(alone, both)


def _taken_out(found: Units, prices: Floats, steps: Sequence[_Step]) -> dict[int, _Left]:
    """By unit, one after the other."""
    left = dict[int, _Left]()
    to = dict[int, list[_Step]]()
    for step in steps:
        unit, beside = step
        table = _own(found, prices, step)
        for before in to.pop(unit, []):
            table = table + _spread(left[before.unit].message, before.beside, (unit, *beside))
        if others := len(found.units[unit].members) - 1:  # are where they cost least
            table = table + others * table.min(axis=0)
        left[unit] = _Left(table, table.min(axis=0))
        for after in beside[:1]:
            to.setdefault(after, []).append(step)
    return left


def _completed(left: _Left, rest: Floats) -> Floats:
    """A table with everything in it, of what all costs at least by the levels beside the unit."""
    known = np.isfinite(left.message)
    more = np.zeros_like(left.message)
    more[known] = rest[known] - left.message[known]
    return left.table + more


def _steps(found: Units, levels: int) -> list[_Step] | None:
    """Units of many members first, as others copy with all of them; then those with few copies."""
    near: dict[int, set[int]] = {unit: set() for unit in range(len(found.units))}
    for one, other in found.pairs:
        near[one].add(other)
        near[other].add(one)
    order = list[tuple[int, set[int]]]()
    while near:
        unit = min(near, key=lambda at: (len(found.units[at].members) == 1, len(near[at]), at))
        beside = near.pop(unit)
        if levels ** (1 + len(beside)) > _LARGEST:
            return None
        for other in beside:
            near[other] |= beside - {other}
            near[other].discard(unit)
        order.append((unit, beside))
    when = {unit: at for at, (unit, _) in enumerate(order)}
    return [_Step(unit, tuple(sorted(beside, key=when.__getitem__))) for unit, beside in order]


def _own(found: Units, prices: Floats, step: _Step) -> Floats:
    """What one member costs, with copies, by its level and those of the units beside it."""
    unit, beside = step
    levels = len(prices)
    cost = found.units[unit].cost + found.units[unit].size * prices
    table = np.broadcast_to(cost.reshape(levels, *[1] * len(beside)), (levels,) * (1 + len(beside)))
    for other in beside:
        copies = found.pairs.get((unit, other))
        if copies is None:
            back = found.pairs.get((other, unit))
            copies = None if back is None else back.T
        if copies is not None:
            table = table + _spread(copies, (unit, other), (unit, *beside))
    return table


def _spread(table: Floats, names: tuple[int, ...], wanted: tuple[int, ...]) -> Floats:
    """A table over some units as one over more, which are in the same order."""
    levels = table.shape[0] if table.ndim else 1
    return table.reshape([levels if one in names else 1 for one in wanted])


_MARGIN = 1e-7
"""Of the cost that is known: what rounding may be wrong by."""


class Relaxed(NamedTuple):
    """The linear relaxation of a programme."""

    x: Floats
    """Its solution."""
    bound: float
    """No solution of the programme costs less."""
    least: Floats
    """By variable, no solution in which it is 1 or more costs less."""


def relaxed(case: Case, found: Units, problem: Programme) -> Relaxed | None:
    """The relaxation of a programme; None where it has no solution, or the solver gives up."""
    from scipy.optimize import linprog

    cost = np.zeros(len(problem.most))
    cost[list(problem.cost)] = list(problem.cost.values())
    scale = float(np.max(cost, initial=0.0)) or 1.0
    rows = matrix(problem.rows, len(cost))
    low = np.array([row.least for row in problem.rows])
    most = np.array([row.most for row in problem.rows])
    same = low == most
    solved = linprog(
        cost / scale,
        A_ub=rows[~same],
        b_ub=most[~same],
        A_eq=rows[same],
        b_eq=most[same],
        bounds=np.column_stack((np.zeros(len(cost)), problem.most)),
        method="highs-ds",
    )
    if solved.status != 0:
        return None
    prices = np.zeros(len(most))
    prices[~same] = np.minimum(solved.ineqlin.marginals, 0.0)
    prices[same] = solved.eqlin.marginals
    reduced = cost - scale * (rows.T @ prices)
    limits = np.array(problem.most)
    bound = scale * float(most @ prices) + float(np.minimum(reduced, 0.0) @ limits)
    costs = bound + np.maximum(reduced, 0.0)
    room = np.zeros(len(case.card.levels))
    for row, levels in problem.room.items():
        room[[*levels]] -= scale * prices[row]
    decisions = least(found, room, [case.card.capacity[level] for level in case.card.levels])
    if decisions is not None:
        for decision, at in problem.placed.items():
            costs[at] = max(costs[at], decisions.alone[decision])
        for pair, joint in problem.together.items():
            for levels, at in joint.items():
                costs[at] = max(costs[at], decisions.both[pair][levels])
    return Relaxed(solved.x, bound, costs)


def limited(problem: Programme, relaxation: Relaxed, known: float) -> Programme:
    """A programme that has all solutions which cost no more than `known`, and fewer others."""
    margin = _MARGIN * (abs(known) + abs(relaxation.bound))
    most = np.array(problem.most)
    # Limits above 0 would help little, and make HiGHS repair what its presolve finds.
    most[relaxation.least > known + margin] = 0.0
    return problem._replace(most=most.tolist())
