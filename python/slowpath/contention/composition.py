"""Composition of contention for several resources (paper, 4.2), and of several competitors.

The partial throughput of a resource is the function's throughput with contention for that resource
only, T_solo - dT_k. A pipeline is as fast as its slowest stage (Eq. 3). In run-to-completion, each
resource adds its delay to the time of a packet (Eq. 4). Eq. 7 combines both cases. `sum` and `min`
are the baseline compositions of the paper (2.2).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from slowpath.contention.tables.columns import TRAFFIC_NAMES
from slowpath.contention.tables.profiles import OwnContention
from slowpath.core.arrays import Floats, Indices

Pattern = Literal["pipeline", "run-to-completion"]
Composition = Literal["pipeline", "run-to-completion", "sum", "min"]


def pipeline(parts: Floats, _solo: Floats) -> Floats:
    """Eq. 3: T_solo - max dT_k, the least partial throughput."""
    return np.asarray(parts.min(axis=0))


def run_to_completion(parts: Floats, solo: Floats) -> Floats:
    """Eq. 4: 1 / (sum 1 / (T_solo - dT_k) - (r - 1) / T_solo)."""
    time = (1 / parts).sum(axis=0) - (len(parts) - 1) / solo
    return np.asarray(1 / np.maximum(time, 1 / parts.min(axis=0)))


def summed(parts: Floats, solo: Floats) -> Floats:
    """Subtract the sum of all drops, T_solo - sum dT_k; the result is at least zero."""
    return np.asarray(np.maximum(solo - (solo - parts).sum(axis=0), 0.0))


def least(parts: Floats, _solo: Floats) -> Floats:
    """Return the least partial throughput, for any execution pattern."""
    return np.asarray(parts.min(axis=0))


COMPOSITIONS: Mapping[Composition, Callable[[Floats, Floats], Floats]] = {
    "pipeline": pipeline,
    "run-to-completion": run_to_completion,
    "sum": summed,
    "min": least,
}
"""Functions from partial throughputs `[resource, row]` and solo throughput `[row]` to the
throughput `[row]`."""


def bottleneck(parts: Floats) -> Indices:
    """Return the index of the resource with the largest drop, by row, as in both patterns."""
    return np.asarray(parts.argmin(axis=0))


Columns = Mapping[str, Floats]

_ADDED = ("irt", "l2crd", "l2cwr", "memrd", "memwr", "wss_mb", "dma_mb", "score")


def contention_at(own: OwnContention, flows: float, size: float) -> dict[str, float]:
    """Return a function's contention, as measured under the traffic nearest to the given one.

    The distance is between logarithms. Values are neither interpolated nor extrapolated.
    """
    wanted = np.log([flows, size])
    known = np.log(np.column_stack([own.columns[name] for name in TRAFFIC_NAMES]))
    nearest = int(np.abs(known - wanted).sum(axis=1).argmin())
    others = [name for name in own.columns if name not in TRAFFIC_NAMES]
    return {name: float(own.columns[name][nearest]) for name in others}


def total_contention(
    parts: Sequence[Mapping[str, float]], names: Sequence[str]
) -> dict[str, float]:
    """Return the contention of all competitors together; zero without competitors.

    Rates, working sets and scores add up. Instructions per cycle are those of all cycles together.
    """
    found = {name: sum(part[name] for part in parts) for name in names if name in _ADDED}
    if "ipc" in names:
        cycles = sum(part["irt"] / part["ipc"] for part in parts if part["ipc"] > 0)
        found["ipc"] = found["irt"] / cycles if cycles else 0.0
    return {name: found[name] for name in names}


def together_by_row(counts: Floats, own: Columns, names: Sequence[str]) -> dict[str, Floats]:
    """Return the contention of all competitors together, for many rows at once.

    Args:
        counts: number of each competitor, `[row, competitor]`.
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
