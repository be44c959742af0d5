"""Table 6 of the Tomur paper: placement of arriving functions, judged on the simulated NIC.

A placement keeps its promises (SLAs) if each function keeps a promised share of its solo
throughput.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import figures
import numpy as np

from nic_profiles import function
from simulated.functions import CORES, DEFAULT
from simulated.kept import Kept
from simulated.learnt import Known
from simulated.measuring import Campaign, campaign
from slowpath.contention.columns import Query
from slowpath.contention.mixes import Kind
from slowpath.contention.placement.fleet import Fleet, Function, GroundTruth, Mix
from slowpath.contention.placement.running import Drawn, SequenceInputs, run_drawn, summary
from slowpath.contention.placement.shares import PredictedShares, Shares, measured_shares
from slowpath.contention.prediction import query_with_competitors
from slowpath.core.jobs.local_pool import LocalPool
from slowpath.core.jobs.pool import Pool

NIC_CORES = 8
PROMISES = tuple(round(0.80 + 0.01 * at, 2) for at in range(16))
"""Promised shares of the solo throughput: 80 % to 95 % in whole percents, equally likely."""
SEQUENCES, LENGTH = 100, 500
"""Number of sequences of arrivals, and number of arrivals in each, as in the paper (7.5.1)."""
PAPER = {
    "monopolise": (196.3, 0.0),
    "greedy": (19.0, 16.5),
    "contention-aware with SLOMO": (-21.8, 24.4),
    "contention-aware": (0.5, 1.9),
}
"""Wastage and SLA violations in the paper, in %."""
_LONGER = 2
"""Duration of the runs that determine the true throughput, relative to the runs of profiles."""
SURE, SURER = 0.9, 0.95
AWARE, PRICED, INFORMED = "contention-aware", "bid-price", "bid-price, number of arrivals known"
CAMPAIGNS = {
    "60 mixes measured": Campaign(60, SURE),
    "60 mixes drawn and measured": Campaign(60, SURE, suggested=False),
    "60 mixes measured ten times": Campaign(60, SURE, repetitions=10, alone=30),
    "120 mixes measured": Campaign(120, SURE),
}
"""Campaigns that measure some of the 705 mixes of several functions, in addition to profiles."""
_FIRST = next(iter(CAMPAIGNS.values()))
_EXACT = ", with exact predictions"


def fleet(known: Mapping[str, Known]) -> Fleet:
    """Return a fleet of NICs with all functions, each with default traffic."""
    return Fleet(
        "simulated",
        None,
        NIC_CORES,
        None,
        tuple(
            Function(name, _kind(one), CORES, PROMISES, one.solo[0]) for name, one in known.items()
        ),
    )


def _kind(one: Known) -> Kind:
    model = one.model
    mtbr = None if model.request_time is None else DEFAULT.mtbr
    return Kind(one.name, model, DEFAULT.flows, DEFAULT.size, mtbr)


def all_mixes(functions: int) -> list[Mix]:
    """Return all mixes of functions that fit on a NIC; a function can occur several times."""
    return [
        mix
        for size in range(1, NIC_CORES // CORES + 1)
        for mix in combinations_with_replacement(range(functions), size)
    ]


def truth(kept: Kept, names: Sequence[str]) -> GroundTruth:
    """Simulate the true throughput of functions in all mixes, without measurement noise."""
    settings = kept.settings._replace(
        seed=2, noise=False, measured_ms=_LONGER * kept.settings.measured_ms
    )
    mixes = all_mixes(len(names))
    runs = [[function(names[at], DEFAULT) for at in mix] for mix in mixes]
    found = kept.throughputs("fleet", runs, settings)
    known = {}
    for mix, throughput in zip(mixes, found, strict=True):
        known[mix] = {
            at: float(np.mean([one for one, of in zip(throughput, mix, strict=True) if of == at]))
            for at in mix
        }
    return GroundTruth("simulated", known)


class KnownShares(PredictedShares):
    """Shares of solo throughput, already computed for all mixes."""

    def __init__(self, shares: Shares) -> None:
        self.shares = shares

    def fill(self, mixes: object, pool: Pool | None = None) -> None:
        """Do nothing, because the shares of all mixes are computed already."""


def slomo(known: Mapping[str, Known], mixes: Sequence[Mix]) -> KnownShares:
    """Predict shares of solo throughput with SLOMO, the baseline of the paper.

    SLOMO models only contention for memory, and the traffic of its training.
    """
    names = list(known)
    shares = Shares(len(names))
    for mix in mixes:
        kept, throughput = np.full(len(names), np.inf), np.full(len(names), np.nan)
        for at in set(mix):
            target = known[names[at]]
            if len(mix) > 1:
                query = _beside(known, names, mix, at)
                throughput[at] = target.slomo.predict(query.columns)[0]
                kept[at] = throughput[at] / target.solo[0]
            else:
                kept[at], throughput[at] = 1.0, target.solo[0]
        shares.add(mix, kept, throughput)
    return KnownShares(shares)


def _beside(known: Mapping[str, Known], names: Sequence[str], mix: Mix, at: int) -> Query:
    """Return the query about function `at` of a mix, with the others as competitors."""
    others = list(mix)
    others.remove(at)
    beside = [(names[one], known[names[one]].model) for one in others]
    return query_with_competitors((names[at], known[names[at]].model), beside, DEFAULT)


class Variant(NamedTuple):
    """A placement policy, with the throughput predictions that it uses."""

    policy: str
    shares: PredictedShares
    known_mixes: str = ""  # description of additional measurements

    @property
    def name(self) -> str:
        """The name of the policy and its predictions in the table."""
        return f"{self.policy}{self.known_mixes}"


def table(kept: Kept, known: Mapping[str, Known]) -> str:
    """Return the table of wasted NICs and broken promises, by policy.

    Values are means over all sequences of arrivals.
    """
    whole, real = fleet(known), truth(kept, tuple(known))
    fleets = SequenceInputs(whole, PredictedShares(whole), real, (), reference=True)
    best = _best(kept, fleets)
    found = [(one, _line(one, fleets, best)) for one in variants(kept, known, whole, real)]
    never_wrong = {one.policy: line["nics"] for one, line in found if one.known_mixes == _EXACT}
    for variant, line in found:
        nics, least = line["nics"], never_wrong.get(variant.policy)
        if isinstance(nics, float) and isinstance(least, float):
            line["predictions"] = 100 * (nics / least - 1)
    return figures.markdown(
        [line for _, line in found],
        [
            figures.Column("policy", "name"),
            figures.Column("NICs", "nics", 1),
            figures.Column("wastage, %", "wastage", 1),
            figures.Column("by the same policy, never wrong, %", "predictions", 1),
            figures.Column("SLA violations, %", "violations", 1),
            figures.Column("paper: wastage, %", "paper_wastage", 1),
            figures.Column("paper: SLA violations, %", "paper_violations", 1),
        ],
    )


def _best(kept: Kept, fleets: SequenceInputs) -> list[int]:
    """Return the number of NICs in the best plan for each sequence of arrivals."""

    def make() -> list[int]:
        plans = [one["reference"] for one in run_drawn(fleets, _sequences(), LocalPool())]
        return [one["nics"] for one in plans if one is not None]

    return kept.value("best", repr((fleets.truth, PROMISES, _sequences())), make)


def _sequences() -> list[Drawn]:
    return [Drawn(LENGTH, (0, at)) for at in range(SEQUENCES)]


def variants(
    kept: Kept, known: Mapping[str, Known], whole: Fleet, real: GroundTruth
) -> Iterator[Variant]:
    """Yield the placement policies to compare, each with its predictions."""
    mixes = all_mixes(len(known))
    ours = PredictedShares(whole)
    ours.fill(mixes)
    exact = KnownShares(measured_shares(real, len(known)))
    yield from (Variant("monopolise", ours), Variant("greedy", ours))
    yield Variant(AWARE, slomo(known, mixes), " with SLOMO")
    yield from (Variant(policy, ours) for policy in (AWARE, PRICED, INFORMED))
    for name, plan in CAMPAIGNS.items():
        known_mixes = campaign(kept, whole, plan)
        first = plan == _FIRST
        for sure in (SURE, SURER) if first else (SURE,):
            careful = PredictedShares(whole, sure, known_mixes)
            careful.fill(mixes)
            policies = (AWARE, PRICED, INFORMED) if first and sure == SURE else (INFORMED,)
            suffix = f", {name}, {100 * sure:g} % sure"
            yield from (Variant(one, careful, suffix) for one in policies)
    yield from (Variant(one, exact, _EXACT) for one in (AWARE, PRICED, INFORMED))


def _line(variant: Variant, fleets: SequenceInputs, best: Sequence[int]) -> figures.Row:
    """Place all sequences of arrivals by one policy, and return its table row.

    `best` has the number of NICs of the best plan for each sequence.
    """
    informed = variant.policy == INFORMED
    inputs = fleets._replace(
        predicted=variant.shares,
        policies=(PRICED if informed else variant.policy,),
        reference=False,
        expected=LENGTH if informed else None,
    )
    found = run_drawn(inputs, _sequences(), LocalPool())
    (one,) = summary(found)
    nics = [sequence["policies"][0]["nics"] for sequence in found]
    print(f"{variant.name}: {one['nics']:.1f}", file=sys.stderr, flush=True)
    paper = PAPER.get(variant.name, (None, None))
    violations = one["violations"]
    return {
        "name": variant.name,
        "nics": one["nics"],
        "wastage": float(100 * np.mean(np.divide(nics, best) - 1)),
        "predictions": None,
        "violations": None if violations is None else 100 * violations,
        "paper_wastage": paper[0],
        "paper_violations": paper[1],
    }
