"""Adaptive profiling (Algorithm 1 of the paper) and active learning.

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

Not of the paper. The process is over logarithms of throughput, by the attributes and what is known
of the levels of contention; its standard deviation is that of relative errors, which is what the
errors of predictions are counted in. Candidates are drawn anew for each point, so that noise alone
does not keep it at one place (MacKay, "Information-based objective functions for active data
selection", Neural Computation 1992).
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.profiling.sampling import (
    NO_CONTENTION,
    Asking,
    Attribute,
    Budget,
    Plan,
    Point,
    QuotaError,
    Space,
    point,
    spend,
)


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


Floats = NDArray[np.float64]


class ActiveSettings(NamedTuple):
    """How the next point is looked for."""

    first: int = 8  # points at random, to begin with
    candidates: int = 256  # of which the least sure one is taken
    refit: int = 8  # after so many points, the shape of the process is fitted anew


def active(space: Space, quota: int, settings: ActiveSettings | None = None, seed: int = 0) -> Plan:
    """Points of which least is known, until the quota is used up.

    Args:
        space: what can be measured.
        quota: how many points; throughput at each is above zero.
        settings: how the next point is looked for.
        seed: other draws.
    """
    settings = settings or ActiveSettings()
    budget = Budget(quota)
    draw = np.random.default_rng(seed)
    process = None
    try:
        yield from budget.throughput(point(NO_CONTENTION, space.default()))
        yield from spend(space, budget, draw, settings.first)
        while budget.left:
            samples = budget.samples()
            x = seen(space, [one.point for one in samples])
            y = np.log([one.throughput for one in samples])
            process = _learnt(process, x, y, anew=budget.spent % settings.refit == 0)
            those = _candidates(space, budget, draw, settings.candidates)
            if not those:
                break
            _, spread = process.predict(seen(space, those), return_std=True)
            yield from budget.throughput(those[int(np.argmax(spread))])
    except QuotaError:
        pass


def seen(space: Space, points: Sequence[Point]) -> Floats:
    """What the process sees: attributes and levels, each between 0 and 1."""
    shares = [[one.share(at.values()[one.name]) for one in space.attributes] for at in points]
    levels = space.levels
    low, high = levels.min(axis=0), levels.max(axis=0)
    scaled = (levels - low) / np.where(high > low, high - low, 1.0)
    return np.column_stack([np.array(shares), scaled[[one.level for one in points]]])


def _candidates(space: Space, budget: Budget, draw: np.random.Generator, count: int) -> list[Point]:
    drawn = dict.fromkeys(space.drawn(draw) for _ in range(count))
    return [one for one in drawn if not budget.known(one)]


def _learnt(before: Any, x: Floats, y: Floats, *, anew: bool) -> Any:  # noqa: ANN401 - of scikit-learn
    """A process for all points so far; its shape is that of before, or fitted."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    if before is None or anew:
        shape = Matern(np.full(x.shape[1], 0.5), (0.05, 20.0), nu=1.5)
        kernel = ConstantKernel(1.0, (1e-2, 1e2)) * shape + WhiteKernel(1e-2, (1e-5, 1.0))
        process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    else:
        process = GaussianProcessRegressor(before.kernel_, optimizer=None, normalize_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which bound of the kernel was reached
        return process.fit(x, y)
