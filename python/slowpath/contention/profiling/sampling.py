"""Plans, which choose the points to measure, at random, on a grid or by earlier results.

A plan is a generator of points, so the measuring code sets the pace and can stop at any time. The
same plans work on a machine, where each measurement takes seconds and can be the last, and with a
function `measure`, such as a simulation. A quota limits the number of points.

Adaptive profiling (Algorithm 1 of the Tomur paper) first drops attributes whose smallest and
largest value give nearly the same solo throughput. Then it repeatedly halves the region spanned by
the other attributes where solo throughput differs between the ends, and measures each centre under
random contention.

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

import math
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple, TypeVar

import numpy as np

from slowpath.core.arrays import Floats

NO_CONTENTION = 0
"""Level of contention without competitors: always the first one."""


class Attribute(NamedTuple):
    """A numeric attribute of the traffic, such as packet size, with its range and default."""

    name: str
    least: float
    most: float
    default: float
    whole: bool = True  # true if only whole numbers are valid
    by_logarithm: bool = False  # true if values are spaced by logarithms

    def inside(self, share: float) -> float:
        """Return the attribute's value at the position `share` (0 to 1) of its range."""
        if self.by_logarithm:
            return self.at(self.least * (self.most / self.least) ** share)
        return self.at(self.least + share * (self.most - self.least))

    def share(self, value: float) -> float:
        """Return the position of a value in the range, from 0 to 1; 0 if the range is one value."""
        if self.most <= self.least:
            return 0.0
        if self.by_logarithm:
            return math.log(value / self.least) / math.log(self.most / self.least)
        return (value - self.least) / (self.most - self.least)

    def middle(self, first: float, last: float) -> float:
        """Return the value half-way between two values of the attribute."""
        return self.at(math.sqrt(first * last) if self.by_logarithm else (first + last) / 2)

    def at(self, value: float) -> float:
        """Return the valid value of the attribute that is nearest to `value`."""
        near = min(max(value, self.least), self.most)
        return float(round(near)) if self.whole else near


class Space(NamedTuple):
    """All points that can be measured: ranges of traffic attributes, and levels of contention.

    A level of contention is one of several given combinations of competitors.
    """

    attributes: Sequence[Attribute]
    levels: Floats  # features of levels, `[level, feature]`, such as logarithms of counters
    with_alone: bool = False  # true if each measurement also yields the solo throughput

    @property
    def drawn_from(self) -> int:
        """First contention level that random points can have: 0 (no contention) or 1.

        It is 1 if each measurement also gives solo throughput, so that level 0 need not be drawn.
        """
        return NO_CONTENTION + 1 if self.with_alone else NO_CONTENTION

    def default(self) -> dict[str, float]:
        """Default value of each traffic attribute, by name."""
        return {one.name: one.default for one in self.attributes}

    def level(self, draw: np.random.Generator) -> int:
        """Return a random contention level; all levels are equally likely."""
        return int(draw.integers(self.drawn_from, len(self.levels)))

    def drawn(self, draw: np.random.Generator) -> "Point":
        """Return a random point.

        All contention levels and all positions in the ranges are equally likely.
        """
        level = self.level(draw)
        return point(level, {one.name: one.inside(draw.random()) for one in self.attributes})


class Point(NamedTuple):
    """A point to measure: a level of contention (0: none) and the values of traffic attributes."""

    level: int  # level of contention
    traffic: tuple[tuple[str, float], ...]  # values of attributes by name, in order

    def values(self) -> dict[str, float]:
        """Return the values of the traffic attributes, by name."""
        return dict(self.traffic)


def point(level: int, traffic: Mapping[str, float]) -> Point:
    """Return the point with a contention level and the values of traffic attributes, by name."""
    return Point(level, tuple(traffic.items()))


class Sample(NamedTuple):
    """A measured point with its throughput."""

    point: Point
    throughput: float


Result = TypeVar("Result")
Asking = Generator[Point, Sequence[Sample], Result]
"""A generator that yields the next point to measure. The caller sends it the samples of that point,
and of other points that the same measurement covers.
"""

Plan = Asking[None]
Measure = Callable[[Point], float]
"""Function that returns the throughput at a point, by a measurement, a simulation or a table."""


def ask(plan: Plan, results: Sequence[Sample] | None = None) -> Point | None:
    """Send a plan the results for its last point, and return the next point; None at the end.

    Args:
        plan: the plan, a generator of points.
        results: samples for its last point; None before the first point.
    """
    try:
        return next(plan) if results is None else plan.send(results)
    except StopIteration:
        return None


def measured(plan: Plan, measure: Measure) -> list[Sample]:
    """Call `measure` for all points that a plan chooses, and return the samples in order."""
    samples = list[Sample]()
    requested = ask(plan)
    while requested is not None:
        samples.append(Sample(requested, measure(requested)))
        requested = ask(plan, samples[-1:])
    return samples


class QuotaError(Exception):
    """All measurements that the quota allows have been made."""


