"""Lower bounds of the costs of decisions, and variables fixed by these bounds.

`least` replaces the capacity of each level by a price for each byte. Only copies then couple the
decisions of units, and copies are few. Units are eliminated one after the other; each leaves a
table over the units with which it exchanges copies (Bertele and Brioschi, Nonserial Dynamic
Programming, 1972; on trees, dynamic programming). On the way back, the least cost of all other
units completes each table. The result is the least cost of a solution for each unit and level, and
for both levels of a copy. It is exact at these prices, and a lower bound with capacities. Reduced
costs of the linear relaxation are weaker: they include the cost of a decision itself, but not the
cost that it causes for copies.

`relaxed` solves the linear relaxation, which has a price for each row. For any prices, the cost of
a solution is at least a bound calculated from them, plus the reduced cost of each variable times
its value (weak duality). A variable is 0 if it alone makes a solution more expensive than a known
placement (reduced-cost fixing; Nemhauser and Wolsey, Integer and Combinatorial Optimization, 1988,
section II.5.2). With the prices of room alone, `least` yields the exact least cost with a variable,
and fixes more variables. Both bounds are sums of doubles, calculated from prices that need not be
exact. The comparison with the placement has a margin larger than rounding errors.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.insights.placement.integer_program import IntegerProgram, matrix
from slowpath.insights.placement.problem import Case
from slowpath.insights.placement.units import Units

Floats = NDArray[np.float64]

_LARGEST = 200_000
"""Maximum number of entries of a table; `least` gives up if copies need a larger table."""


class Least(NamedTuple):
    """Least costs of solutions with a decision, at given prices of room."""

    alone: Floats
    """Least cost with a member of a unit on a level; infinite if it cannot be on this level."""
    both: dict[tuple[int, int], Floats]
    """Least cost with members of a pair of units on two levels, by pair."""


class _Step(NamedTuple):
    """A unit to eliminate, and its remaining neighbours, the next to eliminate first."""

    unit: int
    beside: tuple[int, ...]


class _Left(NamedTuple):
    """Tables that remain of an eliminated unit."""

    table: Floats
    """Cost of the unit and of units eliminated into it, by its level and those of neighbours."""
    message: Floats
    """Minimum of `table` over the unit's level, by the levels of the neighbours."""


def least(found: Units, prices: Floats, capacity: Sequence[int]) -> Least | None:
    """Return the least costs with a price per byte of each level; None if tables get too large."""
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
    """Eliminate the units one after the other, and return their tables."""
    left = dict[int, _Left]()
    to = dict[int, list[_Step]]()
    for step in steps:
        unit, beside = step
        table = _own(found, prices, step)
        for before in to.pop(unit, []):
            table = table + _spread(left[before.unit].message, before.beside, (unit, *beside))
        if (
            others := len(found.units[unit].members) - 1
        ):  # other members are on their cheapest level
            table = table + others * table.min(axis=0)
        left[unit] = _Left(table, table.min(axis=0))
        for after in beside[:1]:
            to.setdefault(after, []).append(step)
    return left


def _completed(left: _Left, rest: Floats) -> Floats:
    """Return a unit's table of total costs; `rest` has those by the levels of its neighbours."""
    known = np.isfinite(left.message)
    more = np.zeros_like(left.message)
    more[known] = rest[known] - left.message[known]
    return left.table + more


def _steps(found: Units, levels: int) -> list[_Step] | None:
    """Return the order of elimination; None if a table gets too large.

    Units with several members come first, as a neighbour copies with all members. Then units with
    few neighbours follow.
    """
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
    """Return the cost of one member with copies, by its level and those of its neighbours."""
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
    """Reshape a table over some units for more units, which have the same order."""
    levels = table.shape[0] if table.ndim else 1
    return table.reshape([levels if one in names else 1 for one in wanted])


_MARGIN = 1e-7
"""Margin for rounding errors, as a share of the known cost."""


class Relaxed(NamedTuple):
    """Solution of the linear relaxation of an integer program."""

    x: Floats
    """Values of the variables."""
    bound: float
    """Lower bound of the cost of all integer solutions."""
    least: Floats
    """By variable, lower bound of the cost of solutions in which the variable is 1 or more."""


def relaxed(case: Case, found: Units, problem: IntegerProgram) -> Relaxed | None:
    """Solve the relaxation of an integer program; None if it is infeasible or the solver fails."""
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


def fix_variables(problem: IntegerProgram, relaxation: Relaxed, known: float) -> IntegerProgram:
    """Fix variables to 0 that only occur in solutions more expensive than `known`."""
    margin = _MARGIN * (abs(known) + abs(relaxation.bound))
    most = np.array(problem.most)
    # Limits above 0 would help little, and cause repairs of solutions after HiGHS's presolve.
    most[relaxation.least > known + margin] = 0.0
    return problem._replace(most=most.tolist())
