"""Computes the errors of models by several metrics.

NumPy is imported where it is used, as the command line only needs the names of metrics.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from slowpath.core.arrays import Floats


class Metric(Protocol):
    """A metric for the distance between fitted and measured values; it is zero if they are equal.

    The distance is a function of a mean over points, so that errors of segments can be combined.
    """

    def each(self, measured: "Floats", fitted: "Floats") -> "Floats":
        """Return the contribution of each point."""

    def whole(self, mean: float) -> float:
        """Return the error of points whose contributions have the mean `mean`."""


class Smape:
    """Symmetric mean absolute percentage error, in the form of the paper's Eq. 1.

    |fitted - measured| / (|fitted| + |measured|): between 0 and 1, defined everywhere.
    """

    def each(self, measured: "Floats", fitted: "Floats") -> "Floats":
        """Return the distance of each point; zero if both values are zero."""
        import numpy as np

        size = np.abs(measured) + np.abs(fitted)
        return np.abs(fitted - measured) / np.where(size > 0, size, 1.0)

    def whole(self, mean: float) -> float:
        """Return the mean itself."""
        return mean


class Mape:
    """Mean absolute percentage error, as a share: |fitted - measured| / |measured|."""

    def each(self, measured: "Floats", fitted: "Floats") -> "Floats":
        """Return the distance of each point; infinite if only the measured value is zero."""
        import numpy as np

        distance, size = np.abs(fitted - measured), np.abs(measured)
        nonzero, undefined = size > 0, np.where(distance > 0, np.inf, 0.0)
        return np.where(nonzero, distance / np.where(nonzero, size, 1.0), undefined)

    def whole(self, mean: float) -> float:
        """Return the mean itself."""
        return mean


class Rmse:
    """Root of the mean squared error, in the unit of y; large errors count most."""

    def each(self, measured: "Floats", fitted: "Floats") -> "Floats":
        """Return the squared error of each point."""
        return (fitted - measured) ** 2

    def whole(self, mean: float) -> float:
        """Return the square root of the mean."""
        return math.sqrt(mean)


METRICS: Mapping[str, Metric] = {"smape": Smape(), "mape": Mape(), "rmse": Rmse()}


def error(name: str, measured: "Floats", fitted: "Floats") -> float:
    """Return the error of fitted values by the metric of this name."""
    metric = METRICS[name]
    return metric.whole(float(metric.each(measured, fitted).mean()))
