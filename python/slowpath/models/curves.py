"""Logarithm, hyperbola, exponential and inverse functions.

For a given c, least squares yields a and b (variable projection, Golub and Pereyra 1973). So only c
is searched: first on a grid, then by steps from the best grid point.

The hyperbola describes caches. If x is the size of a table, and a part c of it fits into a cache, a
share c/x of lookups in random order hit, so their mean time is linear in 1/x. The time for each
byte is also linear in 1/x if x bytes share a fixed cost.

Inverse templates are fitted to 1/y with scales that preserve relative differences. The result is
optimal up to terms of second order in these differences, and starts the final fit.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats
from slowpath.models.template import Batch, Template

_STEPS = 6
"""Gauss-Newton steps after the grid search."""
_SHORTER = 0.2
"""Share of each step that is also tried, as a full step may be too long."""


class _Moments(NamedTuple):
    """Sums over pieces that do not depend on the basis."""

    weight: Floats
    whole: Floats  # sum of weights
    centred: Floats  # distance of y from the mean of its piece, times the weight
    square: Floats  # weighted sum of squares of these distances


def _moments(batch: Batch) -> _Moments:
    weight = 1 / batch.scale**2
    whole = batch.sums(weight)
    apart = batch.y - batch.spread(batch.sums(weight * batch.y) / whole)
    centred = weight * apart
    return _Moments(weight, whole, centred, batch.sums(centred * apart))


def straight(batch: Batch, basis: Floats, y: Floats | None = None) -> tuple[Floats, Floats]:
    """Return a and b of each piece's best fit a + b basis; b is 0 if the basis is constant."""
    y = batch.y if y is None else y
    weight = 1 / batch.scale**2
    whole = batch.sums(weight)
    middle = batch.sums(weight * basis) / whole
    level = batch.sums(weight * y) / whole
    apart = basis - batch.spread(middle)
    weighted = weight * apart
    square = batch.sums(weighted * apart)
    some = square > 0
    slope = np.where(some, batch.sums(weighted * y) / np.where(some, square, 1.0), 0.0)
    return level - slope * middle, slope


class Linear(ABC):
    """A template a + b g(x)."""

    name: str
    rank: int
    parameters: tuple[str, ...]
    origin_at_start: bool
    exact = True
    whole = False
    simple: bool

    @abstractmethod
    def basis(self, batch: Batch, c: Floats) -> Floats:
        """Return g at all points, for a c of each piece; not finite where g is undefined."""

    @abstractmethod
    def in_units(self, batch: Batch, found: Floats) -> Floats:
        """Convert a, b and c of each piece to parameters in the units of the data."""

    def chosen(self, batch: Batch) -> Floats:
        """Return c for each piece; 0 if the basis has no c."""
        return np.zeros(len(batch.starts))

    def solve(self, batch: Batch) -> tuple[Floats, Floats, Floats]:
        """Return a, b and c for each piece."""
        chosen = self.chosen(batch)
        return *straight(batch, self.basis(batch, chosen)), chosen

    def fitted(self, batch: Batch) -> Floats:
        """Return the fitted values at the points, see `Template.fitted`."""
        level, slope, c = self.solve(batch)
        return batch.spread(level) + batch.spread(slope) * self.basis(batch, c)

    def each(self, batch: Batch) -> Floats:
        """Return the parameters for each piece, see `Template.each`."""
        return self.in_units(batch, np.array(self.solve(batch)))


class Separable(Linear):
    """A template a + b g(x; c)."""

    @abstractmethod
    def grids(self, batch: Batch) -> Sequence[Sequence[Floats]]:
        """Return rows of ascending candidates, each an array with a c for each piece."""

    @abstractmethod
    def change(self, batch: Batch, basis: Floats) -> Floats:
        """Return the derivative of the basis by c."""

    def chosen(self, batch: Batch) -> Floats:
        """Return the best c for each piece."""
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
        """Return a step from c, in Kaufman's form (1975) of the Gauss-Newton method.

        It uses the derivative by c, without the part that changes of a and b can reproduce.
        """
        basis = self.basis(batch, c)
        level, slope = straight(batch, basis)
        rest = batch.y - batch.spread(level) - batch.spread(slope) * basis
        change = batch.spread(slope) * self.change(batch, basis)
        level, slope = straight(batch, basis, change)
        change = change - batch.spread(level) - batch.spread(slope) * basis
        weight = 1 / batch.scale**2
        square = batch.sums(weight * change**2)
        move = batch.sums(weight * change * rest) / np.where(square > 0, square, 1.0)
        return np.where((square > 0) & np.isfinite(move), move, 0.0)

    def _loss(self, batch: Batch, c: Floats) -> Floats:
        """Return the sum of squared residuals with the best a and b."""
        moments = batch.keep("moments", _moments)
        assert isinstance(moments, _Moments)  # noqa: S101 - what `_moments` makes
        basis = self.basis(batch, c)
        apart = basis - batch.spread(batch.sums(moments.weight * basis) / moments.whole)
        square = batch.sums(moments.weight * apart**2)
        along = batch.sums(moments.centred * apart)
        explained = np.where(square > 0, along**2 / np.where(square > 0, square, 1.0), 0.0)
        loss = np.maximum(moments.square - explained, 0.0)
        return np.where(np.isfinite(loss), loss, np.inf)


