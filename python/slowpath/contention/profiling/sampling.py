"""Points to measure, the plans that generate them, and quotas that limit their number.

A plan is a generator, so the measuring code sets the pace and can stop at any time. The same plans
work on a machine, where each measurement takes seconds and can be the last, and with a function
`measure`.
"""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import NamedTuple, TypeVar

import numpy as np

from slowpath.core.arrays import Floats

NO_CONTENTION = 0
"""The level without competitors, by convention the first level."""


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
        """Return the valid attribute value that is nearest to `value`."""
        near = min(max(value, self.least), self.most)
        return float(round(near)) if self.whole else near


class Space(NamedTuple):
    """The points that can be measured: ranges of traffic attributes, and contention levels."""

    attributes: Sequence[Attribute]
    levels: Floats  # features of levels, `[level, feature]`, such as logarithms of counters
    with_alone: bool = False  # true if each measurement also yields the solo throughput

    @property
    def drawn_from(self) -> int:
        """The first contention level that is drawn at random: 0 (no contention) or 1.

        It is 1 if each measurement also gives solo throughput, so that level 0 need not be drawn.
        """
        return NO_CONTENTION + 1 if self.with_alone else NO_CONTENTION

    def default(self) -> dict[str, float]:
        """Return the default traffic: the default value of each attribute."""
        return {one.name: one.default for one in self.attributes}

    def level(self, draw: np.random.Generator) -> int:
        """Return a random contention level; all levels are equally likely."""
        return int(draw.integers(self.drawn_from, len(self.levels)))

    def drawn(self, draw: np.random.Generator) -> "Point":
        """Return a random point; all contention levels and attribute values are equally likely."""
        level = self.level(draw)
        return point(level, {one.name: one.inside(draw.random()) for one in self.attributes})


class Point(NamedTuple):
    """A level of contention (0: none) and values of traffic attributes, to measure together."""

    level: int  # level of contention
    traffic: tuple[tuple[str, float], ...]  # values of attributes by name, in order

    def values(self) -> dict[str, float]:
        """Return the traffic of the point as a dictionary from attribute to value."""
        return dict(self.traffic)


def point(level: int, traffic: Mapping[str, float]) -> Point:
    """Return the point with this contention level and these traffic attributes."""
    return Point(level, tuple(traffic.items()))


class Sample(NamedTuple):
    """A measured point with its throughput."""

    point: Point
    throughput: float


Result = TypeVar("Result")
Asking = Generator[Point, Sequence[Sample], Result]
"""A generator that yields the next point to measure. It is sent samples of that point, and of other
points that the same measurement covers."""

Plan = Asking[None]
Measure = Callable[[Point], float]
"""Function that returns the throughput at a point: a test bed, a simulation, or a table."""


def ask(plan: Plan, results: Sequence[Sample] | None = None) -> Point | None:
    """Send a plan the results for its last point, and return its next point; None at its end.

    Args:
        plan: the plan.
        results: samples for its last point; None before the first point.
    """
    try:
        return next(plan) if results is None else plan.send(results)
    except StopIteration:
        return None


def measured(plan: Plan, measure: Measure) -> list[Sample]:
    """Call `measure` for all points that a plan asks for, and return the samples in order."""
    samples = list[Sample]()
    requested = ask(plan)
    while requested is not None:
        samples.append(Sample(requested, measure(requested)))
        requested = ask(plan, samples[-1:])
    return samples


class QuotaError(Exception):
    """All measurements that the quota allows have been made."""


class Budget:
    """Measured points and remaining quota (`profile_one` in Algorithm 1 of the Tomur paper)."""

    def __init__(self, quota: int) -> None:
        if quota < 1:
            raise ValueError("a quota must be at least one measurement")
        self._quota = quota
        self._known = dict[Point, list[float]]()
        self.spent = 0
        """Number of measurements; each can cover several points."""

    @property
    def left(self) -> int:
        """Number of measurements that the quota still allows."""
        return self._quota - self.spent

    def known(self, point: Point) -> bool:
        """Return true if the throughput at a point has been measured."""
        return point in self._known

    def throughput(self, point: Point) -> Asking[float]:
        """Return the mean throughput at a point; ask for a measurement if it is unknown.

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
        """Return all known points with their mean throughputs, in order of measurement."""
        return [Sample(point, fmean(values)) for point, values in self._known.items()]


_MISSES = 1000


def full(space: Space, steps: int) -> Plan:
    """Choose every contention level at each point of a grid of traffic.

    The grid has `steps` values on each axis.
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
    """Choose random points until the quota is spent."""
    yield from spend(space, Budget(quota), np.random.default_rng(seed))


def spend(space: Space, budget: Budget, draw: np.random.Generator, until: float = math.inf) -> Plan:
    """Choose random points until the quota is spent, or almost all points are known.

    Args:
        space: attributes and levels of contention.
        budget: the quota.
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
