"""Segments of models with their fitted functions: fits, checks of plausibility, and predictions."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats, Mask
from slowpath.models.catalogue import BY_NAME
from slowpath.models.costs import Piece, Restrictions
from slowpath.models.documents import FittedModel, Segment
from slowpath.models.points import PointsError, Series, check_sizes
from slowpath.models.polynomial import Terms
from slowpath.models.template import Batch, Curve, Template, pieces_of

_BETWEEN = 8
"""Number of intervals into which each gap between two points is divided, to check a function there.
"""
_BEYOND = 0.5
"""Maximum distance of a function from the range of the four nearest points, as a share of this
range.
"""


_FLAT = 1e-9
_FAR = 1e9
"""Limit of residuals in a fit; residuals that are not finite get this value."""
_CALLS = 200
_FURTHEST = 10.0
"""Growth factor above which a parameter counts as diverging, because the points do not determine
it.
"""
_NO_RESTRICTIONS = Restrictions()


class FittedSegment(NamedTuple):
    """A segment of a model, with the function fitted to its points."""

    piece: Piece
    template: Template
    parameters: Floats
    origin: float  # subtracted from x in the function
    first: float  # x of the first point
    last: float  # x of the last point

    def value(self, x: Floats, others: Floats | None = None) -> Floats:
        """Return the values of the function at x; they are not finite where it is undefined.

        `others` has the values of further x columns.
        """
        if isinstance(self.template, Terms):
            return self.template.value(self.parameters, x, others)
        return self.template.value(self.parameters, x - self.origin)

    def slopes(self, x: Floats, others: Floats | None = None) -> Floats:
        """Return the derivatives of the function by each parameter, `[x, parameter]`.

        `others` has the values of further x columns.
        """
        if isinstance(self.template, Terms):
            return self.template.slopes(self.parameters, x, others)
        return self.template.slopes(self.parameters, x - self.origin)


def part_of(
    series: Series, piece: Piece, template: Template, rules: Restrictions = _NO_RESTRICTIONS
) -> FittedSegment:
    """Fit a template to the points of a segment, and return the fitted segment.

    The fit uses units in which numbers are around one, so that units of the data do not affect the
    result.
    """
    inside = slice(piece.begin, piece.end)
    x, y = series.x[inside], series.y[inside]
    others = None if series.others is None else series.others[inside]
    by_x = by_y = 1.0
    if others is None:
        by_x = abs(float(x[0])) or abs(float(x[-1])) or 1.0
        by_y = float(np.median(series.level[inside])) or 1.0
    curve = Curve(x / by_x, y / by_y, series.scale[inside] / by_y, others)
    batch = pieces_of(curve, [(0, len(x))])
    with np.errstate(all="ignore"):
        found = template.each(batch)[:, 0]
        origin = batch.x[0] if template.origin_at_start else 0.0
        if not template.exact:
            found = _polished(template, found, batch, batch.x - origin)
        found = template.scaled(found, by_x, by_y)
        if rules.floor is not None:
            found = rules.floor.parameters(template, found)
        found = rules.raised(template, found)
    first = float(x[0])
    begin = first if template.origin_at_start else 0.0
    return FittedSegment(piece, template, found, begin, first, float(x[-1]))


def _polished(template: Template, parameters: Floats, batch: Batch, x: Floats) -> Floats:
    """Refine fitted parameters by the Levenberg-Marquardt algorithm.

    If this does not improve the fit, the parameters are returned unchanged.
    """
    if len(x) < len(parameters) or not np.isfinite(parameters).all():
        return parameters
    from scipy.optimize import least_squares

    def residuals(now: Floats) -> Floats:
        found = (template.value(now, x) - batch.y) / batch.scale
        return np.where(np.isfinite(found), np.clip(found, -_FAR, _FAR), _FAR)

    found = least_squares(residuals, parameters, method="lm", x_scale="jac", max_nfev=_CALLS)
    better = 2 * found.cost < float((residuals(parameters) ** 2).sum())
    near = (np.abs(found.x) <= _FURTHEST * np.abs(parameters)).all()
    return np.asarray(found.x) if better and near else parameters


def sensible(part: FittedSegment, series: Series, rules: Restrictions) -> bool:
    """Return true if a segment's function is finite and obeys the restrictions.

    It must do so at all points and between them.
    """
    if series.others is not None:
        return bool(np.isfinite(part.parameters).all())
    values = _between_points(part, series)
    if rules.non_negative and (values < 0).any():
        return False
    if rules.sign and (np.diff(values) * rules.sign < -_FLAT * np.abs(values).max()).any():
        return False
    return bool(np.isfinite(values).all() and np.isfinite(part.parameters).all())


def stays_near(part: FittedSegment, series: Series) -> bool:
    """Return true if a segment's function stays near the four nearest points everywhere."""
    if series.others is not None:
        return True
    y = series.y[part.piece.begin : part.piece.end]
    values = _between_points(part, series)
    largest = float(np.abs(values[::_BETWEEN] - y).max())
    low, high = _nearby(y, np.minimum), _nearby(y, np.maximum)
    room = _BEYOND * (high - low) + largest
    return bool(((values >= low - room) & (values <= high + room)).all())


