"""Tests how well the score of a probe can replace hardware counters.

Models of the same kind are trained on the same rows, with several descriptions of the competitors.
Cross-validation leaves out sets of competitors, the same for all descriptions.
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
from slowpath.contention.memory.selection import Trainings, grouped_folds, relative
from slowpath.contention.model import rows_of
from slowpath.contention.reading import read_memory

Floats = NDArray[np.float64]

FUNCTIONS = ("FlowClassifier", "NAT", "FlowMonitor", "ACL")
RECIPE = "process-bus"
"""The recipe of all models: a Gaussian process over flows, table, size, cache misses and the bus.
"""
ROUNDS = 4
"""Number of rows for each level of `mem-bench`."""
FOLDS = 5
CONFIDENCE = 0.9
FLOWS: Mapping[str, Sequence[int]] = {
    **dict.fromkeys(("FlowClassifier", "NAT", "FlowMonitor"), (4_000, 60_000, 250_000)),
    "ACL": (16_000,),  # its table is the same for any number
}
"""Numbers of flows for which rank correlations are computed."""
SIZE = 1500
DESCRIPTIONS = {
    "nothing": "traffic alone: MAPE, %",
    "counters": "counters",
    "seven": "counters without `dma_mb`",
    "score": "score",
    "large": "score by a large probe",
    "added": "scores added up",
    "working set": "working set",
    "both": "counters and score",
}
"""The compared ways to describe competitors, each with its heading in the table."""
WITH_INTERVALS = ("counters", "score", "both")
_SEED = 6
_TIMES_ALONE = 5
_TRAFFIC = ("flow_count", "packet_size_bytes")


class Profiled(NamedTuple):
    """Rows of a profile with hardware counters, and the competitors in each row."""

    rows: Rows
    beside: Sequence[Set]

    def sets(self) -> list[Set]:
        """Return the different sets of competitors in the rows, without the empty set."""
        return list(dict.fromkeys(some for some in self.beside if some))


class Probes(NamedTuple):
    """Contention scores by two probes: one of usual size, and one as large as the cache."""

    usual: Scores
    large: Scores  # as large as the cache


def table(kept: Kept) -> str:
    """Return the table of prediction errors by function and description of competitors.

    Competitors are `mem-bench` alone, or also `packet-bench`.
    """
    lines = list[figures.Row]()
    for kind, rows_of_kind in (("mem-bench", memory_rows), ("packet-bench, too", _with_packets)):
        profiled = {name: rows_of_kind(kept, name) for name in FUNCTIONS}
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
            *(figures.Column(heading, name, 1) for name, heading in DESCRIPTIONS.items()),
            *(
                figures.Column(f"{name}: 90 % intervals cover, %", f"{name} cover", 0)
                for name in WITH_INTERVALS
            ),
        ],
    )


def memory_rows(kept: Kept, name: str) -> Profiled:
    """Measure a function without competitors and with `mem-bench`, under random traffic."""
    draw = np.random.default_rng([_SEED, *name.encode()])
    beside: list[Set] = [()] * QUIET
    for _ in range(ROUNDS):
        beside += memory_alone()
    runs = [MemoryRun(any_traffic(draw), some) for some in beside]
    settings = kept.settings._replace(seed=_SEED)
    file = kept.file(f"{name}.scores.csv", lambda: memory_table(name, runs, settings, levels(kept)))
    return Profiled(rows_of(read_memory([str(file)])), beside)


def _with_packets(kept: Kept, name: str) -> Profiled:
    """Return the rows of a function's usual profile, whose competitors include `packet-bench`."""
    rows = rows_of(read_memory([str(profile(kept, name).memory)]))
    return Profiled(rows, [run.benches for run in drawn(name)])


def descriptions(profiled: Profiled, probes: Probes) -> dict[str, Columns]:
    """Return training data for each way to describe the competitors, as columns."""
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
        # The working set takes the place of the score, so that models differ in nothing else.
        "working set": {**traffic, "score": columns["wss_mb"]},
        "both": {**columns, "score": score},
    }


def errors(profiled: Profiled, probes: Probes) -> figures.Row:
    """Return errors and interval coverage of models, in %, for each description of competitors.

    Cross-validation leaves out sets of competitors.
    """
    number = {some: at for at, some in enumerate([(), *profiled.sets()])}
    level = np.array([number[some] for some in profiled.beside])
    found: figures.Row = {"rows": len(level)}
    for name, columns in descriptions(profiled, probes).items():
        rows = profiled.rows._replace(columns=columns)
        error, covered = np.zeros((2, len(level)))
        for held_out in grouped_folds(level, FOLDS, _SEED):
            known, tests = rows.where(~held_out), rows.where(held_out)
            stage = fit_stage(RECIPES[RECIPE], known)
            predicted = np.exp(stage.log_throughput(tests.columns))
            error[held_out] = relative(predicted, tests.throughput)
            if name in WITH_INTERVALS:
                low, high = conformal(stage, Trainings(known)).interval(tests.columns, CONFIDENCE)
                logs = np.log(tests.throughput)
                covered[held_out] = (low <= logs) & (logs <= high)
        found[name] = 100 * float(error.mean())
        found[f"{name} cover"] = 100 * float(covered.mean())
    return found


def ranks(kept: Kept) -> str:
    """Return the rank correlations between descriptions of `mem-bench` and the slowdown by it."""
    rows, beside = memory_rows(kept, FUNCTIONS[0])
    sets = memory_alone()
    probed, at = scores(kept, sets), [beside.index(some) for some in sets]
    large = scores(kept, sets, CACHE)
    counted = {name: values[at] for name, values in rows.columns.items()}
    values_by_name = {
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
            line |= {
                one: float(spearmanr(values, slower)[0]) for one, values in values_by_name.items()
            }
            lines.append(line)
    return figures.markdown(
        lines,
        [
            figures.Column("", "name"),
            figures.Column("flows", "flows"),
            figures.Column("times as slow: mean", "mean", 2),
            figures.Column("most", "most", 2),
            *(figures.Column(f"rank correlation with {one}", one, 2) for one in values_by_name),
        ],
    )


def _slower(kept: Kept, name: str, traffic: Traffic, sets: Sequence[Set]) -> Floats:
    """Return the factor by which each set of competitors slows down a function under a traffic."""
    target = function(name, traffic)
    mixes = [[target]] * _TIMES_ALONE + [[target, *competitors(some)] for some in sets]
    settings = kept.settings._replace(seed=_SEED)
    found = np.array([one[0] for one in kept.throughputs(f"{name}.ranks", mixes, settings)])
    return np.asarray(np.median(found[:_TIMES_ALONE]) / found[_TIMES_ALONE:])
