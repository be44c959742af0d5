"""Robust statistics of repeated measurements: medians, their spread, and how sure they are.

Medians are those of the standard library's `statistics`; the tests hold the intervals against
`scipy.stats.bootstrap`, which the product does without: it would add half a second to each start
and a hundred megabytes to an installation.
"""

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


def estimate(values: Sequence[float], resamples: int = RESAMPLES) -> Estimate:
    """The median of independent values, with its interval.

    Raises:
        ValueError: when there are no values.
    """
    interval = bootstrap(values, resamples=resamples)
    return Estimate(statistics.median(values), spread(values), interval, len(values))
