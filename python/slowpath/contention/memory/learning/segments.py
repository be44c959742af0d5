"""Piecewise linear in the first feature: a ridge on hinges, and on their products with the others.

The paper finds throughput to be piecewise linear in flows and in counters (appendix B, Figure 6).
"""

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.memory.learning.lines import Ridge

Floats = NDArray[np.float64]

_SEGMENTS = 4


class SegmentedRidge:
    """Lines that meet where segments do; segments have equally many different values."""

    def fit(self, x: Floats, y: Floats, /) -> "SegmentedRidge":
        """Learns from rows."""
        inner = np.linspace(0, 1, _SEGMENTS + 1)[:-1]
        self._knots = np.quantile(np.unique(x[:, 0]), inner) if x.shape[1] else np.empty(0)
        self._model = Ridge().fit(self._columns(x), y)
        return self

    def predict(self, x: Floats, /) -> Floats:
        """What it says of others."""
        return self._model.predict(self._columns(x))

    def _columns(self, x: Floats) -> Floats:
        others = x[:, 1:]
        hinges = np.maximum(x[:, :1] - self._knots, 0)
        products = (hinges[:, :, None] * others[:, None, :]).reshape(len(x), -1)
        return np.column_stack([hinges, others, products])
