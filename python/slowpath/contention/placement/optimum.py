"""The fewest NICs that keep all promises, for known arrivals.

The paper searches exhaustively. Here, a plan is a number of NICs for each mix. A place that keeps a
large promise also keeps smaller ones, so promises of a function are nested. The places of a
function suffice under two conditions (Hall's theorem for nested sets). Their total equals the
number of its arrivals. For each promise, at least as many places keep it as there are arrivals with
that or a larger promise. So the integer program has a variable for each mix, and a constraint for
each function and promise, for any number of arrivals. OR-tools' CP-SAT solves it. The linear
relaxation, solved by HiGHS, gives a lower bound for early termination. The limit counts work
instead of time, so the same fleet always has the same plan.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.placement.fleet import Arrivals, Mix
from slowpath.contention.placement.policies import Placement
from slowpath.contention.placement.shares import Shares

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

_WORK = 20.0  # limit, in CP-SAT's deterministic seconds
_ROUNDING = 1e-6


class Plan(NamedTuple):
    """Mixes of NICs."""

    mixes: Places  # rows of the table of shares
    nics: Places  # number of NICs with each mix
    least: int  # lower bound on the number of NICs of any plan

    @property
    def total(self) -> int:
        """Total number of NICs."""
        return int(self.nics.sum())

    @property
    def proven(self) -> bool:
        """Return true if the plan is proved optimal."""
        return self.total == self.least


class _Problem(NamedTuple):
    """Minimise the sum of integers `x`, with `equal @ x = wanted` and `places @ x >= needed`."""

    mixes: Places
    equal: Floats
    wanted: Places
    places: Floats
    needed: Places


def fewest(shares: Shares, mixes: Sequence[Mix], arrivals: Arrivals) -> Plan | None:
    """Return a plan with as few NICs as possible, from mixes with known shares.

    Returns None if these mixes cannot hold all arrivals.
    """
    problem = _problem(shares, mixes, arrivals)
    least = _relaxed(problem)
    if least is None:
        return None
    return _solved(problem, least)


def _problem(shares: Shares, mixes: Sequence[Mix], arrivals: Arrivals) -> _Problem:
    functions = shares.kept.shape[1]
    rows = np.array([shares.place(mix) for mix in mixes], dtype=np.intp)
    counts = np.zeros((len(mixes), functions))
    for at, mix in enumerate(mixes):
        for function in mix:
            counts[at, function] += 1
    kept = shares.kept[rows]
    least = np.full(functions, np.inf)
    np.minimum.at(least, arrivals.function, arrivals.sla)
    # All places of a mix are used: with fewer functions, it would be another mix.
    usable = np.flatnonzero(((kept >= least) | (counts == 0)).all(axis=1))
    counts, kept = counts[usable], kept[usable]
    places, needed = [], []
    for function in np.unique(arrivals.function):
        promises = arrivals.sla[arrivals.function == function]
        for promise in np.unique(promises)[1:]:
            places.append(counts[:, function] * (kept[:, function] >= promise))
            needed.append(int((promises >= promise).sum()))
    return _Problem(
        rows[usable],
        counts.T,
        np.bincount(arrivals.function, minlength=functions),
        np.array(places).reshape(len(needed), len(usable)),
        np.array(needed, dtype=np.intp),
    )


def _relaxed(problem: _Problem) -> int | None:
    """Return a lower bound on the number of NICs; None without any plan."""
    from scipy.optimize import linprog

    if not len(problem.mixes):
        return None
    found = linprog(
        np.ones(len(problem.mixes)),
        A_ub=-problem.places if len(problem.places) else None,
        b_ub=-problem.needed if len(problem.places) else None,
        A_eq=problem.equal,
        b_eq=problem.wanted,
        method="highs",
    )
    return math.ceil(found.fun - _ROUNDING) if found.success else None


def _solved(problem: _Problem, least: int) -> Plan | None:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = []
    for at in range(len(problem.mixes)):
        needs = problem.equal[:, at]
        most = min(problem.wanted[f] // int(needs[f]) for f in np.flatnonzero(needs))
        x.append(model.new_int_var(0, int(most), f"x{at}"))
    for weights, wanted in zip(problem.equal, problem.wanted, strict=True):
        model.add(_total(x, weights) == int(wanted))
    for weights, needed in zip(problem.places, problem.needed, strict=True):
        model.add(_total(x, weights) >= int(needed))
    model.add(sum(x) >= least)
    model.minimize(sum(x))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = _WORK
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    nics = np.array([solver.value(one) for one in x], dtype=np.intp)
    used = np.flatnonzero(nics)
    bound = max(least, math.ceil(solver.best_objective_bound - _ROUNDING))
    return Plan(problem.mixes[used], nics[used], bound)


def _total(x: Sequence[Any], weights: Floats) -> Any:  # noqa: ANN401 - OR-tools' expressions
    return sum(int(weights[at]) * x[at] for at in map(int, np.flatnonzero(weights)))


def assign(plan: Plan, shares: Shares, arrivals: Arrivals) -> Placement:
    """Assign arrivals to the places of a plan: larger promises to places that keep more."""
    slots: dict[int, list[tuple[float, int]]] = {}
    nic = 0
    for row, count in zip(plan.mixes, plan.nics, strict=True):
        for _ in range(count):
            for function in shares.mixes[row]:
                kept = float(shares.kept[row, function])
                slots.setdefault(function, []).append((-kept, nic))
            nic += 1
    where = np.zeros(len(arrivals.function), dtype=np.intp)
    for function, places in slots.items():
        places.sort()
        those = np.flatnonzero(arrivals.function == function)
        wanted = those[np.argsort(-arrivals.sla[those], kind="stable")]
        where[wanted] = [at for _, at in places]
    return Placement(where, nic)
