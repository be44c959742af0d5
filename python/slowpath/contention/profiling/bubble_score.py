"""Measures how strongly a competitor burdens caches and memory, as the size of a bubble.

Source: Mars et al., "Bubble-Up" (MICRO 2011). A bubble is a competitor of known pressure. A
competitor's score is the working set, in MB, of the bubble that slows down a probe equally.

The probe waits for each random access before the next. The bubble copies one half of its working
set to the other at full speed. Random updates would evict far fewer lines of others, as they wait
for memory themselves. Scores are interpolated between measured levels by logarithms. Above the
largest level, the score is the size of that level; below the smallest level that slows the probe,
it falls to zero. Smaller bubbles stay in their private caches and do not slow the probe. A curve
through them would turn noise into sizes (docs/explanation/contention-accuracy.md has figures).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

MEGABYTE = 1e6
FELT = 1.05
"""Minimum slowdown of the probe that is attributed to a bubble; noise usually causes less."""
_SHARE = 8
_PRIVATE = 2


class Level(NamedTuple):
    """Working set of a bubble (competitor for memory), and its slowdown of the probe."""

    megabytes: float
    slowdown: float  # step time of the probe with the bubble, divided by its step time alone


class Calibration(NamedTuple):
    """Curve from bubble sizes (working sets of competitors) to slowdowns of the probe.

    Both ascend.
    """

    levels: tuple[Level, ...]

    def score(self, slowdown: float) -> float:
        """Return the working set, in MB, of the bubble that slows down the probe by this factor."""
        below = Level(0.0, 1.0)
        for level in self.levels:
            if slowdown <= level.slowdown:
                return _interpolated(below, level, slowdown)
            below = level
        return self.levels[-1].megabytes

    def slowdown(self, megabytes: float) -> float:
        """Return the factor by which a bubble with this working set slows down the probe."""
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
    """Return a monotonic curve through the measured levels.

    Neighbouring levels in descending order are merged (Ayer et al., "An empirical distribution
    function for sampling with incomplete information", 1955); a merged level has their mean size on
    a logarithmic scale. Levels that do not slow down the probe are dropped. If no level does, the
    last one stays.

    Raises:
        ValueError: if there are no levels.
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
    """Return the probe's working set: an eighth of the last-level cache, if this is enough.

    In a private cache, nothing would slow down the probe. So its working set is at least twice the
    largest private cache, where half of the accesses miss that cache.

    Args:
        cache_bytes: size of the last-level cache.
        private_bytes: size of the largest cache in front of it; 0 without one.
    """
    return min(max(cache_bytes // _SHARE, _PRIVATE * private_bytes), cache_bytes)


def levels(cache_bytes: int, count: int) -> list[int]:
    """Return `count` working sets of bubbles in bytes; the largest is twice the cache.

    Each is larger than the previous one by a constant ratio.
    """
    least, most = cache_bytes / 128, 2 * cache_bytes
    steps = max(count - 1, 1)
    return [round(least * (most / least) ** (at / steps)) for at in range(count)]


def _interpolated(below: Level, above: Level, slowdown: float) -> float:
    rise = above.slowdown - below.slowdown
    share = max(slowdown - below.slowdown, 0.0) / rise if rise > 0 else 1.0
    if below.megabytes <= 0:
        return share * above.megabytes
    found = float(below.megabytes * (above.megabytes / below.megabytes) ** share)
    return min(max(found, below.megabytes), above.megabytes)  # against rounding errors


def _mean(group: Sequence[Level]) -> float:
    return sum(level.slowdown for level in group) / len(group)


def _middle(group: Sequence[Level]) -> float:
    if len(group) == 1:
        return group[0].megabytes
    return math.exp(sum(math.log(level.megabytes) for level in group) / len(group))
