"""Describes the machine for profiles: its CPUs and caches, other load on them, and bubbles.

Other load comes from other virtual machines. It is only visible in timings. Handing a cache line to
another virtual CPU and back took 60 ns while both were on cores with a common last-level cache, 290
to 330 ns, for minutes at a time, with different last-level caches, and 27 ns on one core. A loop
took 23.1 us on an unshared core, to the digit (19.0 with a lucky alignment of its instructions). It
took 24 to 37 us while another tenant used a thread of the same core, in half of all measurements.
It took 37.8 us while our own second CPU used the other thread.

A bubble (Mars et al., "Bubble-Up", MICRO 2011) is a competitor with a known working set, and the
probe is a program that bubbles slow down. A competitor's score is the working set, in MB, of the
bubble that slows down the probe equally.

The probe waits for each random access before the next. The bubble copies one half of its working
set to the other at full speed. Random updates would evict far fewer lines of others, as they wait
for memory themselves. Scores are interpolated between measured levels by logarithms. Above the
largest level, the score is the size of that level; below the smallest level that slows the probe,
it falls to zero. Smaller bubbles stay in their private caches and do not slow the probe. A curve
through them would turn noise into sizes (docs/explanation/contention-accuracy.md has figures).
"""

import math
import time
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowpath.contention.profiling.mixes import CpuAssignment
from slowpath.contention.profiling.setup import Setup
from slowpath.core import codes
from slowpath.core.engine import neighbours
from slowpath.core.engine.kernel import Kernel, open_kernel
from slowpath.core.engine.report_types import Surroundings
from slowpath.core.errors import UnavailableError
from slowpath.measure.machine import Files, processor
from slowpath.measure.statistics import quantile

MEGABYTE = 1e6
FELT = 1.05
"""Slowdown of the probe above which a bubble is assumed to cause it; noise usually causes less."""
_SHARE = 8
_PRIVATE = 2


class Level(NamedTuple):
    """Working set of a bubble (a competitor for memory), and its slowdown of the probe."""

    megabytes: float
    slowdown: float  # step time of the probe with the bubble, divided by its step time alone


class Calibration(NamedTuple):
    """Curve from working sets of bubbles (competitors for memory) to slowdowns of the probe.

    The probe is a program that measures contention for memory. Working sets and slowdowns ascend.
    """

    levels: tuple[Level, ...]

    def score(self, slowdown: float) -> float:
        """Return the score of a competitor that slows down the probe by this factor.

        The score is the working set, in MB, of the bubble with the same effect.
        """
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
    """Return a monotonic curve through measured levels (working sets and slowdowns of the probe).

    Neighbouring levels whose slowdowns descend are merged (Ayer et al., "An empirical distribution
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
    """Return the probe's working set in bytes: an eighth of the last-level cache, or more.

    In a private cache, nothing would slow down the probe. So its working set is at least twice the
    largest private cache, where half of the accesses miss that cache.

    Args:
        cache_bytes: size of the last-level cache.
        private_bytes: size of the largest cache in front of it; 0 without one.
    """
    return min(max(cache_bytes // _SHARE, _PRIVATE * private_bytes), cache_bytes)


def bubble_sizes(cache_bytes: int, count: int) -> list[int]:
    """Return `count` working sets in bytes for bubbles (competitors for memory), ascending.

    Each is larger than the previous one by a constant ratio; the largest is twice the cache.
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


_PROBES = (64 * 1024, 64 * 1024 * 1024)  # limits of the probe's working set, bytes


class Machine(NamedTuple):
    """CPUs, caches and kernel of the machine on which a profile is measured."""

    name: str
    places: CpuAssignment
    cache_bytes: int
    probe_bytes: int
    kernel: Kernel | None  # loader of XDP programs; None without one


def this_machine(setup: Setup) -> Machine:
    """Select CPUs for a setup, determine their cache, and open the kernel if needed.

    The kernel is needed if it runs the measured function.

    Raises:
        UnavailableError: if there are too few CPUs, the size of the cache is unknown, or the kernel
            does not load programs of this process.
    """
    purpose = "a function beside a competitor"
    if setup.function.pattern == "pipeline":
        purpose = "a pipeline with an accelerator on its own CPU"
    cpus = neighbours.cpus(setup.cpus, 2, purpose)
    facts = processor(Files(), cpus[0])
    sizes = [(cache["level"] or 0, cache["bytes"] or 0) for cache in facts["caches"]]
    cache = max((size for size in sizes if size[1]), default=None)
    if cache is None:
        reason = "the kernel does not report the size of the last-level cache (/sys/devices/system)"
        raise UnavailableError(codes.MACHINE_UNSUITABLE, reason)
    least, most = _PROBES
    private = max((size for level, size in sizes if level < cache[0]), default=0)
    probe = min(max(probe_bytes(cache[1], private), least), most)
    kernel = None if setup.function.program is None else open_kernel()
    return Machine(facts["model"] or "this host", CpuAssignment(cpus), cache[1], probe, kernel)


