"""Templates a + b g(x) and a + b g(x; c), which are linear in a and b once c is known.

The two follow from c by least squares (variable projection, Golub and Pereyra 1973), so that only
c is searched: first on a grid, then by steps from the best there.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.models.templates.batch import Batch, Floats

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
