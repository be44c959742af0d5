"""Corrects predicted throughput by measured mixes, and estimates the remaining uncertainty.

Throughput scatters between measurements. The noise is this scatter, as a share of the throughput;
it is assumed to be equal for all functions and mixes. It is learnt from all repeated measurements
together, since the spread of two or three values is very uncertain. The kept share of a function
has the noise of two throughputs: with competitors and alone.

Other mixes get bounds, since more neighbours never make a function faster. A function keeps no less
than in a measured mix with additional neighbours, and no more than in a measured mix with fewer.
(In the paper, 4.1.2, throughput falls with contention; `research/nicsim` tests this.)

Models add up the contention of competitors, from profiles with benchmarks. If several competitors
together saturate a resource, all predictions have a common error. A Gaussian process over mixes
models the logarithms of measured / predicted. Each neighbour adds an error, partly common to all
functions, partly specific to a function. Further terms depend on the kinds of neighbours, and make
mixes with nearly the same functions similar. The variances of these terms maximise the likelihood
of the measurements. The uncertainty of corrected predictions is calibrated on mixes that are left
out one by one. Intervals are widened until they cover the required share of these mixes
(cross-conformal prediction; Vovk 2015).
"""

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from slowpath.contention.placement.fleet import Mix, counts_of
from slowpath.core import codes
from slowpath.core.arrays import Floats, Indices
from slowpath.core.errors import InputError


class Repeated(NamedTuple):
    """Throughput of a function in a mix, measured once or several times."""

    throughput: float  # geometric mean of its measurements
    times: int  # number of measurements


class Measured(NamedTuple):
    """Throughput measured in mixes (functions that share a NIC), and of functions alone."""

    file: str
    known: Mapping[Mix, Mapping[int, Repeated]]  # measurements by mix and function
    noise: float | None  # standard deviation of one measurement's logarithm; None if unknown
    freedom: float  # degrees of freedom of `noise`; infinite if the user gave it

    def solo(self, function: int) -> Repeated | None:
        """Return the measured solo throughput of a function; None if not measured."""
        values = self.known.get((function,))
        return None if values is None else values[function]

    def kept(self, mix: Mix, sure: float | None) -> dict[int, float]:
        """Return the share of its solo throughput that each function of a measured mix keeps.

        Without `sure`, shares are as measured. With `sure`, functions keep at least the returned
        share with this probability. A function alone always has the share 1.

        Raises:
            InputError: if `sure` is given, but the noise is unknown.
        """
        if len(mix) == 1:
            return {mix[0]: 1.0}
        found = {}
        for at, one in self.known[mix].items():
            margin = 0.0 if sure is None else self._quantile(sure) * self._spread(mix, at)
            found[at] = one.throughput / self.known[at,][at].throughput * float(np.exp(-margin))
        return found

    def variance(self, mix: Mix, function: int) -> float:
        """Return the variance of the logarithm of throughput in the mix divided by solo throughput.

        The result is 0 if the measurement noise is unknown.
        """
        if self.noise is None:
            return 0.0
        times = (self.known[mix][function].times, self.known[function,][function].times)
        return self.noise**2 * (1 / times[0] + 1 / times[1])

    def _spread(self, mix: Mix, function: int) -> float:
        """Return the standard deviation of log(throughput in the mix / solo throughput).

        Raises:
            InputError: if the noise is unknown.
        """
        if self.noise is None:
            reason = "the noise of measurements is unknown, because none of them is repeated"
            raise InputError(
                codes.MIX_NOT_MEASURED, self.file, f"{reason}; repeat some of them, or set --noise"
            )
        return float(np.sqrt(self.variance(mix, function)))

    def _quantile(self, sure: float) -> float:
        if not self.freedom or np.isinf(self.freedom):
            return NormalDist().inv_cdf(sure)
        from scipy.stats import t

        return float(t.ppf(sure, self.freedom))


