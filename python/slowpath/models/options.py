"""Options for deriving a model from measured points, and the metrics of its errors.

NumPy is imported where it is used, as the command line only needs the names of metrics.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias, get_args

if TYPE_CHECKING:
    from slowpath.core.arrays import Floats

Rule: TypeAlias = Literal["criterion", "margins", "held-out"]
Direction: TypeAlias = Literal["increasing", "decreasing"]
Method: TypeAlias = Literal["dynamic", "exhaustive", "extrema"]
RULES: tuple[Rule, ...] = get_args(Rule)
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
METHODS: tuple[Method, ...] = get_args(Method)
MOST_SEGMENTS = 12


class Options(NamedTuple):
    """Options of the derivation of a model. The defaults suit most data."""

    metric: str = "smape"
    """Error metric of reports, by which `margins` and `held-out` also select models (`METRICS`)."""
    select: Rule = "criterion"
    """Rule that selects templates and the number of segments (`derivation`)."""
    search: Method = "dynamic"
    """Method that finds segments (`derivation`); `extrema` restricts the cuts (`costs`)."""
    segments: int | None = None
    """Number of segments; None if the rule decides."""
    most_segments: int = MOST_SEGMENTS
    """Maximum number of segments if the rule decides."""
    detailed: bool = False
    """True if additional segments and parameters cost little in the selection. The rule `criterion`
    also tries such a model, and selects it if it predicts held-out points clearly better."""
    monotone: Direction | None = None
    """Direction in which the model must change with x, rise or fall; None for no restriction. Only
    for models of one x column."""
    non_negative: bool = False
    """True to restrict the model to values of zero or more."""
    least_parameter: float = 0.0
    """Minimum absolute value of parameters (Scholz et al. 2021, Eq. 2), in units in which the
    largest x and the median of y are one. Only for models of one x column."""
    confidence: float = 0.9
    """Confidence level of intervals, as a share."""
    hold_out: bool = True
    """True to hold out points in order to judge predictions, which takes most of the time."""
    seed: int = 1
    """Seed of the bootstrap that computes intervals; the same seed yields the same intervals."""
    margin: float = 0.1
    """For the rule `margins`: relative error that a simpler model may add (Scholz et al. 2021, Eq.
    3)."""
    least_margin: float = 0.001
    """For the rule `margins`: absolute error that a simpler model may add; the larger of both
    margins counts."""


class Metric(Protocol):
    """Interface of error metrics, which compare fitted with measured values; equal values give 0.

    The error is a function of a mean over points, so that errors of segments can be combined.
    """

    def each(self, measured: "Floats", fitted: "Floats") -> "Floats":
        """Return the contribution of each point to the mean from which the error follows."""

    def whole(self, mean: float) -> float:
        """Return the error, from the mean of all results of `each`."""


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
        """Return the error, from the mean of all results of `each`: the mean itself."""
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
        """Return the error, from the mean of all results of `each`: the mean itself."""
        return mean


class Rmse:
    """Root of the mean squared error, in the unit of y; large errors count most."""

    def each(self, measured: "Floats", fitted: "Floats") -> "Floats":
        """Return the squared error of each point."""
        return (fitted - measured) ** 2

    def whole(self, mean: float) -> float:
        """Return the error, from the mean of all results of `each`: its square root."""
        return math.sqrt(mean)


METRICS: Mapping[str, Metric] = {"smape": Smape(), "mape": Mape(), "rmse": Rmse()}


def error(name: str, measured: "Floats", fitted: "Floats") -> float:
    """Return the error of fitted values by the metric `name`."""
    metric = METRICS[name]
    return metric.whole(float(metric.each(measured, fitted).mean()))
