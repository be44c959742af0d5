"""Applies policies to sequences of arrivals, and compares them with the best plan.

The best plan uses the fewest NICs that keep all promises.

A promise is broken if a function keeps less of its solo throughput than promised. The functions
on its NIC at the end are its competitors. SLA violations are the share of placed functions with
broken promises. Wastage is the number of NICs in use beyond those of the reference, the best plan
for all arrivals, as a share of the latter.

The paper searches exhaustively for the best plan. Here, a plan is a number of NICs for each mix. A
place that keeps a large promise also keeps smaller ones, so promises of a function are nested. The
places of a function suffice under two conditions (Hall's theorem for nested sets). Their total
equals the number of its arrivals. For each promise, at least as many places keep it as there are
arrivals with that or a larger promise. So the integer program has a variable for each mix, and a
constraint for each function and promise, for any number of arrivals. OR-tools' CP-SAT solves it.
The linear relaxation, solved by HiGHS, gives a lower bound for early termination. The limit counts
work instead of time, so the same fleet always has the same plan.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from slowpath.contention.placement.documents import (
    Placed,
    PolicyOutcome,
    PolicySummary,
    Reference,
    SequenceOutcome,
)
from slowpath.contention.placement.fleet import (
    Arrivals,
    Fleet,
    GroundTruth,
    Mix,
    counts_of,
    drawn,
    possible_mixes,
)
from slowpath.contention.placement.policies import TURNED_AWAY, Placement, place
from slowpath.contention.placement.shares import PredictedShares, Shares, measured_shares
from slowpath.core.arrays import Floats, Indices, Mask
from slowpath.core.errors import InputError
from slowpath.core.jobs.pool import Pool

_WORK = 20.0  # limit, in CP-SAT's deterministic seconds
_ROUNDING = 1e-6


class Plan(NamedTuple):
    """A placement plan: the mixes of functions on NICs, and the number of NICs with each mix."""

    mixes: Indices  # rows of the table of shares
    nics: Indices  # number of NICs with each mix
    least: int  # lower bound on the number of NICs of any plan

    @property
    def total(self) -> int:
        """Total number of NICs in the plan."""
        return int(self.nics.sum())

    @property
    def proven(self) -> bool:
        """Return true if no plan has fewer NICs, as the lower bound proves."""
        return self.total == self.least


class _Problem(NamedTuple):
    """An integer program: minimise `sum(x)` with `equal @ x = wanted`, `places @ x >= needed`."""

    mixes: Indices
    equal: Floats
    wanted: Indices
    places: Floats
    needed: Indices


def fewest(shares: Shares, mixes: Sequence[Mix], arrivals: Arrivals) -> Plan | None:
    """Return a plan with as few NICs as possible, composed of the given mixes of functions.

    All mixes are in the table `shares`. Return None if no plan serves all arrivals and keeps their
    promises.
    """
    problem = _problem(shares, mixes, arrivals)
    least = _relaxed(problem)
    if least is None:
        return None
    return _solved(problem, least)


def _problem(shares: Shares, mixes: Sequence[Mix], arrivals: Arrivals) -> _Problem:
    functions = shares.kept.shape[1]
    rows = shares.rows(mixes)
    counts = counts_of(mixes, functions)
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
    """Return a lower bound on the number of NICs, from the linear relaxation.

    Return None if the relaxation has no solution.
    """
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
    """Assign arrivals to the NICs of a plan.

    Arrivals with larger promises go to NICs where the function keeps more of its solo throughput.
    """
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
        arriving = np.flatnonzero(arrivals.function == function)
        wanted = arriving[np.argsort(-arrivals.sla[arriving], kind="stable")]
        where[wanted] = [at for _, at in places]
    return Placement(where, nic)


class Judge(NamedTuple):
    """Source of the throughput shares that functions really keep: measurements or models."""

    shares: Shares
    predicted: PredictedShares | None  # None if measurements judge

    def known(self, mixes: Sequence[Mix]) -> set[Mix]:
        """Return the mixes with known throughput shares, after predicting what models can."""
        if self.predicted is not None:
            self.predicted.fill(mixes)
        return set(mixes) - set(self.shares.missing(mixes))


class Judged(NamedTuple):
    """The share of solo throughput that each arrival keeps, and whether its promise is broken."""

    kept: Floats  # share of its solo throughput; NaN if unknown
    throughput: Floats
    broken: Mask  # true if the kept share is less than promised

    @property
    def violations(self) -> float | None:
        """Share of broken promises among arrivals with known throughput; None without any."""
        count = int(np.isfinite(self.kept).sum())
        return float(self.broken.sum() / count) if count else None


def mixes_of(placement: Placement, arrivals: Arrivals) -> list[Mix]:
    """Return, for each NIC, the mix of functions that it has after all placements."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for nic, function in zip(placement.nic, arrivals.function, strict=True):
        if nic != TURNED_AWAY:
            found[int(nic)].append(int(function))
    return [tuple(sorted(found[at])) for at in range(placement.nics)]


def judge(placement: Placement, arrivals: Arrivals, source: Judge) -> Judged:
    """Compare the throughput share that each arrival keeps with the promised share."""
    mixes = mixes_of(placement, arrivals)
    known = source.known(mixes)
    count = len(arrivals.function)
    kept, throughput = np.full(count, np.nan), np.full(count, np.nan)
    rows = [source.shares.row(mix) if mix in known else TURNED_AWAY for mix in mixes]
    for at, (nic, function) in enumerate(zip(placement.nic, arrivals.function, strict=True)):
        if nic != TURNED_AWAY and rows[nic] != TURNED_AWAY:
            kept[at] = source.shares.kept[rows[nic], function]
            throughput[at] = source.shares.throughput[rows[nic], function]
    return Judged(kept, throughput, kept < arrivals.sla)


