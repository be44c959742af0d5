"""Computes the share of its solo throughput that each function of a mix keeps.

A mix is a sorted tuple of function indices in the fleet. Mixes are rows of a table, so that
policies can process all NICs at once. Shares are rounded to twelve digits, so that the number of
mixes predicted together and the machine do not decide whether a promise is kept.

Measured mixes correct predicted throughput, and determine the remaining uncertainty. Throughput
scatters between measurements. The noise is this scatter, as a share of the throughput; it is
assumed to be equal for all functions and mixes. It is learnt from all repeated measurements
together, since the spread of two or three values is very uncertain. The kept share of a function
has the noise of two throughputs: with competitors and alone.

Unmeasured mixes get bounds, since more neighbours never make a function faster. A function keeps no
less than in a measured mix with additional neighbours, and no more than in a measured mix with
fewer. (In the paper, 4.1.2, throughput falls with contention; `research/nicsim` tests this.)

Models add up the contention of competitors, from profiles with benchmarks. If several competitors
together saturate a resource, all predictions have a common error. A Gaussian process over mixes
models the logarithms of measured / predicted. Each neighbour adds an error, partly common to all
functions, partly specific to a function. Further terms depend on the kinds of neighbours, and make
mixes with nearly the same functions similar. The variances of these terms maximise the likelihood
of the measurements. The uncertainty of corrected predictions is calibrated on mixes that are left
out one by one. Intervals are widened until they cover the required share of these mixes
(cross-conformal prediction; Vovk 2015).
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from slowpath.contention.mixes import Kind, predict_mixes
from slowpath.contention.placement.fleet import Fleet, GroundTruth, Mix, counts_of
from slowpath.core import codes
from slowpath.core.arrays import Floats, Indices
from slowpath.core.errors import InputError
from slowpath.core.jobs.pool import Pool


class Repeated(NamedTuple):
    """Throughput of a function in a mix, from one or several measurements."""

    throughput: float  # geometric mean of its measurements
    times: int  # number of measurements


class Measured(NamedTuple):
    """Measured throughputs of functions in mixes (functions that share a NIC) and alone."""

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

        If `sure` is None, these are the measured shares. Otherwise, they are lower: a function
        keeps at least the returned share with the probability `sure`. A function alone always has
        the share 1.

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
        """Return the variance of the logarithm of the share that a function keeps in a mix.

        The share is the throughput in the mix divided by the solo throughput. The result is 0 if
        the noise of measurements is unknown.
        """
        if self.noise is None:
            return 0.0
        times = (self.known[mix][function].times, self.known[function,][function].times)
        return self.noise**2 * (1 / times[0] + 1 / times[1])

    def _spread(self, mix: Mix, function: int) -> float:
        """Return the standard deviation of the logarithm of the share that a function keeps.

        Raises:
            InputError: if the noise of measurements is unknown.
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

    `rows` has the throughputs, and `noise` the standard deviation of one measurement as a share. If
    it is None, it is learnt from repeated measurements.
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
    """Bounds on the throughput of functions in unmeasured mixes, from measured mixes.

    More neighbours never make a function faster, so larger and smaller measured mixes limit it.
    """

    def __init__(self, mixes: Sequence[Mix], kept: Floats) -> None:
        """Store measured mixes, and the shares of solo throughput that functions keep in them.

        The axes of `kept` are `[mix, function]`.
        """
        self._kept = kept
        self._counts = counts_of(mixes, kept.shape[1])

    def limit(self, mixes: Sequence[Mix], kept: Floats) -> Floats:
        """Limit the predicted shares of functions in mixes to the range that measured mixes allow.

        `kept` has the share of its solo throughput that each function of `mixes` is predicted to
        keep. Measured mixes with more neighbours are lower limits, those with fewer are upper
        limits. If noise makes the limits contradict each other, the upper limit counts.
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
"""Minimum number of measurements (a function in a mix) from which prediction errors can be learnt.
"""
_MOST = 500
"""Maximum number of measurements (a function in a mix) from which the variances are derived."""
_PRIOR = np.log([1e-2, 1e-2, 1e-3, 1e-3, 1e-2, 1e-4])
"""Prior variances of the terms, as logarithms: 10 % for each neighbour, 1 % unexplained."""
_SCATTER = 3.0
"""Standard deviation of the logarithms of variances around those in `_PRIOR`."""
_IMPOSSIBLE = 1e9
"""Stands for the negative log-likelihood of variances whose covariance matrix is not positive
definite.
"""


class Rows(NamedTuple):
    """Functions in mixes: each row is a function of a mix, with its neighbours there."""

    function: Indices
    beside: Floats  # number of neighbours of each function, `[row, function]`

    @property
    def mix(self) -> Floats:
        """Number of instances of each function in the row's mix, including the row's function."""
        found = self.beside.copy()
        found[np.arange(len(self.function)), self.function] += 1
        return found

    def some(self, at: slice) -> "Rows":
        """Return only the rows that a slice selects."""
        return Rows(self.function[at], self.beside[at])


def rows_of(mixes: Sequence[Mix], functions: int) -> tuple[Rows, Indices]:
    """Return a row for each distinct function of each mix, and the index of the mix of each row.

    `functions` is the number of functions.
    """
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
    """Return the prior variance of each row's prediction error, including the unexplained part.

    `parts` has the variances of the terms.
    """
    beside, mix = (rows.beside**2).sum(axis=1), (rows.mix**2).sum(axis=1)
    each = parts[0] + parts[1] + parts[2] * beside + parts[3] * mix + parts[4]
    found: Floats = rows.beside.sum(axis=1) ** 2 * each + parts[5]
    return found


class ErrorModel:
    """Gaussian process for the errors of predicted throughput, learnt from measured mixes."""

    def __init__(
        self, mixes: Sequence[Mix], errors: Floats, variance: Floats, functions: int
    ) -> None:
        """Learn prediction errors from measured mixes.

        `errors` has the logarithm of measured / predicted for each different function of each mix
        (`rows_of`), and `variance` its variance by noise. `functions` is the number of functions.
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
        """Return the errors of a mix, in standard deviations, if all other mixes predict it.

        `at` has the indices of the mix's rows.
        """
        block = np.linalg.inv(self._inverse[np.ix_(at, at)])
        found: Floats = block @ self._weights[at] / np.sqrt(np.diag(block))
        return found

    def correct(self, rows: Rows, sure: float | None) -> Floats:
        """Return corrections to add to the logarithms of predicted throughputs.

        If `sure` is None, they are mean corrections. Otherwise, they are lower: throughput exceeds
        the corrected value with the probability `sure`.
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
        """Return `w` such that a share `sure` of errors exceeds `-w` standard deviations.

        The errors are those of measured mixes that are left out one by one. The result is at least
        that of a normal distribution.
        """
        errors = np.sort(self._left_out)
        rank = max(int((len(errors) + 1) * (1 - sure)), 1)
        return float(max(-errors[rank - 1], NormalDist().inv_cdf(sure)))


def _likeliest(rows: Rows, errors: Floats, variance: Floats) -> Floats:
    """Return the variances of the terms that maximise likelihood times prior (MAP estimate).

    `errors` are prediction errors of the rows, `variance` is their variance by noise.
    """
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


_BATCH = 512
"""Number of mixes that are predicted at once, so that results do not depend on the pool."""
_DIGITS = 12
_CONFIDENCE = 0.9


class Shares:
    """Table of the shares of solo throughput that functions keep in mixes.

    It has a row for each mix and a column for each function. Functions that are not in the mix have
    an infinite share.
    """

    def __init__(self, functions: int) -> None:
        self.mixes = list[Mix]()
        self.guesses = 0  # number of functions in mixes outside the training range
        self.guessed = dict[int, set[str]]()  # their columns outside this range, by function
        self._row = dict[Mix, int]()
        self._kept = np.empty((0, functions))
        self._throughput = np.empty((0, functions))

    @property
    def kept(self) -> Floats:
        """Shares of solo throughput that functions keep, `[mix, function]`."""
        return self._kept[: len(self.mixes)]

    @property
    def throughput(self) -> Floats:
        """Throughputs in the unit of each function's model, `[mix, function]`.

        They are NaN for functions that are not in the mix.
        """
        return self._throughput[: len(self.mixes)]

    def missing(self, mixes: Iterable[Mix]) -> list[Mix]:
        """Return the given mixes that are not in the table, each once."""
        return [mix for mix in dict.fromkeys(mixes) if mix not in self._row]

    def row(self, mix: Mix) -> int:
        """Return the index of a mix's row in the table.

        Raises:
            KeyError: if the mix is not in the table.
        """
        return self._row[mix]

    def rows(self, mixes: Sequence[Mix]) -> Indices:
        """Return the indices of the rows of mixes; all mixes must be in the table."""
        return np.array([self._row[mix] for mix in mixes], dtype=np.intp)

    def add(self, mix: Mix, kept: Floats, throughput: Floats) -> None:
        """Add a mix to the table. `kept` and `throughput` have a value for each function."""
        if len(self.mixes) == len(self._kept):
            room = np.full((max(64, len(self._kept)), self._kept.shape[1]), np.inf)
            self._kept = np.concatenate([self._kept, room])
            self._throughput = np.concatenate([self._throughput, np.full_like(room, np.nan)])
        self._row[mix] = len(self.mixes)
        self._kept[len(self.mixes)] = np.round(kept, _DIGITS)
        self._throughput[len(self.mixes)] = throughput
        self.mixes.append(mix)


class PredictedShares:
    """A table of shares that grows by prediction on demand; measured mixes have measured shares."""

    def __init__(
        self, fleet: Fleet, sure: float | None = None, measured: Measured | None = None
    ) -> None:
        """Prepare to predict the share of solo throughput that functions keep in mixes.

        If `sure` is None, shares are the most likely ones. Otherwise, functions keep at least the
        shares with the probability `sure`. `measured` has mixes whose shares are known.

        Raises:
            InputError: if `sure` is given, but the noise of measurements is unknown.
        """
        functions = len(fleet.functions)
        self.shares = Shares(functions)
        self._request = _Request(tuple(one.kind for one in fleet.functions), sure)
        self._nearby: MonotonicBounds | None = None
        self._learnt: ErrorModel | None = None
        alone = [(at,) for at in range(functions)]
        found = _predict(self._request, alone)
        self._solo = np.array([_solo(fleet, measured, found, at) for at in range(functions)])
        if measured is not None:
            known = list(measured.known)
            for mix in known:
                values = {at: one.throughput for at, one in measured.known[mix].items()}
                self.shares.add(mix, *_row(functions, measured.kept(mix, sure), values))
            self._nearby = MonotonicBounds(known, self.shares.kept.copy())
            self._learnt = self._learnt_from(measured)
        missing = self.shares.missing(alone)
        self._add(missing, found.rows([at for (at,) in missing]))

    def _learnt_from(self, measured: Measured) -> ErrorModel | None:
        """Learn prediction errors from measured mixes; return None if there are too few of them."""
        mixes = [mix for mix in measured.known if len(mix) > 1]
        predicted = _predict(self._request._replace(sure=None), mixes).kept / self._solo
        rows, mix = rows_of(mixes, len(self._solo))
        if len(mix) < LEAST:
            return None
        kept = [measured.kept(one, None) for one in mixes]
        pairs = [*zip(mix, rows.function, strict=True)]
        errors = np.array([np.log(kept[at][one] / predicted[at, one]) for at, one in pairs])
        variance = np.array([measured.variance(mixes[at], one) for at, one in pairs])
        return ErrorModel(mixes, errors, variance, len(self._solo))

    def rows(self, mixes: Sequence[Mix]) -> Indices:
        """Return the row index of each mix in the table; predict mixes that it lacks first."""
        self.fill(mixes)
        return self.shares.rows(mixes)

    def fill(self, mixes: Iterable[Mix], pool: Pool | None = None) -> None:
        """Predict the mixes that are not in the table yet; if a pool is given, in parallel."""
        new = self.shares.missing(mixes)
        parts = [new[at : at + _BATCH] for at in range(0, len(new), _BATCH)]
        if pool is None or len(parts) <= 1:
            found = [_predict(self._request, part) for part in parts]
        else:
            found = pool.map(_predict, self._request, parts)
        for part, values in zip(parts, found, strict=True):
            self._add(part, values)

    def _add(self, mixes: Sequence[Mix], found: "_Predicted") -> None:
        kept, throughput = found.kept / self._solo, found.throughput
        if self._learnt is not None:
            rows, mix = rows_of(mixes, len(self._solo))
            likely, sure = np.zeros_like(kept), np.zeros_like(kept)
            likely[mix, rows.function] = self._learnt.correct(rows, None)
            sure[mix, rows.function] = self._learnt.correct(rows, self._request.sure)
            kept = throughput / self._solo * np.exp(sure)
            throughput = throughput * np.exp(likely)
        if self._nearby is not None:
            kept = self._nearby.limit(mixes, kept)
        for one, row, values in zip(mixes, kept, throughput, strict=True):
            # A function alone keeps 1 by definition; noise can contradict this.
            share = np.where(np.isnan(row), np.inf, 1.0 if len(one) == 1 else row)
            self.shares.add(one, share, values)
        self.shares.guesses += int(found.guesses.sum())
        for function, name in found.guessed:
            self.shares.guessed.setdefault(function, set()).add(name)


def _solo(fleet: Fleet, measured: Measured | None, found: "_Predicted", at: int) -> float:
    """Return the solo throughput of function `at`: measured, else declared, else predicted."""
    alone = None if measured is None else measured.solo(at)
    declared = fleet.functions[at].solo
    if alone is not None:
        return alone.throughput
    return float(found.throughput[at, at]) if declared is None else declared


class _Request(NamedTuple):
    """Inputs of predictions: the functions of the fleet, and the probability `sure`.

    Throughput is at least the result with this probability. None: results are the most likely
    values.
    """

    kinds: tuple[Kind, ...]
    sure: float | None


class _Predicted(NamedTuple):
    """Predicted throughputs, `[mix, function]`; NaN for functions that are not in the mix."""

    throughput: Floats
    kept: Floats  # throughput, or its lower end for the required probability
    guesses: Indices  # number of functions outside the training range, by mix
    guessed: frozenset[tuple[int, str]]  # these functions, with the columns outside the range

    def rows(self, rows: Sequence[int]) -> "_Predicted":
        """Return only the predictions of the mixes with these indices."""
        at = np.array(rows, dtype=np.intp)
        return _Predicted(self.throughput[at], self.kept[at], self.guesses[at], self.guessed)


def _predict(request: _Request, mixes: Sequence[Mix]) -> _Predicted:
    kinds, sure = request
    # Both tails of an interval have the same probability.
    found = predict_mixes(kinds, mixes, _CONFIDENCE if sure is None else 2 * sure - 1)
    throughput = np.full((len(mixes), len(kinds)), np.nan)
    throughput[found.mix, found.kind] = found.throughput
    kept = throughput.copy()
    if sure is not None:
        kept[found.mix, found.kind] = found.low
    guesses = np.zeros(len(mixes), dtype=np.intp)
    guessed = set[tuple[int, str]]()
    for at, kind, names in zip(found.mix, found.kind, found.outside, strict=True):
        if names and len(mixes[at]) > 1:
            guesses[at] += 1
            guessed |= {(int(kind), name) for name in names}
    return _Predicted(throughput, kept, guesses, frozenset(guessed))


def measured_shares(truth: GroundTruth, functions: int) -> Shares:
    """Return a table of the shares that functions keep in all mixes of the ground truth.

    `functions` is the number of functions.
    """
    shares = Shares(functions)
    for mix, values in truth.known.items():
        shares.add(mix, *_row(functions, truth.kept(mix) or {}, values))
    return shares


def _row(
    functions: int, kept: Mapping[int, float], throughput: Mapping[int, float]
) -> tuple[Floats, Floats]:
    """Return the shares and throughputs of a mix as arrays with one entry for each function."""
    shares, values = np.full(functions, np.inf), np.full(functions, np.nan)
    for at, share in kept.items():
        shares[at], values[at] = share, throughput[at]
    return shares, values
