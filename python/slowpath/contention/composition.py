"""Combines the predicted contention for single resources into one throughput (paper, 4.2).

The partial throughput of a resource is the function's throughput with contention for that resource
only, T_solo - dT_k. A pipeline is as fast as its slowest stage (Eq. 3). In run-to-completion, each
resource adds its delay to the time of a packet (Eq. 4). Eq. 7 combines both cases. `sum` and `min`
are the baseline compositions of the paper (2.2).

The execution pattern of a function is detected, declared or assumed. The paper chooses the equation
that fits better. We also give a confidence: how often the same equation wins when the co-runs are
resampled with replacement.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from slowpath.contention.columns import TRAFFIC_NAMES, OwnContention
from slowpath.contention.memory.features import Columns
from slowpath.core.arrays import Floats, Indices

Pattern = Literal["pipeline", "run-to-completion"]
Composition = Literal["pipeline", "run-to-completion", "sum", "min"]


def least(parts: Floats, _solo: Floats) -> Floats:
    """Return the least partial throughput: T_solo - max dT_k (Eq. 3, for pipelines)."""
    return np.asarray(parts.min(axis=0))


def run_to_completion(parts: Floats, solo: Floats) -> Floats:
    """Return the throughput of functions that process each packet to completion (Eq. 4).

    The throughput is 1 / (sum 1 / (T_solo - dT_k) - (r - 1) / T_solo), for r resources.
    """
    time = (1 / parts).sum(axis=0) - (len(parts) - 1) / solo
    return np.asarray(1 / np.maximum(time, 1 / parts.min(axis=0)))


def summed(parts: Floats, solo: Floats) -> Floats:
    """Return the throughput if the drops of all resources add up, but at least zero.

    The formula is T_solo - sum dT_k.
    """
    return np.asarray(np.maximum(solo - (solo - parts).sum(axis=0), 0.0))


COMPOSITIONS: Mapping[Composition, Callable[[Floats, Floats], Floats]] = {
    "pipeline": least,
    "run-to-completion": run_to_completion,
    "sum": summed,
    "min": least,
}
"""Functions that compute throughput `[row]` from partial throughputs and solo throughput.

Partial throughputs have the axes `[resource, row]`, solo throughput has the axis `[row]`.
"""


def bottleneck(parts: Floats) -> Indices:
    """Return, for each row, the index of the resource that reduces throughput most.

    The result holds for both execution patterns.
    """
    return np.asarray(parts.argmin(axis=0))


_ADDED = ("irt", "l2crd", "l2cwr", "memrd", "memwr", "wss_mb", "dma_mb", "score")


def contention_at(own: OwnContention, flows: float, size: float) -> dict[str, float]:
    """Return the columns that describe a function as a competitor, from the most similar traffic.

    Similarity is the distance between the logarithms of flows and packet size. Values are neither
    interpolated nor extrapolated.
    """
    wanted = np.log([flows, size])
    known = np.log(np.column_stack([own.columns[name] for name in TRAFFIC_NAMES]))
    nearest = int(np.abs(known - wanted).sum(axis=1).argmin())
    others = [name for name in own.columns if name not in TRAFFIC_NAMES]
    return {name: float(own.columns[name][nearest]) for name in others}


def total_contention(
    parts: Sequence[Mapping[str, float]], names: Sequence[str]
) -> dict[str, float]:
    """Return the contention that all competitors cause together; zero without competitors.

    Rates, working sets and scores add up. Instructions per cycle are total instructions divided by
    total cycles.
    """
    found = {name: sum(part[name] for part in parts) for name in names if name in _ADDED}
    if "ipc" in names:
        cycles = sum(part["irt"] / part["ipc"] for part in parts if part["ipc"] > 0)
        found["ipc"] = found["irt"] / cycles if cycles else 0.0
    return {name: found[name] for name in names}


def together_by_row(counts: Floats, own: Columns, names: Sequence[str]) -> dict[str, Floats]:
    """Return the contention that all competitors cause together, for many rows at once.

    Args:
        counts: number of instances of each competitor, `[row, competitor]`.
        own: by column, contention of each competitor alone, `[competitor]`.
        names: columns to return.
    """
    found = {name: counts @ own[name] for name in names if name in _ADDED}
    if "ipc" in names:
        known = own["ipc"] > 0
        each = np.divide(own["irt"], own["ipc"], out=np.zeros_like(own["irt"]), where=known)
        cycles = counts @ each
        found["ipc"] = np.divide(found["irt"], cycles, out=np.zeros_like(cycles), where=cycles > 0)
    return {name: found[name] for name in names}


Source = Literal["given", "detected", "declared", "assumed"]

_DRAWS = 2000
_SURE = 0.9
_FEWEST = 3
_EQUAL = 1e-9


class Detected(NamedTuple):
    """The execution pattern that was detected from measurements of mixes, with its confidence."""

    pattern: Pattern | None  # None if the confidence is too low
    confidence: float  # confidence in the pattern that fits better, as a share
    pipeline_error: float  # mean relative error of Eq. 3
    run_to_completion_error: float  # mean relative error of Eq. 4
    co_runs: int


class Reason(NamedTuple):
    """The reason for the execution pattern of a model: its source, and the evidence."""

    source: Source
    declared: Pattern | None = None  # pattern in the record of the profile
    detected: Detected | None = None  # None without suitable co-runs


def better_of(off_p: Floats, off_r: Floats) -> Detected:
    """Detect the execution pattern that fits measured mixes better.

    Args:
        off_p: relative errors of the pipeline model, by mix.
        off_r: relative errors of the run-to-completion model, by mix.

    Returns:
        The pattern, or None as pattern if fewer than 90 % of the resamples agree.
    """
    count = len(off_p)
    better: Pattern = "pipeline" if off_p.sum() <= off_r.sum() else "run-to-completion"
    confidence = 0.5
    if count >= _FEWEST:
        drawn = np.random.default_rng(0).integers(count, size=(_DRAWS, count))  # reproducible
        gain = (off_r - off_p)[drawn].mean(axis=1)  # above zero: pipeline fits better
        wins = np.mean(gain > _EQUAL) + np.mean(np.abs(gain) <= _EQUAL) / 2
        confidence = float(wins if better == "pipeline" else 1 - wins)
    sure = better if confidence >= _SURE else None
    errors = [float(off.mean()) if count else 0.0 for off in (off_p, off_r)]
    return Detected(sure, confidence, errors[0], errors[1], count)
