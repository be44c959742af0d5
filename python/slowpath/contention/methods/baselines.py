"""What others predict, to compare with: a constant, and SLOMO. `sum` and `min` are compositions.

SLOMO (Manousis et al., SIGCOMM 2020) learns throughput from the competitors' counters under one
traffic. For other traffic it extrapolates from the throughput that the function alone then has (its
section 6, which the paper compares with in 7.1): in our reading, the curve keeps its shape and
begins at the new solo throughput. It knows no resource but memory.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.memory.learning.recipes import RECIPES
from slowpath.contention.memory.learning.rows import Columns
from slowpath.contention.memory.learning.stage import Stage, fit_stage
from slowpath.contention.model import rows_of
from slowpath.contention.tables.columns import TRAFFIC_NAMES
from slowpath.contention.tables.profiles import MemoryProfile

Floats = NDArray[np.float64]


class Slomo(NamedTuple):
    """Boosted trees on counters, under one traffic."""

    stage: Stage
    solo: float | None  # throughput alone, under the traffic of the training

    def predict(self, columns: Columns, solo: Floats | None = None) -> Floats:
        """Throughput; extrapolated where `solo`, alone under the new traffic, is known.

        Raises:
            ValueError: when it is known, and that of the training is not.
        """
        predicted = np.exp(self.stage.log_throughput(columns))
        if solo is None:
            return np.asarray(predicted)
        if self.solo is None:
            raise ValueError("the throughput alone under the traffic of the training is not known")
        return np.asarray(predicted * solo / self.solo)


def fit_slomo(profile: MemoryProfile, solo: float | None = None) -> Slomo:
    """SLOMO from rows, which should have one traffic."""
    return Slomo(fit_stage(RECIPES["slomo"], rows_of(profile)), solo)


def throughput_alone(profile: MemoryProfile) -> float | None:
    """The median of rows without competitors; None where there are none."""
    contention = [values for name, values in profile.columns.items() if name not in TRAFFIC_NAMES]
    without = ~np.any(contention, axis=0)
    return float(np.median(profile.throughput[without])) if without.any() else None


def constant(profile: MemoryProfile, rows: int) -> Floats:
    """The median of what was measured, for so many rows."""
    return np.full(rows, np.median(profile.throughput))
