"""Planners: each gives the next point to measure.

Points that are known beforehand stand here; those of `plans.py` may depend on what was measured.
"""

import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple, Protocol

from slowpath.contention.profiling.mixes import Client, Measured, MemBench, Point, Traffic
from slowpath.contention.profiling.setup import MemoryRange, PlanRecord, Setup, Span, TrafficRange


class Known(NamedTuple):
    """What is known of the machine before the first point."""

    spread: float | None  # the noise floor: standard deviation, a share
    score: Callable[[MemBench], float]  # of a competitor, MB; measured when it is first asked for


class Planner(Protocol):
    """Chooses points."""

    @property
    def record(self) -> PlanRecord:
        """What it did."""

    def next(self, measured: Sequence[Measured]) -> Point | None:
        """The next point, when those were measured; None when that is enough."""


class ListPlanner:
    """Points that are known beforehand."""

    def __init__(self, name: str, points: Sequence[Point]) -> None:
        self.record: PlanRecord = {
            "name": name,
            "relevant": None,
            "threshold": None,
            "unused": [],
        }
        self._points = list(points)

    def next(self, measured: Sequence[Measured]) -> Point | None:
        """The next one of the list."""
        return self._points[len(measured)] if len(measured) < len(self._points) else None


def listed(
    setup: Setup,
    kinds: Sequence[str],
    count: int,
    configurations: Sequence[MemBench],
    draw: random.Random,
) -> list[Point]:
    """So many points at random, or on a grid, with kinds of mixes and competitors in turn."""
    if setup.effort.plan == "grid":
        traffics = _grid(setup, count)
        # Configurations in turn, but not in the order of the grid, which goes along an axis.
        draw.shuffle(traffics)
    else:
        # Each kind of mixes covers the ranges by itself: models are of one kind's rows.
        numbers = [len(range(at, count, len(kinds))) for at in range(len(kinds))]
        by_kind = [_spread(setup, number, draw) for number in numbers]
        traffics = [by_kind[at % len(kinds)][at // len(kinds)] for at in range(count)]
    points = []
    for at, traffic in enumerate(traffics):
        kind, turn = kinds[at % len(kinds)], at // len(kinds)
        memory = client = None
        if kind != "accelerator" and configurations:
            memory = configurations[turn % len(configurations)]
        if kind != "memory" and setup.client is not None:
            client = _client(setup, draw)
        if kind == "memory":
            # These rows are of one match ratio, as tables have it.
            traffic = traffic._replace(mtbr=setup.traffic.mtbr.least)  # noqa: PLW2901
        points.append(Point(traffic, memory, client))
    return points


def memory_configurations(found: MemoryRange, draw: random.Random) -> list[MemBench]:
    """Competitors for memory: working sets evenly spread, everything else by lot."""
    configurations = []
    for at in range(found.configurations):
        share = at / max(found.configurations - 1, 1)
        working_set = round(between(found.working_set, share))
        rate = None if found.rate is None else _logarithmic(found.rate, draw)
        touch = found.touches[at % len(found.touches)]
        configurations.append(MemBench(working_set, touch, rate))
    draw.shuffle(configurations)
    return configurations


def middle(found: TrafficRange) -> Traffic:
    """The usual traffic: flows in the middle, the largest packets, the least matches."""
    return Traffic(round(between(found.flows, 0.5)), round(found.size.most), found.mtbr.least)


def between(span: Span, share: float) -> float:
    """A value at a share of the way, by logarithms."""
    return float(span.least * (span.most / span.least) ** share)


def _spread(setup: Setup, count: int, draw: random.Random) -> list[Traffic]:
    """Return so many points of traffic that cover the declared ranges, both ends included.

    A Latin hypercube: each attribute takes a value in each of `count` strata, once, and the two
    outermost ones are the ends. Which values meet is by lot. Flows are spread by logarithms.
    """
    flows, size, mtbr = ([*_strata(count, draw)] for _ in range(3))
    spans = setup.traffic
    return [
        Traffic(
            round(between(spans.flows, one)),
            round(spans.size.least + other * (spans.size.most - spans.size.least)),
            round(spans.mtbr.least + third * (spans.mtbr.most - spans.mtbr.least), 1),
        )
        for one, other, third in zip(flows, size, mtbr, strict=True)
    ]


def _strata(count: int, draw: random.Random) -> list[float]:
    """Return a share in each of so many strata, in any order; the outermost are 0 and 1."""
    shares = [(at + draw.random()) / count for at in range(count)]
    if count > 1:
        shares[0], shares[-1] = 0.0, 1.0
    draw.shuffle(shares)
    return shares


def _grid(setup: Setup, count: int) -> list[Traffic]:
    """So many points of traffic on a grid, with as many values on each axis that has several."""
    spans = setup.traffic
    axes = sum(1 for span in spans if span.least < span.most)
    steps = 1
    while axes and (steps + 1) ** axes <= count:
        steps += 1
    shares = [
        [at / max(steps - 1, 1) for at in range(steps if span.least < span.most else 1)]
        for span in spans
    ]
    found = []
    for flows, size, mtbr in product(*shares):
        ratio = spans.mtbr.least + mtbr * (spans.mtbr.most - spans.mtbr.least)
        length = spans.size.least + size * (spans.size.most - spans.size.least)
        found.append(Traffic(round(between(spans.flows, flows)), round(length), round(ratio, 1)))
    return [found[at % len(found)] for at in range(count)]


def _client(setup: Setup, draw: random.Random) -> Client | None:
    found = setup.client
    if found is None:
        return None
    rate = None if found.rate is None else _logarithmic(found.rate, draw)
    return Client(found.size, round(draw.uniform(*found.mtbr), 1), rate, found.queues)


def _logarithmic(span: Span, draw: random.Random) -> float:
    return between(span, draw.random())
