"""Mixes that were measured: what functions keep in them, and in mixes near them.

Throughput scatters from one measurement to the next, by a share that is taken to be the same for
all functions and mixes: the noise. It is learnt from all that was measured several times, together,
as two or three values by themselves say next to nothing of their spread. What a function keeps is
then known to within the noise of both its throughputs, beside others and alone.

Of mixes that were not measured it is known that more neighbours never make a function faster: it
keeps no less than in a measured mix that has further neighbours, and no more than in one that lacks
some. (Paper, 4.1.2, has throughput fall with contention; `crates/nicsim` tests that it does.)
"""

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.cli.errors import InputError
from slowpath.contention.placement.known.truth import Mix, counts_of

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
