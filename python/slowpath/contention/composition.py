"""What contention for several resources comes to (paper, 4.2): Eq. 3, 4 and 7, and baselines.

Each resource has a partial throughput: of the function when there is contention for that resource
only, T_solo - dT_k. A pipeline is as fast as its slowest stage (Eq. 3); run-to-completion adds up
what each resource adds to the time of a packet (Eq. 4); Eq. 7 is the two cases side by side. `sum`
and `min` are the compositions that the paper compares with (2.2).
"""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
