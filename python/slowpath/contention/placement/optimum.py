"""The fewest NICs that keep all promises, with arrivals known.

The paper searches exhaustively. Here a plan says how many NICs have each mix. Who keeps more than
somebody was promised keeps that, too, so promises of a function are nested: its places in all NICs
are enough if, for each promise, there are at least as many places that keep it as arrivals that
want so much or more (Hall's theorem for nested sets), and as many places in all as arrivals. So
there is an integer variable for each mix, and a row for each function and promise, whatever the
number of arrivals. OR-tools' CP-SAT solves that; the linear relaxation, by HiGHS, is where it may
stop. Work is counted, not timed: the same fleet has the same plan.
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

_WORK = 20.0  # of CP-SAT's deterministic seconds
_ROUNDING = 1e-6


class Plan(NamedTuple):
    """Which mixes there are on how many NICs."""

    mixes: Places  # rows of the table of shares
    nics: Places  # on how many NICs each
    least: int  # no plan has fewer NICs in all

    @property
    def total(self) -> int:
        """NICs in all."""
        return int(self.nics.sum())

    @property
    def proven(self) -> bool:
        """Whether no plan is better."""
        return self.total == self.least


class _Problem(NamedTuple):
    """`equal @ x = wanted`, `places @ x >= needed`, x whole and as few as possible in all."""

    mixes: Places
    equal: Floats
    wanted: Places
    places: Floats
    needed: Places


def fewest(shares: Shares, mixes: Sequence[Mix], arrivals: Arrivals) -> Plan | None:
    """A plan with as few NICs as can be found, of mixes whose shares are known.

    None where these do not suffice to place everybody.
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
    # Places that nobody wants do not exist: a mix has all of its functions, or is another mix.
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
    """A number of NICs that no plan is below; None where there is no plan."""
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


def carried_out(plan: Plan, shares: Shares, arrivals: Arrivals) -> Placement:
    """The plan, with each arrival in its place: the larger promise where more is kept."""
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
