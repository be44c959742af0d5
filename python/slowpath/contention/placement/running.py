"""Sequences of arrivals under policies, judged in a pool of processes.

A promise is broken if a function keeps less of its solo throughput than promised, beside the final
functions of its NIC. SLA violations are the share of placed functions with broken promises. Wastage
is the number of NICs in use beyond those of the reference, the best plan for all arrivals, as a
share of the latter.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    drawn,
    possible_mixes,
)
from slowpath.contention.placement.optimum import Plan, assign, fewest
from slowpath.contention.placement.policies import TURNED_AWAY, Placement, row_of
from slowpath.contention.placement.shares import PredictedShares, Shares, measured_shares
from slowpath.core.errors import InputError
from slowpath.core.jobs.pool import Pool

Floats = NDArray[np.float64]


class Judge(NamedTuple):
    """The source of the shares that functions really keep: measured, or else predicted."""

    shares: Shares
    predicted: PredictedShares | None  # predictions, if models judge

    def known(self, mixes: Sequence[Mix]) -> set[Mix]:
        """Return the mixes with known shares."""
        if self.predicted is not None:
            self.predicted.fill(mixes)
        return set(mixes) - set(self.shares.missing(mixes))


class Judged(NamedTuple):
    """Results by arrival."""

    kept: Floats  # share of its solo throughput; NaN if unknown
    throughput: Floats
    broken: NDArray[np.bool_]  # true if the kept share is less than promised

    @property
    def violations(self) -> float | None:
        """Share of functions with broken promises among those with known shares."""
        count = int(np.isfinite(self.kept).sum())
        return float(self.broken.sum() / count) if count else None


def mixes_of(placement: Placement, arrivals: Arrivals) -> list[Mix]:
    """Return the final mix of each NIC."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for nic, function in zip(placement.nic, arrivals.function, strict=True):
        if nic != TURNED_AWAY:
            found[int(nic)].append(int(function))
    return [tuple(sorted(found[at])) for at in range(placement.nics)]


def judge(placement: Placement, arrivals: Arrivals, by: Judge) -> Judged:
    """Compare kept shares with promises."""
    mixes = mixes_of(placement, arrivals)
    known = by.known(mixes)
    count = len(arrivals.function)
    kept, throughput = np.full(count, np.nan), np.full(count, np.nan)
    rows = [by.shares.place(mix) if mix in known else TURNED_AWAY for mix in mixes]
    for at, (nic, function) in enumerate(zip(placement.nic, arrivals.function, strict=True)):
        if nic != TURNED_AWAY and rows[nic] != TURNED_AWAY:
            kept[at] = by.shares.kept[rows[nic], function]
            throughput[at] = by.shares.throughput[rows[nic], function]
    return Judged(kept, throughput, kept < arrivals.sla)


OPTIMAL = "optimal"
"""The policy that knows all arrivals in advance."""

_AHEAD = 20_000
"""Maximum number of mixes predicted in advance, once for all processes."""


class SequenceInputs(NamedTuple):
    """Common inputs of all sequences, sent to workers."""

    fleet: Fleet
    predicted: PredictedShares
    truth: GroundTruth | None
    policies: tuple[str, ...]
    reference: bool  # true if the best plan is needed
    expected: int | None = None  # number of arrivals announced to policies

    def judge(self) -> Judge:
        """Return the judge of promises."""
        if self.truth is None:
            return Judge(self.predicted.shares, self.predicted)
        return Judge(measured_shares(self.truth, len(self.fleet.functions)), None)


class Drawn(NamedTuple):
    """A random sequence to run."""

    length: int
    seed: tuple[int, int]


def run_drawn(
    fleets: SequenceInputs, sequences: Sequence[Drawn], pool: Pool
) -> list[SequenceOutcome]:
    """Run random sequences.

    Raises:
        InputError: if there are too many mixes for the best plan.
        UnavailableError: if workers die repeatedly.
    """
    try:
        mixes = possible_mixes(fleets.fleet)
    except InputError:
        if fleets.reference or OPTIMAL in fleets.policies:
            raise
        mixes = []
    if len(mixes) <= _AHEAD:
        fleets.predicted.fill(mixes, pool)
    return pool.map(_run_drawn, fleets, sequences)


def _run_drawn(fleets: SequenceInputs, sequence: Drawn) -> SequenceOutcome:
    return run(fleets, drawn(fleets.fleet, sequence.length, sequence.seed), each=False)


def run(fleets: SequenceInputs, arrivals: Arrivals, *, each: bool = True) -> SequenceOutcome:
    """Run a sequence under all policies; with `each`, report the NIC of each arrival.

    Raises:
        InputError: if there are too many mixes for the best plan, or no plan keeps all promises.
    """
    by = fleets.judge()
    planned = None
    if OPTIMAL in fleets.policies or (fleets.reference and fleets.truth is None):
        planned = _planned(fleets, arrivals, by=Judge(fleets.predicted.shares, fleets.predicted))
    best = planned if fleets.truth is None else None
    if fleets.reference and fleets.truth is not None:
        best = _planned(fleets, arrivals, by)
    outcomes = []
    for policy in fleets.policies:
        if policy != OPTIMAL:
            placement = row_of(fleets.fleet, arrivals, policy, fleets.predicted, fleets.expected)
        elif planned is None:
            raise InputError(fleets.fleet.file, "no plan was found in which all promises are kept")
        else:
            placement = assign(planned, fleets.predicted.shares, arrivals)
        found = judge(placement, arrivals, by)
        outcome = _outcome(policy, placement, found, best if fleets.reference else None)
        if each:
            outcome["placed"] = _placed(fleets.fleet, arrivals, placement, found)
        outcomes.append(outcome)
    reference: Reference | None = None
    if best is not None and fleets.reference:
        reference = {"nics": best.total, "least": best.least}
    return {"arrivals": len(arrivals.function), "reference": reference, "policies": outcomes}


def _planned(fleets: SequenceInputs, arrivals: Arrivals, by: Judge) -> Plan | None:
    """Return the best plan from mixes with known shares."""
    counts = np.bincount(arrivals.function, minlength=len(fleets.fleet.functions))
    mixes = possible_mixes(fleets.fleet, counts)
    known = by.known(mixes)
    return fewest(by.shares, [mix for mix in mixes if mix in known], arrivals)


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
    """Return the means of policies over all sequences."""
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
