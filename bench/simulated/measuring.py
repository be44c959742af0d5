"""Mixes that a fleet measures on the simulated NIC: those that are suggested, or any."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nic_profiles import function
from simulated.functions import DEFAULT
from simulated.kept import Kept
from slowpath.contention.placement.fleet import Fleet, Mix, possible_mixes
from slowpath.contention.placement.measured import Measured, measured
from slowpath.contention.placement.suggesting import suggest

ROUNDS = 6
"""After each, what was measured tells what to measure next."""
_SEEDS = 1000
"""Between those of campaigns; each measurement of one has its own."""


class Campaign(NamedTuple):
    """What is measured."""

    mixes: int
    sure: float  # of placements later on
    repetitions: int = 3  # of each mix
    alone: int = 10  # of each function by itself, which all promises are shares of
    suggested: bool = True  # else any mixes of several functions

    def seed(self) -> int:
        """Where seeds begin."""
        return _SEEDS * (1 + self.mixes + 1000 * self.repetitions + 100_000 * self.suggested)


Rows = dict[Mix, dict[int, list[float]]]


def campaign(kept: Kept, fleet: Fleet, asked: Campaign) -> Measured:
    """What comes of a campaign, with the noise of measurements."""
    rows: Rows = {}
    seeds = iter(range(asked.seed(), asked.seed() + _SEEDS))
    alone = [(at,) for at in range(len(fleet.functions))]
    for _ in range(asked.alone):
        _measure(kept, fleet, alone, next(seeds), rows)
    for mixes in _rounds(fleet, asked, rows):
        for _ in range(asked.repetitions):
            _measure(kept, fleet, mixes, next(seeds), rows)
    return measured("measured", rows, None)


def _rounds(fleet: Fleet, asked: Campaign, rows: Rows) -> Iterable[Sequence[Mix]]:
    """What to measure next, after what was measured until then."""
    if not asked.suggested:
        several = [mix for mix in possible_mixes(fleet) if len(mix) > 1]
        draw = np.random.default_rng(60)
        yield [several[at] for at in draw.permutation(len(several))[: asked.mixes]]
        return
    for _ in range(ROUNDS):
        known = measured("measured", rows, None)
        found = suggest(fleet, asked.mixes // ROUNDS, asked.sure, known)
        yield [one.mix for one in found.mixes]


def _measure(kept: Kept, fleet: Fleet, mixes: Sequence[Mix], seed: int, rows: Rows) -> None:
    """Adds a measurement of each mix; of functions that are there twice, two."""
    runs = [[function(fleet.names[at], DEFAULT) for at in mix] for mix in mixes]
    found = kept.throughputs("measured", runs, kept.settings._replace(seed=seed))
    for mix, throughputs in zip(mixes, found, strict=True):
        values: Mapping[int, list[float]] = rows.setdefault(mix, {at: [] for at in mix})
        for at, throughput in zip(mix, throughputs, strict=True):
            values[at].append(throughput)