def _better(best: Floats, chosen: Floats, loss: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Return the smaller loss and its c, for each piece."""
    better = loss < best
    return np.where(better, loss, best), np.where(better, c, chosen)


class _OfPositive(Linear):
    rank: int = 2
    parameters: tuple[str, ...] = ("a", "b")
    origin_at_start = False
    simple = True

    def in_units(self, batch: Batch, found: Floats) -> Floats:  # noqa: ARG002 - they are in these units
        """Return the parameters without c; they already are in the units of the data."""
        return found[:2]


class Logarithm(_OfPositive):
    """The template a + b ln(x), for x > 0."""

    name = "logarithm"

    def basis(self, batch: Batch, c: Floats) -> Floats:  # noqa: ARG002 - there is no c
        """Return the logarithm."""
        return np.log(np.where(batch.x > 0, batch.x, np.nan))

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Return the values at x; NaN for x <= 0."""
        return np.asarray(parameters[0] + parameters[1] * np.log(np.where(x > 0, x, np.nan)))

    def slopes(self, parameters: Floats, x: Floats) -> Floats:  # noqa: ARG002 - it is linear
        """Return the derivatives by a and b."""
        return np.column_stack([np.ones_like(x), np.log(np.where(x > 0, x, np.nan))])

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """Convert parameters to other units, see `Template.scaled`."""
        level, slope = parameters
        return np.array([level - slope * np.log(x), slope]) * y

    def formula(self) -> str:
        """Return the formula."""
        return "a + b*ln(x)"


class Hyperbola(_OfPositive):
    """The template a + b/x, for x > 0."""

    name = "hyperbola"

    def basis(self, batch: Batch, c: Floats) -> Floats:  # noqa: ARG002 - there is no c
        """Return 1/x."""
        return 1 / np.where(batch.x > 0, batch.x, np.nan)

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Return the values at x; NaN for x <= 0."""
        return np.asarray(parameters[0] + parameters[1] / np.where(x > 0, x, np.nan))

    def slopes(self, parameters: Floats, x: Floats) -> Floats:  # noqa: ARG002 - it is linear
        """Return the derivatives by a and b."""
        return np.column_stack([np.ones_like(x), 1 / np.where(x > 0, x, np.nan)])

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """Convert parameters to other units, see `Template.scaled`."""
        return np.asarray((parameters.T * np.array([y, x * y])).T)

    def formula(self) -> str:
        """Return the formula."""
        return "a + b/x"


_SLOWEST, _FASTEST = 0.4, 300.0
"""Least and greatest exponent over a whole piece. Less is nearly a line; more than one between two
neighbouring points is a step at an unknown place between them."""
_EXPONENTIAL_STEPS = 12


class Exponential(Separable):
    """The template a + b exp(c x), where x counts from the start of the segment."""

    name = "exponential"
    rank: int = 3
    parameters: tuple[str, ...] = ("a", "b", "c")
    origin_at_start = True
    simple = False

    def grids(self, batch: Batch) -> Sequence[Sequence[Floats]]:
        """Return exponents of falling and rising curves, up to the fastest that points resolve."""
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
        """Return the exponential, scaled to a maximum of 1."""
        every = batch.spread(c)
        return np.exp(every * batch.t - np.maximum(every, 0))

    def change(self, batch: Batch, basis: Floats) -> Floats:
        """Return the derivative of the basis by c, without a factor that b absorbs."""
        return batch.t * basis

    def in_units(self, batch: Batch, found: Floats) -> Floats:
        """Convert the parameters such that the exponential term is b at the start."""
        level, slope, c = found
        return np.array([level, slope * np.exp(-np.maximum(c, 0.0)), c / batch.width])

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Return the values at x; they can overflow to infinity."""
        with np.errstate(over="ignore"):
            return np.asarray(parameters[0] + parameters[1] * np.exp(parameters[2] * x))

    def slopes(self, parameters: Floats, x: Floats) -> Floats:
        """Return the derivatives by a, b and c."""
        with np.errstate(over="ignore"):
            power = np.exp(parameters[2] * x)
        return np.column_stack([np.ones_like(x), power, parameters[1] * x * power])

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """Convert parameters to other units, see `Template.scaled`."""
        return np.asarray((parameters.T * np.array([y, y, 1 / x])).T)

    def formula(self) -> str:
        """Return the formula."""
        return "a + b*exp(c*x)"


class Inverse:
    """The template 1 / (another template), where the other one is positive."""

    exact = False
    simple = False

    def __init__(self, other: Template) -> None:
        self.other = other
        self.name = f"inverse-{other.name}"
        self.rank = other.rank
        self.parameters = other.parameters
        self.origin_at_start = other.origin_at_start
        self.whole = other.whole

    def fitted(self, batch: Batch) -> Floats:
        """Return the fitted values; not finite where the divisor is not positive."""
        return _inverse(self.other.fitted(batch.inverted()))

    def each(self, batch: Batch) -> Floats:
        """Return the parameters for each piece, see `Template.each`."""
        return self.other.each(batch.inverted())

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Return the values at x; NaN where the divisor is not positive."""
        return _inverse(self.other.value(parameters, x))

    def slopes(self, parameters: Floats, x: Floats) -> Floats:
        """Return the derivatives, by the chain rule."""
        value = self.value(parameters, x)
        return -(value**2)[:, None] * self.other.slopes(parameters, x)

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """Convert parameters to other units, see `Template.scaled`."""
        return self.other.scaled(parameters, x, 1 / y)

    def formula(self) -> str:
        """Return one divided by the formula of the other template."""
        return f"1 / ({self.other.formula()})"


def _inverse(values: Floats) -> Floats:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(values > 0, 1 / np.where(values > 0, values, 1.0), np.nan)
