"""Searches for the highest rate that a program forwards without loss (RFC 2544, section 26.1).

On a shared machine, trials can lose packets because other work runs. Therefore the majority of
three trials decides if a rate passes. At the end, the lowest failing rate is tried again. If it
passes now, the search goes on from there.
"""

import statistics
from collections.abc import Callable
from typing import Literal, NamedTuple

RESOLUTION = 0.02
"""Relative difference of the lowest failing and the highest passing rate at which the search ends.
"""
_FLOOR = 1 / 256
"""Lowest rate that is tried, as a share of the sender's highest rate."""
_RETRIES = 4  # maximum number of searches, of which all but the first try higher rates again
_VOTES = 2  # number of equal outcomes that decide about a rate
_IN_TIME = 0.95
"""Minimum share of the due packets that the sender must send in time; otherwise, a trial does not
count.
"""

Limit = Literal["program", "sender"]
"""The part that limits the highest rate: the program with its queues, or the sender."""


class Offer(NamedTuple):
    """Result of a trial at one rate: numbers of packets, and the actual rate of sending."""

    due: int
    sent: int
    received: int
    rate: float  # sent packets a second

    @property
    def loss(self) -> float:
        """Share of the sent packets that were not received."""
        return 0.0 if not self.sent else max(self.sent - self.received, 0) / self.sent

    @property
    def in_time(self) -> bool:
        """True if the sender sent packets as fast as the offered rate requires."""
        return self.sent >= _IN_TIME * self.due


class Found(NamedTuple):
    """Result of the search for a program's highest rate without loss."""

    rate: float  # highest passing rate in packets a second; 0: no rate passed
    limit: Limit
    trials: int
    full: Offer  # trial in which the sender sent as fast as possible


def highest_rate(
    offer: Callable[[float | None], Offer], tolerance: float, stopped: Callable[[], bool]
) -> Found | None:
    """Search for the highest rate at which at most the share `tolerance` of the packets is lost.

    `offer` makes a trial at a rate in packets per second; for None, it sends as fast as possible.
    Return None if `stopped` returned true.
    """
    trials = 1
    full = offer(None)
    low, high, limit = 0.0, full.rate, "program"
    rates = list[float]()  # of the latest vote

    def outcome(found: Offer) -> Literal["passes", "program", "sender"]:
        if found.loss > tolerance:
            return "program"
        return "passes" if found.in_time else "sender"

    def vote(rate: float | None) -> str:
        nonlocal trials
        counts = dict[str, int]()
        rates.clear()
        while not stopped():
            found = offer(rate)
            trials += 1
            rates.append(found.rate)
            passes = outcome(found)
            # For the decision, both reasons for a failed trial (program or sender) count alike.
            counts[passes] = counts.get(passes, 0) + 1
            failed = sum(count for name, count in counts.items() if name != "passes")
            if counts.get("passes", 0) == _VOTES:
                return "passes"
            if failed == _VOTES:
                return "program" if counts.get("program", 0) else "sender"
        return "stopped"

    if full.loss <= tolerance and vote(None) == "passes":
        return None if stopped() else Found(statistics.median(rates), "sender", trials, full)
    # The rate received under full load is close to the result, unless the program collapses.
    rate = full.rate * (1 - full.loss)
    for _ in range(_RETRIES):
        while high - low > RESOLUTION * high and high > _FLOOR * full.rate:
            if not low < rate < high:
                rate = (low + high) / 2
            found = vote(rate)
            if stopped():
                return None
            if found == "passes":
                low = rate
            else:
                high, limit = rate, found
            rate = (low + high) / 2
        if high == full.rate or vote(high) != "passes":
            break
        low, high, rate = high, full.rate, (high + full.rate) / 2
    if stopped():
        return None
    return Found(low, "sender" if limit == "sender" else "program", trials, full)
