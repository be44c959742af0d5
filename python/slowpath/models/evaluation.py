"""Computes the values of a model at given x, with intervals."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats, Mask
from slowpath.models.catalogue import BY_NAME
from slowpath.models.costs import Piece
from slowpath.models.documents import FittedModel, Segment
from slowpath.models.parts import FittedSegment
from slowpath.models.points import PointsError, check_sizes
from slowpath.models.polynomial import Terms

_TABLE = 2  # dimensions
EXACT = 1e-9
"""Errors up to this share are errors of the arithmetic."""


class Prediction(NamedTuple):
    """Predicted values of y with intervals, one for each x; all numbers are finite."""

    y: Floats
    low: Floats  # lower end of the interval of a single measurement
    high: Floats
    outside: Mask  # true if x is beyond the measured range


def error_known(model: FittedModel) -> bool:
    """Return true if points show the error of the model.

    They do not if there are as many parameters as points: functions then pass through all points,
    whatever their error. Nor do a few points that lie on the model by chance.
    """
    if model["points"] <= sum(segment["rank"] for segment in model["segments"]):
        return False
    return model["held_out"] is not None or model["errors"]["smape"] > EXACT


def evaluate(model: FittedModel, x: Sequence[float] | Floats) -> Prediction:
    """Predict y at every x; with several x columns, each row is one x.

    Raises:
        PointsError: when rows and model differ in the number of columns, or a value is too large
            or not a finite number.
    """
    rows = np.asarray(x, dtype=float)
    rows = rows.reshape(-1, 1) if rows.ndim == 1 else rows
    if rows.ndim != _TABLE or rows.shape[1] != len(model["x"]):
        names = ", ".join(model["x"])
        raise PointsError(f"each x must have {len(model['x'])} values, for the columns {names}")
    for name, column in zip(model["x"], rows.T, strict=True):
        check_sizes(name, column)
    at = rows[:, 0]
    parts = [_Evaluated(segment, model) for segment in model["segments"]]
    found = np.zeros((3, len(at)))
    starts = np.array([part.part.first for part in parts])
    which = np.maximum(np.searchsorted(starts, at, side="right") - 1, 0)
    for number, part in enumerate(parts):
        inside = which == number
        extend = (number == 0, number == len(parts) - 1)
        found[:, inside] = part.at(at[inside], rows[inside, 1:], extend)
        if number + 1 < len(parts):
            gap = inside & (at > part.part.last)
            found[:, gap] = _joined(part, parts[number + 1], rows[gap])
    if model["residuals"] is not None:
        found *= 1 + np.interp(at, model["residuals"]["x"], model["residuals"]["share"])
    low, high = np.array(model["range"]).T
    outside = ((rows < low) | (rows > high)).any(axis=1)
    return Prediction(found[0], found[1], found[2], outside)


def bends(model: FittedModel, low: float, high: float) -> list[float]:
    """Return the x between `low` and `high` at which the model's residuals change their slope."""
    knots = [] if model["residuals"] is None else model["residuals"]["x"]
    return [x for x in knots if low < x < high]


class _Evaluated:
    """A segment of a model, ready for evaluation."""

    def __init__(self, segment: Segment, model: FittedModel) -> None:
        self.segment, self.model = segment, model
        parameters = np.array([one["value"] for one in segment["parameters"]])
        self.part = FittedSegment(
            Piece(0, 0, 0),
            BY_NAME[segment["template"]] if segment["terms"] is None else Terms(segment["terms"]),
            parameters,
            segment["origin"],
            segment["from"],
            segment["to"],
        )

    def at(self, x: Floats, others: Floats, extend: tuple[bool, bool]) -> Floats:
        """Return the segment's values at x, with their intervals.

        `extend` permits extrapolation before the first and beyond the last x of the segment.
        Without it, the value at the end continues.
        """
        extrapolates = self.segment["extrapolates"]
        low = x.min(initial=self.part.first) if extrapolates and extend[0] else self.part.first
        high = x.max(initial=self.part.last) if extrapolates and extend[1] else self.part.last
        within = np.clip(x, low, high)
        with np.errstate(all="ignore"):
            value = self.part.value(within, others)
            undefined = ~np.isfinite(value)
            within = np.where(undefined, np.clip(x, self.part.first, self.part.last), within)
            known = np.clip(others, *np.array(self.model["range"][1:]).reshape(-1, 2).T)
            others = np.where(undefined[:, None], known, others)
            value = np.where(undefined, self.part.value(within, others), value)
            slopes = self.part.slopes(within, others)
        covariance = np.array(self.segment["covariance"])
        variance = np.nan_to_num(np.einsum("ij,jk,ik->i", slopes, covariance, slopes))
        return self._with_interval(self._limited(value), np.maximum(variance, 0))

    def _limited(self, value: Floats) -> Floats:
        least, most = self.segment["at_least"], self.segment["at_most"]
        if least is None and most is None:
            return value
        return np.clip(value, least, most)

    def _with_interval(self, value: Floats, variance: Floats) -> Floats:
        noise = self.segment["noise"] * np.maximum(np.abs(value), self.model["floor"])
        unsure = self.model["quantile"] ** 2 * variance
        below, above = (
            self.model["widening"] * np.sqrt((quantile * noise) ** 2 + unsure)
            for quantile in self.model["noise_quantiles"]
        )
        return np.array([value, value - below, value + above])


def _joined(left: _Evaluated, right: _Evaluated, rows: Floats) -> Floats:
    """Interpolate between the last point of a segment and the first point of the next one.

    The change of function may be anywhere between these points, so the interval of each value
    covers those of both points.
    """
    x, others = rows[:, 0], rows[:, 1:]
    ones = np.ones_like(x)
    a, b = left.part.last, right.part.first
    begin = left.at(a * ones, others, (False, False))
    end = right.at(b * ones, others, (False, False))
    value = begin[0] + (end[0] - begin[0]) * (x - a) / (b - a)
    return np.array([value, np.minimum(begin[1], end[1]), np.maximum(begin[2], end[2])])
