"""Weights of points that are too far from the model.

Each counts as if it were at the edge of what is usual. Before there is a model, a point is off that
its neighbours do not lead to, neither from the left, nor from the right, nor from both sides: the
first point behind a step is none.
"""

from collections.abc import Sequence

import numpy as np

from slowpath.models.points import Series
from slowpath.models.templates.template import Floats

_FAR = 5.0
"""What is further away than so many standard deviations of the others is not usual."""
_NORMAL = 1.4826
"""Standard deviation of a normal distribution, in median absolute deviations."""
_FEWEST = 7
"""Points without which there is no saying what is usual."""
_LEAST = 0.01
"""Relative differences below are no reason to think a point wrong."""


def weights_by_neighbours(series: Series) -> Floats:
    """How much each point counts, by its neighbours; 1 but for outliers."""
    x, y, size = series.x, series.y, len(series.x)
    if size < _FEWEST or series.others is not None:
        return np.ones(size)
    apart = np.zeros(size)
    for at in range(2, size - 2):
        led = [_line(x, y, one, other, at) for one, other in ((-2, -1), (-1, 1), (1, 2))]
        apart[at] = min(abs(value - y[at]) for value in led) / series.scale[at]
    beyond = (y[1:-1] < np.minimum(y[:-2], y[2:])) | (y[1:-1] > np.maximum(y[:-2], y[2:]))
    return np.where([False, *beyond, False], _counts(apart, float(np.median(apart))), 1.0)


def weights_by_model(fitted: Floats, series: Series, lengths: Sequence[int]) -> Floats:
    """How much each point counts, by a model with segments of so many points.

    A segment whose points spread more than those of others has no more outliers for that.
    """
    if len(fitted) < _FEWEST:
        return np.ones(len(fitted))
    apart = np.abs(fitted - series.y) / series.scale
    return _counts(apart, usual_in(apart, lengths))


def usual_in(apart: Floats, lengths: Sequence[int]) -> Floats:
    """For each point, how far off one is in the median: of all, or of its segment if that is more.

    Few points of a segment do not tell.
    """
    middle = np.full(len(apart), float(np.median(apart)))
    for end, length in zip(np.cumsum(lengths), lengths, strict=True):
        if length >= _FEWEST:
            mine = slice(end - length, end)
            middle[mine] = np.maximum(middle[mine], np.median(apart[mine]))
    return middle


def _line(x: Floats, y: Floats, one: int, other: int, at: int) -> float:
    """Where the line through two neighbours leads to."""
    begin, end = at + one, at + other
    share = (x[at] - x[begin]) / (x[end] - x[begin])
    return float(y[begin] + (y[end] - y[begin]) * share)


def _counts(apart: Floats, middle: Floats | float) -> Floats:
    usual = np.maximum(_NORMAL * np.asarray(middle), _LEAST / _FAR)
    return np.minimum(1.0, _FAR * usual / np.maximum(apart, usual))
