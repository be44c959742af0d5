"""Blocks of measurement, alternately alone and beside competitors.

A turn is invalid if in one of its blocks, a thread had its CPU for less than `_UNDISTURBED` of the
time. Then another program ran on this CPU. It is also invalid if other virtual machines on the same
processor were noticed before or after a block (`machine.py`). Invalid turns are repeated, up to a
limit.
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
"""Maximum number of turns, as a multiple of the required number."""
CONFIDENCE = 0.9


class Runs(Protocol):
    """Something that runs in blocks: `slowpath.core.engine.neighbours.Mix`."""

    def block(self, warm: float, seconds: float, *, beside: bool) -> Block:
        """Run the subjects for one block, with or without competitors."""


class Around(Protocol):
    """Detector of other load on the processor: `slowpath.contention.profiling.machine`."""

    def wait(self, go_on: Callable[[], None]) -> bool:
        """Wait a limited time until the processor is quiet; return true if it is.

        `go_on` can raise an error.
        """

    def quiet(self) -> bool:
        """Return true if the processor is quiet now."""


class Timing(NamedTuple):
    """Number and length of blocks."""

    pairs: int
    seconds: float
    warm: float


class Turns(NamedTuple):
    """Rates measured in turns."""

    alone: Rate
    beside: Rate  # relative to the rate alone, turn by turn
    competitor: float | None  # items per second of the first competitor
    reference: Rate | None = None  # rate of the reference, relative to the rate alone, turn by turn

    @property
    def slowdown(self) -> float:
        """Ratio of the rate alone to the rate beside competitors."""
        return self.alone.value / self.beside.value


def items_per_second(reading: Reading) -> float:
    """Return the rate of a thread's own items."""
    if not reading["served"] or reading["seconds"] <= 0:
        return 0.0
    return reading["served"][0]["items"] / reading["seconds"]


def disturbed(block: Block) -> bool:
    """Return true if a thread had to wait for its CPU."""
    for reading in (*block["subjects"], *block["competitors"]):
        had = reading["cpu_seconds"]
        if had is not None and had < _UNDISTURBED * reading["seconds"]:
            return True
    return False


def measure_interleaved(
    mix: Runs,
    timing: Timing,
    go_on: Callable[[], None] = lambda: None,
    around: Around | None = None,
    reference: Runs | None = None,
) -> Turns:
    """Measure rates of the first thread of the first subject, alone and beside all competitors.

    The other rates are the rate alone, times the median of their ratio to it in the same turn. Slow
    changes, such as load of other virtual machines on the shared cache, affect both blocks of a
    turn. In medians over all turns, they could affect only one of the rates.

    Args:
        mix: subjects and competitors to run.
        timing: length and number of blocks.
        go_on: called before each block.
        around: detector of other load on the processor, used before and after each block.
        reference: another subject whose rate alone is needed at the same time, measured in a
            third block of each turn.

    Raises:
        UnavailableError: if other programs used the CPUs in all blocks.
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
    """A measured block."""

    rate: float
    is_bad: bool


def _good(turns: Sequence[Sequence[_Ran]]) -> list[Sequence[_Ran]]:
    """Return the turns without a disturbed block."""
    return [turn for turn in turns if not any(ran.is_bad for ran in turn)]


def _in_step(alone: Rate, turns: Sequence[Sequence[_Ran]], at: int, by_itself: Rate) -> Rate:
    """Return the rate alone times the median ratio in turns; the interval is of that ratio."""
    shares = [
        turn[at].rate / turn[0].rate for turn in turns if min(turn[0].rate, turn[at].rate) > 0
    ]
    if not shares:
        return by_itself
    value, low, high = (alone.value * one for one in median(shares)[:3])
    return Rate(value, low, high, len(shares), by_itself.disturbed)


def _rate(blocks: Sequence[_Ran], wanted: int) -> Rate:
    """Return the median of undisturbed blocks, or of all blocks if too few are undisturbed.

    Too few are less than half of the blocks wanted.

    Raises:
        UnavailableError: if all blocks have a rate of zero.
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
    """Return the median and its `CONFIDENCE` interval, for any distribution of the values.

    The ends are two of the values (David and Nagaraja, Order Statistics, 7.1); with few values, the
    interval contains all of them.
    """
    ordered = sorted(values)
    count = len(ordered)
    outside = 0
    # `tail` is the probability that the median is beyond this many values at one end.
    while 2 * (outside + 1) < count:
        tail = sum(math.comb(count, k) for k in range(outside + 2)) / 2**count
        if 1 - 2 * tail < CONFIDENCE:
            break
        outside += 1
    low, high = ordered[outside], ordered[count - 1 - outside]
    return Rate(statistics.median(ordered), low, high, count, bad)
