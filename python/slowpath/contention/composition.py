"""Composition of contention for several resources (paper, 4.2), and of several competitors.

Each resource has a partial throughput: of the function when there is contention for that resource
only, T_solo - dT_k. A pipeline is as fast as its slowest stage (Eq. 3); run-to-completion adds up
what each resource adds to the time of a packet (Eq. 4); Eq. 7 is the two cases side by side. `sum`
and `min` are the compositions that the paper compares with (2.2).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.tables.profiles import OwnContention

Floats = NDArray[np.float64]
Pattern = Literal["pipeline", "run-to-completion"]
Composition = Literal["pipeline", "run-to-completion", "sum", "min"]


def pipeline(parts: Floats, _solo: Floats) -> Floats:
    """Eq. 3: T_solo - max dT_k, which is the least partial throughput."""
    return np.asarray(parts.min(axis=0))


def run_to_completion(parts: Floats, solo: Floats) -> Floats:
    """Eq. 4: 1 / (sum 1 / (T_solo - dT_k) - (r - 1) / T_solo)."""
    time = (1 / parts).sum(axis=0) - (len(parts) - 1) / solo
    return np.asarray(1 / np.maximum(time, 1 / parts.min(axis=0)))


def summed(parts: Floats, solo: Floats) -> Floats:
    """The drops added up, T_solo - sum dT_k, and no less than zero."""
    return np.asarray(np.maximum(solo - (solo - parts).sum(axis=0), 0.0))


def least(parts: Floats, _solo: Floats) -> Floats:
    """The resource that leaves least, whatever the pattern."""
    return np.asarray(parts.min(axis=0))


COMPOSITIONS: Mapping[Composition, Callable[[Floats, Floats], Floats]] = {
    "pipeline": pipeline,
    "run-to-completion": run_to_completion,
    "sum": summed,
    "min": least,
}
"""From partial throughputs `[resource, row]` and the solo throughput `[row]` to that of rows."""


def bottleneck(parts: Floats) -> NDArray[np.intp]:
    """Which resource takes most, by row: both patterns blame the one with the largest drop."""
    return np.asarray(parts.argmin(axis=0))


Columns = Mapping[str, Floats]

_ADDED = ("irt", "l2crd", "l2cwr", "memrd", "memwr", "wss_mb", "dma_mb", "score")


def contention_at(own: OwnContention, flows: float, size: float) -> dict[str, float]:
    """A function's own contention under traffic: that of the nearest traffic it was measured with.

    Near is meant of logarithms; nothing is made up between or beyond what was measured.
    """
    names = ("flow_count", "packet_size_bytes")
    wanted = np.log([flows, size])
    known = np.log(np.column_stack([own.columns[name] for name in names]))
    nearest = int(np.abs(known - wanted).sum(axis=1).argmin())
    return {name: float(v[nearest]) for name, v in own.columns.items() if name not in names}


def together(parts: Sequence[Mapping[str, float]], names: Sequence[str]) -> dict[str, float]:
    """Contention of all; nobody is none at all.

    Rates, working sets and scores add up; instructions per cycle are those of all cycles together.
    """
    found = {name: sum(part[name] for part in parts) for name in names if name in _ADDED}
    if "ipc" in names:
        cycles = sum(part["irt"] / part["ipc"] for part in parts if part["ipc"] > 0)
        found["ipc"] = found["irt"] / cycles if cycles else 0.0
    return {name: found[name] for name in names}


def together_by_row(counts: Floats, own: Columns, names: Sequence[str]) -> dict[str, Floats]:
    """The same of many rows at once.

    Args:
        counts: how many of each competitor a row has, `[row, competitor]`.
        own: by column, what each competitor does by itself.
        names: the columns that are wanted.
    """
    found = {name: counts @ own[name] for name in names if name in _ADDED}
    if "ipc" in names:
        known = own["ipc"] > 0
        each = np.divide(own["irt"], own["ipc"], out=np.zeros_like(own["irt"]), where=known)
        cycles = counts @ each
        found["ipc"] = np.divide(found["irt"], cycles, out=np.zeros_like(cycles), where=cycles > 0)
    return {name: found[name] for name in names}
