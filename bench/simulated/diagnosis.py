"""Table 7 of the Tomur paper: bottlenecks by match ratio, with competitors for two resources.

The true bottleneck is found by interventions: either the benches for memory are removed, or the one
for the accelerator. The bottleneck is the resource whose benches cost the function more throughput.
This involves no model and no noise.
"""

from collections.abc import Sequence

import figures
import numpy as np

from nic_profiles import MemBench, Settings, competitors, function
from nic_simulation import SimulatedClient
from simulated.functions import DEFAULT
from simulated.kept import Kept
from simulated.learnt import Known, learnt
from simulated.resources import Level, query_at, regex_bench
from slowpath.contention.prediction import ACCELERATOR, MEMORY, predict

PAPER = {
    "FlowStats": (100.0, 100.0),
    "FlowMonitor": (38.7, 100.0),
    "IPCompGateway": (29.3, 100.0),
}
"""Shares of correctly identified bottlenecks in the paper, in %: those of SLOMO and of Tomur."""
RATIOS = tuple(float(mtbr) for mtbr in range(0, 1101, 25))
MEMORY_LEVEL = (MemBench("stream", 5.0, 2.5e7, 2),)
"""Competitors for memory in this table. No profile was measured with them."""
_CONFIDENCE = 0.9
_LONGER = 4


def table(kept: Kept, recipe: str | None) -> str:
    """Return the table with the fraction of correctly named bottlenecks, by function."""
    lines = []
    for name, (slomo, paper) in PAPER.items():
        known = learnt(kept, name, recipe)
        real, found = truth(kept, name), named(kept, known)
        wrong = [
            f"{mtbr:g}" for mtbr, one, two in zip(RATIOS, real, found, strict=True) if one != two
        ]
        lines.append(
            {
                "name": name,
                "points": len(RATIOS),
                "memory": 100 * float(np.mean([one == MEMORY for one in real])),
                "slowpath": 100 * (1 - len(wrong) / len(RATIOS)),
                "wrong": ", ".join(wrong) or "none",
                "paper_slomo": slomo,
                "paper": paper,
            }
        )
    return figures.markdown(
        lines,
        [
            figures.Column("", "name"),
            figures.Column("match ratios", "points"),
            figures.Column("SLOMO (always memory): right, %", "memory", 1),
            figures.Column("slowpath: right, %", "slowpath", 1),
            figures.Column("wrong at, matches/MB", "wrong"),
            figures.Column("paper: SLOMO", "paper_slomo", 1),
            figures.Column("paper", "paper", 1),
        ],
    )


def truth(kept: Kept, name: str) -> list[str]:
    """Return the true bottleneck of a function at each match ratio, by interventions."""
    settings = kept.settings._replace(
        seed=4, noise=False, measured_ms=_LONGER * kept.settings.measured_ms
    )
    memory = competitors(MEMORY_LEVEL)
    by_ratio = [(function(name, DEFAULT._replace(mtbr=one)), regex_bench(one)) for one in RATIOS]
    both, without_memory, without_regex = (
        _first(kept, name, mixes, settings)
        for mixes in (
            [[target, *memory, bench] for target, bench in by_ratio],
            [[target, bench] for target, bench in by_ratio],
            [[target, *memory] for target, _ in by_ratio],
        )
    )
    gains = np.array([without_memory / both, without_regex / both])
    return [(MEMORY, ACCELERATOR)[at] for at in gains.argmax(axis=0)]


def _first(
    kept: Kept, name: str, mixes: Sequence[Sequence[SimulatedClient]], settings: Settings
) -> np.ndarray:
    found = kept.throughputs(f"{name}.bottleneck", mixes, settings)
    return np.array([one[0] for one in found])


def named(kept: Kept, known: Known) -> list[str]:
    """Return the bottleneck that the model of a function names at each match ratio."""
    query = query_at(
        kept, known, [Level(MEMORY_LEVEL, mtbr, None) for mtbr in RATIOS], np.array(RATIOS)
    )
    return predict(known.model, query, _CONFIDENCE).bottleneck
