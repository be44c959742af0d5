"""Defines templates (kinds of functions to fit): logarithm, hyperbola, exponential and inverses.

Each has the form a + b g(x; c), or is the inverse of a template. For a given c, least squares
yields a and b (variable projection, Golub and Pereyra 1973). So only c is searched: first on a
grid, then by steps from the best grid point.

The hyperbola describes caches. If x is the size of a table, and a part c of it fits into a cache, a
share c/x of lookups in random order hit, so their mean time is linear in 1/x. The time for each
byte is also linear in 1/x if x bytes share a fixed cost.

Inverse templates are fitted to 1/y, with scales that preserve relative differences. The result is
optimal up to terms of second order in these differences; the final fit starts from it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats
from slowpath.models.template import Batch, Template

_STEPS = 6
"""Number of Gauss-Newton steps that improve the best c of the grid."""
_SHORTER = 0.2
"""Fraction of a Gauss-Newton step that is tried, too, because the full step may be too long."""


class _Moments(NamedTuple):
    """Weighted sums over the points of each piece, for fits of a + b g(x) with any function g."""

    weight: Floats
    total: Floats  # sum of weights
    centred: Floats  # distance of y from the mean of its piece, times the weight
    square: Floats  # weighted sum of squares of these distances


def _moments(batch: Batch) -> _Moments:
    weight = 1 / batch.scale**2
    total = batch.sums(weight)
    distance = batch.y - batch.spread(batch.sums(weight * batch.y) / total)
    centred = weight * distance
    return _Moments(weight, total, centred, batch.sums(centred * distance))


def straight(batch: Batch, basis: Floats, y: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the a and b with which a + b g(x) fits each piece best; b is 0 where g is constant.

    `basis` has g(x) at all points. `y` replaces the measured values.
    """
    y = batch.y if y is None else y
    weight = 1 / batch.scale**2
    total = batch.sums(weight)
    middle = batch.sums(weight * basis) / total
    level = batch.sums(weight * y) / total
    distance = basis - batch.spread(middle)
    weighted = weight * distance
    square = batch.sums(weighted * distance)
    varies = square > 0
    slope = np.where(varies, batch.sums(weighted * y) / np.where(varies, square, 1.0), 0.0)
    return level - slope * middle, slope


class Linear(ABC):
    """Template of the form a + b g(x), whose parameters a and b follow by least squares."""

    name: str
    rank: int
    parameters: tuple[str, ...]
    origin_at_start: bool
    exact = True
    whole_curve = False
    simple: bool

    @abstractmethod
    def basis(self, batch: Batch, c: Floats) -> Floats:
        """Return g(x; c) at all points; each piece has its own c.

        The value is not finite where g is undefined.
        """

    @abstractmethod
    def in_units(self, batch: Batch, found: Floats) -> Floats:
        """Convert the a, b and c found for each piece to parameters in the units of the data."""

    def chosen(self, batch: Batch) -> Floats:
        """Return the parameter c of g for each piece: 0 here, because this g has no parameter."""
        return np.zeros(len(batch.starts))

    def solve(self, batch: Batch) -> tuple[Floats, Floats, Floats]:
        """Return the a, b and c with which a + b g(x; c) fits each piece best."""
        chosen = self.chosen(batch)
        return *straight(batch, self.basis(batch, chosen)), chosen

    def fitted(self, batch: Batch) -> Floats:
        """Fit the template to each piece of a curve, and return the fitted values at all points."""
        level, slope, c = self.solve(batch)
        return batch.spread(level) + batch.spread(slope) * self.basis(batch, c)

    def each(self, batch: Batch) -> Floats:
        """Return the fitted parameters of each piece of a curve, `[parameter, piece]`."""
        return self.in_units(batch, np.array(self.solve(batch)))


