"""Reduces the weights of outliers, which are points too far from the model.

An outlier has the same effect as a point at the edge of the usual range. Before there is a model, a
point is an outlier if it is far from each line through two of its neighbours: both on the left,
both on the right, or one on each side. So the first point after a step is not an outlier.
"""

from collections.abc import Sequence

import numpy as np

from slowpath.core.arrays import Floats
from slowpath.models.points import Series

_FAR = 5.0
"""Number of standard deviations above which a point is an outlier."""
_NORMAL = 1.4826
"""Standard deviation of a normal distribution whose median absolute deviation is one."""
_FEWEST = 7
"""Minimum number of points of a curve to judge outliers."""
_LEAST = 0.01
"""Relative deviation below which no point is an outlier."""


def weights_by_neighbours(series: Series) -> Floats:
    """Return the weight of each point, judged by its neighbours: 1 except for outliers."""
    x, y, size = series.x, series.y, len(series.x)
    if size < _FEWEST or series.others is not None:
        return np.ones(size)
    distance = np.zeros(size)
    for at in range(2, size - 2):
        lines = [_line(x, y, one, other, at) for one, other in ((-2, -1), (-1, 1), (1, 2))]
        distance[at] = min(abs(value - y[at]) for value in lines) / series.scale[at]
    beyond = (y[1:-1] < np.minimum(y[:-2], y[2:])) | (y[1:-1] > np.maximum(y[:-2], y[2:]))
    weights = _weights(distance, float(np.median(distance)))
    return np.where([False, *beyond, False], weights, 1.0)


def weights_by_model(fitted: Floats, series: Series, lengths: Sequence[int]) -> Floats:
    """Return the weight of each point, judged by a model with segments of these lengths.

    A larger spread of a whole segment does not make its points outliers.
    """
    if len(fitted) < _FEWEST:
        return np.ones(len(fitted))
    distance = np.abs(fitted - series.y) / series.scale
    return _weights(distance, usual_in(distance, lengths))


def usual_in(distance: Floats, lengths: Sequence[int]) -> Floats:
    """Return the usual distance from the curve at each point: the larger of two medians.

    One is the median over the whole curve, the other the median over the point's segment. Segments
    with few points use the median of the curve.
    """
    middle = np.full(len(distance), float(np.median(distance)))
    for end, length in zip(np.cumsum(lengths), lengths, strict=True):
        if length >= _FEWEST:
            inside = slice(end - length, end)
            middle[inside] = np.maximum(middle[inside], np.median(distance[inside]))
    return middle


def _line(x: Floats, y: Floats, one: int, other: int, at: int) -> float:
    """Return the value of the line through two neighbours of the point at index `at`, at its x."""
    begin, end = at + one, at + other
    share = (x[at] - x[begin]) / (x[end] - x[begin])
    return float(y[begin] + (y[end] - y[begin]) * share)


def _weights(distance: Floats, middle: Floats | float) -> Floats:
    usual = np.maximum(_NORMAL * np.asarray(middle), _LEAST / _FAR)
    return np.minimum(1.0, _FAR * usual / np.maximum(distance, usual))
