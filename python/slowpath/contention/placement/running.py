"""Applies placement policies to sequences of arrivals, and compares them with the best plan.

The best plan uses the fewest NICs that keep all promises. A promise is the share of its solo
throughput that a function has to keep. It is broken if the function keeps less beside the functions
that are on its NIC at the end. SLA violations are the share of placed functions with broken
promises. Wastage is the number of NICs in use beyond those of the best plan, as a share of the
latter.

The paper searches exhaustively for the best plan. Here, a plan is a number of NICs for each mix. A
place (capacity for one function in a mix) that keeps a large promise also keeps smaller ones, so
promises of a function are nested. The places of a function suffice under two conditions (Hall's
theorem for nested sets). Their total equals the number of its arrivals. For each promise, at least
as many places keep it as there are arrivals with that or a larger promise. So the integer program
has a variable for each mix, and a constraint for each function and promise, for any number of
arrivals. HiGHS solves it.

The linear relaxation gives a lower bound. The first searches use only mixes with low reduced costs
in the relaxation. If a plan has as many NICs as the lower bound, no plan has fewer, and the search
over all mixes, which takes longer, is left out. The limit of a search is a number of nodes instead
of a time, so the same fleet always has the same plan.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

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
from slowpath.core import codes
from slowpath.core.arrays import Floats, Indices, Mask
from slowpath.core.errors import InputError
from slowpath.core.jobs.pool import Pool

_NEAREST = 1_000
"""Number of mixes in each of the first searches: those with the lowest reduced costs."""
_DRAWS = 4
"""Number of first searches. Each makes another random choice among mixes of equal costs."""
_WORK = 1_000_000
"""Limit of a search: its number of branch-and-bound nodes, times its number of mixes."""
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
        """True if the lower bound proves that no plan has fewer NICs."""
        return self.total == self.least


class _Problem(NamedTuple):
    """An integer program: minimise `sum(x)` with `equal @ x = wanted`, `places @ x >= needed`.

    Each variable is the number of NICs with one of the mixes. `equal` counts a mix's places by
    function, `places` by function and promise.
    """

    mixes: Indices
    equal: Floats
    wanted: Indices
    places: Floats
    needed: Indices


def fewest(shares: Shares, mixes: Sequence[Mix], arrivals: Arrivals) -> Plan | None:
    """Search for the plan that serves all arrivals and keeps their promises with the fewest NICs.

    NICs have one of the given mixes, which are in the table `shares`. Return None if no plan
    exists.
    """
    problem = _problem(shares, mixes, arrivals)
    relaxed = _relaxed(problem)
    if relaxed is None:
        return None
    plan = None
    for draw in range(_DRAWS if len(problem.mixes) > _NEAREST else 0):
        found = _solved(_part(problem, relaxed.nearest(draw)), relaxed.least)
        if found is not None and (plan is None or found.total < plan.total):
            plan = found._replace(least=relaxed.least)  # other mixes may make a better plan
            if plan.proven:
                return plan
    whole = _solved(problem, relaxed.least)
    if plan is None or whole is None:
        return whole if plan is None else plan
    return whole if whole.total <= plan.total else plan._replace(least=whole.least)


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


class _Relaxed(NamedTuple):
    """Solution of the linear relaxation of the search for the fewest NICs."""

    least: int  # lower bound on the number of NICs
    costs: Floats  # reduced cost of each variable; negative for those that every search uses

    def nearest(self, draw: int) -> Indices:
        """Return the indices of the variables with the lowest reduced costs.

        Ties are broken at random, with the seed `draw`.
        """
        dice = np.random.default_rng(draw)
        order = np.lexsort((dice.permutation(len(self.costs)), self.costs.round(9)))
        return np.sort(order[: max(_NEAREST, int((self.costs < 0).sum()))])


def _relaxed(problem: _Problem) -> _Relaxed | None:
    """Solve the linear relaxation of an integer program; return None if it has no solution."""
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
    if not found.success:
        return None
    # With functions alone on a NIC, some plan serves all arrivals.
    alone = problem.equal.sum(axis=0) == 1
    costs = np.where(alone | (found.x > _ROUNDING), -1.0, found.lower.marginals.clip(0.0))
    return _Relaxed(math.ceil(found.fun - _ROUNDING), costs)


def _part(problem: _Problem, variables: Indices) -> _Problem:
    """Return the problem with only the given variables."""
    return problem._replace(
        mixes=problem.mixes[variables],
        equal=problem.equal[:, variables],
        places=problem.places[:, variables],
    )


def _solved(problem: _Problem, least: int) -> Plan | None:
    from scipy.optimize import Bounds, LinearConstraint, milp

    mixes = len(problem.mixes)
    needs = np.maximum(problem.equal, 1)  # mixes without a function are not limited by it
    limits = np.where(problem.equal > 0, problem.wanted[:, None] // needs, np.inf)
    constraints = [
        LinearConstraint(problem.equal, problem.wanted, problem.wanted),
        LinearConstraint(np.ones((1, mixes)), least, np.inf),
    ]
    if len(problem.places):
        constraints.append(LinearConstraint(problem.places, problem.needed, np.inf))
    found = milp(
        np.ones(mixes),
        integrality=np.ones(mixes),
        bounds=Bounds(0, limits.min(axis=0)),
        constraints=constraints,
        options={"mip_rel_gap": 0.0, "node_limit": max(_WORK // mixes, 1)},
    )
    if found.x is None:
        return None
    nics = np.rint(found.x).astype(np.intp)
    used = np.flatnonzero(nics)
    bound = max(least, math.ceil(found.mip_dual_bound - _ROUNDING))
    return Plan(problem.mixes[used], nics[used], bound)


def assign(plan: Plan, shares: Shares, arrivals: Arrivals) -> Placement:
    """Assign each arrival to a NIC of the plan.

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
    """Shares of solo throughput that functions really keep, as measured or else as predicted."""

    shares: Shares
    predicted: PredictedShares | None  # None if measurements judge

    def known(self, mixes: Sequence[Mix]) -> set[Mix]:
        """Return the mixes for which throughput shares are known.

        If models are the source, missing mixes are predicted first.
        """
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
    """Return the final mix of functions on each NIC of a placement."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for nic, function in zip(placement.nic, arrivals.function, strict=True):
        if nic != TURNED_AWAY:
            found[int(nic)].append(int(function))
    return [tuple(sorted(found[at])) for at in range(placement.nics)]


def judge(placement: Placement, arrivals: Arrivals, source: Judge) -> Judged:
    """Compare the share of solo throughput that each arrival keeps with the promised share.

    `source` has the shares that functions keep.
    """
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
"""Maximum number of mixes that are predicted before the sequences, once for all processes."""


class SequenceInputs(NamedTuple):
    """Inputs that all sequences of arrivals share; they are sent to worker processes."""

    fleet: Fleet
    predicted: PredictedShares
    truth: GroundTruth | None
    policies: tuple[str, ...]
    reference: bool  # true if the best plan is needed
    expected: int | None = None  # number of arrivals announced to policies

    def judge(self) -> Judge:
        """Return the shares by which promises are judged: measured if given, else predicted."""
        if self.truth is None:
            return Judge(self.predicted.shares, self.predicted)
        return Judge(measured_shares(self.truth, len(self.fleet.functions)), None)


class Drawn(NamedTuple):
    """A random sequence of arrivals, given by its length and its seed."""

    length: int
    seed: tuple[int, int]


def run_drawn(
    inputs: SequenceInputs, sequences: Sequence[Drawn], pool: Pool
) -> list[SequenceOutcome]:
    """Place random sequences of arrivals by all policies, in parallel.

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

    If `each` is true, the result includes the NIC of each arrival.

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
            raise InputError(
                codes.PLAN_NOT_FOUND, inputs.fleet.file, "no plan found that keeps all promises"
            )
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
    """Return the plan with the fewest NICs; None if no plan keeps all promises.

    The plan uses only mixes whose throughput shares `source` knows.
    """
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
    """Return the mean results of each policy over all sequences."""
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
