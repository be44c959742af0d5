"""Segments with fitted functions, and checks that these functions are sensible between points."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats
from slowpath.models.costs import Piece, Restrictions
from slowpath.models.points import Series
from slowpath.models.polynomial import Terms
from slowpath.models.template import Batch, Curve, Template, pieces_of

_BETWEEN = 8
"""Number of intervals into which each gap between two points is divided to check a function there.
"""
_BEYOND = 0.5
"""Allowed distance of a function from the range of the four nearest points, as a share of this
range."""


_FLAT = 1e-9
_FAR = 1e9
"""Limit of residuals in a fit; it also replaces residuals that are not finite."""
_CALLS = 200
_FURTHEST = 10.0
"""Growth factor above which a parameter counts as diverging because the points do not determine it.
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
        """Return the values of the function at x. They are not finite where it is undefined."""
        if isinstance(self.template, Terms):
            return self.template.value(self.parameters, x, others)
        return self.template.value(self.parameters, x - self.origin)

    def slopes(self, x: Floats, others: Floats | None = None) -> Floats:
        """Return the derivatives of the function by each parameter; rows are x."""
        if isinstance(self.template, Terms):
            return self.template.slopes(self.parameters, x, others)
        return self.template.slopes(self.parameters, x - self.origin)


def part_of(
    series: Series, piece: Piece, template: Template, rules: Restrictions = _NO_RESTRICTIONS
) -> FittedSegment:
    """Fit a template to the points of a segment, and return the result.

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
    """Refine fitted parameters by the Levenberg-Marquardt algorithm, if it improves them."""
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
    """Return true if the function is finite and obeys the restrictions, at and between points."""
    if series.others is not None:
        return bool(np.isfinite(part.parameters).all())
    values = _between_points(part, series)
    if rules.non_negative and (values < 0).any():
        return False
    if rules.sign and (np.diff(values) * rules.sign < -_FLAT * np.abs(values).max()).any():
        return False
    return bool(np.isfinite(values).all() and np.isfinite(part.parameters).all())


def stays_near(part: FittedSegment, series: Series) -> bool:
    """Return true if the function stays near the four nearest points everywhere between points."""
    if series.others is not None:
        return True
    y = series.y[part.piece.begin : part.piece.end]
    values = _between_points(part, series)
    largest = float(np.abs(values[::_BETWEEN] - y).max())
    low, high = _nearby(y, np.minimum), _nearby(y, np.maximum)
    room = _BEYOND * (high - low) + largest
    return bool(((values >= low - room) & (values <= high + room)).all())


def _between_points(part: FittedSegment, series: Series) -> Floats:
    """Return the values of the function at the points and at positions between them."""
    with np.errstate(all="ignore"):
        return part.value(between(series.x[part.piece.begin : part.piece.end]))


def _nearby(y: Floats, extreme: "np.ufunc") -> Floats:
    """Return the minimum or maximum of the four nearest y, at each position that `between` returns.

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
    """Return the x values that a segment was fitted to, and the values of other x columns there."""
    inside = slice(part.piece.begin, part.piece.end)
    return series.x[inside], None if series.others is None else series.others[inside]


def fitted_at_points(parts: Sequence[FittedSegment], series: Series) -> Floats:
    """Return the values of all segments' functions at the points that they were fitted to."""
    return np.concatenate([part.value(*at_points(part, series)) for part in parts])
