"""Table 3 of the Tomur paper: functions with competitors for memory and an accelerator."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import figures
import numpy as np
from numpy.typing import NDArray

from nic_profiles import (
    Bench,
    MemBench,
    competitors,
    contention_of,
    function,
    levels_of,
    run_all,
)
from nic_simulation import SimulatedClient
from simulated.functions import DEFAULT, REGEX
from simulated.judged import COLUMNS, PAPER_COLUMNS, Row, judged, summary
from simulated.kept import Kept
from simulated.learnt import Known
from slowpath.contention.accelerators import RequestTime, fit_request_time, throughputs
from slowpath.contention.columns import AcceleratorProfile, Origin, Query
from slowpath.contention.model import total_contention

Floats = NDArray[np.float64]

PAPER = {"NIDS": (21.4, 4.3), "FlowMonitor": (49.3, 5.1)}
"""MAPE of SLOMO and Tomur in the paper, in %."""
LEVELS = 100
_RATIOS = (0.0, 300.0, 600.0, 900.0, 1200.0)


class Level(NamedTuple):
    """Competitors of a function: some for memory, and one for the accelerator."""

    memory: tuple[Bench, ...]
    mtbr: float  # of regex-bench
    rate: float | None  # of regex-bench, requests/s; None: it never pauses


def table(kept: Kept, known: Mapping[str, Known]) -> str:
    """Return the table of prediction errors by function, as Markdown."""
    found = {name: _rows(kept, known[name]) for name in REGEX if name in known}
    lines = []
    for name, rows in found.items():
        slomo, paper = PAPER[name]
        lines.append({**summary(name, rows), "paper_slomo": slomo, "paper": paper})
    return figures.markdown(lines, [*COLUMNS, *PAPER_COLUMNS])


def drawn(count: int = LEVELS) -> list[Level]:
    """Draw random sets of competitors for memory and for the accelerator.

    A third of those for the accelerator send requests without pause.
    """
    draw = np.random.default_rng(33)
    found = []
    for number in range(count):
        count = 1 + number // 2 % 2
        lines = float(np.exp(draw.uniform(np.log(3e6), np.log(1.2e8)))) / count
        size = float(np.exp(draw.uniform(np.log(0.5), np.log(12.0)))) / count
        memory = MemBench("step" if number % 2 else "stream", size, lines, count)
        rate = float(np.exp(draw.uniform(np.log(5e4), np.log(2e6))))
        mtbr = float(draw.uniform(0, 1200))
        found.append(Level((memory,), round(mtbr, 1), round(rate) if number % 3 else None))
    return found


def regex_bench(mtbr: float, rate: float | None = None) -> SimulatedClient:
    """Return a competitor for the accelerator, with this ratio of matches and request rate.

    Without a rate, it never pauses.
    """
    one: SimulatedClient = {"function": "regex-bench", "packet_bytes": DEFAULT.size, "mtbr": mtbr}
    return one if rate is None else {**one, "rate": rate}


def request_time(kept: Kept) -> RequestTime:
    """Return the request time of `regex-bench` by ratio of matches, from runs without others."""
    mixes = [[regex_bench(mtbr)] for mtbr in _RATIOS]
    alone = np.array([one[0] for one in kept.throughputs("regex-bench", mixes, kept.settings)])
    names = tuple(str(mtbr) for mtbr in _RATIOS)
    of = AcceleratorProfile(Origin(("regex-bench",)), names, np.array(_RATIOS), 1 / alone)
    return fit_request_time(of)


def _rows(kept: Kept, known: Known) -> list[Row]:
    levels = drawn()
    name, settings = known.name, kept.settings._replace(seed=3)
    mixes = [
        [function(name, DEFAULT), *competitors(one.memory), regex_bench(one.mtbr, one.rate)]
        for one in levels
    ]
    truth = np.array([one[0] for one in kept.throughputs(f"{name}.both", mixes, settings)])
    query = query_at(kept, known, levels, np.full(len(levels), DEFAULT.mtbr))
    solo = np.full(len(levels), known.solo[0])
    return judged(known, query, solo, truth, [len(mix) - 1 for mix in mixes])


def query_at(kept: Kept, known: Known, levels: Sequence[Level], mtbr: Floats) -> Query:
    """Return the query about a function next to each set of competitors in `levels`.

    `mtbr` is the ratio of matches in the function's traffic for each row.
    """
    memory = levels_of([one.memory for one in levels], kept.settings)
    requests = [[regex_bench(one.mtbr, one.rate)] for one in levels]
    alone = run_all(requests, kept.settings)
    names = [
        one for one in known.model.memory.columns if one not in ("flow_count", "packet_size_bytes")
    ]
    sums = [
        total_contention([memory[level.memory], contention_of(mix, found["clients"])], names)
        for level, mix, found in zip(levels, requests, alone, strict=True)
    ]
    columns = {name: np.array([one[name] for one in sums]) for name in names}
    columns["flow_count"] = np.full(len(levels), float(DEFAULT.flows))
    columns["packet_size_bytes"] = np.full(len(levels), float(DEFAULT.size))
    rows = tuple(str(number) for number in range(len(levels)))
    own_time = known.model.request_time
    if own_time is None:
        return Query(known.name, rows, columns, None, None)
    queued = _queued(own_time, mtbr, levels, request_time(kept))
    return Query(known.name, rows, columns, mtbr, queued)


def _queued(
    own_time: RequestTime, mtbr: Floats, levels: Sequence[Level], time: RequestTime
) -> Floats:
    """Return the time that requests of `regex-bench` take per request of the function.

    `own_time` and `time` are the request times of the function and of `regex-bench`.
    """
    size = np.array(float(DEFAULT.size))
    own = own_time.at(mtbr, size)
    other = time.at(np.array([one.mtbr for one in levels]), size)
    times = np.stack([own, other], axis=-1)
    rates = np.array([[np.inf, np.inf if one.rate is None else one.rate] for one in levels])
    served = throughputs(np.ones_like(times), times, rates)[:, 0]
    return np.asarray(np.maximum(1 / served - own, 0.0))
