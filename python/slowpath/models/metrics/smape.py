"""Symmetric mean absolute percentage error, as the paper's Eq. 1 has it, but a mean and a share."""

import numpy as np

from slowpath.models.templates.batch import Floats


class Smape:
    """|fitted - measured| / (|fitted| + |measured|): from 0 to 1, and never without a value."""

    def each(self, measured: Floats, fitted: Floats) -> Floats:
        """Zero where both are."""
        size = np.abs(measured) + np.abs(fitted)
        return np.abs(fitted - measured) / np.where(size > 0, size, 1.0)

    def whole(self, mean: float) -> float:
        """The mean itself."""
        return mean


METRIC = Smape()
