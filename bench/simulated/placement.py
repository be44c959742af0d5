"""Table 6: where functions go that arrive, as models of profiles say, judged by the simulated NIC."""

from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement

import figures
import numpy as np

from simulated.functions import CORES, DEFAULT
from simulated.kept import Kept
from simulated.learnt import Known, with_rows
from slowpath.contention.beside import query_beside
from slowpath.contention.mixes import Kind
from slowpath.contention.placement.fleet import Fleet, Function
from slowpath.contention.placement.running import Drawn, Fleets, run_drawn, summary
from slowpath.contention.placement.shares import Predicted, Shares, measured_shares
from slowpath.contention.placement.truth import Mix, Truth
from slowpath.contention.simulated.runs import function
from slowpath.contention.tables.profiles import Query
from slowpath.fleet.local import LocalPool
from slowpath.fleet.pool import Pool

NIC_CORES = 8
PROMISES = tuple(round(0.80 + 0.01 * at, 2) for at in range(16))
"""Of the throughput alone: 5 to 20 % less, in whole percents, each as likely as any other."""
SEQUENCES, LENGTH = 100, 500
"""As the paper has them (7.5.1)."""
PAPER = {
    "monopolise": (196.3, 0.0),
    "greedy": (19.0, 16.5),
    "contention-aware with SLOMO": (-21.8, 24.4),
    "contention-aware": (0.5, 1.9),
}
"""Wastage and SLA violations there, in %."""
_LONGER = 2
"""So many times as long as a profile's runs is what is true."""
CO_RUNS = {2: 12, 3: 24, 4: 24}
"""NICs that are measured besides profiles, by how many functions they have, of 705 in all."""
SURE = 0.9


def fleet(known: Mapping[str, Known]) -> Fleet:
    """The functions under the default traffic."""
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
    """All that fit a NIC, functions several times among them."""
    return [
        mix
        for size in range(1, NIC_CORES // CORES + 1)
        for mix in combinations_with_replacement(range(functions), size)
    ]


def truth(kept: Kept, names: Sequence[str]) -> Truth:
    """What functions do in all mixes, without the noise of measurements."""
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
    return Truth("simulated", known)


class Told(Predicted):
    """Shares that are known beforehand."""

    def __init__(self, shares: Shares) -> None:
        self.shares = shares

    def fill(self, mixes: object, pool: Pool | None = None) -> None:
        """All of them are there."""


def slomo(known: Mapping[str, Known], mixes: Sequence[Mix]) -> Told:
    """What SLOMO predicts: contention for memory, under the traffic that it was trained for."""
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
    return Told(shares)


def co_run(kept: Kept, known: Mapping[str, Known]) -> dict[str, Known]:
    """Functions whose profiles have some NICs of the fleet, as they run.

    Functions that use an accelerator are left as they are, as it may be what limits them there.
    """
    names = list(known)
    draw, mixes = np.random.default_rng(60), list[Mix]()
    for size, count in CO_RUNS.items():
        some = [mix for mix in all_mixes(len(names)) if len(mix) == size]
        mixes += [some[at] for at in draw.permutation(len(some))[:count]]
    runs = [[function(names[at], DEFAULT) for at in mix] for mix in mixes]
    found = kept.throughputs("co-runs", runs, kept.settings._replace(seed=6))
    learnt = dict[str, Known]()
    for at, (name, target) in enumerate(known.items()):
        there = [
            (mix, row[mix.index(at)]) for mix, row in zip(mixes, found, strict=True) if at in mix
        ]
        if target.model.request_time is None:
            columns = [_beside(known, names, mix, at).columns for mix, _ in there]
            learnt[name] = with_rows(target, columns, [throughput for _, throughput in there])
        else:
            learnt[name] = target
    return learnt


def _beside(known: Mapping[str, Known], names: Sequence[str], mix: Mix, at: int) -> Query:
    """What is asked of one function of a mix."""
    others = list(mix)
    others.remove(at)
    beside = [(names[one], known[names[one]].model) for one in others]
    return query_beside((names[at], known[names[at]].model), beside, DEFAULT)


def table(kept: Kept, known: Mapping[str, Known]) -> str:
    """By policy, wastage and violations, means over all sequences."""
    whole, real = fleet(known), truth(kept, tuple(known))
    mixes = all_mixes(len(known))
    ours = Predicted(whole)
    ours.fill(mixes)
    exact = Told(measured_shares(real, len(known)))
    informed = fleet(co_run(kept, known))
    co_runs, careful = Predicted(informed), Predicted(informed, SURE)
    for shares in (co_runs, careful):
        shares.fill(mixes)
    measured = f", {sum(CO_RUNS.values())} NICs measured"
    aware = ("contention-aware", "bid-price")
    asked = (
        (("monopolise", "greedy"), "", ours),
        (aware[:1], " with SLOMO", slomo(known, mixes)),
        (aware, "", ours),
        (aware, measured, co_runs),
        (aware, f"{measured}, {100 * SURE:g} % sure", careful),
        (aware, ", knowing what is simulated", exact),
    )
    sequences = [Drawn(LENGTH, (0, at)) for at in range(SEQUENCES)]
    lines: list[figures.Row] = []
    for policies, which, shares in asked:
        found = run_drawn(
            Fleets(whole, shares, real, policies, reference=True), sequences, LocalPool()
        )
        for one in summary(found):
            name = one["policy"] + which
            paper = PAPER.get(name, (None, None))
            lines.append(
                {
                    "name": name,
                    "nics": one["nics"],
                    "wastage": _percent(one["wastage"]),
                    "violations": _percent(one["violations"]),
                    "paper_wastage": paper[0],
                    "paper_violations": paper[1],
                }
            )
    return figures.markdown(
        lines,
        [
            figures.Column("policy", "name"),
            figures.Column("NICs", "nics", 1),
            figures.Column("wastage, %", "wastage", 1),
            figures.Column("SLA violations, %", "violations", 1),
            figures.Column("paper: wastage, %", "paper_wastage", 1),
            figures.Column("paper: SLA violations, %", "paper_violations", 1),
        ],
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
