"""Logarithm, hyperbola, exponential and inverse functions.

The two follow from c by least squares (variable projection, Golub and Pereyra 1973), so that only
c is searched: first on a grid, then by steps from the best there.

Where x is the size of a table, and c of it fit into a cache, c/x of the look-ups in random order
hit: their mean time is linear in 1/x. What is paid once for x bytes is so, too, byte by byte.

Fitted to 1/y, such that relative differences are worth what they are; the fit is the best one up to
terms of second order in them, and the start of the final one.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.models.templates.template import Batch, Floats, Template

_STEPS = 6
"""Steps of Gauss and Newton after the grid."""
_SHORTER = 0.2
"""What is tried of a step that leads to nothing better."""


class _Moments(NamedTuple):
    """Sums that do not depend on the basis."""

    weight: Floats
    whole: Floats  # of weights
    centred: Floats  # distance of y from the mean of its piece, times the weight
    square: Floats  # weighted sum of squares of these distances


def _moments(batch: Batch) -> _Moments:
    weight = 1 / batch.scale**2
    whole = batch.sums(weight)
    apart = batch.y - batch.spread(batch.sums(weight * batch.y) / whole)
    centred = weight * apart
    return _Moments(weight, whole, centred, batch.sums(centred * apart))


def straight(batch: Batch, basis: Floats, y: Floats | None = None) -> tuple[Floats, Floats]:
    """The a and b of each piece that fit a + b basis best; b is 0 where the basis is constant."""
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
        """The function g at all points, for a c of each piece; not finite where there is none."""

    @abstractmethod
    def in_units(self, batch: Batch, found: Floats) -> Floats:
        """The parameters of each piece, of a basis as above, in the units of the data."""

    def chosen(self, batch: Batch) -> Floats:
        """For each piece, c: 0 where the basis has none."""
        return np.zeros(len(batch.starts))

    def solve(self, batch: Batch) -> tuple[Floats, Floats, Floats]:
        """For each piece, a, b and c."""
        chosen = self.chosen(batch)
        return *straight(batch, self.basis(batch, chosen)), chosen

    def fitted(self, batch: Batch) -> Floats:
        """As the protocol has it."""
        level, slope, c = self.solve(batch)
        return batch.spread(level) + batch.spread(slope) * self.basis(batch, c)

    def each(self, batch: Batch) -> Floats:
        """As the protocol has it."""
        return self.in_units(batch, np.array(self.solve(batch)))


class Separable(Linear):
    """A template a + b g(x; c)."""

    @abstractmethod
    def grids(self, batch: Batch) -> Sequence[Sequence[Floats]]:
        """Ascending values of c, for each piece one; several such rows."""

    @abstractmethod
    def change(self, batch: Batch, basis: Floats) -> Floats:
        """The derivative of the basis by c."""

    def chosen(self, batch: Batch) -> Floats:
        """For each piece, the best c."""
        return self._searched(batch.thinned())

    def _searched(self, batch: Batch) -> Floats:
        """For each piece, c."""
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
        """How far to go from c: by what a small change of c adds, but for what a and b can do.

        This is Kaufman's form (1975) of the step of Gauss and Newton.
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
        """Sum of squared residuals of the best a and b: of y, less the share that g explains."""
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
    """The better one of two losses and what led to it, for each piece."""
    better = loss < best
    return np.where(better, loss, best), np.where(better, c, chosen)


class _OfPositive(Linear):
    rank: int = 2
    parameters: tuple[str, ...] = ("a", "b")
    origin_at_start = False
    simple = True

    def in_units(self, batch: Batch, found: Floats) -> Floats:  # noqa: ARG002 - they are
        """As they are, without c."""
        return found[:2]