def measured(
    file: str, rows: Mapping[Mix, Mapping[int, Sequence[float]]], noise: float | None
) -> Measured:
    """Summarise measurements by mix and function.

    If `noise` is None, the noise (a share of throughput) is learnt from repeated measurements.
    """
    known = {
        mix: {
            function: Repeated(float(np.exp(np.log(each).mean())), len(each))
            for function, each in of.items()
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


class MonotonicBounds:
    """Bounds, from measured mixes, on the throughput of functions in unmeasured mixes.

    More neighbours never make a function faster, so larger and smaller measured mixes limit it.
    """

    def __init__(self, mixes: Sequence[Mix], kept: Floats) -> None:
        """Store measured mixes, and the kept shares of their functions, `[mix, function]`."""
        self._kept = kept
        self._counts = counts_of(mixes, kept.shape[1])

    def limit(self, mixes: Sequence[Mix], kept: Floats) -> Floats:
        """Limit kept shares to the range that measured mixes with more and fewer neighbours allow.

        If noise makes the limits contradict each other, the upper limit counts.
        """
        limited = kept.copy()
        for at, counts in enumerate(counts_of(mixes, kept.shape[1])):
            larger = self._kept[(self._counts >= counts).all(axis=1)]
            smaller = (self._counts <= counts).all(axis=1)
            present = np.where(self._counts[smaller] > 0, self._kept[smaller], np.inf)
            least = np.where(counts > 0, larger.max(axis=0, initial=-np.inf), -np.inf)
            most = present.min(axis=0, initial=np.inf)
            limited[at] = np.minimum(np.maximum(kept[at], least), most)
        return limited


LEAST = 20
"""Minimum number of functions in measured mixes from which prediction errors can be learnt."""
_MOST = 500
"""Maximum number of functions in measured mixes from which the variances are derived."""
_PRIOR = np.log([1e-2, 1e-2, 1e-3, 1e-3, 1e-2, 1e-4])
"""Prior variances, as logarithms: 10 % for each neighbour, 1 % unexplained."""
_SCATTER = 3.0
"""Standard deviation of the prior for these logarithms."""
_IMPOSSIBLE = 1e9
"""Negative log-likelihood of variances for which the covariance is not positive definite."""


class Rows(NamedTuple):
    """Functions in mixes: each row is one function of one mix, with its neighbours there."""

    function: Indices
    beside: Floats  # number of neighbours of each function, `[row, function]`

    @property
    def mix(self) -> Floats:
        """Number of instances of each function in the row's mix, including the row's function."""
        found = self.beside.copy()
        found[np.arange(len(self.function)), self.function] += 1
        return found

    def some(self, at: slice) -> "Rows":
        """Return only the rows (functions in mixes) that a slice selects."""
        return Rows(self.function[at], self.beside[at])


def rows_of(mixes: Sequence[Mix], functions: int) -> tuple[Rows, Indices]:
    """Return a row for each distinct function of each mix, and the index of each row's mix."""
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
    """Return the prior variance of each row's prediction error, including the unexplained part."""
    beside, mix = (rows.beside**2).sum(axis=1), (rows.mix**2).sum(axis=1)
    each = parts[0] + parts[1] + parts[2] * beside + parts[3] * mix + parts[4]
    found: Floats = rows.beside.sum(axis=1) ** 2 * each + parts[5]
    return found


class ErrorModel:
    """Gaussian process for errors of predicted throughput, learnt from measured mixes."""

    def __init__(
        self, mixes: Sequence[Mix], errors: Floats, variance: Floats, functions: int
    ) -> None:
        """Learn errors from measured mixes.

        `errors` are logarithms of measured / predicted for each different function of each mix
        (`rows_of`); `variance` is the variance of the measured logarithms.
        """
        self._rows, mix = rows_of(mixes, functions)
        some = slice(None, None, -(-len(errors) // _MOST))
        self._parts = _likeliest(self._rows.some(some), errors[some], variance[some])
        covariance = _covariance(self._parts, self._rows, self._rows)
        self._inverse = np.linalg.inv(covariance + np.diag(variance + self._parts[-1]))
        self._weights = self._inverse @ errors
        self._left_out = np.concatenate(
            [self._without(np.flatnonzero(mix == at)) for at in np.unique(mix)]
        )

    def _without(self, at: Indices) -> Floats:
        """Return leave-one-out errors of the rows of one mix, divided by their standard deviations.

        The other mixes predict these rows.
        """
        block = np.linalg.inv(self._inverse[np.ix_(at, at)])
        found: Floats = block @ self._weights[at] / np.sqrt(np.diag(block))
        return found

    def correct(self, rows: Rows, sure: float | None) -> Floats:
        """Return corrections to add to logarithms of predicted throughput.

        With `sure`, return lower ends of intervals, which hold with this probability; else means.
        """
        shared = _covariance(self._parts, rows, self._rows)
        middle: Floats = shared @ self._weights
        if sure is None:
            return middle
        known = ((shared @ self._inverse) * shared).sum(axis=1)
        spread = np.sqrt(np.maximum(_variance(self._parts, rows) - known, 0.0))
        low: Floats = middle - self._width(sure) * spread
        return low

    def _width(self, sure: float) -> float:
        """Return the width `w`: a share `sure` of errors is above `-w` standard deviations.

        Errors are those of measured mixes that are left out one by one. The result is at least that
        of a normal distribution.
        """
        errors = np.sort(self._left_out)
        rank = max(int((len(errors) + 1) * (1 - sure)), 1)
        return float(max(-errors[rank - 1], NormalDist().inv_cdf(sure)))


def _likeliest(rows: Rows, errors: Floats, variance: Floats) -> Floats:
    """Return the variances that maximise the product of likelihood and prior (MAP estimate)."""
    from scipy.optimize import minimize

    def loss(logs: Floats) -> float:
        parts = np.exp(logs)
        covariance = _covariance(parts, rows, rows) + np.diag(variance + parts[-1])
        try:
            root = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:  # one variance is so large that rounding hides the others
            return _IMPOSSIBLE
        scaled = np.linalg.solve(root, errors)
        prior = ((logs - _PRIOR) ** 2).sum() / (2 * _SCATTER**2)
        return float(scaled @ scaled / 2 + np.log(np.diag(root)).sum() + prior)

    likeliest: Floats = minimize(loss, _PRIOR, method="L-BFGS-B").x
    found: Floats = np.exp(likeliest)
    return found
