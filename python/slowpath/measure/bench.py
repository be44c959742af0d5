"""Loads BPF programs into the running kernel to time them, and measures the speed of the CPU.

The speed is measured with two kinds of additions. An addition that depends on the previous one
takes one clock cycle on all current cores, so its time gives the clock frequency. The rate of
independent additions shows the share of the core that this CPU gets: a second CPU on the core
lowers this rate, but does not slow down dependent additions.
"""

import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowpath.core.engine import kernel
from slowpath.core.errors import StoppedError
from slowpath.measure.sampling import Load, Reference, Sample, SubjectError

TOGETHER = 10
"""Maximum number of paths whose programs are attached at the same time.

The kernel's dispatcher of XDP programs compares the address of a program with the addresses of all
attached programs. If there are many, the branch predictor misses some of these comparisons,
depending on the addresses. On the machine of docs/explanation/measuring-accuracy.md, an empty
program takes 82 cycles with up to a dozen attached programs; with 20 or more, 82 or 102. The
dispatcher has 48 places (`BPF_DISPATCHER_MAX`) for all users; calls of programs without a place
take longer.
"""


class KernelBench:
    """Test bench that loads one program for each path into the running kernel and times it."""

    def __init__(
        self, station: kernel.Station, cases: Sequence[kernel.Case], untimed: Sequence[int] = ()
    ) -> None:
        """Create the bench and load the busy loop; the programs of the paths are loaded by `load`.

        Args:
            station: Thread that loads and runs programs.
            cases: Paths to time, each with its program, packet and map content.
            untimed: For each path, number of runs before each sample whose time is not taken. These
                runs bring map elements into the caches, as earlier packets would. Empty: none.
        """
        self._station = station
        self._busy = kernel.load_busy(station)
        self._cases = list(cases)
        self._untimed = list(untimed) or [0] * len(self._cases)
        self._order = random.Random(0)  # noqa: S311 - no secret
        self.wrapped = [case.arrangement == "restored" for case in self._cases]
        self.most = [case.repetitions for case in self._cases]
        self.parts = _parts(len(self._cases))
        self.net = [case.arrangement == "restored" or case.drained for case in self._cases]

    def load(self, part: Sequence[int]) -> Load:
        """Load the programs of the paths with the indices `part` anew, in random order.

        The order of loading determines the addresses of programs, and the addresses change the time
        of a call. A random order avoids favouring one path.

        Raises:
            InputError: if the kernel no longer accepts one of the paths.
        """
        order = list(part)
        self._order.shuffle(order)
        load = kernel.load_cases(self._station, [self._cases[subject] for subject in order])
        return _KernelLoad(self._station, load, self._busy, order, self._untimed)


class ColdBench:
    """Test bench that times paths with cold caches: the packets of many flows take turns.

    Two programs are timed for each path n: subject 2n is the path's program, and subject 2n + 1 an
    empty program. The kernel runs both on the same packets, through a program that writes the next
    packet. The difference of their times is therefore the time of the path's program.
    """

    def __init__(self, station: kernel.Station, cases: Sequence[kernel.Cold]) -> None:
        """Create the bench and load the busy loop.

        The programs of the paths are loaded by `load`.
        """
        self._station = station
        self._busy = kernel.load_busy(station)
        self._cases = list(cases)
        self.wrapped = self.net = [False] * (2 * len(self._cases))
        self._untimed = [runs for case in self._cases for runs in (_untimed_runs(case), 0)]
        self.most = [sys.maxsize] * len(self.wrapped)
        self.parts = _parts(len(self.wrapped))

    def load(self, part: Sequence[int]) -> Load:
        """Load the programs in `part` (indices 2n and 2n + 1 for path n) anew, and fill their maps.

        Raises:
            InputError: if the kernel no longer accepts one of the paths.
        """
        cases = [self._cases[subject // 2] for subject in part[::2]]
        load = kernel.load_cold(self._station, cases)
        return _KernelLoad(self._station, load, self._busy, list(part), self._untimed)


_FILLING = 3
"""Number of random accesses per map entry after which most entries of a map are in the caches."""
_MOST_UNTIMED = 1 << 17
"""Maximum number of untimed runs before a sample, about 20 ms. A map with more entries fits only
into the last-level cache, which other programs use, too.
"""


def _untimed_runs(case: kernel.Cold) -> int:
    """Return the number of untimed runs that bring the map elements of a path into the caches.

    Return 0 if the elements do not fit into the caches: untimed runs would then have no effect.
    """
    return 0 if case.limited is None else min(case.flows, _MOST_UNTIMED)


def random_runs(entries: int) -> int:
    """Return the number of runs that fill the caches, if each uses a random one of `entries`."""
    return min(_FILLING * entries, _MOST_UNTIMED)


class _KernelLoad:
    def __init__(
        self,
        station: kernel.Station,
        load: kernel.Load,
        busy: kernel.Busy,
        order: list[int],
        untimed: list[int],
    ) -> None:
        self._station = station
        self._load = load
        self._busy = busy
        self._untimed = untimed
        self._numbers = {subject: number for number, subject in enumerate(order)}

    def sample(self, subject: int, repeat: int) -> Sample:
        number = self._numbers.get(subject, subject)
        try:
            if subject == Reference.BUSY:
                return Sample(*kernel.sample_busy(self._station, self._busy, repeat))
            if subject >= 0 and self._untimed[subject]:
                kernel.sample(self._station, self._load, number, self._untimed[subject])
            return Sample(*kernel.sample(self._station, self._load, number, repeat))
        except StoppedError:
            raise
        except kernel.Refusal as problem:
            raise SubjectError(problem.coded) from problem


def _parts(count: int) -> list[range]:
    """Divide the programs 0 to `count` - 1 into groups that are loaded together."""
    starts = range(0, count, TOGETHER)
    return [range(start, min(start + TOGETHER, count)) for start in starts]


_RUNS = 800  # runs of a program per call
_ROUNDS = 3  # rounds per reading
_EVERY = 0.1  # seconds between two readings
_FEWEST = 6  # minimum number of rounds for a result

Additions = tuple[float, float]
"""Times of a dependent and of an independent addition, in nanoseconds."""


class CpuSpeed(NamedTuple):
    """Speed of a CPU: its clock frequency, and its number of instructions per clock cycle."""

    clock_hz: int
    instructions_per_cycle: float


class PaceMeter:
    """Meter that measures the speed of the CPU again and again while a measurement runs."""

    def __init__(self, additions: Callable[[int], Additions]) -> None:
        """Create the meter.

        `additions` times the given number of dependent additions and as many independent ones.
        """
        self._additions = additions
        self._rounds: list[Additions] = []
        self._next = -math.inf

    def read(self) -> None:
        """Measure the speed, unless the last measurement was less than `_EVERY` seconds ago."""
        if time.monotonic() < self._next:
            return
        self._rounds += [self._additions(_RUNS) for _ in range(_ROUNDS)]
        self._next = time.monotonic() + _EVERY

    def speed(self) -> CpuSpeed | None:
        """Return the median speed over all readings, or None if there are too few readings.

        The median describes the conditions of the measurement; the best reading would not.
        """
        if len(self._rounds) < _FEWEST:
            return None
        dependent = statistics.median(one[0] for one in self._rounds)
        independent = statistics.median(one[1] for one in self._rounds)
        if dependent <= 0 or independent <= 0:
            return None
        return CpuSpeed(round(1e9 / dependent), dependent / independent)
