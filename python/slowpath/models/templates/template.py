"""Interface of function templates, and batches of points that they are fitted to.

Rank (paper § 2.2) is the number of free parameters. Parameters are in the units of the data.

To judge all segments that a curve can be cut into, each template is fitted to every one of them.
What is done point by point is then one operation on a flat array, and what is summed up in each
piece is one call of `numpy.add.reduceat`.

A parameter below the limit gets its size, and keeps its sign. What a template gains by parameters
that are close to zero is then lost, and a simpler one is better.

The paper compares numbers, in whatever units the data have. Here, parameters are compared in units
in which the largest x and the middle of all y are one: a polynomial's are then what they add at its
end, as a share of y, and the limit is the same for the same data in other units.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

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


class Template(Protocol):
    """A function of x with free parameters.

    `value` and `formula` know x by its distance from an `origin`, where `origin_at_start` says so:
    there, polynomials of high degree and exponentials lose no digits.
    """

    name: str
    """As documents have it."""
    rank: int
    """How many free parameters it has."""
    parameters: tuple[str, ...]
    """Their names, as the formula has them."""
    origin_at_start: bool
    """Whether x counts from the start of the segment, and not from zero."""
    exact: bool
    """Whether `each` yields the best parameters, and not only good ones to start from."""
    whole: bool
    """Whether it is a shape of whole curves only, and not of a segment among others."""
    simple: bool
    """Whether it may go on beyond what was measured; others keep their last value there."""

    def fitted(self, batch: Batch) -> Floats:
        """The values at the points of each piece, fitted to it; not finite where it does not fit.

        The sum of squared residuals is the smallest one, or close to it.
        """

    def each(self, batch: Batch) -> Floats:
        """The parameters for each piece, the origin being its first x or zero.

        A row for each parameter, a column for each piece.
        """

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Its values at x, which counts from the origin; parameters may differ from x to x."""

    def slopes(self, parameters: Floats, x: Floats) -> Floats:
        """How its values at x change with each parameter: a row for each x."""

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """The parameters in other units, in which numbers are so many times as large.

        For one piece or, with a column for each, for many.
        """

    def formula(self) -> str:
        """How it is written, with the names of the parameters and `x`."""


class ParameterFloor(NamedTuple):
    """How small parameters may be."""

    least: float
    x: float  # the units in which it is told
    y: float

    def parameters(self, template: Template, found: Floats) -> Floats:
        """Found parameters, no smaller than the limit; zero stays zero, as its sign has it."""
        told = template.scaled(found, 1 / self.x, 1 / self.y)
        small = np.abs(told) < self.least
        told = np.where(small, np.sign(told) * self.least, told)
        return np.where(small.any(axis=0), template.scaled(told, self.x, self.y), found)

    def fitted(self, template: Template, batch: Batch) -> Floats:
        """The values of a template that is fitted to each piece, with such parameters."""
        found = self.parameters(template, template.each(batch))
        origin = batch.spread(batch.first) if template.origin_at_start else 0.0
        return template.value(np.repeat(found, batch.lengths, axis=1), batch.x - origin)
