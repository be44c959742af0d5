"""Mean absolute percentage error, as a share."""

import numpy as np

from slowpath.models.templates.batch import Floats


class Mape:
    """|fitted - measured| / |measured|."""

    def each(self, measured: Floats, fitted: Floats) -> Floats:
        """Infinite where only the measured value is zero."""
        apart, size = np.abs(fitted - measured), np.abs(measured)
        some = size > 0
        return np.where(some, apart / np.where(some, size, 1.0), np.where(apart > 0, np.inf, 0.0))

    def whole(self, mean: float) -> float:
        """The mean itself."""
        return mean


METRIC = Mape()
