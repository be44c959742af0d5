"""Interface of templates: kinds of functions that are fitted to all candidate segments of a curve.

A template is a function of x with free parameters, such as a line or an exponential. Its rank is
the number of these parameters (Scholz et al., ANCS 2021, § 2.2; "the paper"). Parameters are in the
units of the data.

Each template is fitted to every possible segment of a curve. Operations on points work on one flat
array; sums over segments are one call of `numpy.add.reduceat`.

A `ParameterFloor` raises parameters with a small absolute value to a limit and keeps their sign. A
template thus fits worse if it needs parameters close to zero, and a simpler template is selected.
The paper compares parameters in the units of the data. Here, the units are such that the largest x
and the median of y are one. A polynomial's parameters are then the contributions of its terms at
its end, as shares of y, and the limit does not depend on the units of the data.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from slowpath.core.arrays import Floats, Indices

_LONG = 100
"""Number of points of a piece that suffice to search for a parameter of its shape."""


class Curve(NamedTuple):
    """Points of a curve, by ascending x.

    Residuals of a fit are differences of y, divided by `scale`.
    """

    x: Floats
    y: Floats
    scale: Floats
    others: Floats | None = None  # further columns of x, a row for each point


class Batch:
    """Pieces of a curve that are fitted at once, with the points of all pieces in flat arrays.

    Residuals of a fit are differences of y, divided by `scale`; with a scale proportional to y,
    they are relative differences. In each piece, `t` grows from 0 at the first point to 1 at the
    last point, so that fits do not depend on the unit of x.
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
        """Return the sum of `values` (one for each point) over each piece."""
        return np.add.reduceat(values, self.starts)

    def spread(self, values: Floats) -> Floats:
        """Repeat the value of each piece for all points of the piece."""
        return np.repeat(values, self.lengths)

    def losses(self, fitted: Floats) -> Floats:
        """Return the sum of squared residuals of each piece.

        Infinite if a fitted value is not finite.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.sums(((fitted - self.y) / self.scale) ** 2)
        return np.where(np.isfinite(found), found, np.inf)

    def lowest(self, values: Floats) -> Floats:
        """Return the minimum of `values` (one for each point) over each piece."""
        return np.minimum.reduceat(values, self.starts)

    def keep(self, name: str, make: Callable[["Batch"], object]) -> object:
        """Return the result of `make` for this batch, cached under `name` for all templates."""
        if name not in self._kept:
            self._kept[name] = make(self)
        return self._kept[name]

    def thinned(self) -> "Batch":
        """Return a copy with at most `_LONG` points in each piece, for a faster search.

        Long pieces keep both ends and evenly spaced points.
        """
        if self.lengths.max() <= _LONG:
            return self
        found = self.keep("thinned", _thinned)
        assert isinstance(found, Batch)  # noqa: S101 - result of `_thinned`
        return found

    def inverted(self) -> "Batch":
        """Return a copy with 1/y in place of y, for fits of inverse templates.

        Scales are divided by y squared, so that small residuals stay nearly the same.
        """
        found = self.keep("inverted", _inverted)
        assert isinstance(found, Batch)  # noqa: S101 - result of `_inverted`
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
    """Return pieces of a curve as a batch.

    Each cut has the index of the first point of a piece, and that of the first point after it.
    """
    begins = np.array([begin for begin, _ in cuts])
    lengths = np.array([end - begin for begin, end in cuts])
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    places = np.arange(lengths.sum()) - np.repeat(starts - begins, lengths)
    others = None if curve.others is None else curve.others[places]
    return Batch(Curve(curve.x[places], curve.y[places], curve.scale[places], others), starts)


class Template(Protocol):
    """Interface of templates: functions of x with free parameters.

    If `origin_at_start` is true, x in `value` and `formula` is the distance from an `origin`, the
    start of the segment. Polynomials of high degree and exponentials then lose no digits.
    """

    name: str
    """Name of the template in documents."""
    rank: int
    """Number of free parameters."""
    parameters: tuple[str, ...]
    """Names of the parameters in the formula."""
    origin_at_start: bool
    """True if x counts from the start of the segment, not from zero."""
    exact: bool
    """True if `each` yields the best parameters; false if they are only good start values."""
    whole_curve: bool
    """True if the template is for whole curves only, not for one of several segments."""
    simple: bool
    """True if the function may extrapolate beyond the measured x; otherwise the last value
    continues.
    """

    def fitted(self, batch: Batch) -> Floats:
        """Fit the template to each piece of a curve, and return the fitted values at all points.

        The sum of squared residuals is minimal or nearly so. Values are not finite if no fit
        exists.
        """

    def each(self, batch: Batch) -> Floats:
        """Return the fitted parameters of each piece of a curve, `[parameter, piece]`.

        If `origin_at_start` is true, x is the distance from the first x of the piece.
        """

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Return the values of the function at x, counted from the origin.

        `parameters` are the same for all x, or have a column for each x.
        """

    def slopes(self, parameters: Floats, x: Floats) -> Floats:
        """Return the derivatives of the function by each parameter at x, `[x, parameter]`."""

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """Convert parameters to units in which x is `x` times, and y is `y` times as large.

        The parameters are those of one piece, or of many pieces, `[parameter, piece]`.
        """

    def formula(self) -> str:
        """Return the formula of the template, with `x` and the names of the parameters."""


class ParameterFloor(NamedTuple):
    """Minimum absolute value of parameters; smaller ones are raised to it."""

    least: float
    x: float  # unit of x in which the limit is stated
    y: float  # unit of y in which the limit is stated

    def parameters(self, template: Template, found: Floats) -> Floats:
        """Raise the absolute values of a template's parameters to the minimum; zeros stay zero."""
        scaled = template.scaled(found, 1 / self.x, 1 / self.y)
        small = np.abs(scaled) < self.least
        scaled = np.where(small, np.sign(scaled) * self.least, scaled)
        return np.where(small.any(axis=0), template.scaled(scaled, self.x, self.y), found)

    def fitted(self, template: Template, batch: Batch) -> Floats:
        """Fit a template to each piece, raise small parameters, and return the fitted values."""
        found = self.parameters(template, template.each(batch))
        origin = batch.spread(batch.first) if template.origin_at_start else 0.0
        return template.value(np.repeat(found, batch.lengths, axis=1), batch.x - origin)
