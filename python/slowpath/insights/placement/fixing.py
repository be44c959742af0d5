"""Variables that no better placement uses, found before the solver begins.

The linear relaxation has a price for each row. Whatever these prices are, the cost of a solution is
no less than a bound that is calculated from them, plus the reduced cost of each variable times its
value (weak duality). With a placement that is known, variables are 0 of which one alone makes a
solution dearer than it (reduced-cost fixing; Nemhauser and Wolsey, Integer and Combinatorial
Optimization, 1988, section II.5.2). With the prices of room alone, what a variable makes a solution
cost at least is known exactly (`eliminating.py`), which shows it of more of them. Both are
calculated here, in sums of doubles, from prices that need not be exact, and held against the
placement with a margin that is larger than rounding.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.insights.placement.eliminating import least
from slowpath.insights.placement.problem import Case
from slowpath.insights.placement.programme import Programme, matrix
from slowpath.insights.placement.units import Units

Floats = NDArray[np.float64]

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
