"""The running kernel as a test bench, and the speed of its CPU.

An addition that waits for the one before it takes one cycle of the clock on all current cores, so
its time tells the clock's frequency. How many additions that wait for none are done meanwhile tells
how much of the core there is for this CPU: another one on the same core takes its share, and does
not slow down those that wait.
"""

import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowpath.core.engine import kernel
from slowpath.measure.sampling import Load, Reference, Sample, SubjectError

TOGETHER = 10
"""How many paths are attached at the same time. The kernel's dispatcher of XDP programs compares
the address of a program with those that are attached: with many, the branch predictor fails at some
of these comparisons, by where the programs happen to lie. With up to a dozen an empty program takes
82 cycles on the machine of docs/measure.md, with 20 or more 82 or 102. The dispatcher has room for
48 (`BPF_DISPATCHER_MAX`), which others may use, too; what is not in it takes longer to call."""


class KernelBench:
    """Loads paths into the running kernel and times them."""

    def __init__(self, station: kernel.Station, cases: Sequence[kernel.Case]) -> None:
        """Loads the busy loop alone."""
        self._station = station
        self._busy = kernel.load_busy(station)
        self._cases = list(cases)
        self._order = random.Random(0)  # noqa: S311 - no secret
        self.wrapped = [case.arrangement == "restored" for case in self._cases]
        self.most = [case.repetitions for case in self._cases]
        self.parts = _parts(len(self._cases))
        self.net = [case.arrangement == "restored" or case.drained for case in self._cases]

    def load(self, part: Sequence[int]) -> Load:
        """Loads paths anew, in another order each time.

        The kernel finds a program by its address, and what is loaded first lies elsewhere than
        what is loaded last: that is not to favour one of them.

        Raises:
            InputError: when the kernel does not take one of them any more.
        """
        order = list(part)
        self._order.shuffle(order)
        load = kernel.load_cases(self._station, [self._cases[subject] for subject in order])
        return _KernelLoad(self._station, load, self._busy, order)


class ColdBench:
    """The same for paths that many flows take.

    Each is followed by an empty program that gets the same packets from the same table.
    """

    def __init__(self, station: kernel.Station, cases: Sequence[kernel.Cold]) -> None:
        """Loads the busy loop alone."""
        self._station = station
        self._busy = kernel.load_busy(station)
        self._cases = list(cases)
        self.wrapped = self.net = [True] * (2 * len(self._cases))
        self.most = [sys.maxsize] * len(self.wrapped)
        self.parts = _parts(len(self.wrapped))

    def load(self, part: Sequence[int]) -> Load:
        """Loads paths anew, and fills their maps.

        Raises:
            InputError: when the kernel does not take one of them any more.
        """
        cases = [self._cases[subject // 2] for subject in part[::2]]
        load = kernel.load_cold(self._station, cases)
        return _KernelLoad(self._station, load, self._busy, list(part))


class _KernelLoad:
    def __init__(
        self, station: kernel.Station, load: kernel.Load, busy: kernel.Busy, order: list[int]
    ) -> None:
        self._station = station
        self._load = load
        self._busy = busy
        self._numbers = {subject: number for number, subject in enumerate(order)}

    def sample(self, subject: int, repeat: int) -> Sample:
        number = self._numbers.get(subject, subject)
        try:
            if subject == Reference.BUSY:
                return Sample(*kernel.sample_busy(self._station, self._busy, repeat))
            return Sample(*kernel.sample(self._station, self._load, number, repeat))
        except kernel.Refusal as problem:
            raise SubjectError(problem.reason) from problem


def _parts(count: int) -> list[range]:
    """So many subjects in parts that are attached together."""
    starts = range(0, count, TOGETHER)
    return [range(start, min(start + TOGETHER, count)) for start in starts]


_RUNS = 800  # of a program in a call
_ROUNDS = 3  # of a reading
_EVERY = 0.1  # seconds between two readings
_FEWEST = 6  # rounds that tell anything

Additions = tuple[float, float]
"""Nanoseconds of an addition that waits for the one before it, and of one that waits for none."""


class Paced(NamedTuple):
    """How fast a CPU was."""

    clock_hz: int
    instructions_per_cycle: float


class PaceMeter:
    """Reads the pace now and then."""

    def __init__(self, additions: Callable[[int], Additions]) -> None:
        """`additions` times both, in calls with so many runs."""
        self._additions = additions
        self._rounds: list[Additions] = []
        self._next = -math.inf

    def read(self) -> None:
        """Reads it, unless that was done a moment ago."""
        if time.monotonic() < self._next:
            return
        self._rounds += [self._additions(_RUNS) for _ in range(_ROUNDS)]
        self._next = time.monotonic() + _EVERY

    def paced(self) -> Paced | None:
        """The medians of all readings; None where there are too few, or the CPU was disturbed.

        Not the best one: what is there most of the time is what the measurement is made on.
        """
        if len(self._rounds) < _FEWEST:
            return None
        dependent = statistics.median(one[0] for one in self._rounds)
        independent = statistics.median(one[1] for one in self._rounds)
        if dependent <= 0 or independent <= 0:
            return None
        return Paced(round(1e9 / dependent), dependent / independent)
