"""Computes the errors of models at measured points by several metrics.

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
        """Return the distance between measured and fitted value of each point, to be averaged."""

    def whole(self, mean: float) -> float:
        """Return the error that follows from `mean`, the mean of the points' results of `each`."""


class Smape:
    """Symmetric mean absolute percentage error, in the form of Scholz et al. 2021, Eq. 1.

    |fitted - measured| / (|fitted| + |measured|): between 0 and 1, defined everywhere.
    """

    def each(self, measured: "Floats", fitted: "Floats") -> "Floats":
        """Return |fitted - measured| / (|fitted| + |measured|) by point; zero if both are zero."""
        import numpy as np

        size = np.abs(measured) + np.abs(fitted)
        return np.abs(fitted - measured) / np.where(size > 0, size, 1.0)

    def whole(self, mean: float) -> float:
        """Return the error that follows from `mean`, the mean of the points' results of `each`.

        It is equal to the mean.
        """
        return mean


class Mape:
    """Mean absolute percentage error, as a share: |fitted - measured| / |measured|."""

    def each(self, measured: "Floats", fitted: "Floats") -> "Floats":
        """Return |fitted - measured| / |measured| by point; infinite if only `measured` is zero."""
        import numpy as np

        distance, size = np.abs(fitted - measured), np.abs(measured)
        nonzero, undefined = size > 0, np.where(distance > 0, np.inf, 0.0)
        return np.where(nonzero, distance / np.where(nonzero, size, 1.0), undefined)

    def whole(self, mean: float) -> float:
        """Return the error that follows from `mean`, the mean of the points' results of `each`.

        It is equal to the mean.
        """
        return mean


class Rmse:
    """Root of the mean squared error, in the unit of y; large errors count most."""

    def each(self, measured: "Floats", fitted: "Floats") -> "Floats":
        """Return the squared error of each point."""
        return (fitted - measured) ** 2

    def whole(self, mean: float) -> float:
        """Return the error that follows from `mean`, the mean of squared errors: its root."""
        return math.sqrt(mean)


METRICS: Mapping[str, Metric] = {"smape": Smape(), "mape": Mape(), "rmse": Rmse()}


def error(name: str, measured: "Floats", fitted: "Floats") -> float:
    """Return the error of fitted values by the metric of this name."""
    metric = METRICS[name]
    return metric.whole(float(metric.each(measured, fitted).mean()))
