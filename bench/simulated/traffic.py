"""Table 5 of the Tomur paper: functions at fixed memory contention, under random traffic."""

from collections.abc import Mapping

import figures
import numpy as np

from nic_profiles import MemBench, Traffic, competitors, function, levels_of
from simulated.functions import REGEX
from simulated.judged import COLUMNS, PAPER_COLUMNS, Row, judged, summary
from simulated.kept import Kept
from simulated.learnt import Known
from slowpath.contention.columns import Query

PAPER = {
    "NIDS": (2.5, 1.1), "FlowClassifier": (10.4, 2.9), "NAT": (9.5, 3.1),
    "FlowTracker": (4.0, 3.5), "FlowStats": (9.5, 4.7), "FlowMonitor": (11.9, 4.8),
    "IPTunnel": (88.0, 5.6),
}  # fmt: skip
"""MAPE of SLOMO and Tomur in the paper, in %."""
PROFILES = 100
LEVELS = {
    "no order, 10 MB": (MemBench("step", 5.0, 2.5e7, 2),),
    "in sequence, 10 MB": (MemBench("stream", 5.0, 2.5e7, 2),),
    "no order, 3 MB": (MemBench("step", 3.0, 1.5e7, 1),),
    "in sequence, 9 MB": (MemBench("stream", 3.0, 3e7, 3),),
}
"""Levels of memory contention, which do not occur in profiles. The paper has one level, whose error
would affect all rows.
"""


def table(kept: Kept, known: Mapping[str, Known]) -> str:
    """Return the table of prediction errors, by function and by contention for memory."""
    by_level = {
        level: [row for name in PAPER if name in known for row in _rows(kept, known[name], level)]
        for level in LEVELS
    }
    found = [row for rows in by_level.values() for row in rows]
    lines = []
    for name, (slomo, paper) in PAPER.items():
        some = [row for row in found if row.name == name]
        if some:
            lines.append({**summary(name, some), "paper_slomo": slomo, "paper": paper})
    lines.append({**summary("all", found), "paper_slomo": None, "paper": None})
    for level, rows in by_level.items():
        lines.append({**summary(level, rows), "paper_slomo": None, "paper": None})
    return figures.markdown(lines, [*COLUMNS, *PAPER_COLUMNS])


def drawn(name: str, count: int = PROFILES) -> list[Traffic]:
    """Draw random traffic profiles for a function; equal arguments give equal traffic."""
    draw = np.random.default_rng([7, *name.encode()])
    found = []
    for _ in range(count):
        flows = int(np.exp(draw.uniform(np.log(2000), np.log(400_000))))
        size, mtbr = int(draw.integers(256, 1501)), float(np.round(draw.uniform(100, 1100), 1))
        found.append(Traffic(flows, size, mtbr if name in REGEX else 0.0))
    return found


def _rows(kept: Kept, known: Known, level: str) -> list[Row]:
    name, traffic, benches = known.name, drawn(known.name), LEVELS[level]
    settings = kept.settings._replace(seed=2)
    alone = kept.throughputs(
        f"{name}.traffic", [[function(name, one)] for one in traffic], settings
    )
    mixes = [[function(name, one), *competitors(benches)] for one in traffic]
    beside = kept.throughputs(f"{name}.level", mixes, settings)
    query = _query(known, traffic, levels_of([benches], kept.settings)[benches])
    solo, truth = (np.array([one[0] for one in found]) for found in (alone, beside))
    return judged(known, query, solo, truth, [sum(one.instances for one in benches)] * len(truth))


def _query(known: Known, traffic: list[Traffic], level: Mapping[str, float]) -> Query:
    columns = {column: np.full(len(traffic), value) for column, value in level.items()}
    columns["flow_count"] = np.array([float(one.flows) for one in traffic])
    columns["packet_size_bytes"] = np.array([float(one.size) for one in traffic])
    accelerated = known.model.request_time is not None
    return Query(
        known.name,
        tuple(str(number) for number in range(len(traffic))),
        columns,
        np.array([one.mtbr for one in traffic]) if accelerated else None,
        np.zeros(len(traffic)) if accelerated else None,
    )
