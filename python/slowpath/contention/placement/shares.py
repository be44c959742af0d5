"""Computes the share of its solo throughput that each function of a mix keeps.

A mix is a sorted tuple of function indices in the fleet. Mixes are rows of a table, so that
policies can process all NICs at once. Shares are rounded to twelve digits: neither the number of
mixes predicted together nor the machine may decide whether a promise is kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.mixes import Kind, predict_mixes
from slowpath.contention.placement.fleet import Fleet, GroundTruth, Mix
from slowpath.contention.placement.measured import (
    LEAST,
    ErrorModel,
    Measured,
    MonotonicBounds,
    rows_of,
)
from slowpath.core.arrays import Floats, Indices
from slowpath.core.jobs.pool import Pool

_BATCH = 512
"""Number of mixes that are predicted together, whatever pool is used."""
_DIGITS = 12
_CONFIDENCE = 0.9


class Shares:
    """Kept shares of solo throughput, a row for each mix and a column for each function.

    Functions outside a mix have an infinite share.
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
        """Shares of solo throughput that functions keep, with the axes `[mix, function]`."""
        return self._kept[: len(self.mixes)]

    @property
    def throughput(self) -> Floats:
        """Throughputs in the unit of each function's model; NaN for functions outside the mix."""
        return self._throughput[: len(self.mixes)]

    def missing(self, mixes: Iterable[Mix]) -> list[Mix]:
        """Return the given mixes that are not in the table, each once."""
        return [mix for mix in dict.fromkeys(mixes) if mix not in self._row]

    def row(self, mix: Mix) -> int:
        """Return the number of the table row for a mix.

        Raises:
            KeyError: if the mix is not in the table.
        """
        return self._row[mix]

    def rows(self, mixes: Sequence[Mix]) -> Indices:
        """Return the table row of each mix; all mixes must be in the table."""
        return np.array([self._row[mix] for mix in mixes], dtype=np.intp)

    def add(self, mix: Mix, kept: Floats, throughput: Floats) -> None:
        """Add a row for a mix to the table; both arrays have a value for each function."""
        if len(self.mixes) == len(self._kept):
            room = np.full((max(64, len(self._kept)), self._kept.shape[1]), np.inf)
            self._kept = np.concatenate([self._kept, room])
            self._throughput = np.concatenate([self._throughput, np.full_like(room, np.nan)])
        self._row[mix] = len(self.mixes)
        self._kept[len(self.mixes)] = np.round(kept, _DIGITS)
        self._throughput[len(self.mixes)] = throughput
        self.mixes.append(mix)


class PredictedShares:
    """A table of shares that models predict on demand; measured mixes have the measured shares."""

    def __init__(
        self, fleet: Fleet, sure: float | None = None, measured: Measured | None = None
    ) -> None:
        """Prepare to predict the share of solo throughput that functions keep in mixes.

        Predictions are likely shares or, with `sure`, shares that are kept with this probability.

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
        """Learn prediction errors from measured mixes; return None if these are too few."""
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
        """Return the table row of each mix; predict mixes that are not in the table yet."""
        self.fill(mixes)
        return self.shares.rows(mixes)

    def fill(self, mixes: Iterable[Mix], pool: Pool | None = None) -> None:
        """Predict mixes that are not in the table yet; with a pool, in parallel."""
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
    """Return a function's solo throughput: measured, else stated in the fleet, else predicted."""
    alone = None if measured is None else measured.solo(at)
    declared = fleet.functions[at].solo
    if alone is not None:
        return alone.throughput
    return float(found.throughput[at, at]) if declared is None else declared


class _Request(NamedTuple):
    """Inputs of predictions: the fleet's functions, and the probability that results are exceeded.

    For `sure=None`, results are the most likely values.
    """

    kinds: tuple[Kind, ...]
    sure: float | None


class _Predicted(NamedTuple):
    """Predicted throughputs, with the axes `[mix, function]`; NaN for functions outside the mix."""

    throughput: Floats
    kept: Floats  # throughput, or its lower end for the required probability
    guesses: Indices  # number of functions outside the training range, by mix
    guessed: frozenset[tuple[int, str]]  # these functions, with the columns outside the range

    def rows(self, rows: Sequence[int]) -> "_Predicted":
        """Return the predictions of the mixes with these indices."""
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
    """Return a table of throughput shares, for the mixes whose throughput was measured."""
    shares = Shares(functions)
    for mix, values in truth.known.items():
        shares.add(mix, *_row(functions, truth.kept(mix) or {}, values))
    return shares


def _row(
    functions: int, kept: Mapping[int, float], throughput: Mapping[int, float]
) -> tuple[Floats, Floats]:
    """Return throughput shares and throughputs of a mix as arrays over all functions."""
    shares, values = np.full(functions, np.inf), np.full(functions, np.nan)
    for at, share in kept.items():
        shares[at], values[at] = share, throughput[at]
    return shares, values
