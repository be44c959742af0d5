"""Computes lower bounds of the cost of placements, and fixes variables that the bounds decide.

A placement decides on which memory level the members of each unit are; a unit consists of equal
parts of data structures. `least` replaces the capacity of each level by a price for each byte. Then
only copies couple the decisions of units, and copies are few. Units are eliminated one by one; each
leaves a table over the units with which it exchanges copies (Bertele and Brioschi, Nonserial
Dynamic Programming, 1972; on trees, dynamic programming). A backward pass adds the least cost of
all other units to each table. The result is the least cost of a solution for each unit and level,
and for both levels of a copy. It is exact at these prices, and a lower bound with capacities.
Reduced costs of the linear relaxation are weaker: they ignore the copies that a decision causes.

`relaxed` solves the linear relaxation, which has a price for each row. For any prices, the cost of
a solution is at least a bound, plus the reduced cost of each variable times its value (weak
duality). A variable is 0 if it alone makes a solution more expensive than a known placement
(reduced-cost fixing; Nemhauser and Wolsey, Integer and Combinatorial Optimization, 1988, section
II.5.2). `least`, with only the prices of capacity rows, fixes more variables. Both bounds are sums
of doubles, so the comparison with the placement has a margin larger than rounding errors.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats
from slowpath.insights.placement.integer_program import IntegerProgram, matrix
from slowpath.insights.placement.problem import Case, Units

_LARGEST = 200_000
"""Maximum number of entries of a table; `least` gives up if copies need a larger table."""


class Least(NamedTuple):
    """Lower bounds of the cost of placements that contain a given decision.

    A decision is the memory level of a unit (set of equal parts), or the levels of two units with
    copies between them. In place of limited capacities, each byte on a level has a price.
    """

    alone: Floats
    """Least cost if one part of a unit is on a level, by unit and level; infinite if impossible."""
    both: dict[tuple[int, int], Floats]
    """Least cost if parts of two units are on two levels, by pair of units, then by both levels."""


class _Step(NamedTuple):
    """One step of the elimination: the unit to eliminate, and its neighbours that still remain.

    A unit is a set of equal parts of structures. Neighbours are units with which it exchanges
    copies, in the order of their elimination.
    """

    unit: int
    neighbours: tuple[int, ...]


class _Tables(NamedTuple):
    """Cost tables of an eliminated unit, by the memory levels of the unit and of its neighbours.

    A unit is a set of equal parts of structures. Neighbours exchange copies with the unit.
    """

    table: Floats
    """Cost of the unit and of the earlier units that it represents, by levels of the unit and of
    its neighbours."""
    message: Floats
    """Minimum of `table` over the unit's level, by the levels of neighbours."""


def least(found: Units, prices: Floats, capacity: Sequence[int]) -> Least | None:
    """Return a lower bound of the cost for each decision; None if the tables get too large.

    A decision puts a unit (set of equal parts) on a memory level, or two units with copies between
    them on two levels.

    Args:
        found: units to place.
        prices: price per byte for each level, in place of the limited capacity.
        capacity: capacity of each level in bytes.
    """
    steps = _steps(found, len(prices))
    if steps is None:
        return None
    tables = _eliminated(found, prices, steps)
    room = float(prices @ np.array(capacity, dtype=float))
    total = sum(float(tables[step.unit].message) for step in steps if not step.neighbours)
    next_units = {step.unit: step.neighbours for step in steps}
    whole = dict[int, Floats]()
    alone = np.empty((len(found.units), len(prices)))
    both = dict[tuple[int, int], Floats]()
    for unit, neighbours in reversed(steps):
        rest = np.array(total)
        if neighbours:
            names = (neighbours[0], *next_units[neighbours[0]])
            others_of_next = tuple(at for at, name in enumerate(names) if name not in neighbours)
            rest = whole[neighbours[0]].min(axis=others_of_next)
        table = _completed(tables[unit], rest)
        whole[unit] = table
        others = [*range(1, table.ndim)]
        alone[unit] = table.min(axis=tuple(others)) - room
        for other, at in zip(neighbours, others, strict=True):
            costs = table.min(axis=tuple(one for one in others if one != at)) - room
            if (unit, other) in found.pairs:
                both[unit, other] = costs
            elif (other, unit) in found.pairs:
                both[other, unit] = costs.T
    return Least(alone, both)


def _eliminated(found: Units, prices: Floats, steps: Sequence[_Step]) -> dict[int, _Tables]:
    """Eliminate the units one by one, and return the cost tables of each unit.

    A unit is a set of equal parts of structures; `steps` has the order.
    """
    tables = dict[int, _Tables]()
    arriving = dict[int, list[_Step]]()
    for step in steps:
        unit, neighbours = step
        table = _own_cost(found, prices, step)
        for before in arriving.pop(unit, []):
            table = table + _spread(
                tables[before.unit].message, before.neighbours, (unit, *neighbours)
            )
        others = len(found.units[unit].members) - 1
        if others:  # they are on their cheapest level; table may have infinite costs
            table = table + others * table.min(axis=0)
        tables[unit] = _Tables(table, table.min(axis=0))
        for after in neighbours[:1]:
            arriving.setdefault(after, []).append(step)
    return tables