class Logarithm(_OfPositive):
    """The template a + b ln(x), for x > 0."""

    name = "logarithm"

    def basis(self, batch: Batch, c: Floats) -> Floats:  # noqa: ARG002 - there is no c
        """The logarithm."""
        return np.log(np.where(batch.x > 0, batch.x, np.nan))

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Not a number for x <= 0."""
        return np.asarray(parameters[0] + parameters[1] * np.log(np.where(x > 0, x, np.nan)))

    def slopes(self, parameters: Floats, x: Floats) -> Floats:  # noqa: ARG002 - it is linear
        """By a and b."""
        return np.column_stack([np.ones_like(x), np.log(np.where(x > 0, x, np.nan))])

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """As the protocol has it."""
        level, slope = parameters
        return np.array([level - slope * np.log(x), slope]) * y

    def formula(self) -> str:
        """As it is."""
        return "a + b*ln(x)"


class Hyperbola(_OfPositive):
    """The template a + b/x, for x > 0."""

    name = "hyperbola"

    def basis(self, batch: Batch, c: Floats) -> Floats:  # noqa: ARG002 - there is no c
        """The inverse."""
        return 1 / np.where(batch.x > 0, batch.x, np.nan)

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Not a number for x <= 0."""
        return np.asarray(parameters[0] + parameters[1] / np.where(x > 0, x, np.nan))

    def slopes(self, parameters: Floats, x: Floats) -> Floats:  # noqa: ARG002 - it is linear
        """By a and b."""
        return np.column_stack([np.ones_like(x), 1 / np.where(x > 0, x, np.nan)])

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """As the protocol has it."""
        return np.asarray((parameters.T * np.array([y, x * y])).T)

    def formula(self) -> str:
        """As it is."""
        return "a + b/x"


_SLOWEST, _FASTEST = 0.4, 300.0
"""Exponents over a whole piece: less is nearly a line. More than one from a point to the next is
a step, wherever between them that is."""
_EXPONENTIAL_STEPS = 12


class Exponential(Separable):
    """The template a + b exp(c x), where x counts from the start of the segment."""

    name = "exponential"
    rank: int = 3
    parameters: tuple[str, ...] = ("a", "b", "c")
    origin_at_start = True
    simple = False

    def grids(self, batch: Batch) -> Sequence[Sequence[Floats]]:
        """Falling or rising: as fast as the points at the one or other end can tell at all."""
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
        """It is 1 where it is largest."""
        every = batch.spread(c)
        return np.exp(every * batch.t - np.maximum(every, 0))

    def change(self, batch: Batch, basis: Floats) -> Floats:
        """But for a factor that b makes up for."""
        return batch.t * basis

    def in_units(self, batch: Batch, found: Floats) -> Floats:
        """So that it is b at the start."""
        level, slope, c = found
        return np.array([level, slope * np.exp(-np.maximum(c, 0.0)), c / batch.width])

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Infinite far away."""
        with np.errstate(over="ignore"):
            return np.asarray(parameters[0] + parameters[1] * np.exp(parameters[2] * x))

    def slopes(self, parameters: Floats, x: Floats) -> Floats:
        """By a, b and c."""
        with np.errstate(over="ignore"):
            power = np.exp(parameters[2] * x)
        return np.column_stack([np.ones_like(x), power, parameters[1] * x * power])

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """As the protocol has it."""
        return np.asarray((parameters.T * np.array([y, y, 1 / x])).T)

    def formula(self) -> str:
        """As it is."""
        return "a + b*exp(c*x)"


class Inverse:
    """1 / (another template), where that is positive."""

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
        """Not finite where the divisor is not positive."""
        return _inverse(self.other.fitted(batch.inverted()))

    def each(self, batch: Batch) -> Floats:
        """As the protocol has it."""
        return self.other.each(batch.inverted())

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """As above."""
        return _inverse(self.other.value(parameters, x))

    def slopes(self, parameters: Floats, x: Floats) -> Floats:
        """Those of the other one, by the chain rule."""
        value = self.value(parameters, x)
        return -(value**2)[:, None] * self.other.slopes(parameters, x)

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """As the protocol has it."""
        return self.other.scaled(parameters, x, 1 / y)

    def formula(self) -> str:
        """With the other one in brackets."""
        return f"1 / ({self.other.formula()})"


def _inverse(values: Floats) -> Floats:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(values > 0, 1 / np.where(values > 0, values, 1.0), np.nan)
