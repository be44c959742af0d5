"""Disturbance of caches and memory by a competitor, as a bubble size.

Mars et al., "Bubble-Up" (MICRO 2011): a competitor disturbs as much as a bubble, a competitor of
known pressure, that slows down a probe as much. The probe waits for one random access after the
other; the bubble copies one half of a working set to the other, as fast as it can: random updates,
which wait for memory themselves, drive much less of others out of the cache. A score is the working
set in MB of the bubble that slows down the probe equally. Between levels that were measured it is
interpolated by logarithms; above the largest one it is that one, below the least that the probe
feels it goes to zero. Smaller bubbles stay in caches of their own: the probe takes as long beside
them as alone, and a curve through them would make sizes of what is scatter (docs/contention.md has
figures).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

MEGABYTE = 1e6
FELT = 1.05
"""How many times as long a step of the probe takes at least beside a bubble that it feels: what
medians of few blocks scatter by."""
_SHARE = 8
_PRIVATE = 2


class Level(NamedTuple):
    """A bubble, and what the probe says of it."""

    megabytes: float
    slowdown: float  # how many times as long a step of the probe takes


class Calibration(NamedTuple):
    """Slowdowns of a probe by size of the bubble: both rise, in order."""

    levels: tuple[Level, ...]

    def score(self, slowdown: float) -> float:
        """The bubble, in MB, that slows down the probe as much."""
        below = Level(0.0, 1.0)
        for level in self.levels:
            if slowdown <= level.slowdown:
                return _interpolated(below, level, slowdown)
            below = level
        return self.levels[-1].megabytes

    def slowdown(self, megabytes: float) -> float:
        """What the probe says of a bubble."""
        below = Level(0.0, 1.0)
        for level in self.levels:
            if megabytes <= level.megabytes:
                step = level.megabytes - below.megabytes
                if below.megabytes > 0:
                    share = math.log(megabytes / below.megabytes) / math.log(
                        level.megabytes / below.megabytes
                    )
                else:
                    share = megabytes / step
                return below.slowdown + share * (level.slowdown - below.slowdown)
            below = level
        return self.levels[-1].slowdown


def calibrated(measured: Sequence[Level]) -> Calibration:
    """The curve of what was measured, which rises.

    Neighbours that fall are taken together (Ayer et al., "An empirical distribution function for
    sampling with incomplete information", 1955), and the middle one of levels with the same
    slowdown stands for all. Of those that the probe does not feel there is none, but the last one
    if it feels none at all.

    Raises:
        ValueError: when there are no levels.
    """
    if not measured:
        raise ValueError("no levels")
    groups = list[list[Level]]()
    for level in sorted(measured):
        groups.append([level])
        while len(groups) > 1 and _mean(groups[-2]) >= _mean(groups[-1]):
            groups[-2].extend(groups.pop())
    levels = [Level(_middle(group), max(_mean(group), 1.0)) for group in groups]
    felt = [level for level in levels if level.slowdown >= FELT]
    return Calibration(tuple(felt or levels[-1:]))


def probe_bytes(cache_bytes: int, private_bytes: int) -> int:
    """Working set of the probe: an eighth of the last-level cache, and beyond the one before it.

    In a cache that nobody shares it would feel nothing; twice as large, half of its steps leave it.

    Args:
        cache_bytes: the last-level cache.
        private_bytes: the largest cache in front of it; 0 if there is none.
    """
    return min(max(cache_bytes // _SHARE, _PRIVATE * private_bytes), cache_bytes)


def levels(cache_bytes: int, count: int) -> list[int]:
    """Working sets of bubbles, in bytes: evenly spaced by logarithms, up to twice the cache."""
    least, most = cache_bytes / 128, 2 * cache_bytes
    steps = max(count - 1, 1)
    return [round(least * (most / least) ** (at / steps)) for at in range(count)]


def _interpolated(below: Level, above: Level, slowdown: float) -> float:
    rise = above.slowdown - below.slowdown
    share = max(slowdown - below.slowdown, 0.0) / rise if rise > 0 else 1.0
    if below.megabytes <= 0:
        return share * above.megabytes
    found = float(below.megabytes * (above.megabytes / below.megabytes) ** share)
    return min(max(found, below.megabytes), above.megabytes)  # rounding, too, keeps the order


def _mean(group: Sequence[Level]) -> float:
    return sum(level.slowdown for level in group) / len(group)


def _middle(group: Sequence[Level]) -> float:
    if len(group) == 1:
        return group[0].megabytes
    return math.exp(sum(math.log(level.megabytes) for level in group) / len(group))
