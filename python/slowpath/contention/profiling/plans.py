"""Planners, which choose the points of a profile to measure, one after the other.

A description of a profile names its plan. The plans `adaptive` and `active` (`sampling.py`) choose
rows of the memory model: competitor, number of flows and packet size. Other kinds of mixes do not
help this model, and request times are measured separately. So of six mixes (points with
competitors), one has competitors at the accelerator, and one has both kinds; these are drawn as by
the plan `random`.

Each mix measures two points: with its competitor and alone. So the level without contention is
never drawn. If a plan asks for it, the mix has the competitor that was used least often.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple, Protocol

import numpy as np

from slowpath.contention.profiling.mixes import Client, Measured, MemBench, Point, Traffic
from slowpath.contention.profiling.sampling import (
    NO_CONTENTION,
    Attribute,
    Plan,
    Sample,
    Settings,
    Space,
    active,
    adaptive,
    ask,
    point,
)
from slowpath.contention.profiling.sampling import Point as PlanPoint
from slowpath.contention.profiling.setup import (
    ASKING,
    MemoryRange,
    PlanRecord,
    Setup,
    Span,
    TrafficRange,
)


class MachineProperties(NamedTuple):
    """Properties of the machine that plans need before the first point is measured."""

    spread: float | None  # noise floor: relative standard deviation
    score: Callable[[MemBench], float]  # score of a competitor, MB; each is measured only once


class Planner(Protocol):
    """Interface of planners, which choose the points to measure."""

    @property
    def record(self) -> PlanRecord:
        """Description of the plan for the record of the profile."""

    def next(self, measured: Sequence[Measured]) -> Point | None:
        """Return the next point to measure; None at the end.

        `measured` has all previous results.
        """


class ListPlanner:
    """A planner whose points are known in advance."""

    def __init__(self, name: str, points: Sequence[Point]) -> None:
        self.record: PlanRecord = {
            "name": name,
            "relevant": None,
            "threshold": None,
            "unused": [],
        }
        self._points = list(points)

    def next(self, measured: Sequence[Measured]) -> Point | None:
        """Return the next point of the list to measure; None at its end."""
        return self._points[len(measured)] if len(measured) < len(self._points) else None


def listed(
    setup: Setup,
    kinds: Sequence[str],
    count: int,
    configurations: Sequence[MemBench],
    draw: random.Random,
) -> list[Point]:
    """Return `count` points with traffic at random or on a grid, and with alternating competitors.

    `kinds` are kinds of competitors: `memory`, `accelerator`, `both`. `configurations` has the
    competitors for memory.
    """
    if setup.effort.plan == "grid":
        traffics = _grid(setup, count)
        # Shuffle, so that configurations do not depend on the position along an axis.
        draw.shuffle(traffics)
    else:
        # Each kind of mix covers all ranges, as each model is trained on one kind.
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
    """Return competitors for memory with evenly spaced working sets and random rates."""
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
    """Return typical traffic: geometric mean of flows, largest packets, least match ratio."""
    return Traffic(round(between(found.flows, 0.5)), round(found.size.most), found.mtbr.least)


def between(span: Span, share: float) -> float:
    """Return the value at the position `share` (0 to 1) of a range with a logarithmic scale."""
    return float(span.least * (span.most / span.least) ** share)


def _spread(setup: Setup, count: int, draw: random.Random) -> list[Traffic]:
    """Return `count` random points of traffic that cover the declared ranges, including their ends.

    The points are a Latin hypercube: each attribute has one value in each of `count` strata, and
    the first and last stratum have the ends of the range. Values of attributes are combined at
    random. Flows have a logarithmic scale.
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
    """Divide the range 0 to 1 into `count` strata; return a value of each, in random order.

    The lowest value is 0 and the highest is 1.
    """
    shares = [(at + draw.random()) / count for at in range(count)]
    if count > 1:
        shares[0], shares[-1] = 0.0, 1.0
    draw.shuffle(shares)
    return shares


def _grid(setup: Setup, count: int) -> list[Traffic]:
    """Return `count` points of traffic on a grid with the same number of values on each axis.

    An attribute with a constant value has no axis. If the grid has fewer points, they repeat.
    """
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


_SIX = 6
_FLOWS, _SIZE = "flow_count", "packet_size_bytes"
_NARROWEST = 1 / 16
"""Minimum extent of a region that a plan may halve, as a share of the range. For flows, it is a
factor of 1.5 for each three orders of magnitude of their range.
"""
_SURE = 2 * math.sqrt(2)
"""Difference between two measurements that noise rarely exceeds, in standard deviations of one
measurement.
"""


def is_other(at: int, kinds: Sequence[str]) -> bool:
    """Return true if the mix with index `at` has a competitor at the accelerator.

    Each kind in `kinds` other than `memory` is used in one of six successive mixes.
    """
    return at % _SIX > _SIX - len(kinds)


def threshold(known: MachineProperties) -> float:
    """Return the least relative difference of throughputs that noise does not explain."""
    default = Settings().changes
    return default if known.spread is None else max(default, _SURE * known.spread)


def space_of(traffic: TrafficRange, levels: Sequence[float], default: Traffic) -> Space:
    """Return the space of points that a plan searches: traffic, and levels of contention.

    Args:
        traffic: ranges of the function's traffic; flows have a logarithmic scale.
        levels: score of each competitor for memory, MB.
        default: the default traffic.
    """
    attributes = (
        Attribute(_FLOWS, *traffic.flows, default=default.flows, by_logarithm=True),
        Attribute(_SIZE, *traffic.size, default=default.size),
    )
    several = [one for one in attributes if one.least < one.most]
    return Space(several, np.log1p(np.array([0.0, *levels]))[:, None], with_alone=True)


