"""Chooses points to measure adaptively (Algorithm 1 of the Tomur paper), or by active learning.

Adaptive profiling first drops attributes whose smallest and largest value give nearly the same solo
throughput. Then it repeatedly halves the region spanned by the other attributes where solo
throughput differs between the ends, and measures each centre under random contention.

Differences are shares of the solo throughput under default traffic; the paper does not define the
unit of its thresholds. Its regions are boxes. It compares only the two ends, with all attributes
smallest and all largest, and halves between them: with several attributes, this is a diagonal. If
both ends agree, the paper and we stop there, even if throughput varies between them. We spend the
rest of the quota on further draws of contention at the centres of the found regions (`passes`), and
finally on random points; the paper stops.

The paper processes the upper half of each region first, depth-first. A small quota is then spent
there if throughput falls everywhere, or at a single step. With `widest_first`, the region with the
largest difference is next. With `narrowest`, small regions are not halved.

Active learning is not from the paper. A Gaussian process models the logarithm of throughput by the
attributes and the features of contention levels. Its standard deviation estimates the relative
error, which also measures predictions. Candidates are drawn anew for each point, so that noise
alone does not keep the search in one place (MacKay, "Information-based objective functions for
active data selection", Neural Computation 1992).
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

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
from slowpath.core.arrays import Floats


class Settings(NamedTuple):
    """Parameters of Algorithm 1 of the Tomur paper, and additional parameters."""

    relevant: float = 0.05  # epsilon_0: attributes that change throughput less are dropped
    changes: float = 0.05  # epsilon_1: regions whose ends differ less are not halved
    draws: int = 3  # m: measurements at each centre
    passes: int = 2  # number of passes through the regions, within the quota
    widest_first: bool = False  # next region: largest difference, instead of the upper half
    narrowest: float = 0.0  # minimum extent of a region to halve, as a share of the whole range


class _Run(NamedTuple):
    """Constants and random state of one run of adaptive profiling (Algorithm 1)."""

    space: Space
    budget: Budget
    draw: np.random.Generator
    settings: Settings
    unit: float  # solo throughput under default traffic
    relevant: Sequence[Attribute]


class _Region(NamedTuple):
    """A box of traffic to profile, between its smallest and largest corner.

    Corners have a value for each attribute that changes throughput.
    """

    low: list[float]
    high: list[float]
    difference: float  # difference of solo throughput between the ends


def adaptive(
    space: Space,
    quota: int,
    settings: Settings | None = None,
    seed: int = 0,
    on_relevant: Callable[[Sequence[Attribute]], None] = lambda _: None,
) -> Plan:
    """Choose points by Algorithm 1 of the paper, then at random, until the quota is spent.

    Args:
        space: attributes and levels of contention.
        quota: number of points.
        settings: thresholds and the order of regions.
        seed: seed of random draws.
        on_relevant: called with the relevant attributes.
    """
    settings = settings or Settings()
    budget = Budget(quota)
    draw = np.random.default_rng(seed)
    try:
        unit = yield from budget.throughput(point(NO_CONTENTION, space.default()))
        kept = yield from relevant(space, budget, settings.relevant * unit)
        on_relevant(kept)
        run = _Run(space, budget, draw, settings, unit, kept)
        for _ in range(settings.passes if kept else 0):
            yield from _regions(run)
        yield from spend(space, budget, draw)
    except QuotaError:
        pass


def relevant(space: Space, budget: Budget, least: float) -> Asking[list[Attribute]]:
    """Find attributes that change solo throughput by at least `least` (Algorithm 1, lines 7 to 11).

    Raises:
        QuotaError: if the quota is spent.
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
    """Run `RANGE_PROFILE` of Algorithm 1, with a list of regions instead of recursion."""
    start = [one.least for one in run.relevant], [one.most for one in run.relevant]
    regions = [(yield from _region(run, *start))]
    while regions:
        low, high, difference = regions.pop(_next(run, regions))
        if difference < run.settings.changes * run.unit or _is_narrow(run, low, high):
            continue
        ends = zip(run.relevant, low, high, strict=True)
        middle = [one.middle(first, last) for one, first, last in ends]
        if middle in (low, high):
            continue  # no whole number lies between the ends
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
    """Return the index of the next region to halve.

    By default, it is the upper half of the last one.
    """
    if run.settings.widest_first:
        return max(range(len(regions)), key=lambda at: regions[at].difference)
    return len(regions) - 1


def _at(run: _Run, level: int, values: Sequence[float]) -> Point:
    """Return a point with the given values of relevant attributes; others have their default."""
    traffic = {one.name: value for one, value in zip(run.relevant, values, strict=True)}
    return point(level, run.space.default() | traffic)


class ActiveSettings(NamedTuple):
    """Settings of profiling by active learning."""

    first: int = 8  # number of random points at the start
    candidates: int = 256  # number of random candidates for each point
    refit: int = 8  # number of points between searches of kernel parameters


def active(space: Space, quota: int, settings: ActiveSettings | None = None, seed: int = 0) -> Plan:
    """Choose points by active learning: the one with the least certain prediction is next.

    Args:
        space: attributes and levels of contention.
        quota: number of points; the throughput of each must be positive.
        settings: settings of the search.
        seed: seed of random draws.
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
            x = features_of(space, [one.point for one in samples])
            y = np.log([one.throughput for one in samples])
            process = _learnt(process, x, y, anew=budget.spent % settings.refit == 0)
            candidates = _candidates(space, budget, draw, settings.candidates)
            if not candidates:
                break
            _, spread = process.predict(features_of(space, candidates), return_std=True)
            yield from budget.throughput(candidates[int(np.argmax(spread))])
    except QuotaError:
        pass


def features_of(space: Space, points: Sequence[Point]) -> Floats:
    """Return the inputs of the Gaussian process: attributes and levels, each scaled to 0 to 1."""
    shares = [[one.share(at.values()[one.name]) for one in space.attributes] for at in points]
    levels = space.levels
    low, high = levels.min(axis=0), levels.max(axis=0)
    scaled = (levels - low) / np.where(high > low, high - low, 1.0)
    return np.column_stack([np.array(shares), scaled[[one.level for one in points]]])


def _candidates(space: Space, budget: Budget, draw: np.random.Generator, count: int) -> list[Point]:
    drawn = dict.fromkeys(space.drawn(draw) for _ in range(count))
    return [one for one in drawn if not budget.known(one)]


def _learnt(before: Any, x: Floats, y: Floats, *, anew: bool) -> Any:  # noqa: ANN401 - of scikit-learn
    """Fit a Gaussian process to all points.

    Unless `anew`, reuse the kernel parameters of `before`.
    """
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    if before is None or anew:
        shape = Matern(np.full(x.shape[1], 0.5), (0.05, 20.0), nu=1.5)
        kernel = ConstantKernel(1.0, (1e-2, 1e2)) * shape + WhiteKernel(1e-2, (1e-5, 1.0))
        process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    else:
        process = GaussianProcessRegressor(before.kernel_, optimizer=None, normalize_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # kernel parameters at their bounds
        return process.fit(x, y)