class Budget:
    """Quota of measurements, and their results (`profile_one` in the paper's Algorithm 1)."""

    def __init__(self, quota: int) -> None:
        if quota < 1:
            raise ValueError("a quota must be at least one measurement")
        self._quota = quota
        self._known = dict[Point, list[float]]()
        self.spent = 0
        """Number of measurements made; one can cover several points."""

    @property
    def left(self) -> int:
        """Number of measurements that the quota still allows."""
        return self._quota - self.spent

    def known(self, point: Point) -> bool:
        """Return true if the throughput at a point has been measured."""
        return point in self._known

    def throughput(self, point: Point) -> Asking[float]:
        """Return the mean throughput at a point.

        If it is unknown, yield the point to have it measured.

        Raises:
            QuotaError: if it is unknown, and the quota is spent.
        """
        if point not in self._known:
            if self.left <= 0:
                raise QuotaError
            self.spent += 1
            for sample in (yield point):
                self._known.setdefault(sample.point, []).append(sample.throughput)
        return fmean(self._known[point])

    def samples(self) -> list[Sample]:
        """Return all measured points with their mean throughputs, in order of measurement."""
        return [Sample(point, fmean(values)) for point, values in self._known.items()]


_MISSES = 1000


def full(space: Space, steps: int) -> Plan:
    """Plan: all contention levels at each point of a grid of traffic.

    The grid has `steps` values for each attribute.
    """
    shares = [at / (steps - 1) if steps > 1 else 0.5 for at in range(steps)]
    axes = [dict.fromkeys(one.inside(share) for share in shares) for one in space.attributes]
    names = [one.name for one in space.attributes]
    count = len(space.levels)
    for axis in axes:
        count *= len(axis)
    budget = Budget(count)
    for level in range(len(space.levels)):
        for values in product(*axes):
            yield from budget.throughput(point(level, dict(zip(names, values, strict=True))))


def random(space: Space, quota: int, seed: int = 0) -> Plan:
    """Plan: random points until `quota` measurements are made.

    The same `seed` gives the same points.
    """
    yield from spend(space, Budget(quota), np.random.default_rng(seed))


def spend(space: Space, budget: Budget, draw: np.random.Generator, until: float = math.inf) -> Plan:
    """Choose random points until the quota is spent, or nearly all drawn points are known.

    Args:
        space: attributes and levels of contention.
        budget: the quota and the known points.
        draw: random source.
        until: total number of measurements at which to stop.
    """
    misses = 0
    while misses < _MISSES and budget.spent < until:
        one = space.drawn(draw)
        misses = misses + 1 if budget.known(one) else 0
        try:
            yield from budget.throughput(one)
        except QuotaError:
            return


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
    """A box of traffic between its smallest and its largest corner, which can be halved.

    Corners have a value for each relevant attribute: one that changes throughput.
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
    """Plan: points chosen by Algorithm 1 of the paper, then random ones, until the quota is spent.

    Args:
        space: attributes and levels of contention.
        quota: number of points.
        settings: thresholds and the order of regions.
        seed: seed of random draws.
        on_relevant: called with the attributes that change throughput.
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
    """Return the attributes that change solo throughput by at least `least`.

    These are lines 7 to 11 of Algorithm 1. Points are measured as needed, within the budget.

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
    """Measure the centres of regions, and halve regions in which throughput varies.

    This is `RANGE_PROFILE` of Algorithm 1, with a list of regions instead of recursion.
    """
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
    """Return the index of the region to halve next.

    By default, this is the last one in the list: the upper half of the region halved before.
    """
    if run.settings.widest_first:
        return max(range(len(regions)), key=lambda at: regions[at].difference)
    return len(regions) - 1


def _at(run: _Run, level: int, values: Sequence[float]) -> Point:
    """Return the point with these values of the relevant attributes, and defaults of the others."""
    traffic = {one.name: value for one, value in zip(run.relevant, values, strict=True)}
    return point(level, run.space.default() | traffic)


class ActiveSettings(NamedTuple):
    """Parameters of active learning."""

    first: int = 8  # number of random points at the start
    candidates: int = 256  # number of random candidates for each point
    refit: int = 8  # number of points between searches of kernel parameters


def active(space: Space, quota: int, settings: ActiveSettings | None = None, seed: int = 0) -> Plan:
    """Plan by active learning: the next point is the one with the least certain prediction.

    Args:
        space: attributes and levels of contention.
        quota: number of points; the throughput of each must be positive.
        settings: parameters of the search.
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
    """Return the Gaussian process's inputs for points: attributes and levels, scaled to 0 to 1."""
    shares = [[one.share(at.values()[one.name]) for one in space.attributes] for at in points]
    levels = space.levels
    low, high = levels.min(axis=0), levels.max(axis=0)
    scaled = (levels - low) / np.where(high > low, high - low, 1.0)
    return np.column_stack([np.array(shares), scaled[[one.level for one in points]]])


def _candidates(space: Space, budget: Budget, draw: np.random.Generator, count: int) -> list[Point]:
    drawn = dict.fromkeys(space.drawn(draw) for _ in range(count))
    return [one for one in drawn if not budget.known(one)]


def _learnt(before: Any, x: Floats, y: Floats, *, anew: bool) -> Any:  # noqa: ANN401 - of scikit-learn
    """Fit a Gaussian process to all measured points.

    Unless `anew` is true, the kernel parameters of the earlier process `before` are reused.
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
