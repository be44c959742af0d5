"""Polynomials of degree 0 to 5, fitted to all pieces by one orthogonalisation."""

from collections.abc import Sequence

import numpy as np

from slowpath.models.templates.batch import Batch, Floats

DEGREES = range(6)
_STRAIGHT = 1
"""Up to this degree x counts from zero: nothing is lost, and people read it more easily."""
_TINY = 1e-12
"""A column that is so much of the ones before adds nothing: all its points are at one place."""


class Polynomial:
    """p0 + p1 x + p2 x² and so on."""

    exact = True

    def __init__(self, degree: int) -> None:
        self.degree = degree
        self.name = f"polynomial-{degree}"
        self.rank = degree + 1
        self.parameters = tuple(f"p{power}" for power in range(self.rank))
        self.origin_at_start = degree > _STRAIGHT
        self.simple = degree <= _STRAIGHT

    def fitted(self, batch: Batch) -> Floats:
        """All degrees come at once, see `_nested`."""
        every = batch.keep("polynomials", _nested)
        assert isinstance(every, list)  # noqa: S101 - what `_nested` makes
        found: Floats = every[self.degree]
        return found

    def fit(self, batch: Batch) -> Floats:
        """By least squares; columns have a length of one each, for the sake of precision."""
        rows = np.vander(batch.t, self.rank, increasing=True) / batch.scale[:, None]
        norms = np.maximum(np.sqrt((rows**2).sum(axis=0)), np.finfo(float).tiny)
        found = np.linalg.lstsq(rows / norms, batch.y / batch.scale)[0] / norms
        found = found / batch.width[0] ** np.arange(self.rank)
        if not self.origin_at_start and self.degree == _STRAIGHT:
            found[0] -= found[1] * batch.first[0]
        return np.asarray(found, dtype=float)

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """By Horner's rule."""
        found = np.full_like(x, parameters[-1])
        for parameter in parameters[-2::-1]:
            found = found * x + parameter
        return found

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """As the protocol has it."""
        return y * parameters / x ** np.arange(self.rank)

    def formula(self) -> str:
        """Such as `p0 + p1*x + p2*x^2`."""
        powers = ["", "*x", *(f"*x^{power}" for power in range(2, self.rank))]
        return " + ".join(f"p{at}{powers[at]}" for at in range(self.rank))


def _nested(batch: Batch) -> list[Floats]:
    """For each degree, the fitted values."""
    return orthogonal(batch, [batch.t**degree / batch.scale for degree in DEGREES])


def orthogonal(batch: Batch, columns: Sequence[Floats]) -> list[Floats]:
    """Least squares: the fitted values with the first column, the first two, and so on.

    Columns are such of residuals. Each is orthogonalised twice (Kahan's and Parlett's "twice is
    enough"); one that is a combination of those before adds nothing.
    """
    known: list[Floats] = []
    rest = batch.y / batch.scale
    whole, found = np.zeros_like(rest), []
    for column in columns:
        direction = column
        before = np.sqrt(batch.sums(direction**2))
        for _ in range(2 if known else 0):
            for other in known:
                direction = direction - batch.spread(batch.sums(direction * other)) * other
        norm = np.sqrt(batch.sums(direction**2))
        inverse = np.where(norm > _TINY * before, 1 / np.where(norm > 0, norm, 1.0), 0.0)
        direction = direction * batch.spread(inverse)
        known.append(direction)
        part = batch.spread(batch.sums(rest * direction)) * direction
        rest, whole = rest - part, whole + part
        found.append(whole * batch.scale)
    return found
