"""A linear model with a penalty on its slopes, which is chosen on the rows themselves."""

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.memory.learning.process import scale_of

Floats = NDArray[np.float64]

_PENALTIES = np.logspace(-2, 3, 16)


class Ridge:
    """A ridge on scaled features; of all penalties, rows left out one by one take the best.

    Each left-out error follows from the fit to all rows (Golub, Heath and Wahba, "Generalized
    cross-validation as a method for choosing a good ridge parameter", Technometrics 1979).
    """

    def fit(self, x: Floats, y: Floats, /) -> "Ridge":
        """Learn from rows."""
        self._scale, self._mean = scale_of(x), float(y.mean())
        left, sizes, right = np.linalg.svd(self._scale(x), full_matrices=False)
        rest = y - self._mean
        along = left.T @ rest
        errors = []
        for penalty in _PENALTIES:
            kept = sizes**2 / (sizes**2 + penalty)
            leverage = left**2 @ kept + 1 / len(y)
            errors.append((((rest - left @ (kept * along)) / (1 - leverage)) ** 2).mean())
        best = _PENALTIES[int(np.argmin(errors))]
        self._slopes = right.T @ (sizes / (sizes**2 + best) * along)
        return self

    def predict(self, x: Floats, /) -> Floats:
        """Return what the line says of other rows."""
        return np.asarray(self._scale(x) @ self._slopes + self._mean)