_OBSERVATIONS = 60  # before the first measurement
_KEPT = 400
"""Number of latest loop times from which the normal speed is derived. It is small, because the
clock of a CPU changes.
"""
_ALIKE = 1.6
"""Ratio of handover times below which two CPUs are assumed to be placed alike. Between different
placements (one core, one cache, different caches), times differ by a factor of two.
"""
_SEEN = 20
"""Number of observations from which a placement of the CPUs counts as frequent."""
_NEAR = 190e-9
"""Limit of handover times in seconds: below it, two CPUs share a last-level cache; above it, they
do not. It holds for current processors.
"""
_SLOWER = 1.25
_UNSHARED = 0.05
"""Minimum share of the time in which no other virtual machine is assumed to use a core."""
PATIENCE = 0.5  # maximum wait for a quiet processor, in seconds


_Observation = tuple[float, bool]
"""The time to hand over a cache line, and whether a loop is slower while the other CPU runs one,
too.
"""


class CpuMonitor:
    """Monitor that tells whether two CPUs share a core or a last-level cache, and have other load.

    The CPUs count as well placed if a cache line passes between them as fast as it ever does,
    except on one core. Competitors should contend for shared caches; with different last-level
    caches there is little contention.
    """

    def __init__(
        self,
        cpus: tuple[int, int],
        misplaced_limit: float = 0.0,
        observe: Callable[[int, int], Surroundings] = neighbours.surroundings,
        patience: float = PATIENCE,
    ) -> None:
        """Observe the CPUs for some tenths of a second.

        Args:
            cpus: numbers of the CPUs.
            misplaced_limit: total seconds to wait while the CPUs share a core or have different
                caches; a third of it if they were never placed better.
            observe: function that observes the CPUs.
            patience: maximum seconds of each wait for other load to end.

        Raises:
            UnavailableError: if this process may not use one of the CPUs.
        """
        self._cpus, self._observe, self._patience = cpus, observe, patience
        self._misplaced_limit = self._remaining = misplaced_limit
        self._handovers = list[_Observation]()  # sorted
        self._paces = deque[float](maxlen=_KEPT), deque[float](maxlen=_KEPT)
        self._count = self._misplaced = 0
        for _ in range(_OBSERVATIONS):
            self.quiet()
        self._count = self._misplaced = 0

    @property
    def misplaced(self) -> float:
        """Share of observations with both CPUs on one core, or with different last-level caches."""
        return self._misplaced / max(self._count, 1)

    def quiet(self) -> bool:
        """Observe the CPUs; return true if they are well placed and have no other load."""
        return self._state()[0]

    def wait(self, check_stop: Callable[[], None] = lambda: None) -> bool:
        """Wait until the CPUs are well placed and have no other load, up to a time limit.

        Return true if both conditions hold at the end. `check_stop` is called repeatedly; an error
        that it raises ends the wait.
        """
        until = time.monotonic() + self._patience
        while True:
            begun = time.monotonic()
            is_quiet, in_place = self._state()
            if is_quiet:
                return True
            check_stop()
            if begun >= until if in_place else self._remaining <= 0:
                return False
            if not in_place:  # a placement lasts for seconds or minutes
                self._remaining -= time.monotonic() - begun

    def _state(self) -> tuple[bool, bool]:
        """Observe the CPUs once; return whether they are quiet, and whether they are well placed.

        Quiet CPUs are well placed and have no other load.
        """
        found = self._observe(*self._cpus)
        for kept, pace in zip(self._paces, found["paces"], strict=True):
            kept.append(pace)
        handover = found["handover"]
        if handover is None:
            return False, True  # one of the CPUs did not run the loop
        insort(self._handovers, (handover, found["paces"][0] > _SLOWER * found["alone"]))
        in_place = self._in_place(handover)
        self._count += 1
        self._misplaced += not in_place
        return in_place and all(
            pace <= _SLOWER * quantile(kept, _UNSHARED)
            for kept, pace in zip(self._paces, found["paces"], strict=True)
        ), in_place

    def _in_place(self, handover: float) -> bool:
        best = _nearest(self._handovers)
        if best > _NEAR and self._remaining > self._misplaced_limit * 2 / 3:
            return False  # wait for a better placement
        return best / _ALIKE < handover < best * _ALIKE


def _nearest(sorted_handovers: Sequence[_Observation]) -> float:
    """Return the usual time to hand over a cache line between the CPUs if they are well placed.

    This is the median of the shortest frequent times at which the CPUs are not threads of one core.
    Without them, return the median of all times: the CPUs are threads of one core, or there are too
    few observations.
    """
    first = 0
    while first < len(sorted_handovers):
        end = bisect_left(sorted_handovers, (sorted_handovers[first][0] * _ALIKE, False))
        count = end - first
        if count >= _SEEN and 2 * sum(slow for _, slow in sorted_handovers[first:end]) < count:
            return sorted_handovers[(first + end - 1) // 2][0]
        first = end if count >= _SEEN else first + 1
    return sorted_handovers[(len(sorted_handovers) - 1) // 2][0]
