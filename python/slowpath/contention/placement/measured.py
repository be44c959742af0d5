"""Measured mixes, and the prediction errors learnt from them.

Throughput scatters from one measurement to the next, by a share that is taken to be the same for
all functions and mixes: the noise. It is learnt from all that was measured several times, together,
as two or three values by themselves say next to nothing of their spread. What a function keeps is
then known to within the noise of both its throughputs, beside others and alone.

Of mixes that were not measured it is known that more neighbours never make a function faster: it
keeps no less than in a measured mix that has further neighbours, and no more than in one that lacks
some. (Paper, 4.1.2, has throughput fall with contention; `crates/nicsim` tests that it does.)

Models of functions add up what competitors do, from profiles beside benches. Where several of them
saturate something together, all predictions are off together. Logarithms of what was measured as a
share of what was predicted are taken for a Gaussian process over mixes: an amount for each
neighbour, common to all functions and one of each function's own, more or less of that by which
neighbours they are, and what mixes with nearly the same functions have in common. How much there
is of each is what makes likeliest what was measured. How sure corrected predictions are, shows in
mixes that are left out, one after the other: intervals are widened until they have as many of
these as they should (cross-conformal prediction; Vovk 2015).
"""

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.placement.fleet import Mix, counts_of
from slowpath.core.errors import InputError

Floats = NDArray[np.float64]


class Repeated(NamedTuple):
    """Throughput of a function in a mix."""

    throughput: float  # geometric mean of its measurements
    times: int  # how many there were


class Measured(NamedTuple):
    """Mixes that were measured, functions by themselves (mixes of one) among them."""

    file: str
    known: Mapping[Mix, Mapping[int, Repeated]]  # by mix and function
    noise: float | None  # standard deviation of the logarithm of one measurement, where it is known
    freedom: float  # degrees of freedom that it is known with; infinite where somebody said it

    def solo(self, function: int) -> Repeated | None:
        """Throughput of a function alone, where that was measured."""
        values = self.known.get((function,))
        return None if values is None else values[function]

    def kept(self, mix: Mix, sure: float | None) -> dict[int, float]:
        """What functions of a measured mix keep of their throughput alone.

        As measured, or with `sure` what they keep with that probability. Alone is alone.

        Raises:
            InputError: when that is asked for, and the noise is not known.
        """
        if len(mix) == 1:
            return {mix[0]: 1.0}
        found = {}
        for at, one in self.known[mix].items():
            margin = 0.0 if sure is None else self._quantile(sure) * self._spread(mix, at)
            found[at] = one.throughput / self.known[at,][at].throughput * float(np.exp(-margin))
        return found

    def variance(self, mix: Mix, function: int) -> float:
        """Of the logarithm of what a function keeps in a measured mix; 0 where it is not known."""
        if self.noise is None:
            return 0.0
        times = (self.known[mix][function].times, self.known[function,][function].times)
        return self.noise**2 * (1 / times[0] + 1 / times[1])

    def _spread(self, mix: Mix, function: int) -> float:
        """Its standard deviation, where that has to be known."""
        if self.noise is None:
            reason = "nothing was measured twice, so it is not known how sure rows are"
            raise InputError(self.file, f"{reason}; measure some again, or say --noise")
        return float(np.sqrt(self.variance(mix, function)))

    def _quantile(self, sure: float) -> float:
        if not self.freedom or np.isinf(self.freedom):
            return NormalDist().inv_cdf(sure)
        from scipy.stats import t

        return float(t.ppf(sure, self.freedom))


def measured(
    file: str, rows: Mapping[Mix, Mapping[int, Sequence[float]]], noise: float | None
) -> Measured:
    """Measurements by mix and function; their noise, as a share, is learnt if it is not said."""
    known = {
        mix: {
            at: Repeated(float(np.exp(np.log(each).mean())), len(each)) for at, each in of.items()
        }
        for mix, of in rows.items()
    }
    if noise is not None:
        return Measured(file, known, noise, np.inf)
    logs = [np.log(each) for of in rows.values() for each in of.values()]
    freedom = sum(len(each) - 1 for each in logs)
    if not freedom:
        return Measured(file, known, None, 0.0)
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in logs)
    return Measured(file, known, float(np.sqrt(squares / freedom)), freedom)


class Nearby:
    """What measured mixes say of others: nobody gets faster by more neighbours."""

    def __init__(self, mixes: Sequence[Mix], kept: Floats) -> None:
        """Of measured mixes and what functions keep in them, `[mix, function]`."""
        self._kept = kept
        self._counts = counts_of(mixes, kept.shape[1])

    def limit(self, mixes: Sequence[Mix], kept: Floats) -> Floats:
        """What functions keep in mixes, not below what they do beside more, nor above beside fewer.

        Where measurements contradict each other, as they may by noise, the lower one counts.
        """
        limited = kept.copy()
        for at, counts in enumerate(counts_of(mixes, kept.shape[1])):
            more = self._kept[(self._counts >= counts).all(axis=1)]
            fewer = (self._counts <= counts).all(axis=1)
            there = np.where(self._counts[fewer] > 0, self._kept[fewer], np.inf)
            least = np.where(counts > 0, more.max(axis=0, initial=-np.inf), -np.inf)
            most = there.min(axis=0, initial=np.inf)
            limited[at] = np.minimum(np.maximum(kept[at], least), most)
        return limited


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
