"""How well a score by a probe stands in for counters, where there are both.

The same rows are learnt with several descriptions of the competitors, by the same recipe. Levels of
competitors are held out, the same ones for all descriptions.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import figures
import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from nic_profiles import MemoryRun, Traffic, competitors, function, memory_table
from simulated.kept import Kept
from simulated.probed import CACHE, Scores, Set, scores
from simulated.profiled import QUIET, any_traffic, drawn, levels, memory_alone, profile
from slowpath.contention.memory.features import Columns, Rows, cache_misses
from slowpath.contention.memory.intervals import conformal
from slowpath.contention.memory.recipes import RECIPES, fit_stage
from slowpath.contention.memory.selection import grouped_folds, relative
from slowpath.contention.model import rows_of
from slowpath.contention.reading import read_memory

Floats = NDArray[np.float64]

FUNCTIONS = ("FlowClassifier", "NAT", "FlowMonitor", "ACL")
RECIPE = "process-bus"
"""For all: one process, which sees flows, table, size, and of counters cache misses and the bus."""
ROUNDS = 4
"""Rows beside each level of `mem-bench`."""
FOLDS = 5
CONFIDENCE = 0.9
FLOWS: Mapping[str, Sequence[int]] = {
    **dict.fromkeys(("FlowClassifier", "NAT", "FlowMonitor"), (4_000, 60_000, 250_000)),
    "ACL": (16_000,),  # its table is the same for any number
}
"""Of rank correlations."""
SIZE = 1500
SAID = {
    "nothing": "traffic alone: MAPE, %",
    "counters": "counters",
    "seven": "counters without `dma_mb`",
    "score": "score",
    "large": "score by a large probe",
    "added": "scores added up",
    "working set": "working set",
    "both": "counters and score",
}
"""What models are told of competitors, and headings."""
WITH_INTERVALS = ("counters", "score", "both")
_SEED = 6
_TIMES_ALONE = 5
_TRAFFIC = ("flow_count", "packet_size_bytes")


class Profiled(NamedTuple):
    """Rows with counters, and beside whom each is."""

    rows: Rows
    beside: Sequence[Set]

    def sets(self) -> list[Set]:
        """All competitors but nobody, each once."""
        return list(dict.fromkeys(some for some in self.beside if some))


class Probes(NamedTuple):
    """What probes of two sizes say."""

    usual: Scores
    large: Scores  # as large as the cache


def table(kept: Kept) -> str:
    """By function, beside `mem-bench` alone, and with `packet-bench` among the competitors."""
    lines = list[figures.Row]()
    for kind, made in (("mem-bench", memory_rows), ("packet-bench, too", _with_packets)):
        profiled = {name: made(kept, name) for name in FUNCTIONS}
        each = dict.fromkeys(itertools.chain(*(one.sets() for one in profiled.values())))
        probes = Probes(scores(kept, list(each)), scores(kept, list(each), CACHE))
        for name, one in profiled.items():
            lines.append({"name": name, "kind": kind, **errors(one, probes)})
    return figures.markdown(
        lines,
        [
            figures.Column("", "name"),
            figures.Column("beside", "kind"),
            figures.Column("rows", "rows"),
            *(figures.Column(heading, said, 1) for said, heading in SAID.items()),
            *(
                figures.Column(f"{said}: 90 % intervals cover, %", f"{said} cover", 0)
                for said in WITH_INTERVALS
            ),
        ],
    )


def memory_rows(kept: Kept, name: str) -> Profiled:
    """Rows beside nobody and `mem-bench`, as hosts are profiled, under drawn traffic."""
    draw = np.random.default_rng([_SEED, *name.encode()])
    beside: list[Set] = [()] * QUIET
    for _ in range(ROUNDS):
        beside += memory_alone()
    runs = [MemoryRun(any_traffic(draw), some) for some in beside]
    settings = kept.settings._replace(seed=_SEED)
    file = kept.file(f"{name}.scores.csv", lambda: memory_table(name, runs, settings, levels(kept)))
    return Profiled(rows_of(read_memory([str(file)])), beside)


def _with_packets(kept: Kept, name: str) -> Profiled:
    """Those of its profile."""
    rows = rows_of(read_memory([str(profile(kept, name).memory)]))
    return Profiled(rows, [run.benches for run in drawn(name)])


def descriptions(profiled: Profiled, probes: Probes) -> dict[str, Columns]:
    """Columns of rows, by what they tell of competitors."""
    columns = profiled.rows.columns
    traffic = {name: columns[name] for name in _TRAFFIC}
    score, added, large = (
        np.array([by_set[some] for some in profiled.beside])
        for by_set in (probes.usual.together, probes.usual.added, probes.large.together)
    )
    return {
        "nothing": {**traffic, "score": np.zeros_like(score)},
        "counters": columns,
        "seven": {name: values for name, values in columns.items() if name != "dma_mb"},
        "score": {**traffic, "score": score},
        "large": {**traffic, "score": large},
        "added": {**traffic, "score": added},
        # One number instead of another, so that nothing but its meaning differs.
        "working set": {**traffic, "score": columns["wss_mb"]},
        "both": {**columns, "score": score},
    }


def errors(profiled: Profiled, probes: Probes) -> figures.Row:
    """Mean errors of rows whose level was held out, and how often intervals have them, in %."""
    number = {some: at for at, some in enumerate([(), *profiled.sets()])}
    level = np.array([number[some] for some in profiled.beside])
    found: figures.Row = {"rows": len(level)}
    for said, columns in descriptions(profiled, probes).items():
        rows = profiled.rows._replace(columns=columns)
        off, covered = np.zeros((2, len(level)))
        for held_out in grouped_folds(level, FOLDS, _SEED):
            known, asked = rows.where(~held_out), rows.where(held_out)
            stage = fit_stage(RECIPES[RECIPE], known)
            predicted = np.exp(stage.log_throughput(asked.columns))
            off[held_out] = relative(predicted, asked.throughput)
            if said in WITH_INTERVALS:
                low, high = conformal(stage, known).interval(asked.columns, CONFIDENCE)
                logs = np.log(asked.throughput)
                covered[held_out] = (low <= logs) & (logs <= high)
        found[said] = 100 * float(off.mean())
        found[f"{said} cover"] = 100 * float(covered.mean())
    return found


def ranks(kept: Kept) -> str:
    """How levels of `mem-bench` are ordered by what they do to a function, and by each number."""
    rows, beside = memory_rows(kept, FUNCTIONS[0])
    sets = memory_alone()
    probed, at = scores(kept, sets), [beside.index(some) for some in sets]
    large = scores(kept, sets, CACHE)
    counted = {name: values[at] for name, values in rows.columns.items()}
    said = {
        "score": np.array([probed.together[some] for some in sets]),
        "score by a large probe": np.array([large.together[some] for some in sets]),
        "scores added up": np.array([probed.added[some] for some in sets]),
        "working set": counted["wss_mb"],
        "cache misses": cache_misses(counted, rows.cache_mb),
    }
    lines = list[figures.Row]()
    for name, several in FLOWS.items():
        for flows in several:
            slower = _slower(kept, name, Traffic(flows, SIZE, 0.0), sets)
            line: figures.Row = {"name": name, "flows": flows}
            line |= {"mean": float(slower.mean()), "most": float(slower.max())}
            line |= {one: float(spearmanr(values, slower)[0]) for one, values in said.items()}
            lines.append(line)
    return figures.markdown(
        lines,
        [
            figures.Column("", "name"),
            figures.Column("flows", "flows"),
            figures.Column("times as slow: mean", "mean", 2),
            figures.Column("most", "most", 2),
            *(figures.Column(f"rank correlation with {one}", one, 2) for one in said),
        ],
    )


def _slower(kept: Kept, name: str, traffic: Traffic, sets: Sequence[Set]) -> Floats:
    """How many times as slow the function is beside each."""
    target = function(name, traffic)
    mixes = [[target]] * _TIMES_ALONE + [[target, *competitors(some)] for some in sets]
    settings = kept.settings._replace(seed=_SEED)
    found = np.array([one[0] for one in kept.throughputs(f"{name}.ranks", mixes, settings)])
    return np.asarray(np.median(found[:_TIMES_ALONE]) / found[_TIMES_ALONE:])
