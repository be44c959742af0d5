"""Points that can be measured, plans that ask for them, and quotas.

A plan is a generator: whoever measures decides when, and may stop asking it. So a profile of a
machine, where each measurement takes seconds and may be the last one, and a function `measure` have
the same plans.
"""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NO_CONTENTION = 0
"""The level at which nobody else is there; by convention the first one."""


class Attribute(NamedTuple):
    """An attribute of the traffic."""

    name: str
    least: float
    most: float
    default: float
    whole: bool = True  # whether only whole numbers make sense
    by_logarithm: bool = False  # whether each order of magnitude is as wide as any other

    def inside(self, share: float) -> float:
        """The value at a share of the way from the least to the most."""
        if self.by_logarithm:
            return self.at(self.least * (self.most / self.least) ** share)
        return self.at(self.least + share * (self.most - self.least))

    def share(self, value: float) -> float:
        """The share of the way at which a value is; zero where there is only one."""
        if self.most <= self.least:
            return 0.0
        if self.by_logarithm:
            return math.log(value / self.least) / math.log(self.most / self.least)
        return (value - self.least) / (self.most - self.least)

    def middle(self, first: float, last: float) -> float:
        """The value half-way between two."""
        return self.at(math.sqrt(first * last) if self.by_logarithm else (first + last) / 2)

    def at(self, value: float) -> float:
        """The nearest value that makes sense."""
        near = min(max(value, self.least), self.most)
        return float(round(near)) if self.whole else near


class Space(NamedTuple):
    """Attributes, and levels of contention."""

    attributes: Sequence[Attribute]
    levels: Floats  # what is known of each, `[level, feature]`, such as logarithms of counters
    with_alone: bool = False  # whether measurements tell the throughput alone, too

    @property
    def drawn_from(self) -> int:
        """The first level that is worth drawing: nobody is none where that comes along."""
        return NO_CONTENTION + 1 if self.with_alone else NO_CONTENTION

    def default(self) -> dict[str, float]:
        """The default traffic."""
        return {one.name: one.default for one in self.attributes}

    def level(self, draw: np.random.Generator) -> int:
        """A level at random, each as likely as any other."""
        return int(draw.integers(self.drawn_from, len(self.levels)))

    def drawn(self, draw: np.random.Generator) -> "Point":
        """A point at random: each level, and each value, is as likely as any other."""
        level = self.level(draw)
        return point(level, {one.name: one.inside(draw.random()) for one in self.attributes})


class Point(NamedTuple):
    """A configuration that can be measured."""

    level: int  # of contention
    traffic: tuple[tuple[str, float], ...]  # attributes by their names, in order

    def values(self) -> dict[str, float]:
        """The traffic as a table."""
        return dict(self.traffic)


def point(level: int, traffic: Mapping[str, float]) -> Point:
    """A configuration."""
    return Point(level, tuple(traffic.items()))


class Sample(NamedTuple):
    """A point that was measured."""

    point: Point
    throughput: float


Result = TypeVar("Result")
Asking = Generator[Point, Sequence[Sample], Result]
"""Yields the point that is to be measured next, and is sent what came of it: a sample of that
point, and of any others that the same measurement tells about."""

Plan = Asking[None]
Measure = Callable[[Point], float]
"""Throughput at a point: a test bed, a simulation, or a table."""


def ask(plan: Plan, told: Sequence[Sample] | None = None) -> Point | None:
    """The next point of a plan, when it is told what came of the one before; None at its end.

    Args:
        plan: what is asked.
        told: what came of the last point; None before the first one.
    """
    try:
        return next(plan) if told is None else plan.send(told)
    except StopIteration:
        return None


def measured(plan: Plan, measure: Measure) -> list[Sample]:
    """All that a plan wants, in the order in which it does."""
    samples = list[Sample]()
    wanted = ask(plan)
    while wanted is not None:
        samples.append(Sample(wanted, measure(wanted)))
        wanted = ask(plan, samples[-1:])
    return samples


class QuotaError(Exception):
    """All that may be measured has been."""


class Budget:
    """What has been measured, and how much may be: `profile_one` of the paper's Algorithm 1."""

    def __init__(self, quota: int) -> None:
        if quota < 1:
            raise ValueError("a quota is one measurement at least")
        self._quota = quota
        self._known = dict[Point, list[float]]()
        self.spent = 0
        """How many measurements there have been; one may tell about several points."""

    @property
    def left(self) -> int:
        """How many more measurements there may be."""
        return self._quota - self.spent

    def known(self, point: Point) -> bool:
        """Whether throughput at a point is known."""
        return point in self._known

    def throughput(self, point: Point) -> Asking[float]:
        """Throughput at a point, asked for unless it is known; the mean where it was told often.

        Raises:
            QuotaError: when it is not known and may not be measured any more.
        """
        if point not in self._known:
            if self.left <= 0:
                raise QuotaError
            self.spent += 1
            for sample in (yield point):
                self._known.setdefault(sample.point, []).append(sample.throughput)
        return fmean(self._known[point])

    def samples(self) -> list[Sample]:
        """All that is known, each point once, in the order in which it came to be."""
        return [Sample(point, fmean(values)) for point, values in self._known.items()]


_MISSES = 1000


def full(space: Space, steps: int) -> Plan:
    """Every level of contention under a grid of all attributes, `steps` values of each."""
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
    """Points at random, until the quota is used up."""
    yield from spend(space, Budget(quota), np.random.default_rng(seed))


def spend(space: Space, budget: Budget, draw: np.random.Generator, until: float = math.inf) -> Plan:
    """Uses up a quota for points at random, as far as there are so many different ones.

    Args:
        space: what can be measured.
        budget: with the quota.
        draw: which points.
        until: it ends, too, when so many measurements were made in all.
    """
    misses = 0
    while misses < _MISSES and budget.spent < until:
        one = space.drawn(draw)
        misses = misses + 1 if budget.known(one) else 0
        try:
            yield from budget.throughput(one)
        except QuotaError:
            return