def _between_points(part: FittedSegment, series: Series) -> Floats:
    """Return the values of a segment's function at the points, and at positions between them."""
    with np.errstate(all="ignore"):
        return part.value(between(series.x[part.piece.begin : part.piece.end]))


def _nearby(y: Floats, extreme: "np.ufunc") -> Floats:
    """Return the minimum or maximum of the four nearest y, at each position from `between`.

    `extreme` is `numpy.minimum` or `numpy.maximum`.
    """
    if len(y) == 1:
        return y
    padded = np.concatenate([y[:1], y, y[-1:]])
    gaps = extreme(extreme(padded[:-3], padded[1:-2]), extreme(padded[2:-1], padded[3:]))
    return np.append(np.repeat(gaps, _BETWEEN), extreme(y[-2], y[-1]))


def between(x: Floats) -> Floats:
    """Return x, with evenly spaced positions added between each pair of neighbours."""
    if len(x) == 1:
        return x
    shares = np.arange(_BETWEEN) / _BETWEEN
    return np.append((x[:-1, None] + np.diff(x)[:, None] * shares).ravel(), x[-1])


def at_points(part: FittedSegment, series: Series) -> tuple[Floats, Floats | None]:
    """Return the x that a segment was fitted to, and the values of further x columns."""
    inside = slice(part.piece.begin, part.piece.end)
    return series.x[inside], None if series.others is None else series.others[inside]


def fitted_at_points(parts: Sequence[FittedSegment], series: Series) -> Floats:
    """Return the values of all segments' functions at the points to which they were fitted."""
    return np.concatenate([part.value(*at_points(part, series)) for part in parts])


_TABLE = 2  # dimensions
EXACT = 1e-9
"""Relative errors up to this value are errors of the arithmetic."""


class Prediction(NamedTuple):
    """Predicted y with intervals, one for each x; all numbers are finite."""

    y: Floats
    low: Floats  # lower end of the interval of a single measurement
    high: Floats
    outside: Mask  # true if x is beyond the measured range


def error_known(model: FittedModel) -> bool:
    """Return true if the error of a model is known from the points.

    It is unknown if there are as many parameters as points: functions then pass through all
    points, whatever their error. It is also unknown if a few points lie on the model by chance.
    """
    if model["points"] <= sum(segment["rank"] for segment in model["segments"]):
        return False
    return model["held_out"] is not None or model["errors"]["smape"] > EXACT


def evaluate(model: FittedModel, x: Sequence[float] | Floats) -> Prediction:
    """Predict y at every x; with several x columns, each row of `x` has their values.

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
    """Return the x between `low` and `high` at which the slope of the model's residuals changes.

    Residuals are deviations from the functions that neighbouring points share.
    """
    knots = [] if model["residuals"] is None else model["residuals"]["x"]
    return [x for x in knots if low < x < high]


class _Evaluated:
    """A segment of a model, prepared for computing values and intervals."""

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
        """Return the values of the segment at x, and both ends of their intervals.

        `others` has the values of further x columns. `extend` permits extrapolation before the
        first and beyond the last x of the segment. Without it, the value at the end continues.
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

    `rows` has the x, one for each result. The change of function may be anywhere between these
    points, so the interval of each value covers those of both points.
    """
    x, others = rows[:, 0], rows[:, 1:]
    ones = np.ones_like(x)
    a, b = left.part.last, right.part.first
    begin = left.at(a * ones, others, (False, False))
    end = right.at(b * ones, others, (False, False))
    value = begin[0] + (end[0] - begin[0]) * (x - a) / (b - a)
    return np.array([value, np.minimum(begin[1], end[1]), np.maximum(begin[2], end[2])])
