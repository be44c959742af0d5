"""Measured points with their weights: checks, preparation for fits, and detection of outliers.

An outlier has the same effect as a point at the edge of the usual range. Before there is a model, a
point is an outlier if it is far from each line through two of its neighbours: both on the left,
both on the right, or one on each side. So the first point after a step is not an outlier.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats, Indices, Mask
from slowpath.models.costs import usual_spread
from slowpath.models.polynomial import MOST_COLUMNS
from slowpath.models.residuals import Noise
from slowpath.models.template import Curve

FEWEST = 3
"""Minimum number of points with different x for a model."""
_NEAR = 2
"""Number of neighbours on each side for the running median that gives the level of y around a
point.
"""
_SMALL = 0.05
"""Minimum divisor of relative differences, as a share of the median of y. It is used if values are
zero or change sign.
"""


_SURER = 0.5
"""Minimum spread of a point, as a share of the usual spread; a few measurements can agree by
chance.
"""
_UNSURE = 1e6
"""Relative spread of a point above which it contains no information."""
LARGEST = 1e60
"""Largest allowed absolute value of a point. Values below its inverse become zero, so that products
do not overflow.
"""


class PointsError(ValueError):
    """No model can be derived from the points; the text has the reason."""


class Points(NamedTuple):
    """A table of measured points, one in each row, in any order.

    `x` has one column for each of `names`; the name of `y` is `y_name`. `weight` is the relative
    weight of a point, `spread` the standard deviation of its y. Rows with the same x are repeated
    measurements. `shared` has the joint deviations of rows that were measured together; rows are
    points. Its product with its transpose is the covariance of y.
    """

    names: tuple[str, ...]
    x: Floats
    y_name: str
    y: Floats
    weight: Floats | None = None
    spread: Floats | None = None
    shared: Floats | None = None

    def rows(self, which: Mask | Indices) -> "Points":
        """Return the points that a mask or indices select, in the order of the indices."""
        return self._replace(
            x=self.x[which],
            y=self.y[which],
            weight=None if self.weight is None else self.weight[which],
            spread=None if self.spread is None else self.spread[which],
            shared=None if self.shared is None else self.shared[which],
        )


def points_of(
    columns: Mapping[str, Sequence[float]],
    x: Sequence[str],
    y: str,
    *,
    weight: str | None = None,
    spread: str | None = None,
) -> Points:
    """Create points from the columns of a table, by their names.

    `weight` and `spread` are names of columns, too.

    Raises:
        PointsError: when a value is not a finite number, or there are too few values.
    """
    names = (name for name in (*x, y, weight, spread) if name is not None)
    used = {name: np.asarray(columns[name], dtype=float) for name in names}
    for name, values in used.items():
        if not np.isfinite(values).all():
            place = int(np.flatnonzero(~np.isfinite(values))[0])
            raise PointsError(f"value {place + 1} of the column {name} is not a finite number")
    for column in (weight, spread):
        if column is not None and (used[column] < 0).any():
            raise PointsError(
                f"the column {column} has negative values; make them zero or positive"
            )
    table = Points(
        tuple(x),
        np.column_stack([used[name] for name in x]),
        y,
        used[y],
        None if weight is None else used[weight],
        None if spread is None else used[spread],
    )
    check(table)
    return table


def ordered(points: Points) -> Points:
    """Return the points in the order of x, so that results do not depend on the order of rows.

    Tiny values become zero.
    """
    x, y = (np.where(np.abs(side) < 1 / LARGEST, 0.0, side) for side in (points.x, points.y))
    spread = None if points.spread is None else np.minimum(points.spread, LARGEST)
    return points._replace(x=x, y=y, spread=spread).rows(np.lexsort((y, *x.T[::-1])))


def check(points: Points) -> None:
    """Check that a model can be derived from the points.

    Raises:
        PointsError: when there are too many columns, too few points, or invalid values.
    """
    if len(points.names) > MOST_COLUMNS:
        raise PointsError(
            f"a model has at most {MOST_COLUMNS} x columns; name fewer than {len(points.names)}"
        )
    for name, values in zip((*points.names, points.y_name), (*points.x.T, points.y), strict=True):
        check_sizes(name, values)
    different = len(np.unique(points.x[:, 0])) if len(points.y) else 0
    if different < FEWEST:
        name = points.names[0]
        raise PointsError(
            f"the column {name} has {different} different values; a model needs at least {FEWEST}"
        )


def check_sizes(name: str, values: Floats) -> None:
    """Check that the values of the column `name` can be used.

    Raises:
        PointsError: when a value is too large or not a finite number.
    """
    if not np.isfinite(values).all():
        raise PointsError(
            f"{name} has {values[~np.isfinite(values)][0]}, which is not a finite number"
        )
    largest = float(np.abs(values).max(initial=0))
    if largest > LARGEST:
        reason = f"above the limit of {LARGEST:g}; write values in a larger unit"
        raise PointsError(f"{name} has {largest:g}, {reason}")


class Series(NamedTuple):
    """The points of a curve, one for each different x, in ascending order of the first x column."""

    x: Floats
    y: Floats  # median of the measurements at each x
    scale: Floats  # divisor of residuals: level, corrected by spread and weight
    floor: float  # minimum level of a value
    row: Indices  # index in this series of each row of the table
    level: Floats  # typical size of values around each point: the divisor of relative errors
    others: Floats | None = None  # further columns of x

    @property
    def curve(self) -> Curve:
        """The points as a curve, to which functions can be fitted."""
        return Curve(self.x, self.y, self.scale, self.others)


def series_of(points: Points) -> Series:
    """Combine repeated measurements of the same x into one point each, by the median of y.

    The points are in ascending order of the first x column.
    """
    rows, row, count = np.unique(points.x, axis=0, return_inverse=True, return_counts=True)
    row = row.ravel()
    order = np.lexsort((points.y, row))
    groups = np.split(order, np.cumsum(count)[:-1])
    y = np.array([np.median(points.y[group]) for group in groups])
    floor = value_floor(y)
    single = len(points.names) == 1
    level = np.maximum(_level(y) if single else np.abs(y), floor)
    others = None if single else rows[:, 1:]
    scale = level
    if points.spread is not None:
        spread = np.array([np.sqrt(np.mean(points.spread[group] ** 2)) for group in groups])
        share = np.minimum(spread / level, _UNSURE)
        scale = scale * _expected_deviation(share, Curve(rows[:, 0], y, level, others))
    weight = count.astype(float)
    if points.weight is not None and points.weight.any():
        share = points.weight / points.weight.max()  # against overflow
        sums = np.array([share[group].sum() for group in groups])
        weight = np.maximum(sums, 1e-9 * sums.max()) * (weight.mean() / sums.mean())
    return Series(rows[:, 0], y, scale / np.sqrt(weight), floor, row, level, others)


def _expected_deviation(share: Floats, curve: Curve) -> Floats:
    """Return the expected deviation of each point from a fitted function, relative to the median.

    `share` has the known relative deviation of each point's measurements. Even precise points
    deviate from a function, since none matches the curve exactly. The distance of points from lines
    through their neighbours shows by how much.
    """
    usual = float(np.median(share)) or 1.0
    beyond = (usual_spread(curve) or 0.0) ** 2 - usual**2
    square = np.maximum(share, usual * _SURER) ** 2 + max(beyond, (usual * _SURER) ** 2)
    return np.asarray(np.sqrt(square / np.median(square)))


def noise_is_known(points: Points) -> bool:
    """Return true if the table states the spread of its points."""
    return points.spread is not None and bool(points.spread.any())


def noise_of(series: Series, points: Points) -> Noise:
    """Return the variance of each point, relative to the square of the usual y around the point."""
    if points.spread is None or not noise_is_known(points):
        square = (series.scale / series.level) ** 2
        return Noise(square / square.mean(), known=False)
    count = np.bincount(series.row)
    squares = np.bincount(series.row, points.spread**2)
    share = np.minimum(np.sqrt(squares) / count / series.level, _UNSURE)
    return Noise(np.maximum(share, _SURER * float(np.median(share))) ** 2, known=True)


def value_floor(y: Floats) -> float:
    """Return the minimum divisor of differences of y, for relative differences.

    It is zero if all y have the same sign; then each value itself is the divisor.
    """
    if (y > 0).all() or (y < 0).all():
        return 0.0
    nonzero = np.abs(y[y != 0])
    return _SMALL * float(np.median(nonzero)) if len(nonzero) else 1.0


def _level(y: Floats) -> Floats:
    """Return the usual size of y around each point: a running median of |y|."""
    size = np.abs(y)
    last = len(y) - 1
    near = [min(_NEAR, at, last - at) for at in range(len(y))]
    return np.array([np.median(size[at - n : at + n + 1]) for at, n in enumerate(near)])


_FAR = 5.0
"""Number of standard deviations above which a point is an outlier."""
_NORMAL = 1.4826
"""Standard deviation of a normal distribution whose median absolute deviation is one."""
_FEWEST_JUDGED = 7
"""Minimum number of points of a curve for finding outliers."""
_LEAST_DEVIATION = 0.01
"""Relative deviation below which no point is an outlier."""


def weights_by_neighbours(series: Series) -> Floats:
    """Return the weight of each point: 1, or less if it is far from its neighbours (an outlier)."""
    x, y, size = series.x, series.y, len(series.x)
    if size < _FEWEST_JUDGED or series.others is not None:
        return np.ones(size)
    distance = np.zeros(size)
    for at in range(2, size - 2):
        lines = [_line(x, y, one, other, at) for one, other in ((-2, -1), (-1, 1), (1, 2))]
        distance[at] = min(abs(value - y[at]) for value in lines) / series.scale[at]
    beyond = (y[1:-1] < np.minimum(y[:-2], y[2:])) | (y[1:-1] > np.maximum(y[:-2], y[2:]))
    weights = _weights(distance, float(np.median(distance)))
    return np.where([False, *beyond, False], weights, 1.0)


def weights_by_model(fitted: Floats, series: Series, lengths: Sequence[int]) -> Floats:
    """Return the weight of each point: 1, or less for outliers, which are far from a model.

    `fitted` has the model's values, and `lengths` the number of points of each segment. A larger
    spread of a whole segment does not make its points outliers.
    """
    if len(fitted) < _FEWEST_JUDGED:
        return np.ones(len(fitted))
    distance = np.abs(fitted - series.y) / series.scale
    return _weights(distance, usual_in(distance, lengths))


def usual_in(distance: Floats, lengths: Sequence[int]) -> Floats:
    """Return the usual distance of points from the curve, for each point.

    It is the median of `distance` over the whole curve or over the point's segment, whichever is
    larger. `lengths` has the number of points of each segment. Segments with few points use the
    median of the curve.
    """
    middle = np.full(len(distance), float(np.median(distance)))
    for end, length in zip(np.cumsum(lengths), lengths, strict=True):
        if length >= _FEWEST_JUDGED:
            inside = slice(end - length, end)
            middle[inside] = np.maximum(middle[inside], np.median(distance[inside]))
    return middle


def _line(x: Floats, y: Floats, one: int, other: int, at: int) -> float:
    """Return the value at point `at` of the line through two points near it.

    `one` and `other` are the positions of these points relative to `at`.
    """
    begin, end = at + one, at + other
    share = (x[at] - x[begin]) / (x[end] - x[begin])
    return float(y[begin] + (y[end] - y[begin]) * share)


def _weights(distance: Floats, middle: Floats | float) -> Floats:
    usual = np.maximum(_NORMAL * np.asarray(middle), _LEAST_DEVIATION / _FAR)
    return np.minimum(1.0, _FAR * usual / np.maximum(distance, usual))
