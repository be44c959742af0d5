"""Root of the mean squared error, in the unit of y."""

import math

from slowpath.models.templates.batch import Floats


class Rmse:
    """Large values count most."""

    def each(self, measured: Floats, fitted: Floats) -> Floats:
        """The square."""
        return (fitted - measured) ** 2

    def whole(self, mean: float) -> float:
        """Its root."""
        return math.sqrt(mean)


METRIC = Rmse()
