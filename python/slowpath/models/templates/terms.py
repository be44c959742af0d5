"""Templates for several columns: sums of products.

A term is a product of one simple function of each column. A template is a sum over all products of
the columns' functions (the columns interact), or over the functions alone (the columns add up).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np

from slowpath.models.templates.polynomial import Projection, orthogonal
from slowpath.models.templates.template import Batch, Floats

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
"""Functions of a column in a term."""
_FIRST = (), ("x",), ("ln(x)",), ("1/x",), ("x", "x^2")
_OTHER = (), ("x",), ("ln(x)",), ("1/x",)


class Terms:
    """A sum of terms, each with a parameter."""

    name = NAME
    origin_at_start = False
    exact = True
    whole = False

    def __init__(self, terms: Sequence[Sequence[str]]) -> None:
        self.terms = tuple(tuple(term) for term in terms)
        self.rank = len(self.terms)
        self.parameters = tuple(f"p{at}" for at in range(self.rank))
        self.simple = not any("x^2" in term for term in self.terms)

    def columns(self, x: Floats, others: Floats) -> list[Floats]:
        """Return the value of each term at each row."""
        every = [x, *others.T]
        return [
            np.prod([FUNCTIONS[name](at) for name, at in zip(term, every, strict=True)], axis=0)
            for term in self.terms
        ]

    def fitted(self, batch: Batch) -> Floats:
        """Return the least-squares fit at the points."""
        return self._projection(batch).fitted

    def each(self, batch: Batch) -> Floats:
        """Return the parameters for each piece, see `Template.each`."""
        return self._projection(batch).factors

    def _projection(self, batch: Batch) -> Projection:
        columns = self.columns(batch.x, batch.others)
        return orthogonal(batch, [column / batch.scale for column in columns])[-1]

    def value(self, parameters: Floats, x: Floats, others: Floats | None = None) -> Floats:
        """Return the sum of the terms at each row."""
        rest = np.zeros((len(x), 0)) if others is None else others
        columns = self.columns(x, rest)
        return np.asarray(np.sum([p * c for p, c in zip(parameters, columns, strict=True)], axis=0))

    def slopes(self, parameters: Floats, x: Floats, others: Floats | None = None) -> Floats:  # noqa: ARG002 - it is linear
        """Return the value of each term: the derivatives by the parameters."""
        return np.column_stack(self.columns(x, np.zeros((len(x), 0)) if others is None else others))

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:  # noqa: ARG002 - none
        """Return the parameters unchanged: they are always in the units of the data."""
        return parameters

    def formula(self) -> str:
        """Return the formula, such as `p0 + p1*x1 + p2*x1*ln(x2)`."""
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
    """Return all templates over a number of columns, simple ones first."""
    found: dict[tuple[tuple[str, ...], ...], None] = {}
    for choice in product(_FIRST, *[_OTHER] * (columns - 1)):
        with_one = [("1", *functions) for functions in choice]
        found[tuple(product(*with_one))] = None
        alone = [("1",) * columns]
        for at, functions in enumerate(choice):
            alone += [("1",) * at + (name,) + ("1",) * (columns - at - 1) for name in functions]
        found[tuple(alone)] = None
    return tuple(sorted((Terms(terms) for terms in found), key=lambda one: one.rank))
