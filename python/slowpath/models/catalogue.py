"""Lists all templates (kinds of functions to fit), and defines those with a constant limit.

An example is min(a, b x). They describe benchmarks whose bottleneck changes: throughput grows with
cores until it reaches line rate; the packet rate is constant until packets fill the line. Their fit
tries each point at which limit and function may meet, and fits both sides by least squares.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from slowpath.core.arrays import Floats
from slowpath.models.curves import Exponential, Hyperbola, Inverse, Logarithm
from slowpath.models.polynomial import DEGREES, Polynomial
from slowpath.models.template import Batch, Template

_FAR = 5.0
"""Minimum distance, in standard deviations, of the points of one side from the function of the
other side. It applies to a side that has no more points than parameters, and so fits exactly.
"""
_PLACES = 96
"""Maximum number of meeting points of limit and function that one search tries. Long curves need
several searches: at even distances, then around the best point.
"""


class Side(NamedTuple):
    """The function f in min(a, f) or max(a, f): a sum of terms of x, each times a parameter."""

    name: str
    formula: str
    terms: Callable[[Floats], Sequence[Floats]]
    powers: tuple[int, ...]
    """Power of x in each term, by which parameters are converted to other units."""


def _reciprocal(x: Floats) -> Floats:
    return np.asarray(1 / np.where(x > 0, x, np.nan))


PROPORTIONAL = Side("proportional", "b*x", lambda x: [x], (1,))
RECIPROCAL = Side("reciprocal", "b/x", lambda x: [_reciprocal(x)], (-1,))
LINE = Side("line", "b + c*x", lambda x: [np.ones_like(x), x], (0, 1))


class Limited:
    """Template `min(a, f)` or `max(a, f)` with a constant `a` and a function `f` of x."""

    origin_at_start = False
    exact = False
    simple = True
    whole_curve = True

    def __init__(self, kind: Literal["min", "max"], side: Side) -> None:
        self._least = kind == "min"
        self._side = side
        self._formula = f"{kind}(a, {side.formula})"
        self.name = f"{kind}-{side.name}"
        self.rank = 1 + len(side.powers)
        self.parameters = tuple("abc"[: self.rank])

    def fitted(self, batch: Batch) -> Floats:
        """Fit the template to each piece of a curve, and return the fitted values at all points."""
        return self.value(np.repeat(self.each(batch), batch.lengths, axis=1), batch.x)

    def each(self, batch: Batch) -> Floats:
        """Return the fitted parameters of each piece of a curve, `[parameter, piece]`."""
        ends = batch.starts + batch.lengths
        pieces = [slice(*one) for one in zip(batch.starts, ends, strict=True)]
        found = [self._solved(batch.x[at], batch.y[at], batch.scale[at]) for at in pieces]
        return np.array(found).T

    def value(self, parameters: Floats, x: Floats) -> Floats:
        """Return the values of the function at x; NaN for x <= 0 if it contains 1/x."""
        return self._combined(parameters[0], self._other(parameters, x))

    def slopes(self, parameters: Floats, x: Floats) -> Floats:
        """Return the derivatives of the function by each parameter at x.

        At each x, they are those of the constant or of f, whichever determines the value.
        """
        limited = (parameters[0] <= self._other(parameters, x)) == self._least
        terms = self._side.terms(x)
        return np.column_stack([limited, *(np.where(limited, 0.0, term) for term in terms)])

    def scaled(self, parameters: Floats, x: float, y: float) -> Floats:
        """Convert parameters to units in which x is `x` times, and y is `y` times as large."""
        powers = np.array([0, *self._side.powers])
        return np.asarray((parameters.T * (y / x**powers)).T)

    def formula(self) -> str:
        """Return the formula of the template, such as `min(a, b*x)`."""
        return self._formula

    def _other(self, parameters: Floats, x: Floats) -> Floats:
        terms = self._side.terms(x)
        return np.asarray(sum(p * term for p, term in zip(parameters[1:], terms, strict=True)))

    def _combined(self, limit: Floats | float, other: Floats) -> Floats:
        found = np.minimum(limit, other) if self._least else np.maximum(limit, other)
        return np.asarray(found)

    def _solved(self, x: Floats, y: Floats, scale: Floats) -> Floats:
        """Return the parameters of the least-squares fit to a piece; NaN if there is no fit.

        The search covers the points at which the constant and f can meet.
        """
        size = len(x)
        nothing = np.full(self.rank, np.nan)
        step = max(1, size // _PLACES)
        places = range(1, size, step)
        while True:
            loss, place, found = min(
                (self._best(x, y, scale, places, limit_first=one) for one in (False, True)),
                key=lambda one: one[0],
            )
            if not np.isfinite(loss):
                return nothing
            if step == 1:
                return found
            near, step = 2 * step, max(1, step // 8)
            places = range(max(1, place - near), min(size, place + near + 1), step)

    def _best(
        self, x: Floats, y: Floats, scale: Floats, places: range, *, limit_first: bool
    ) -> tuple[float, int, Floats]:
        """Find the best point of `places` at which the constant and f can meet.

        The results are its loss, its index, and the parameters. If `limit_first` is true, the
        constant determines the values before the point, otherwise those after it.
        """
        terms = self._side.terms(x)
        few = len(terms)
        ends = (1, len(x) - few) if limit_first else (few, len(x) - 1)
        at = np.array([one for one in places if ends[0] <= one <= ends[1]], dtype=np.intp)
        if not len(at):
            return np.inf, 0, np.zeros(self.rank)
        before = np.arange(len(x)) < at[:, None]
        limits = before if limit_first else ~before
        limit = _mean(y, limits / scale**2)[:, None]
        factors = _regressed(terms, y, ~limits / scale**2)
        other = np.asarray(
            sum(one[:, None] * term for one, term in zip(factors, terms, strict=True))
        )
        losses = (((self._combined(limit, other) - y) / scale) ** 2).sum(axis=1)
        # A side with few points fits exactly, so these points must be far from the other side.
        errors = np.abs(np.where(limits, other, limit) - y) / scale
        on_limit, on_other = np.where(limits, errors, 0.0), np.where(limits, 0.0, errors)
        distance = np.where(limits.sum(axis=1) == 1, on_limit.max(axis=1), np.inf)
        distance = np.where((~limits).sum(axis=1) <= few, on_other.max(axis=1), distance)
        far = distance > _FAR * np.sqrt(losses / max(len(x) - self.rank, 1))
        losses = np.where(np.isfinite(losses) & far, losses, np.inf)
        best = int(losses.argmin())
        return float(losses[best]), int(at[best]), np.array([limit[:, 0], *factors])[:, best]


def _mean(y: Floats, weight: Floats) -> Floats:
    return np.asarray(weight @ y / weight.sum(axis=1))


def _regressed(terms: Sequence[Floats], y: Floats, weight: Floats) -> list[Floats]:
    """Fit y by least squares with one term, or with a constant and a term; return the factors.

    Each row of `weight` has the weights of the points for a separate fit.
    """
    *constant, slope = terms
    if not constant:
        return [weight @ (slope * y) / (weight @ slope**2)]
    total = weight.sum(axis=1)
    middle, level = weight @ slope / total, weight @ y / total
    centred = slope - middle[:, None]
    square = (weight * centred**2).sum(axis=1)
    rise = (weight * centred * y).sum(axis=1) / np.where(square > 0, square, np.nan)
    return [level - rise * middle, rise]


_PLAIN: tuple[Template, ...] = (
    *(Polynomial(degree) for degree in DEGREES),
    Logarithm(),
    Hyperbola(),
    Exponential(),
)
_INVERTED: tuple[Template, ...] = tuple(
    Inverse(one) for one in _PLAIN if one.name not in {"polynomial-0", "hyperbola"}
)
TEMPLATES: tuple[Template, ...] = tuple(
    sorted((*_PLAIN, *_INVERTED), key=lambda template: template.rank)
)
"""Templates for segments of a curve, simple ones first. There is no inverse of a constant, because
it would be a constant.
"""
_KINDS: tuple[Literal["min", "max"], ...] = ("min", "max")
_LIMITED: tuple[Template, ...] = tuple(
    Limited(kind, side) for side in (PROPORTIONAL, RECIPROCAL, LINE) for kind in _KINDS
)
WHOLE: tuple[Template, ...] = (
    *_LIMITED,
    *(Inverse(one) for one in _LIMITED if one.name.endswith(LINE.name)),
)
"""Templates that are only fitted to whole curves. The inverse of a limited proportion is a limited
reciprocal, and vice versa.
"""
BY_NAME = {template.name: template for template in (*TEMPLATES, *WHOLE)}
"""All templates, by the names that documents use."""
