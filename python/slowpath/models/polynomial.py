"""Fits polynomials in x, and sums of products of several x columns, by orthogonal least squares.

A term is a product of simple functions, one for each column. A template for several columns is a
sum over all such products (the columns interact), or over the functions of single columns (the
columns add up).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats
from slowpath.models.template import Batch

_TINY = 1e-12
"""Relative norm of an orthogonalised column below which it is a linear combination of earlier
columns.
"""


class Projection(NamedTuple):
    """The least-squares fit of y by a linear combination of columns."""

    fitted: Floats
    factors: Floats  # factor of each column in each piece, `[column, piece]`


def orthogonal(batch: Batch, columns: Sequence[Floats]) -> list[Projection]:
    """Fit y by least squares with the first column, with the first two columns, and so on.

    The result has one fit for each number of columns. Columns are scaled like residuals. Each is
    orthogonalised twice (Kahan's and Parlett's "twice is enough"); a linear combination of earlier
    columns adds nothing.
    """
    known: list[tuple[Floats, Floats]] = []  # directions, and their factors for each column
    residual = batch.y / batch.scale
    fitted, found = np.zeros_like(residual), []
    total = np.zeros((len(columns), len(batch.starts)))
    for number, column in enumerate(columns):
        direction, factors = column, np.zeros_like(total)
        factors[number] = 1.0
        before = np.sqrt(batch.sums(direction**2))
        for _ in range(2 if known else 0):
            for other, other_factors in known:
                share = batch.sums(direction * other)
                direction = direction - batch.spread(share) * other
                factors[:number] -= share * other_factors[:number]
        norm = np.sqrt(batch.sums(direction**2))
        inverse = np.where(norm > _TINY * before, 1 / np.where(norm > 0, norm, 1.0), 0.0)
        direction, factors = direction * batch.spread(inverse), factors * inverse
        known.append((direction, factors))
        share = batch.sums(residual * direction)
        part = batch.spread(share) * direction
        residual, fitted, total = residual - part, fitted + part, total + share * factors
        found.append(Projection(fitted * batch.scale, total[: number + 1]))
    return found


DEGREES = range(6)
_STRAIGHT = 1
"""Maximum degree of polynomials in x itself; others are in the distance from the segment's start.
Polynomials in x are easier to read, but lose digits at higher degrees.
"""


class Polynomial:
    """Template p0 + p1 x + p2 x² and so on, of one degree."""

    exact = True
    whole_curve = False

    def __init__(self, degree: int) -> None:
        self.degree = degree
        self.name = f"polynomial-{degree}"
        self.rank = degree + 1
        self.parameters = tuple(f"p{power}" for power in range(self.rank))
        self.origin_at_start = degree > _STRAIGHT
        self.simple = degree <= _STRAIGHT

    def fitted(self, batch: Batch) -> Floats:
        """Fit the polynomial to each piece of a curve, and return its values at all points."""
        return self._projection(batch).fitted

    def each(self, batch: Batch) -> Floats:
        """Return the fitted parameters of each piece of a curve, `[parameter, piece]`."""
        found = self._projection(batch).factors / batch.width ** np.arange(self.rank)[:, None]
        if not self.origin_at_start and self.degree == _STRAIGHT:
            found[0] -= found[1] * batch.first
        return found

    def _projection(self, batch: Batch) -> Projection:
        """Return the least-squares fit of this polynomial to each piece of a curve.

        The fits of all degrees are computed together, by `_nested`, and cached.
        """
        projections = batch.keep("polynomials", _nested)
        assert isinstance(projections, list)  # noqa: S101 - result of `_nested`
        found: Projection = projections[self.degree]
        return found

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Return the values of the polynomial at x, by Horner's rule."""
        found = np.full_like(x, parameters[-1])
        for parameter in parameters[-2::-1]:
            found = found * x + parameter
        return found

    def slopes(self, parameters: Floats, x: Floats) -> Floats:  # noqa: ARG002 - it is linear
        """Return the derivatives by each parameter at x: the powers of x."""
        return np.vander(x, self.rank, increasing=True)

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """Convert parameters to units in which x is `x` times, and y is `y` times as large."""
        return np.asarray((parameters.T * (y / x ** np.arange(self.rank))).T)

    def formula(self) -> str:
        """Return the formula of the polynomial, such as `p0 + p1*x + p2*x^2`."""
        powers = ["", "*x", *(f"*x^{power}" for power in range(2, self.rank))]
        return " + ".join(f"p{at}{powers[at]}" for at in range(self.rank))


