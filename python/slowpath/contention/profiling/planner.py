"""Planners, which choose the next point to measure, and lists of points known in advance.

Plans that depend on earlier measurements are in `plans.py`.
"""

import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple, Protocol

from slowpath.contention.profiling.mixes import Client, Measured, MemBench, Point, Traffic
from slowpath.contention.profiling.setup import MemoryRange, PlanRecord, Setup, Span, TrafficRange


class MachineProperties(NamedTuple):
    """Properties of the machine known before the first point."""

    spread: float | None  # noise floor: relative standard deviation
    score: Callable[[MemBench], float]  # score of a competitor, MB; measured on the first call


class Planner(Protocol):
    """A chooser of points."""

    @property
    def record(self) -> PlanRecord:
        """Record of the choice."""

    def next(self, measured: Sequence[Measured]) -> Point | None:
        """Return the next point after the given measurements; None at the end."""


class ListPlanner:
    """A planner with points known in advance."""

    def __init__(self, name: str, points: Sequence[Point]) -> None:
        self.record: PlanRecord = {
            "name": name,
            "relevant": None,
            "threshold": None,
            "unused": [],
        }
        self._points = list(points)

    def next(self, measured: Sequence[Measured]) -> Point | None:
        """Return the next point of the list."""
        return self._points[len(measured)] if len(measured) < len(self._points) else None


def listed(
    setup: Setup,
    kinds: Sequence[str],
    count: int,
    configurations: Sequence[MemBench],
    draw: random.Random,
) -> list[Point]:
    """Return points at random or on a grid, cycling through kinds of mixes and competitors."""
    if setup.effort.plan == "grid":
        traffics = _grid(setup, count)
        # Shuffle, so that configurations do not depend on the position along an axis.
        draw.shuffle(traffics)
    else:
        # Each kind of mixes covers all ranges, as a model is trained on one kind of rows.
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
            # All rows of a memory table have the same match ratio.
            traffic = traffic._replace(mtbr=setup.traffic.mtbr.least)  # noqa: PLW2901
        points.append(Point(traffic, memory, client))
    return points


def memory_configurations(found: MemoryRange, draw: random.Random) -> list[MemBench]:
    """Return competitors for memory: evenly spaced working sets, random rates."""
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
    """Return the usual traffic: geometric mean of the flow range, largest packets, least MTBR."""
    return Traffic(round(between(found.flows, 0.5)), round(found.size.most), found.mtbr.least)


def between(span: Span, share: float) -> float:
    """Return a value at a share of the span, by logarithms."""
    return float(span.least * (span.most / span.least) ** share)


def _spread(setup: Setup, count: int, draw: random.Random) -> list[Traffic]:
    """Return points of traffic that cover the declared ranges, both ends included.

    The points are a Latin hypercube: each attribute has one value in each of `count` strata, and
    the two outermost values are the ends. Values of attributes are combined at random. Flows are
    spaced by logarithms.
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
    """Return a share in each of `count` strata, in random order; the outermost are 0 and 1."""
    shares = [(at + draw.random()) / count for at in range(count)]
    if count > 1:
        shares[0], shares[-1] = 0.0, 1.0
    draw.shuffle(shares)
    return shares


def _grid(setup: Setup, count: int) -> list[Traffic]:
    """Return points of traffic on a grid, with equally many values on each non-constant axis."""
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