OPTIMAL = "optimal"
"""Name of the policy that knows all arrivals in advance."""

_AHEAD = 20_000
"""Maximum number of mixes that are predicted in advance, once for all processes."""


class SequenceInputs(NamedTuple):
    """Inputs that are the same for all sequences of arrivals; they are sent to worker processes."""

    fleet: Fleet
    predicted: PredictedShares
    truth: GroundTruth | None
    policies: tuple[str, ...]
    reference: bool  # true if the best plan is needed
    expected: int | None = None  # number of arrivals announced to policies

    def judge(self) -> Judge:
        """Return the source of throughput shares that decides whether promises are kept."""
        if self.truth is None:
            return Judge(self.predicted.shares, self.predicted)
        return Judge(measured_shares(self.truth, len(self.fleet.functions)), None)


class Drawn(NamedTuple):
    """Length and random seed of a random sequence of arrivals."""

    length: int
    seed: tuple[int, int]


def run_drawn(
    inputs: SequenceInputs, sequences: Sequence[Drawn], pool: Pool
) -> list[SequenceOutcome]:
    """Run random sequences of arrivals under all policies.

    Raises:
        InputError: if so many mixes of functions fit on a NIC that the best plan cannot be
            computed.
        UnavailableError: if workers die repeatedly.
    """
    try:
        mixes = possible_mixes(inputs.fleet)
    except InputError:
        if inputs.reference or OPTIMAL in inputs.policies:
            raise
        mixes = []
    if len(mixes) <= _AHEAD:
        inputs.predicted.fill(mixes, pool)
    return pool.map(_run_drawn, inputs, sequences)


def _run_drawn(inputs: SequenceInputs, sequence: Drawn) -> SequenceOutcome:
    return run(inputs, drawn(inputs.fleet, sequence.length, sequence.seed), each=False)


def run(inputs: SequenceInputs, arrivals: Arrivals, *, each: bool = True) -> SequenceOutcome:
    """Place a sequence of arrivals by each policy, and compare the results with the best plan.

    If `each` is true, the outcome includes the NIC of each arrival.

    Raises:
        InputError: if so many mixes of functions fit on a NIC that the best plan cannot be
            computed, or no plan keeps all promises.
    """
    source = inputs.judge()
    planned = None
    if OPTIMAL in inputs.policies or (inputs.reference and inputs.truth is None):
        planned = _planned(inputs, arrivals, Judge(inputs.predicted.shares, inputs.predicted))
    best = planned if inputs.truth is None else None
    if inputs.reference and inputs.truth is not None:
        best = _planned(inputs, arrivals, source)
    outcomes = []
    for policy in inputs.policies:
        if policy != OPTIMAL:
            placement = place(inputs.fleet, arrivals, policy, inputs.predicted, inputs.expected)
        elif planned is None:
            raise InputError(inputs.fleet.file, "no plan was found in which all promises are kept")
        else:
            placement = assign(planned, inputs.predicted.shares, arrivals)
        found = judge(placement, arrivals, source)
        outcome = _outcome(policy, placement, found, best if inputs.reference else None)
        if each:
            outcome["placed"] = _placed(inputs.fleet, arrivals, placement, found)
        outcomes.append(outcome)
    reference: Reference | None = None
    if best is not None and inputs.reference:
        reference = {"nics": best.total, "least": best.least}
    return {"arrivals": len(arrivals.function), "reference": reference, "policies": outcomes}


def _planned(inputs: SequenceInputs, arrivals: Arrivals, source: Judge) -> Plan | None:
    """Return the plan with the fewest NICs, from mixes whose throughput `source` knows; or None."""
    counts = np.bincount(arrivals.function, minlength=len(inputs.fleet.functions))
    mixes = possible_mixes(inputs.fleet, counts)
    known = source.known(mixes)
    return fewest(source.shares, [mix for mix in mixes if mix in known], arrivals)


def _outcome(policy: str, placement: Placement, found: Judged, best: Plan | None) -> PolicyOutcome:
    away = int((placement.nic == TURNED_AWAY).sum())
    return {
        "policy": policy,
        "nics": placement.nics,
        "wastage": None if best is None or away else placement.nics / best.total - 1,
        "violations": found.violations,
        "unjudged": int(np.isnan(found.kept).sum()) - away,
        "turned_away": away,
        "placed": None,
    }


def _placed(fleet: Fleet, arrivals: Arrivals, placement: Placement, found: Judged) -> list[Placed]:
    return [
        {
            "row": row,
            "function": fleet.names[arrivals.function[at]],
            "sla": float(arrivals.sla[at]),
            "nic": None if placement.nic[at] == TURNED_AWAY else int(placement.nic[at]) + 1,
            "throughput": _known(found.throughput[at]),
            "kept": _known(found.kept[at]),
            "broken": bool(found.broken[at]),
        }
        for at, row in enumerate(arrivals.rows)
    ]


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def summary(sequences: Sequence[SequenceOutcome]) -> list[PolicySummary]:
    """Return, for each policy, the means of its results over all sequences."""
    by_policy = dict[str, list[PolicyOutcome]]()
    for sequence in sequences:
        for one in sequence["policies"]:
            by_policy.setdefault(one["policy"], []).append(one)
    return [
        {
            "policy": policy,
            "nics": _mean([one["nics"] for one in found]) or 0.0,
            "wastage": _mean([one["wastage"] for one in found]),
            "violations": _mean([one["violations"] for one in found]),
            "unjudged": _mean([one["unjudged"] for one in found]) or 0.0,
            "turned_away": _mean([one["turned_away"] for one in found]) or 0.0,
        }
        for policy, found in by_policy.items()
    ]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return float(np.mean(known)) if known else None
