"""Many pieces of one curve at once: their points, one piece behind the other, in flat arrays.

To judge all segments that a curve can be cut into, each template is fitted to every one of them.
What is done point by point is then one operation on a flat array, and what is summed up in each
piece is one call of `numpy.add.reduceat`.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]


_LONG = 100
"""So many points of a piece tell a shape well enough to search for one parameter of it."""


class Curve(NamedTuple):
    """Points, ascending by x; residuals are differences of y, divided by `scale`."""

    x: Floats
    y: Floats
    scale: Floats
    others: Floats | None = None  # further columns of x, one row for each point


class Batch:
    """Pieces of a curve: points of each by `x` and `y`, and what a difference of one is worth.

    A residual is a difference of y, divided by `scale`: with scale proportional to y, relative
    differences count. In each piece, `t` is x as a share of the way from its first point to its
    last, so that nothing depends on the unit of x.
    """

    def __init__(self, curve: Curve, starts: Indices) -> None:
        x = curve.x
        self.x, self.y, self.scale, self.starts = x, curve.y, curve.scale, starts
        self.others = np.zeros((len(x), 0)) if curve.others is None else curve.others
        self.lengths = np.diff(np.append(starts, len(x)))
        self.first = x[starts]
        last = x[starts + self.lengths - 1]
        self.width = np.where(last > self.first, last - self.first, 1.0)
        self.t = (x - self.spread(self.first)) / self.spread(self.width)
        self._kept: dict[str, object] = {}

    def sums(self, values: Floats) -> Floats:
        """The sum over each piece."""
        return np.add.reduceat(values, self.starts)

    def spread(self, values: Floats) -> Floats:
        """What is known of each piece, for each of its points."""
        return np.repeat(values, self.lengths)

    def losses(self, fitted: Floats) -> Floats:
        """Sum of squared residuals of each piece; infinite where a fitted value is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.sums(((fitted - self.y) / self.scale) ** 2)
        return np.where(np.isfinite(found), found, np.inf)

    def lowest(self, values: Floats) -> Floats:
        """The smallest value in each piece."""
        return np.minimum.reduceat(values, self.starts)

    def keep(self, name: str, make: Callable[["Batch"], object]) -> object:
        """What several templates need of these pieces, made once."""
        if name not in self._kept:
            self._kept[name] = make(self)
        return self._kept[name]

    def thinned(self) -> "Batch":
        """The same pieces; of each long one, points at even distances, with both ends."""
        if self.lengths.max() <= _LONG:
            return self
        found = self.keep("thinned", _thinned)
        assert isinstance(found, Batch)  # noqa: S101 - what `_thinned` makes
        return found

    def inverted(self) -> "Batch":
        """The same pieces with 1/y, such that residuals are worth what they were, if small."""
        found = self.keep("inverted", _inverted)
        assert isinstance(found, Batch)  # noqa: S101 - what has just been kept
        return found


def _inverted(batch: Batch) -> Batch:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        safe = np.where(batch.y > 0, batch.y, np.nan)
        return Batch(Curve(batch.x, 1 / safe, batch.scale / safe**2), batch.starts)


def _thinned(batch: Batch) -> Batch:
    kept = np.minimum(batch.lengths, _LONG)
    starts = np.cumsum(kept) - kept
    at = np.arange(kept.sum()) - np.repeat(starts, kept)
    step = (batch.lengths - 1) / np.maximum(kept - 1, 1)
    places = np.repeat(batch.starts, kept) + np.rint(at * np.repeat(step, kept)).astype(np.intp)
    return Batch(Curve(batch.x[places], batch.y[places], batch.scale[places]), starts)


def pieces_of(curve: Curve, cuts: Sequence[tuple[int, int]]) -> Batch:
    """Pieces `[from, to)` of a curve."""
    begins = np.array([begin for begin, _ in cuts])
    lengths = np.array([end - begin for begin, end in cuts])
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    places = np.arange(lengths.sum()) - np.repeat(starts - begins, lengths)
    others = None if curve.others is None else curve.others[places]
    return Batch(Curve(curve.x[places], curve.y[places], curve.scale[places], others), starts)
