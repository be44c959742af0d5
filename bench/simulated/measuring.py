"""Measures mixes of a fleet's functions on the simulated NIC.

The mixes are those that slowpath suggests, or random ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nic_profiles import function
from simulated.functions import DEFAULT
from simulated.kept import Kept
from slowpath.contention.placement.fleet import Fleet, Mix, possible_mixes
from slowpath.contention.placement.shares import Measured, measured
from slowpath.contention.placement.suggesting import suggest

ROUNDS = 6
"""Number of rounds of measurements.

After each round, all measurements so far determine the next mixes.
"""
_SEEDS = 1000
"""Difference between the first seeds of two campaigns; each measurement has its own seed."""


class Campaign(NamedTuple):
    """Settings for measuring mixes of functions, before functions are placed on NICs."""

    mixes: int
    sure: float  # confidence of later placements
    repetitions: int = 3  # of each mix
    alone: int = 10  # of each function alone, since all promises are shares of that throughput
    suggested: bool = True  # otherwise arbitrary mixes of several functions

    def seed(self) -> int:
        """Seed of the first simulated measurement of the campaign."""
        return _SEEDS * (1 + self.mixes + 1000 * self.repetitions + 100_000 * self.suggested)


Rows = dict[Mix, dict[int, list[float]]]


def campaign(kept: Kept, fleet: Fleet, plan: Campaign) -> Measured:
    """Simulate all measurements of a campaign, and return them with measurement noise."""
    rows: Rows = {}
    seeds = iter(range(plan.seed(), plan.seed() + _SEEDS))
    alone = [(at,) for at in range(len(fleet.functions))]
    for _ in range(plan.alone):
        _measure(kept, fleet, alone, next(seeds), rows)
    for mixes in _rounds(fleet, plan, rows):
        for _ in range(plan.repetitions):
            _measure(kept, fleet, mixes, next(seeds), rows)
    return measured("measured", rows, None)


def _rounds(fleet: Fleet, plan: Campaign, rows: Rows) -> Iterable[Sequence[Mix]]:
    """Yield the mixes to measure in each round.

    Suggestions for a round depend on all measurements of earlier rounds, `rows`.
    """
    if not plan.suggested:
        several = [mix for mix in possible_mixes(fleet) if len(mix) > 1]
        draw = np.random.default_rng(60)
        yield [several[at] for at in draw.permutation(len(several))[: plan.mixes]]
        return
    for _ in range(ROUNDS):
        known = measured("measured", rows, None)
        found = suggest(fleet, plan.mixes // ROUNDS, plan.sure, known)
        yield [one.mix for one in found.mixes]


def _measure(kept: Kept, fleet: Fleet, mixes: Sequence[Mix], seed: int, rows: Rows) -> None:
    """Simulate each mix of functions once, and add the throughputs to `rows`.

    A function that occurs twice in a mix gets two values.
    """
    runs = [[function(fleet.names[at], DEFAULT) for at in mix] for mix in mixes]
    found = kept.throughputs("measured", runs, kept.settings._replace(seed=seed))
    for mix, throughputs in zip(mixes, found, strict=True):
        values: Mapping[int, list[float]] = rows.setdefault(mix, {at: [] for at in mix})
        for at, throughput in zip(mix, throughputs, strict=True):
            values[at].append(throughput)
