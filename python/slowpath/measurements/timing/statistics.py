"""Robust statistics of repeated measurements: medians, their spread, and how sure they are.

Intervals of medians are exact for any distribution; the tests hold them against
`scipy.stats.quantile_test`, and those of other statistics against `scipy.stats.bootstrap`. The
product does without SciPy: it would add half a second to each start and a hundred megabytes to an
installation.
"""

import math
import random
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

CONFIDENCE = 0.95
"""How often an interval is to contain what it is about."""
RESAMPLES = 2000
"""Samples that are drawn for an interval."""
_NORMAL = 1.4826  # standard deviation of a normal distribution, in median absolute deviations
_SEED = 0x510  # the same data give the same interval


class Interval(NamedTuple):
    """Where a value lies with `CONFIDENCE`."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of its length."""
        return (self.high - self.low) / 2

    def __contains__(self, value: object) -> bool:
        """Whether a number is inside, ends included."""
        return isinstance(value, int | float) and self.low <= value <= self.high


class Estimate(NamedTuple):
    """A median of values that were measured independently of each other."""

    value: float
    spread: float  # of single values: a standard deviation, robust against outliers
    interval: Interval  # of the median
    size: int  # how many values there were


def quantile(values: Sequence[float], share: float) -> float:
    """The value that so large a share of the values does not exceed, interpolated.

    Raises:
        ValueError: when there are no values.
    """
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def spread(values: Sequence[float]) -> float:
    """A standard deviation from the median absolute deviation, which outliers do not move."""
    center = statistics.median(values)
    return _NORMAL * statistics.median([abs(value - center) for value in values])


def median_interval(values: Sequence[float]) -> Interval:
    """Where the median of what the values are drawn from lies (the sign test turned round).

    It is outside of the k-th smallest and the k-th largest value only if fewer than k of the values
    are on one side of it, and each is on either side with the same chance, whatever the
    distribution (Conover, Practical Nonparametric Statistics, 3.2). A bootstrap of medians comes to
    the same for many values; of few, its intervals contain the median too rarely. Of fewer than 6
    values it is their range, which contains it less often than `CONFIDENCE`.

    Raises:
        ValueError: when there are no values.
    """
    if not values:
        raise ValueError("no values")
    ordered, size = sorted(values), len(values)
    outside, place = 1, 1  # of 2**size equally likely sides: those that leave the median outside
    while 2 * (outside + math.comb(size, place)) <= (1 - CONFIDENCE) * 2**size:
        outside += math.comb(size, place)
        place += 1
    return Interval(ordered[place - 1], ordered[-place])


def bootstrap(
    values: Sequence[float],
    statistic: Callable[[Sequence[float]], float] = statistics.median,
    resamples: int = RESAMPLES,
) -> Interval:
    """The percentile interval of a statistic (Efron 1979): of samples drawn from the values.

    The values have to be independent of each other: medians of loads, not single calls.

    Raises:
        ValueError: when there are no values.
    """
    if not values:
        raise ValueError("no values")
    draw = random.Random(_SEED)  # noqa: S311 - no secret
    size = len(values)
    found = sorted(statistic(draw.choices(values, k=size)) for _ in range(resamples))
    tail = (1 - CONFIDENCE) / 2
    return Interval(quantile(found, tail), quantile(found, 1 - tail))


def estimate(values: Sequence[float]) -> Estimate:
    """The median of independent values, with its interval.

    Raises:
        ValueError: when there are no values.
    """
    interval = median_interval(values)
    return Estimate(statistics.median(values), spread(values), interval, len(values))
