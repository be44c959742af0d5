"""Blocks of time, alternately alone and beside competitors.

A turn with a block in which a thread had its CPU for less of the time than `_UNDISTURBED` is left
out and made again, a limited number of times: something else ran there. So is one with a block
before or behind which others on the same processor were felt (`surroundings.py`).
"""

import math
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from slowpath.contention.profiling.mixes import Rate
from slowpath.core.engine.neighbours import Block, Reading
from slowpath.core.errors import UnavailableError

_UNDISTURBED = 0.98
_AGAIN = 3
"""How many times as many turns as are wanted may be run."""
CONFIDENCE = 0.9


class Runs(Protocol):
    """What can be run in blocks: `slowpath.core.engine.neighbours.Mix`."""

    def block(self, warm: float, seconds: float, *, beside: bool) -> Block:
        """Runs subjects, with competitors or without."""


class Around(Protocol):
    """What else there is on the processor: `slowpath.contention.profiling.machine`."""

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
    beside: Rate  # in step with the rate alone
    competitor: float | None  # items per second of the first competitor
    reference: Rate | None = None  # of what else was measured in the same turns, in step

    @property
    def slowdown(self) -> float:
        """How many times as fast it is alone as beside."""
        return self.alone.value / self.beside.value


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
    reference: Runs | None = None,
) -> Turns:
    """Rates of the first thread of the first subject, alone and beside all competitors.

    The other rates are in step with the rate alone: it, times the median of what they were of it
    in the same turn. What changes slowly, such as what others do to the same cache outside of this
    machine, is in both blocks of a turn; between two medians it is in one and not in the other.

    Args:
        mix: what runs.
        timing: how long, and how often.
        go_on: called before each block.
        around: what else there is on the processor; asked before and behind each block.
        reference: something else whose rate alone is needed as it is at that time: a third block
            in each turn.

    Raises:
        UnavailableError: when other programs had the CPUs all the time.
    """
    kinds = [(mix, False), (mix, True), *([(reference, False)] if reference is not None else [])]
    turns, competitor = list[list[_Ran]](), list[float]()
    while len(_good(turns)) < timing.pairs and len(turns) < _AGAIN * timing.pairs:
        turn = list[_Ran]()
        for runs, beside in kinds:
            go_on()
            was_quiet = around is None or around.wait(go_on)
            block = runs.block(timing.warm, timing.seconds, beside=beside)
            is_quiet = was_quiet and (around is None or around.quiet())
            rate = items_per_second(block["subjects"][0])
            turn.append(_Ran(rate, is_bad=rate <= 0 or disturbed(block) or not is_quiet))
            if beside and block["competitors"]:
                competitor.append(items_per_second(block["competitors"][0]))
        turns.append(turn)
    alone, *others = (_rate(column, timing.pairs) for column in zip(*turns, strict=True))
    good = _good(turns)
    counted = good if 2 * len(good) >= timing.pairs else turns
    in_step = [_in_step(alone, counted, at, other) for at, other in enumerate(others, 1)]
    whose = statistics.median(competitor) if competitor else None
    return Turns(alone, in_step[0], whose, *in_step[1:])


class _Ran(NamedTuple):
    """A block."""

    rate: float
    is_bad: bool


def _good(turns: Sequence[Sequence[_Ran]]) -> list[Sequence[_Ran]]:
    """Those in which no block was disturbed."""
    return [turn for turn in turns if not any(ran.is_bad for ran in turn)]


def _in_step(alone: Rate, turns: Sequence[Sequence[_Ran]], at: int, by_itself: Rate) -> Rate:
    """A rate by what it was of the rate alone in the same turn; the interval is of that share."""
    shares = [
        turn[at].rate / turn[0].rate for turn in turns if min(turn[0].rate, turn[at].rate) > 0
    ]
    if not shares:
        return by_itself
    value, low, high = (alone.value * one for one in median(shares)[:3])
    return Rate(value, low, high, len(shares), by_itself.disturbed)


def _rate(blocks: Sequence[_Ran], wanted: int) -> Rate:
    """Of undisturbed blocks, if these are at least half of what was wanted; else of all.

    Raises:
        UnavailableError: when nothing was done in any of them.
    """
    good = [ran.rate for ran in blocks if not ran.is_bad]
    bad = len(blocks) - len(good)
    if 2 * len(good) >= wanted:
        return median(good, bad)
    done = [ran.rate for ran in blocks if ran.rate > 0]
    if not done:
        reason = "other programs have the CPUs: a thread did nothing in any block; make blocks "
        raise UnavailableError(f"{reason}longer (block_ms), or wait until it is quiet")
    return median(done, bad)


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
