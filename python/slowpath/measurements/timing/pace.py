"""How fast the CPU works, beside what is measured on it.

An addition that waits for the one before it takes one cycle of the clock on all current cores, so
its time tells the clock's frequency. How many additions that wait for none are done meanwhile tells
how much of the core there is for this CPU: another one on the same core takes its share, and does
not slow down those that wait.
"""

import math
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

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
