"""Polynomials of degree 0 to 5, and orthogonal least squares."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.models.templates.template import Batch, Floats

_TINY = 1e-12
"""Relative norm of an orthogonalised column below which it adds nothing: all its points are at one
place."""


class Projection(NamedTuple):
    """Least-squares projection of y onto some columns."""

    fitted: Floats
    factors: Floats  # a row for each column, a column for each piece


def orthogonal(batch: Batch, columns: Sequence[Floats]) -> list[Projection]:
    """Fit y by least squares with the first column, with the first two, and so on.

    Columns are scaled like residuals. Each is orthogonalised twice (Kahan's and Parlett's "twice is
    enough"); a linear combination of earlier columns adds nothing.
    """
    known: list[tuple[Floats, Floats]] = []  # directions, and their factors for each column
    rest = batch.y / batch.scale
    whole, found = np.zeros_like(rest), []
    total = np.zeros((len(columns), len(batch.starts)))
    for number, column in enumerate(columns):
        direction, factors = column, np.zeros_like(total)
        factors[number] = 1.0
        before = np.sqrt(batch.sums(direction**2))
        for _ in range(2 if known else 0):
            for other, made in known:
                share = batch.sums(direction * other)
                direction = direction - batch.spread(share) * other
                factors[:number] -= share * made[:number]
        norm = np.sqrt(batch.sums(direction**2))
        inverse = np.where(norm > _TINY * before, 1 / np.where(norm > 0, norm, 1.0), 0.0)
        direction, factors = direction * batch.spread(inverse), factors * inverse
        known.append((direction, factors))
        share = batch.sums(rest * direction)
        part = batch.spread(share) * direction
        rest, whole, total = rest - part, whole + part, total + share * factors
        found.append(Projection(whole * batch.scale, total[: number + 1]))
    return found


DEGREES = range(6)
_STRAIGHT = 1
"""Maximum degree with x relative to zero: it loses no digits and is easier to read."""


class Polynomial:
    """The template p0 + p1 x + p2 x² and so on."""

    exact = True
    whole = False

    def __init__(self, degree: int) -> None:
        self.degree = degree
        self.name = f"polynomial-{degree}"
        self.rank = degree + 1
        self.parameters = tuple(f"p{power}" for power in range(self.rank))
        self.origin_at_start = degree > _STRAIGHT
        self.simple = degree <= _STRAIGHT

    def fitted(self, batch: Batch) -> Floats:
        """Return the least-squares fit at the points."""
        return self._projection(batch).fitted

    def each(self, batch: Batch) -> Floats:
        """Return the parameters for each piece, see `Template.each`."""
        found = self._projection(batch).factors / batch.width ** np.arange(self.rank)[:, None]
        if not self.origin_at_start and self.degree == _STRAIGHT:
            found[0] -= found[1] * batch.first
        return found

    def _projection(self, batch: Batch) -> Projection:
        """Return the projection of this degree; `_nested` computes all degrees at once."""
        every = batch.keep("polynomials", _nested)
        assert isinstance(every, list)  # noqa: S101 - what `_nested` makes
        found: Projection = every[self.degree]
        return found

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Return the values at x, by Horner's rule."""
        found = np.full_like(x, parameters[-1])
        for parameter in parameters[-2::-1]:
            found = found * x + parameter
        return found

    def slopes(self, parameters: Floats, x: Floats) -> Floats:  # noqa: ARG002 - it is linear
        """Return the powers of x."""
        return np.vander(x, self.rank, increasing=True)

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """Convert parameters to other units, see `Template.scaled`."""
        return np.asarray((parameters.T * (y / x ** np.arange(self.rank))).T)

    def formula(self) -> str:
        """Return the formula, such as `p0 + p1*x + p2*x^2`."""
        powers = ["", "*x", *(f"*x^{power}" for power in range(2, self.rank))]
        return " + ".join(f"p{at}{powers[at]}" for at in range(self.rank))


def _nested(batch: Batch) -> list[Projection]:
    """Return the projections for all degrees."""
    return orthogonal(batch, [batch.t**degree / batch.scale for degree in DEGREES])
