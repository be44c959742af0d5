"""Adaptive profiling: Algorithm 1 of the paper (5.2).

First, attributes that change the throughput alone by less than a threshold from their least to
their most value are left out. Then the region that the others span is halved again and again where
throughput alone differs between its ends, and each centre is measured under random contention.

Differences are shares of the throughput alone under default traffic; the paper leaves open what its
thresholds are of. Its regions are boxes of which it compares, and halves, the two ends where all
attributes are least and most: with several attributes, that is a diagonal. Where both ends agree
although something happens between them, it looks no further, and neither do we. What is left of
the quota then goes into the regions that were found, further draws of the contention at their
centres (`passes`), and last into random points; the paper stops.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.sampling.budget import Budget, QuotaError
from slowpath.contention.sampling.plain import spend
from slowpath.contention.sampling.space import (
    NO_CONTENTION,
    Attribute,
    Measure,
    Point,
    Sample,
    Space,
    point,
)


class Settings(NamedTuple):
    """What the paper calls hyperparameters."""

    relevant: float = 0.05  # epsilon_0: an attribute that changes less is left out
    changes: float = 0.05  # epsilon_1: a region whose ends differ less is not halved
    draws: int = 3  # m: measurements at each centre
    passes: int = 2  # how often regions are gone through, where the quota allows it


class _Run(NamedTuple):
    """What a run of the algorithm works with."""

    space: Space
    budget: Budget
    draw: np.random.Generator
    settings: Settings
    unit: float  # throughput alone under default traffic
    relevant: Sequence[Attribute]


def adaptive(
    space: Space,
    measure: Measure,
    quota: int,
    settings: Settings | None = None,
    seed: int = 0,
) -> list[Sample]:
    """Points that are worth it, until the quota is used up."""
    settings = settings or Settings()
    budget = Budget(measure, quota)
    draw = np.random.default_rng(seed)
    try:
        unit = budget.throughput(point(NO_CONTENTION, space.default()))
        kept = relevant(space, budget, settings.relevant * unit)
        run = _Run(space, budget, draw, settings, unit, kept)
        for _ in range(settings.passes if kept else 0):
            _region(run, [one.least for one in kept], [one.most for one in kept])
        spend(space, budget, draw)
    except QuotaError:
        pass
    return budget.samples()


def relevant(space: Space, budget: Budget, least: float) -> list[Attribute]:
    """Attributes that change the throughput alone by so much or more (lines 7 to 11).

    Raises:
        QuotaError: when the quota is used up before that is known.
    """
    found = []
    for one in space.attributes:
        ends = [
            budget.throughput(point(NO_CONTENTION, space.default() | {one.name: value}))
            for value in (one.least, one.most)
        ]
        if abs(ends[1] - ends[0]) >= least:
            found.append(one)
    return found


def _region(run: _Run, low: Sequence[float], high: Sequence[float]) -> None:
    """`RANGE_PROFILE`: lines 13 to 25."""
    ends = [run.budget.throughput(_at(run, NO_CONTENTION, values)) for values in (low, high)]
    if abs(ends[1] - ends[0]) < run.settings.changes * run.unit:
        return
    middle = [
        one.at((first + last) / 2) for one, first, last in zip(run.relevant, low, high, strict=True)
    ]
    if middle in (list(low), list(high)):
        return  # whole numbers that cannot be halved any more
    for _ in range(run.settings.draws):
        level = int(run.draw.integers(len(run.space.levels)))
        run.budget.throughput(_at(run, level, middle))
    _region(run, middle, high)
    _region(run, low, middle)


def _at(run: _Run, level: int, values: Sequence[float]) -> Point:
    """A point with the relevant attributes at these values, and the others at their defaults."""
    traffic: Mapping[str, float] = {
        one.name: value for one, value in zip(run.relevant, values, strict=True)
    }
    return point(level, run.space.default() | dict(traffic))
