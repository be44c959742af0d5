"""Plans that a description can name.

What the latter choose, `adaptive` and `active` (`contention/sampling/`), is rows of the memory
model: beside which `mem-bench`, under how many flows and which packet size. Other kinds of mixes
tell the models nothing, as request times are measured by themselves: one mix in six is of each,
drawn as the plan `random` draws them.

A mix tells of two points, beside its competitor and alone. So nobody is no level that is drawn, and
where throughput alone is asked for, the competitor that was there least often is beside it.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.profiling.adaptive import Settings, active, adaptive
from slowpath.contention.profiling.mixes import Measured, MemBench, Point, Traffic
from slowpath.contention.profiling.planner import (
    Known,
    ListPlanner,
    Planner,
    listed,
    memory_configurations,
    middle,
)
from slowpath.contention.profiling.sampling import (
    NO_CONTENTION,
    Attribute,
    Plan,
    Sample,
    Space,
    ask,
    point,
)
from slowpath.contention.profiling.sampling import Point as Wanted
from slowpath.contention.profiling.setup import ASKING, PlanRecord, Setup, TrafficRange

_SIX = 6
_FLOWS, _SIZE = "flow_count", "packet_size_bytes"
_NARROWEST = 1 / 16
"""Between so near values of attributes nothing is halved: of flows, half as many again for each
three orders of magnitude of their range."""
_SURE = 2 * math.sqrt(2)
"""Standard deviations of one measurement that two of them are rarely from each other."""


def is_other(at: int, kinds: Sequence[str]) -> bool:
    """Whether a mix is of another kind: the last ones of each six, one of each."""
    return at % _SIX > _SIX - len(kinds)


def threshold(known: Known) -> float:
    """How large a difference is that is none of noise, a share."""
    usual = Settings().changes
    return usual if known.spread is None else max(usual, _SURE * known.spread)


def space_of(traffic: TrafficRange, levels: Sequence[float], usual: Traffic) -> Space:
    """Flows, by orders of magnitude, and packet sizes, as far as there are several; scores.

    Args:
        traffic: what the function may get.
        levels: scores of competitors for memory, MB.
        usual: the default traffic.
    """
    attributes = (
        Attribute(_FLOWS, *traffic.flows, default=usual.flows, by_logarithm=True),
        Attribute(_SIZE, *traffic.size, default=usual.size),
    )
    several = [one for one in attributes if one.least < one.most]
    return Space(several, np.log1p(np.array([0.0, *levels]))[:, None], with_alone=True)


class _Asked(NamedTuple):
    """What was asked for."""

    wanted: Wanted
    level: int  # of the competitor that is there
    at: int  # which mix it is


class AskingPlanner:
    """Rows of the memory model as a plan wants them, other kinds of mixes between them."""

    def __init__(
        self,
        setup: Setup,
        kinds: Sequence[str],
        known: Known,
        configurations: Sequence[MemBench],
        draw: random.Random,
    ) -> None:
        """Measures scores first, where the plan goes by them.

        Args:
            setup: what is profiled.
            kinds: which kinds of mixes there are, `memory` first.
            known: what is known of the machine.
            configurations: competitors for memory, one at least.
            draw: of other kinds of mixes.
        """
        self._setup, self._kinds = setup, kinds
        self._configurations = configurations
        quota = setup.effort.mixes
        count = sum(is_other(at, kinds) for at in range(quota))
        self._others = iter(listed(setup, kinds[1:], count, configurations, draw))
        self._usual = middle(setup.traffic)
        self._threshold: float | None = None
        self._relevant: list[str] | None = None
        self._asked = list[_Asked]()
        self._settled = 0  # how many were asked for before it was known what is relevant
        self._used = Counter[int]()
        self._plan = self._begun(known, quota - count)

    @property
    def record(self) -> PlanRecord:
        """What it did."""
        return {
            "name": self._setup.effort.plan,
            "relevant": self._relevant,
            "threshold": self._threshold,
            "unused": [f"mix-{one.at + 1}" for one in self._unused()],
        }

    def next(self, measured: Sequence[Measured]) -> Point | None:
        """The next point, when those were measured; None when that is enough."""
        sources = [self._of_memory(measured), self._others]
        if is_other(len(measured), self._kinds):
            sources.reverse()
        # A space can be used up before the quota is; the other kinds go on then.
        return next(sources[0], None) or next(sources[1], None)

    def _begun(self, known: Known, quota: int) -> Plan:
        effort, traffic = self._setup.effort, self._setup.traffic
        if effort.plan == "active":
            scores = [known.score(one) for one in self._configurations]
            return active(space_of(traffic, scores, self._usual), quota, seed=effort.seed)
        self._threshold = threshold(known)
        settings = Settings(
            self._threshold, self._threshold, widest_first=True, narrowest=_NARROWEST
        )
        # It draws levels, whatever they are like.
        space = space_of(traffic, [0.0] * len(self._configurations), self._usual)
        return adaptive(space, quota, settings, effort.seed, self._found)

    def _found(self, relevant: Sequence[Attribute]) -> None:
        self._relevant = [one.name for one in relevant]
        self._settled = len(self._asked)

    def _unused(self) -> list[_Asked]:
        """Those with an attribute elsewhere that is at its default in all since it was left out."""
        first, since = self._asked[: self._settled], self._asked[self._settled :]
        if self._relevant is None or not since:
            return []
        usual = {_FLOWS: self._usual.flows, _SIZE: self._usual.size}
        left_out = [
            name
            for name, value in usual.items()
            if name not in self._relevant
            and all(one.wanted.values().get(name, value) == value for one in since)
        ]
        return [
            one
            for one in first
            if any(one.wanted.values().get(name, usual[name]) != usual[name] for name in left_out)
        ]

    def _of_memory(self, measured: Sequence[Measured]) -> Iterator[Point]:
        """At most one more point, when it is known what came of the one before."""
        wanted = ask(self._plan, self._told(measured))
        if wanted is None:
            return
        level = wanted.level
        if level == NO_CONTENTION:
            level = min(range(1, len(self._configurations) + 1), key=lambda one: self._used[one])
        self._used[level] += 1
        self._asked.append(_Asked(wanted, level, len(measured)))
        usual, values = self._usual, wanted.values()
        flows, size = values.get(_FLOWS, usual.flows), values.get(_SIZE, usual.size)
        # These rows are of one match ratio, as tables have it: that of the default traffic.
        traffic = Traffic(int(flows), int(size), usual.mtbr)
        yield Point(traffic, self._configurations[level - 1], None)

    def _told(self, measured: Sequence[Measured]) -> list[Sample] | None:
        if not self._asked:
            return None
        wanted, level, at = self._asked[-1]
        alone, beside = (point(one, wanted.values()) for one in (NO_CONTENTION, level))
        return [
            Sample(beside, measured[at].beside.value),
            Sample(alone, measured[at].alone.value),
        ]


def planner(setup: Setup, kinds: Sequence[str], known: Known) -> Planner:
    """The planner that a setup names, for mixes of these kinds; `memory` first, if it is one."""
    effort = setup.effort
    draw = random.Random(effort.seed)  # noqa: S311 - no secret
    configurations = memory_configurations(setup.memory, draw) if setup.memory else []
    if effort.plan in ASKING:
        return AskingPlanner(setup, kinds, known, configurations, draw)
    return ListPlanner(effort.plan, listed(setup, kinds, effort.mixes, configurations, draw))
