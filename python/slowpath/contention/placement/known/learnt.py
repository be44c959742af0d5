"""What measured mixes teach of predictions for others: how far they are off, and how sure.

Models of functions add up what competitors do, from profiles beside benches. Where several of them
saturate something together, all predictions are off together. Logarithms of what was measured as a
share of what was predicted are taken for a Gaussian process over mixes: an amount for each
neighbour, common to all functions and one of each function's own, more or less of that by which
neighbours they are, and what mixes with nearly the same functions have in common. How much there
is of each is what makes likeliest what was measured. How sure corrected predictions are, shows in
mixes that are left out, one after the other: intervals are widened until they have as many of
these as they should (cross-conformal prediction; Vovk 2015).
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.placement.known.truth import Mix, counts_of

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

LEAST = 20
"""Functions in measured mixes that it takes; fewer say too little."""
_MOST = 500
"""So many of them, at most, decide how much there is of each part."""
_USUAL = np.log([1e-2, 1e-2, 1e-3, 1e-3, 1e-2, 1e-4])
"""Variances of the parts, as logarithms, before anything is known: 10 % for each neighbour, 1 % for
what nothing explains."""
_SCATTER = 3.0
"""By so much these logarithms may be off, as a standard deviation."""
_NEVER = 1e9
"""How unlikely parts are with which nothing can be calculated."""


class Rows(NamedTuple):
    """Functions in mixes."""

    function: Places
    beside: Floats  # how many of each function are its neighbours, `[row, function]`

    @property
    def mix(self) -> Floats:
        """How many of each function there are, itself among them."""
        found = self.beside.copy()
        found[np.arange(len(self.function)), self.function] += 1
        return found

    def some(self, at: slice) -> "Rows":
        """Some of them."""
        return Rows(self.function[at], self.beside[at])


def rows_of(mixes: Sequence[Mix], functions: int) -> tuple[Rows, Places]:
    """Each different function of each mix, and which mix that is."""
    counts = counts_of(mixes, functions)
    mix, function = np.nonzero(counts)
    beside = counts[mix]
    beside[np.arange(len(mix)), function] -= 1
    return Rows(function, beside), mix


def _covariance(parts: Floats, one: Rows, other: Rows) -> Floats:
    alike = one.function[:, None] == other.function
    neighbours = np.outer(one.beside.sum(axis=1), other.beside.sum(axis=1))
    together = one.mix @ other.mix.T
    sizes = (one.mix**2).sum(axis=1)[:, None] + (other.mix**2).sum(axis=1)
    near = np.exp(-(sizes - 2 * together) / 4)
    found: Floats = neighbours * (
        parts[0]
        + alike * (parts[1] + parts[2] * (one.beside @ other.beside.T))
        + parts[3] * together
        + parts[4] * near
    )
    return found


def _variance(parts: Floats, rows: Rows) -> Floats:
    """The diagonal of that, and what nothing explains."""
    beside, mix = (rows.beside**2).sum(axis=1), (rows.mix**2).sum(axis=1)
    each = parts[0] + parts[1] + parts[2] * beside + parts[3] * mix + parts[4]
    found: Floats = rows.beside.sum(axis=1) ** 2 * each + parts[5]
    return found


class Learnt:
    """How far predictions for mixes are off."""

    def __init__(self, mixes: Sequence[Mix], off: Floats, variance: Floats, functions: int) -> None:
        """From measured mixes.

        `off` are logarithms of what was measured as a share of what was predicted, for each
        different function of each mix (`rows_of`), `variance` is that of the measurements.
        """
        self._rows, mix = rows_of(mixes, functions)
        some = slice(None, None, -(-len(off) // _MOST))
        self._parts = _likeliest(self._rows.some(some), off[some], variance[some])
        whole = _covariance(self._parts, self._rows, self._rows)
        self._inverse = np.linalg.inv(whole + np.diag(variance + self._parts[-1]))
        self._weights = self._inverse @ off
        self._left_out = np.concatenate(
            [self._without(np.flatnonzero(mix == at)) for at in np.unique(mix)]
        )

    def _without(self, at: Places) -> Floats:
        """By how many standard deviations the rows of a mix are off that is left out."""
        block = np.linalg.inv(self._inverse[np.ix_(at, at)])
        found: Floats = block @ self._weights[at] / np.sqrt(np.diag(block))
        return found

    def correct(self, rows: Rows, sure: float | None) -> Floats:
        """What is added to logarithms of predictions: they are most likely then, or so sure."""
        shared = _covariance(self._parts, rows, self._rows)
        middle: Floats = shared @ self._weights
        if sure is None:
            return middle
        known = ((shared @ self._inverse) * shared).sum(axis=1)
        spread = np.sqrt(np.maximum(_variance(self._parts, rows) - known, 0.0))
        low: Floats = middle - self._width(sure) * spread
        return low

    def _width(self, sure: float) -> float:
        """How many standard deviations it takes: no fewer than were those to be trusted."""
        off = np.sort(self._left_out)
        rank = max(int((len(off) + 1) * (1 - sure)), 1)
        return float(max(-off[rank - 1], NormalDist().inv_cdf(sure)))


def _likeliest(rows: Rows, off: Floats, variance: Floats) -> Floats:
    """How much there is of each part."""
    from scipy.optimize import minimize

    def unlikely(logs: Floats) -> float:
        parts = np.exp(logs)
        whole = _covariance(parts, rows, rows) + np.diag(variance + parts[-1])
        try:
            root = np.linalg.cholesky(whole)
        except np.linalg.LinAlgError:  # parts so large that rounding hides all others
            return _NEVER
        scaled = np.linalg.solve(root, off)
        unusual = ((logs - _USUAL) ** 2).sum() / (2 * _SCATTER**2)
        return float(scaled @ scaled / 2 + np.log(np.diag(root)).sum() + unusual)

    likeliest: Floats = minimize(unlikely, _USUAL, method="L-BFGS-B").x
    found: Floats = np.exp(likeliest)
    return found