class Separable(Linear):
    """Template of the form a + b g(x; c), whose parameter c is found by a search."""

    @abstractmethod
    def grids(self, batch: Batch) -> Sequence[Sequence[Floats]]:
        """Return grids of candidates for c, ascending.

        Each candidate has a value for each piece.
        """

    @abstractmethod
    def change(self, batch: Batch, basis: Floats) -> Floats:
        """Return the derivative of g(x; c) by c at all points. `basis` has g(x; c)."""

    def chosen(self, batch: Batch) -> Floats:
        """Return the c with which a + b g(x; c) fits each piece best."""
        return self._searched(batch.thinned())

    def _searched(self, batch: Batch) -> Floats:
        best = np.full(len(batch.starts), np.inf)
        chosen = np.zeros_like(best)
        rows = self.grids(batch)
        for c in (c for row in rows for c in row):
            best, chosen = _better(best, chosen, self._loss(batch, c), c)
        for _ in range(_STEPS):
            step = self._step(batch, chosen)
            for share in (1.0, _SHORTER):
                c = np.clip(chosen + share * step, rows[0][0], rows[-1][-1])
                best, chosen = _better(best, chosen, self._loss(batch, c), c)
        return chosen

    def _step(self, batch: Batch, c: Floats) -> Floats:
        """Return the change of c in a step of the Gauss-Newton method, in Kaufman's form (1975).

        It uses only the part of the derivative by c that changes of a and b cannot reproduce.
        """
        basis = self.basis(batch, c)
        level, slope = straight(batch, basis)
        residual = batch.y - batch.spread(level) - batch.spread(slope) * basis
        change = batch.spread(slope) * self.change(batch, basis)
        level, slope = straight(batch, basis, change)
        change = change - batch.spread(level) - batch.spread(slope) * basis
        weight = 1 / batch.scale**2
        square = batch.sums(weight * change**2)
        move = batch.sums(weight * change * residual) / np.where(square > 0, square, 1.0)
        return np.where((square > 0) & np.isfinite(move), move, 0.0)

    def _loss(self, batch: Batch, c: Floats) -> Floats:
        """Return the sum of squared residuals of each piece for this c, with the best a and b."""
        moments = batch.keep("moments", _moments)
        assert isinstance(moments, _Moments)  # noqa: S101 - result of `_moments`
        basis = self.basis(batch, c)
        distance = basis - batch.spread(batch.sums(moments.weight * basis) / moments.total)
        square = batch.sums(moments.weight * distance**2)
        product = batch.sums(moments.centred * distance)
        explained = np.where(square > 0, product**2 / np.where(square > 0, square, 1.0), 0.0)
        loss = np.maximum(moments.square - explained, 0.0)
        return np.where(np.isfinite(loss), loss, np.inf)