def _nested(batch: Batch) -> list[Projection]:
    """Return the least-squares fits of polynomials of all degrees to each piece of a curve."""
    return orthogonal(batch, [batch.t**degree / batch.scale for degree in DEGREES])


MOST_COLUMNS = 3
NAME = "terms"


def _positive(x: Floats) -> Floats:
    return np.where(x > 0, x, np.nan)


FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "1": np.ones_like,
    "x": lambda x: x,
    "x^2": np.square,
    "ln(x)": lambda x: np.log(_positive(x)),
    "1/x": lambda x: 1 / _positive(x),
}
"""Functions of a column that a term can contain, by name."""
_FIRST = (), ("x",), ("ln(x)",), ("1/x",), ("x", "x^2")
_OTHER = (), ("x",), ("ln(x)",), ("1/x",)


class Terms:
    """Template for several x columns: a sum of terms, each times a parameter."""

    name = NAME
    origin_at_start = False
    exact = True
    whole_curve = False

    def __init__(self, terms: Sequence[Sequence[str]]) -> None:
        self.terms = tuple(tuple(term) for term in terms)
        self.rank = len(self.terms)
        self.parameters = tuple(f"p{at}" for at in range(self.rank))
        self.simple = not any("x^2" in term for term in self.terms)

    def columns(self, x: Floats, others: Floats) -> list[Floats]:
        """Return the values of each term.

        `x` is the first x column, `others` has the further ones.
        """
        values = [x, *others.T]
        return [
            np.prod([FUNCTIONS[name](at) for name, at in zip(term, values, strict=True)], axis=0)
            for term in self.terms
        ]

    def fitted(self, batch: Batch) -> Floats:
        """Fit the sum to each piece of a curve, and return the fitted values at all points."""
        return self._projection(batch).fitted

    def each(self, batch: Batch) -> Floats:
        """Return the fitted parameters of each piece of a curve, `[parameter, piece]`."""
        return self._projection(batch).factors

    def _projection(self, batch: Batch) -> Projection:
        columns = self.columns(batch.x, batch.others)
        return orthogonal(batch, [column / batch.scale for column in columns])[-1]

    def value(self, parameters: Floats, x: Floats, others: Floats | None = None) -> Floats:
        """Return the values of the sum.

        `x` is the first x column, `others` has the further ones.
        """
        columns = self.columns(x, np.zeros((len(x), 0)) if others is None else others)
        return np.asarray(np.sum([p * c for p, c in zip(parameters, columns, strict=True)], axis=0))

    def slopes(self, parameters: Floats, x: Floats, others: Floats | None = None) -> Floats:  # noqa: ARG002 - it is linear
        """Return the derivatives by each parameter: the values of the terms."""
        return np.column_stack(self.columns(x, np.zeros((len(x), 0)) if others is None else others))

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:  # noqa: ARG002 - none
        """Return the parameters unchanged, because the fit uses the units of the data."""
        return parameters

    def formula(self) -> str:
        """Return the formula of the sum, such as `p0 + p1*x1 + p2*x1*ln(x2)`."""
        return " + ".join(
            "*".join([name, *(_written(term))])
            for name, term in zip(self.parameters, self.terms, strict=True)
        )


def _written(term: Sequence[str]) -> Iterator[str]:
    for number, function in enumerate(term, 1):
        if function != "1":
            text = function.replace("x", f"x{number}")
            yield f"({text})" if "/" in text else text


def templates_over(columns: int) -> tuple[Terms, ...]:
    """Return all templates for `columns` x columns, simple ones first."""
    found: dict[tuple[tuple[str, ...], ...], None] = {}
    for choice in product(_FIRST, *[_OTHER] * (columns - 1)):
        with_one = [("1", *functions) for functions in choice]
        found[tuple(product(*with_one))] = None
        alone = [("1",) * columns]
        for at, functions in enumerate(choice):
            alone += [("1",) * at + (name,) + ("1",) * (columns - at - 1) for name in functions]
        found[tuple(alone)] = None
    return tuple(sorted((Terms(terms) for terms in found), key=lambda one: one.rank))
