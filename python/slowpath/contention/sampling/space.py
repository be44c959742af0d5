"""What can be measured: attributes of the traffic within limits, and levels of contention."""

from collections.abc import Callable, Mapping, Sequence
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

    def inside(self, share: float) -> float:
        """The value at a share of the way from the least to the most."""
        return self.at(self.least + share * (self.most - self.least))

    def at(self, value: float) -> float:
        """The nearest value that makes sense."""
        near = min(max(value, self.least), self.most)
        return float(round(near)) if self.whole else near


class Space(NamedTuple):
    """Attributes, and levels of contention."""

    attributes: Sequence[Attribute]
    levels: Floats  # what is known of each, `[level, feature]`, such as logarithms of counters

    def default(self) -> dict[str, float]:
        """The default traffic."""
        return {one.name: one.default for one in self.attributes}

    def drawn(self, draw: np.random.Generator) -> "Point":
        """A point at random: each level, and each value, is as likely as any other."""
        level = int(draw.integers(len(self.levels)))
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


Measure = Callable[[Point], float]
"""Throughput at a point: a test bed, a simulation, or a table."""
