"""Statistics of repeated measurements: trimmed means, spread, intervals.

Where the code of a program lies makes two or three clumps of its times. A median jumps from one
clump to another, and a mean that leaves out a fixed share cuts clumps off; so only what is far from
everything is left out. The tests hold all of this against SciPy, which the product does without: it
would add half a second to each start and a hundred megabytes to an installation.
"""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

CONFIDENCE = 0.95
"""How often an interval contains what it is about, at least."""
_NOMINAL = 0.98  # of intervals that are looked at several times before one of them is taken
_FAR, _NEAR = 5.0, 0.25
"""An outlier is so many standard deviations from the median, and this share of it or more."""
_NORMAL = 1.4826  # standard deviation of a normal distribution, in median absolute deviations


class Interval(NamedTuple):
    """Where a value lies with `CONFIDENCE`."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of its length."""
        return (self.high - self.low) / 2

    @property
    def known(self) -> tuple[float | None, float | None]:
        """Its ends; None where nothing is known, after a single value."""
        return (self.low, self.high) if math.isfinite(self.half_width) else (None, None)

    def __contains__(self, value: object) -> bool:
        """Whether a number is inside, ends included."""
        return isinstance(value, int | float) and self.low <= value <= self.high


class Estimate(NamedTuple):
    """What values come to that were measured independently of each other."""

    value: float  # their mean, without outliers
    spread: float  # of single values: a standard deviation
    interval: Interval  # of the mean
    size: int  # how many values there were
    outliers: int  # how many of them were left out


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


def without_outliers(values: Sequence[float]) -> list[float]:
    """The values that are not far from everything.

    Raises:
        ValueError: when there are no values.
    """
    if not values:
        raise ValueError("no values")
    center = statistics.median(values)
    fence = max(_FAR * spread(values), _NEAR * abs(center))
    return [value for value in values if abs(value - center) <= fence]


def mean_interval(values: Sequence[float]) -> Interval:
    """Where the mean lies of what the values are drawn from, by Student's distribution.

    Of a single value nothing is known: all numbers.

    Raises:
        ValueError: when there are no values.
    """
    center = statistics.fmean(values)
    if len(values) == 1:
        return Interval(-math.inf, math.inf)
    half = half_width(len(values)) * statistics.stdev(values) / math.sqrt(len(values))
    return Interval(center - half, center + half)


def half_width(size: int) -> float:
    """Half of the interval of a mean of so many values, two or more, in standard errors."""
    return student_quantile(size - 1, 1 - (1 - _NOMINAL) / 2)


def student_quantile(freedom: int, share: float) -> float:
    """A quantile of Student's distribution, to 4 % for 2 degrees of freedom and better for more.

    The expansion by Cornish and Fisher (Abramowitz and Stegun 26.7.5); exact for 1 degree.
    """
    if freedom == 1:
        return math.tan(math.pi * (share - 0.5))
    z = statistics.NormalDist().inv_cdf(share)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(z + sum(term / freedom**power for power, term in enumerate(terms, 1)))


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of independent values without outliers, with its interval.

    Raises:
        ValueError: when there are no values.
    """
    kept = without_outliers(values)
    size, deviation = len(values), statistics.stdev(kept) if len(kept) > 1 else 0.0
    return Estimate(statistics.fmean(kept), deviation, mean_interval(kept), size, size - len(kept))
