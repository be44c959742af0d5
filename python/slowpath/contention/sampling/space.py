"""What can be measured: attributes of the traffic within limits, and levels of contention."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

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