def _better(best: Floats, chosen: Floats, loss: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Return the smaller of the losses `best` and `loss` for each piece, with its parameter c.

    `chosen` has the parameters of `best`, and `c` those of `loss`.
    """
    better = loss < best
    return np.where(better, loss, best), np.where(better, c, chosen)


class _OfPositive(Linear):
    """Template of the form a + b g(x) for x > 0, where g has no parameter."""

    rank: int = 2
    parameters: tuple[str, ...] = ("a", "b")
    origin_at_start = False
    simple = True

    @staticmethod
    @abstractmethod
    def term(x: Floats) -> Floats:
        """Return g(x); NaN for x <= 0."""

    def basis(self, batch: Batch, c: Floats) -> Floats:  # noqa: ARG002 - there is no c
        """Return g(x) at all points. `c` is not used, because g has no parameter."""
        return self.term(batch.x)

    def slopes(self, parameters: Floats, x: Floats) -> Floats:  # noqa: ARG002 - it is linear
        """Return the derivatives of the function by a and b at x."""
        return np.column_stack([np.ones_like(x), self.term(x)])

    def in_units(self, batch: Batch, found: Floats) -> Floats:  # noqa: ARG002 - no conversion
        """Return a and b of each piece, which are already in the units of the data."""
        return found[:2]


class Logarithm(_OfPositive):
    """The template a + b ln(x), for x > 0."""

    name = "logarithm"

    @staticmethod
    def term(x: Floats) -> Floats:
        """Return the natural logarithm of x; NaN for x <= 0."""
        return np.log(np.where(x > 0, x, np.nan))

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Return the values of the function at x; NaN for x <= 0."""
        return np.asarray(parameters[0] + parameters[1] * self.term(x))

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """Convert parameters to units in which x is `x` times, and y is `y` times as large."""
        level, slope = parameters
        return np.array([level - slope * np.log(x), slope]) * y

    def formula(self) -> str:
        """Return the formula of the template, with the names of its parameters."""
        return "a + b*ln(x)"


class Hyperbola(_OfPositive):
    """The template a + b/x, for x > 0."""

    name = "hyperbola"

    @staticmethod
    def term(x: Floats) -> Floats:
        """Return 1/x; NaN for x <= 0."""
        return 1 / np.where(x > 0, x, np.nan)

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Return the values of the function at x; NaN for x <= 0."""
        return np.asarray(parameters[0] + parameters[1] / np.where(x > 0, x, np.nan))

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """Convert parameters to units in which x is `x` times, and y is `y` times as large."""
        return np.asarray((parameters.T * np.array([y, x * y])).T)

    def formula(self) -> str:
        """Return the formula of the template, with the names of its parameters."""
        return "a + b/x"


_SLOWEST, _FASTEST = 0.4, 300.0
"""Smallest and largest absolute exponent over a whole piece. Below the smallest, the curve is
nearly a line. Above the largest, the curve is a step at an unknown place between two neighbouring
points.
"""
_EXPONENTIAL_STEPS = 12


class Exponential(Separable):
    """Template a + b exp(c x), where x is counted from the start of the segment."""

    name = "exponential"
    rank: int = 3
    parameters: tuple[str, ...] = ("a", "b", "c")
    origin_at_start = True
    simple = False

    def grids(self, batch: Batch) -> Sequence[Sequence[Floats]]:
        """Return candidates for c, falling and rising, up to the fastest that points resolve."""
        ends = batch.starts + batch.lengths - 1
        two = batch.lengths > 1
        head = batch.t[np.minimum(batch.starts + 1, ends)]
        tail = 1 - batch.t[np.maximum(ends - 1, batch.starts)]
        shares = np.arange(_EXPONENTIAL_STEPS) / (_EXPONENTIAL_STEPS - 1)
        rows = []
        for sign, gap in ((-1, head), (1, tail)):
            fastest = np.clip(1 / np.where(two & (gap > 0), gap, 1.0), 2 * _SLOWEST, _FASTEST)
            row = [sign * _SLOWEST * (fastest / _SLOWEST) ** share for share in shares]
            rows.append(row if sign > 0 else row[::-1])
        return rows

    def basis(self, batch: Batch, c: Floats) -> Floats:
        """Return the exponential function at all points, scaled to a maximum of 1 in each piece."""
        exponent = batch.spread(c)
        return np.exp(exponent * batch.t - np.maximum(exponent, 0))

    def change(self, batch: Batch, basis: Floats) -> Floats:
        """Return the derivative of the exponential by c, except for a factor that b absorbs."""
        return batch.t * basis

    def in_units(self, batch: Batch, found: Floats) -> Floats:
        """Convert the a, b and c of each piece to parameters in the units of the data.

        The parameter b becomes the value of the exponential term at the start of the segment.
        """
        level, slope, c = found
        return np.array([level, slope * np.exp(-np.maximum(c, 0.0)), c / batch.width])

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Return the values of the function at x; they are infinite where they overflow."""
        with np.errstate(over="ignore"):
            return np.asarray(parameters[0] + parameters[1] * np.exp(parameters[2] * x))

    def slopes(self, parameters: Floats, x: Floats) -> Floats:
        """Return the derivatives of the function by a, b and c at x."""
        with np.errstate(over="ignore"):
            power = np.exp(parameters[2] * x)
        return np.column_stack([np.ones_like(x), power, parameters[1] * x * power])

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """Convert parameters to units in which x is `x` times, and y is `y` times as large."""
        return np.asarray((parameters.T * np.array([y, y, 1 / x])).T)

    def formula(self) -> str:
        """Return the formula of the template, with the names of its parameters."""
        return "a + b*exp(c*x)"


class Inverse:
    """Template 1 / f(x), where f is another template with positive values."""

    exact = False
    simple = False

    def __init__(self, other: Template) -> None:
        self.other = other
        self.name = f"inverse-{other.name}"
        self.rank = other.rank
        self.parameters = other.parameters
        self.origin_at_start = other.origin_at_start
        self.whole_curve = other.whole_curve

    def fitted(self, batch: Batch) -> Floats:
        """Fit f to 1/y, and return the values of 1/f(x) at all points.

        Not finite unless f is positive.
        """
        return _inverse(self.other.fitted(batch.inverted()))

    def each(self, batch: Batch) -> Floats:
        """Return the fitted parameters of f in each piece of a curve, `[parameter, piece]`."""
        return self.other.each(batch.inverted())

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Return the values of 1/f(x) at x; NaN where f is not positive."""
        return _inverse(self.other.value(parameters, x))

    def slopes(self, parameters: Floats, x: Floats) -> Floats:
        """Return the derivatives of 1/f(x) by each parameter at x."""
        value = self.value(parameters, x)
        return -(value**2)[:, None] * self.other.slopes(parameters, x)

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """Convert parameters to units in which x is `x` times, and y is `y` times as large."""
        return self.other.scaled(parameters, x, 1 / y)

    def formula(self) -> str:
        """Return the formula of the template: 1 divided by the formula of f."""
        return f"1 / ({self.other.formula()})"


def _inverse(values: Floats) -> Floats:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(values > 0, 1 / np.where(values > 0, values, 1.0), np.nan)
