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

The paper goes into the upper half of each region first, as deep as it gets, so that a small quota
is used up there where throughput falls everywhere, or at one step of it. With `widest_first`, the
region is next whose ends differ most, and with `narrowest`, small ones are left as they are.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.sampling.asking import Asking, Plan
from slowpath.contention.sampling.budget import Budget, QuotaError
from slowpath.contention.sampling.plain import spend
from slowpath.contention.sampling.space import NO_CONTENTION, Attribute, Point, Space, point


class Settings(NamedTuple):
    """What the paper calls hyperparameters."""

    relevant: float = 0.05  # epsilon_0: an attribute that changes less is left out
    changes: float = 0.05  # epsilon_1: a region whose ends differ less is not halved
    draws: int = 3  # m: measurements at each centre
    passes: int = 2  # how often regions are gone through, where the quota allows it
    widest_first: bool = False  # rather than the upper half, as the paper has it
    narrowest: float = 0.0  # a region that has no more of the way than this is not halved


class _Run(NamedTuple):
    """What a run of the algorithm works with."""

    space: Space
    budget: Budget
    draw: np.random.Generator
    settings: Settings
    unit: float  # throughput alone under default traffic
    relevant: Sequence[Attribute]


class _Region(NamedTuple):
    """A part of the traffic, between two ends."""

    low: list[float]
    high: list[float]
    difference: float  # of throughput alone


def adaptive(
    space: Space,
    quota: int,
    settings: Settings | None = None,
    seed: int = 0,
    found: Callable[[Sequence[Attribute]], None] = lambda _: None,
) -> Plan:
    """Points that are worth it, until the quota is used up.

    Args:
        space: what can be measured.
        quota: how many points.
        settings: thresholds, and how regions are gone through.
        seed: other draws.
        found: told which attributes are relevant, once that is known.
    """
    settings = settings or Settings()
    budget = Budget(quota)
    draw = np.random.default_rng(seed)
    try:
        unit = yield from budget.throughput(point(NO_CONTENTION, space.default()))
        kept = yield from relevant(space, budget, settings.relevant * unit)
        found(kept)
        run = _Run(space, budget, draw, settings, unit, kept)
        for _ in range(settings.passes if kept else 0):
            yield from _regions(run)
        yield from spend(space, budget, draw)
    except QuotaError:
        pass


def relevant(space: Space, budget: Budget, least: float) -> Asking[list[Attribute]]:
    """Attributes that change the throughput alone by so much or more (lines 7 to 11).

    Raises:
        QuotaError: when the quota is used up before that is known.
    """
    found = []
    for one in space.attributes:
        low, high = (
            point(NO_CONTENTION, space.default() | {one.name: value})
            for value in (one.least, one.most)
        )
        first = yield from budget.throughput(low)
        last = yield from budget.throughput(high)
        if abs(last - first) >= least:
            found.append(one)
    return found


def _regions(run: _Run) -> Plan:
    """`RANGE_PROFILE`: lines 13 to 25, with a list of regions instead of recursion."""
    whole = [one.least for one in run.relevant], [one.most for one in run.relevant]
    regions = [(yield from _region(run, *whole))]
    while regions:
        low, high, difference = regions.pop(_next(run, regions))
        if difference < run.settings.changes * run.unit or _is_narrow(run, low, high):
            continue
        ends = zip(run.relevant, low, high, strict=True)
        middle = [one.middle(first, last) for one, first, last in ends]
        if middle in (low, high):
            continue  # whole numbers that cannot be halved any more
        for _ in range(run.settings.draws):
            yield from run.budget.throughput(_at(run, run.space.level(run.draw), middle))
        lower = yield from _region(run, low, middle)
        upper = yield from _region(run, middle, high)
        regions += [lower, upper]


def _region(run: _Run, low: list[float], high: list[float]) -> Asking[_Region]:
    first = yield from run.budget.throughput(_at(run, NO_CONTENTION, low))
    last = yield from run.budget.throughput(_at(run, NO_CONTENTION, high))
    return _Region(low, high, abs(last - first))


def _is_narrow(run: _Run, low: Sequence[float], high: Sequence[float]) -> bool:
    ends = zip(run.relevant, low, high, strict=True)
    shares = [one.share(last) - one.share(first) for one, first, last in ends]
    return max(shares) <= run.settings.narrowest


def _next(run: _Run, regions: Sequence[_Region]) -> int:
    """Which region is gone into: the latest, which is the upper half of the one before it."""
    if run.settings.widest_first:
        return max(range(len(regions)), key=lambda at: regions[at].difference)
    return len(regions) - 1


def _at(run: _Run, level: int, values: Sequence[float]) -> Point:
    """A point with the relevant attributes at these values, and the others at their defaults."""
    traffic = {one.name: value for one, value in zip(run.relevant, values, strict=True)}
    return point(level, run.space.default() | traffic)
