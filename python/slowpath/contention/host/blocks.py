"""Blocks of time in turns: alone, beside, alone, ...; what disturbed them; medians.

A block in which a thread had its CPU for less of the time than `_UNDISTURBED` is left out and made
again, a limited number of times: something else ran there. So is one before or behind which others
on the same processor were felt (`surroundings.py`).
"""

import math
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from slowpath.cli.errors import UnavailableError
from slowpath.contention.host.points import Rate
from slowpath.engine.neighbours import Block, Reading

_UNDISTURBED = 0.98
_AGAIN = 3
"""How many times as many blocks as are wanted may be run."""
CONFIDENCE = 0.9


class Runs(Protocol):
    """What can be run in blocks: `slowpath.engine.neighbours.Mix`."""

    def block(self, warm: float, seconds: float, *, beside: bool) -> Block:
        """Runs subjects, with competitors or without."""


class Around(Protocol):
    """What else there is on the processor: `slowpath.contention.host.surroundings`."""

    def wait(self, go_on: Callable[[], None]) -> bool:
        """Waits until it is quiet, but not for long; whether it is. `go_on` may raise an error."""

    def quiet(self) -> bool:
        """Whether it is quiet now."""


class Timing(NamedTuple):
    """How blocks are run."""

    pairs: int
    seconds: float
    warm: float


class Turns(NamedTuple):
    """What came of blocks in turns."""

    alone: Rate
    beside: Rate
    slowdown: float  # how many times as fast it is alone as beside, block by block
    competitor: float | None  # items per second of the first competitor


def items_per_second(reading: Reading) -> float:
    """What a thread did for itself."""
    if not reading["served"] or reading["seconds"] <= 0:
        return 0.0
    return reading["served"][0]["items"] / reading["seconds"]


def disturbed(block: Block) -> bool:
    """Whether a thread had to wait for its CPU."""
    for reading in (*block["subjects"], *block["competitors"]):
        had = reading["cpu_seconds"]
        if had is not None and had < _UNDISTURBED * reading["seconds"]:
            return True
    return False


def in_turns(
    mix: Runs,
    timing: Timing,
    go_on: Callable[[], None] = lambda: None,
    around: Around | None = None,
) -> Turns:
    """Rates of the first thread of the first subject, alone and beside all competitors.

    The slowdown is the median of neighbouring blocks' ratios: what changes slowly, such as what
    others do to the same cache outside of this machine, is in both of them.

    Args:
        mix: what runs.
        timing: how long, and how often.
        go_on: called before each block.
        around: what else there is on the processor; asked before and behind each block.

    Raises:
        UnavailableError: when other programs had the CPUs all the time.
    """
    sides = _Side(timing.pairs), _Side(timing.pairs)
    competitor, ratios = list[float](), list[float]()
    for _ in range(_AGAIN * timing.pairs):
        pair = list[float]()
        for beside, side in enumerate(sides):
            if side.enough:
                continue
            go_on()
            was_quiet = around is None or around.wait(go_on)
            block = mix.block(timing.warm, timing.seconds, beside=bool(beside))
            is_quiet = was_quiet and (around is None or around.quiet())
            rate = items_per_second(block["subjects"][0])
            is_bad = disturbed(block) or not is_quiet
            side.add(rate, is_bad=is_bad)
            if rate > 0 and not is_bad:
                pair.append(rate)
            if beside and block["competitors"]:
                competitor.append(items_per_second(block["competitors"][0]))
        if len(pair) == len(sides):
            ratios.append(pair[0] / pair[1])
    alone, beside_all = (side.rate() for side in sides)
    enough = 2 * len(ratios) >= timing.pairs
    slowdown = statistics.median(ratios) if enough else alone.value / beside_all.value
    whose = statistics.median(competitor) if competitor else None
    return Turns(alone, beside_all, slowdown, whose)


class _Side:
    """Blocks of one kind."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._good = list[float]()
        self._bad = list[float]()
        self._nothing = 0  # blocks in which a thread was never there

    @property
    def enough(self) -> bool:
        return len(self._good) >= self._wanted

    def add(self, rate: float, *, is_bad: bool) -> None:
        if rate <= 0:
            self._nothing += 1
        else:
            (self._bad if is_bad else self._good).append(rate)

    def rate(self) -> Rate:
        """Of undisturbed blocks, if these are at least half of what was wanted; else of all.

        Raises:
            UnavailableError: when nothing was done in any of them.
        """
        bad = len(self._bad) + self._nothing
        if 2 * len(self._good) >= self._wanted:
            return median(self._good, bad)
        if not self._good and not self._bad:
            reason = "other programs have the CPUs: a thread did nothing in any block; make blocks "
            raise UnavailableError(f"{reason}longer (block_ms), or wait until it is quiet")
        return median([*self._good, *self._bad], bad)


def median(values: Sequence[float], bad: int = 0) -> Rate:
    """A median, and where it lies with `CONFIDENCE`, whatever the values' distribution.

    Between two of them (David and Nagaraja, Order Statistics, 7.1); where there are few, all of
    them are between the ends.
    """
    ordered = sorted(values)
    count = len(ordered)
    outside = 0
    # The median is outside of so many values from either end with this probability.
    while 2 * (outside + 1) < count:
        tail = sum(math.comb(count, k) for k in range(outside + 2)) / 2**count
        if 1 - 2 * tail < CONFIDENCE:
            break
        outside += 1
    low, high = ordered[outside], ordered[count - 1 - outside]
    return Rate(statistics.median(ordered), low, high, count, bad)
