"""Computes means without outliers, standard deviations and confidence intervals of measured times.

The address of a program's code makes its times form two or three clusters. A median jumps from one
cluster to another, and a trimmed mean cuts off whole clusters. Therefore, only values far from all
others are excluded.

The tests compare this module with SciPy. The product does not use SciPy, because it would add half
a second to each start and a hundred megabytes to an installation.
"""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

_NOMINAL = 0.98  # confidence of intervals that are checked several times before one is accepted
_FAR, _NEAR = 5.0, 0.25
"""A value is an outlier if it differs from the median by more than `_FAR` standard deviations, and
by more than the share `_NEAR` of the median."""
_NORMAL = 1.4826  # standard deviation of a normal distribution, in median absolute deviations


class Interval(NamedTuple):
    """A confidence interval: it contains the true value with a probability of at least 95 %."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    @property
    def known(self) -> tuple[float | None, float | None]:
        """Both ends of the interval; None for both if it is unbounded, as for a single value."""
        return (self.low, self.high) if math.isfinite(self.half_width) else (None, None)

    def __contains__(self, value: object) -> bool:
        """Return true if the value is a number in the interval, ends included."""
        return isinstance(value, int | float) and self.low <= value <= self.high


class Estimate(NamedTuple):
    """The estimated mean of independent measurements, with its confidence interval."""

    value: float  # mean without outliers
    spread: float  # standard deviation of single values
    interval: Interval  # interval of the mean
    size: int  # number of values
    outliers: int  # number of excluded values


def quantile(values: Sequence[float], share: float) -> float:
    """Return the quantile of the values at `share` (from 0 to 1), interpolated linearly.

    Raises:
        ValueError: if `values` is empty.
    """
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def spread(values: Sequence[float]) -> float:
    """Estimate the standard deviation from the median absolute deviation, robust to outliers."""
    center = statistics.median(values)
    return _NORMAL * statistics.median([abs(value - center) for value in values])


def without_outliers(values: Sequence[float]) -> list[float]:
    """Return the values without outliers, which are values far from the median.

    Raises:
        ValueError: if `values` is empty.
    """
    if not values:
        raise ValueError("no values")
    center = statistics.median(values)
    fence = max(_FAR * spread(values), _NEAR * abs(center))
    return [value for value in values if abs(value - center) <= fence]


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the confidence interval of the mean, by Student's distribution.

    For a single value, the interval is unbounded.

    Raises:
        ValueError: if `values` is empty.
    """
    center = statistics.fmean(values)
    if len(values) == 1:
        return Interval(-math.inf, math.inf)
    half = half_width(len(values)) * statistics.stdev(values) / math.sqrt(len(values))
    return Interval(center - half, center + half)


def half_width(size: int) -> float:
    """Return the half width of a mean's confidence interval, in standard errors of the mean.

    `size` is the number of values, at least 2.
    """
    return student_quantile(size - 1, 1 - (1 - _NOMINAL) / 2)


def student_quantile(freedom: int, share: float) -> float:
    """Return the quantile at `share` of Student's distribution with `freedom` degrees of freedom.

    It is computed with the expansion by Cornish and Fisher (Abramowitz and Stegun 26.7.5). The
    error is 4 % for 2 degrees of freedom, and less for more. For 1 degree, the result is exact.
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
    """Return the mean of independent values, without outliers, and its confidence interval.

    Raises:
        ValueError: if `values` is empty.
    """
    kept = without_outliers(values)
    size, deviation = len(values), statistics.stdev(kept) if len(kept) > 1 else 0.0
    return Estimate(statistics.fmean(kept), deviation, mean_interval(kept), size, size - len(kept))