class _Request(NamedTuple):
    """A point that the adaptive plan requested, and the mix by which it is measured."""

    point: PlanPoint
    level: int  # level of the competitor in the mix
    at: int  # index of the mix


class AskingPlanner:
    """Planner that follows an adaptive plan, and inserts mixes for other kinds of competitors."""

    def __init__(
        self,
        setup: Setup,
        kinds: Sequence[str],
        known: MachineProperties,
        configurations: Sequence[MemBench],
        draw: random.Random,
    ) -> None:
        """Start the plan. If the plan needs the competitors' scores, they are measured first.

        Args:
            setup: function, traffic and competitors.
            kinds: kinds of mixes, `memory` first.
            known: properties of the machine.
            configurations: competitors for memory, at least one.
            draw: random source of other kinds of mixes.
        """
        self._setup, self._kinds = setup, kinds
        self._configurations = configurations
        quota = setup.effort.mixes
        count = sum(is_other(at, kinds) for at in range(quota))
        self._others = iter(listed(setup, kinds[1:], count, configurations, draw))
        self._default = middle(setup.traffic)
        self._threshold: float | None = None
        self._relevant: list[str] | None = None
        self._requests = list[_Request]()
        self._settled = 0  # number of requests before relevance was known
        self._used = Counter[int]()
        self._plan = self._start(known, quota - count)

    @property
    def record(self) -> PlanRecord:
        """Description of the plan for the record of the profile."""
        return {
            "name": self._setup.effort.plan,
            "relevant": self._relevant,
            "threshold": self._threshold,
            "unused": [f"mix-{one.at + 1}" for one in self._unused()],
        }

    def next(self, measured: Sequence[Measured]) -> Point | None:
        """Return the next point to measure; None at the end.

        `measured` has all previous results.
        """
        sources = [self._next_of_memory(measured), self._others]
        if is_other(len(measured), self._kinds):
            sources.reverse()
        # If the plan ends before the quota, the other kinds continue.
        return next(sources[0], None) or next(sources[1], None)

    def _start(self, known: MachineProperties, quota: int) -> Plan:
        effort, traffic = self._setup.effort, self._setup.traffic
        if effort.plan == "active":
            scores = [known.score(one) for one in self._configurations]
            return active(space_of(traffic, scores, self._default), quota, seed=effort.seed)
        self._threshold = threshold(known)
        settings = Settings(
            self._threshold, self._threshold, widest_first=True, narrowest=_NARROWEST
        )
        # The adaptive plan draws levels without using their scores.
        space = space_of(traffic, [0.0] * len(self._configurations), self._default)
        return adaptive(space, quota, settings, effort.seed, self._set_relevant)

    def _set_relevant(self, relevant: Sequence[Attribute]) -> None:
        self._relevant = [one.name for one in relevant]
        self._settled = len(self._requests)

    def _unused(self) -> list[_Request]:
        """Return early requests that varied an attribute which the plan later found irrelevant."""
        first, later = self._requests[: self._settled], self._requests[self._settled :]
        if self._relevant is None or not later:
            return []
        default = {_FLOWS: self._default.flows, _SIZE: self._default.size}
        left_out = [
            name
            for name, value in default.items()
            if name not in self._relevant
            and all(one.point.values().get(name, value) == value for one in later)
        ]
        return [
            one
            for one in first
            if any(
                one.point.values().get(name, default[name]) != default[name] for name in left_out
            )
        ]

    def _next_of_memory(self, measured: Sequence[Measured]) -> Iterator[Point]:
        """Yield the next point that the adaptive plan requests; nothing at its end."""
        requested = ask(self._plan, self._results(measured))
        if requested is None:
            return
        level = requested.level
        if level == NO_CONTENTION:
            level = min(range(1, len(self._configurations) + 1), key=lambda one: self._used[one])
        self._used[level] += 1
        self._requests.append(_Request(requested, level, len(measured)))
        default, values = self._default, requested.values()
        flows, size = values.get(_FLOWS, default.flows), values.get(_SIZE, default.size)
        # All rows of a memory table have the same match ratio: that of the default traffic.
        traffic = Traffic(int(flows), int(size), default.mtbr)
        yield Point(traffic, self._configurations[level - 1], None)

    def _results(self, measured: Sequence[Measured]) -> list[Sample] | None:
        """Return the samples that the plan's last request asked for.

        None before the first request.
        """
        if not self._requests:
            return None
        requested, level, at = self._requests[-1]
        alone, beside = (point(one, requested.values()) for one in (NO_CONTENTION, level))
        return [
            Sample(beside, measured[at].beside.value),
            Sample(alone, measured[at].alone.value),
        ]


def planner(setup: Setup, kinds: Sequence[str], known: MachineProperties) -> Planner:
    """Return the planner for the plan that a setup names.

    `kinds` are kinds of competitors; `memory` comes first, if included.
    """
    effort = setup.effort
    draw = random.Random(effort.seed)  # noqa: S311 - no secret
    configurations = memory_configurations(setup.memory, draw) if setup.memory else []
    if effort.plan in ASKING:
        return AskingPlanner(setup, kinds, known, configurations, draw)
    return ListPlanner(effort.plan, listed(setup, kinds, effort.mixes, configurations, draw))