def _completed(tables: _Tables, rest: Floats) -> Floats:
    """Return the total cost of all units by the levels of one unit and of its neighbours.

    A unit is a set of equal parts of structures. `tables` has the cost of the unit itself, and
    `rest` the total costs by the levels of its neighbours.
    """
    known = np.isfinite(tables.message)
    rest_of_others = np.zeros_like(tables.message)
    rest_of_others[known] = rest[known] - tables.message[known]
    return tables.table + rest_of_others


def _steps(found: Units, levels: int) -> list[_Step] | None:
    """Return the order in which to eliminate units; None if a table would get too large.

    A unit is a set of equal parts of structures. Units with several parts come first, because their
    neighbours have copies with each part. Then units with few neighbours follow.
    """
    graph: dict[int, set[int]] = {unit: set() for unit in range(len(found.units))}
    for one, other in found.pairs:
        graph[one].add(other)
        graph[other].add(one)
    order = list[tuple[int, set[int]]]()
    while graph:
        unit = min(graph, key=lambda at: (len(found.units[at].members) == 1, len(graph[at]), at))
        neighbours = graph.pop(unit)
        if levels ** (1 + len(neighbours)) > _LARGEST:
            return None
        for other in neighbours:
            graph[other] |= neighbours - {other}
            graph[other].discard(unit)
        order.append((unit, neighbours))
    position = {unit: at for at, (unit, _) in enumerate(order)}
    return [
        _Step(unit, tuple(sorted(neighbours, key=position.__getitem__)))
        for unit, neighbours in order
    ]


def _own_cost(found: Units, prices: Floats, step: _Step) -> Floats:
    """Return the cost of one part of a unit, including copies to and from neighbouring units.

    A unit is a set of equal parts of structures. The dimensions of the result are the memory level
    of the unit, and of each neighbour.
    """
    unit, neighbours = step
    levels = len(prices)
    cost = found.units[unit].cost + found.units[unit].size * prices
    table = np.broadcast_to(
        cost.reshape(levels, *[1] * len(neighbours)), (levels,) * (1 + len(neighbours))
    )
    for other in neighbours:
        copies = found.pairs.get((unit, other))
        if copies is None:
            reverse = found.pairs.get((other, unit))
            copies = None if reverse is None else reverse.T
        if copies is not None:
            table = table + _spread(copies, (unit, other), (unit, *neighbours))
    return table


def _spread(table: Floats, names: tuple[int, ...], axes: tuple[int, ...]) -> Floats:
    """Reshape a cost table so that NumPy broadcasts it over further units.

    The dimensions of `table` belong to the units `names`, and those of the result to all units in
    `axes`.
    """
    levels = table.shape[0] if table.ndim else 1
    return table.reshape([levels if one in names else 1 for one in axes])


_MARGIN = 1e-7
"""Allowance for rounding errors, relative to the known cost."""


class Relaxed(NamedTuple):
    """Solution of the linear relaxation of an integer program, with the bounds that follow."""

    x: Floats
    """Values of the variables."""
    bound: float
    """Lower bound of the cost of all integer solutions."""
    least: Floats
    """Lower bound of the cost of solutions in which a variable is at least 1, by variable."""


def relaxed(case: Case, found: Units, problem: IntegerProgram) -> Relaxed | None:
    """Solve the linear relaxation of an integer program for the placement problem `case`.

    Return None if it is infeasible or the solver fails.
    """
    from scipy.optimize import linprog

    cost = np.zeros(len(problem.most))
    cost[list(problem.cost)] = list(problem.cost.values())
    scale = float(np.max(cost, initial=0.0)) or 1.0
    rows = matrix(problem.rows, len(cost))
    low = np.array([row.least for row in problem.rows])
    most = np.array([row.most for row in problem.rows])
    equal = low == most
    solved = linprog(
        cost / scale,
        A_ub=rows[~equal],
        b_ub=most[~equal],
        A_eq=rows[equal],
        b_eq=most[equal],
        bounds=np.column_stack((np.zeros(len(cost)), problem.most)),
        method="highs-ds",
    )
    if solved.status != 0:
        return None
    prices = np.zeros(len(most))
    prices[~equal] = np.minimum(solved.ineqlin.marginals, 0.0)
    prices[equal] = solved.eqlin.marginals
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
    """Fix to 0 each variable that cannot be positive in a solution that costs at most `known`.

    `known` is the cost of a known placement. Return the simplified program.
    """
    margin = _MARGIN * (abs(known) + abs(relaxation.bound))
    most = np.array(problem.most)
    # Smaller limits above 0 would help little: HiGHS must repair such solutions after its presolve.
    most[relaxation.least > known + margin] = 0.0
    return problem._replace(most=most.tolist())
