"""Other placements beside the advised one."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slowpath.insights.placement.advice.documents import ComparedPlacement, Through
from slowpath.insights.placement.advice.unpriced import without_price
from slowpath.insights.placement.costs import Throughput, costs, throughput
from slowpath.insights.placement.problem import Before, Case, Spread
from slowpath.insights.placement.solving import OutOfTime, Placement, place
from slowpath.insights.placement.value import COST, THROUGHPUT, Objective


class Asked(NamedTuple):
    """What was asked for, and what is advised."""

    case: Case
    objective: Objective
    seconds: float | None
    """How long a search may take."""
    advised: Placement


def compared(asked: Asked, before: Sequence[Before]) -> Iterator[ComparedPlacement]:
    """Those of the file, all on the largest level, and the one that looks at no bandwidth."""
    case = asked.case
    for one in before:
        spread = _spread(case, [one.placement[each.name] for each in case.structures])
        yield _compared(asked, one.title, spread, one.cost)
    largest = max(case.card.levels, key=lambda level: case.card.capacity[level])
    everything = _spread(case, [largest] * len(case.structures))
    if not _overfull(case, everything):
        yield _compared(asked, f"all in {largest}", everything)
    if asked.objective == THROUGHPUT:
        try:
            least = place(case, COST, seconds=asked.seconds)
        except OutOfTime:
            return
        if least is not None:
            yield _compared(asked, "least cost", least.spread)


def _spread(case: Case, levels: list[str]) -> Spread:
    return [
        [one.parts if name == level else 0 for name in case.card.levels]
        for one, level in zip(case.structures, levels, strict=True)
    ]


def _overfull(case: Case, spread: Spread) -> list[str]:
    return [
        level
        for at, level in enumerate(case.card.levels)
        if used(case, spread, at) > case.card.capacity[level]
    ]


def used(case: Case, spread: Spread, level: int) -> int:
    """Bytes that structures take of a level."""
    return sum(
        one.part_size * counts[level] for one, counts in zip(case.structures, spread, strict=True)
    )


def shown(found: Throughput) -> Through | None:
    """What a card lets through, as documents have it; None where nothing takes time."""
    if math.isinf(found.rate):
        return None
    return {"packetrate_pps": found.rate, "bottleneck": found.limit}


def _compared(
    asked: Asked, title: str, spread: Spread, stated: float | None = None
) -> ComparedPlacement:
    case, objective, _, advised = asked
    cost = math.fsum(costs(case, spread, free=True))
    through = None if case.rates is None else throughput(case, case.rates, spread, cost)
    if objective == COST:
        better = 1 - advised.value.first / cost if cost else None
    else:
        # Seconds between packets: the faster, the fewer.
        seconds = advised.value.first
        better = None if through is None or not seconds else through.seconds / seconds - 1
    return {
        "placement": title,
        "cost": cost,
        "stated_cost": stated,
        "unpriced": bool(without_price(case, spread)),
        "overfull": _overfull(case, spread),
        "throughput": None if through is None else shown(through),
        "better": better,
    }
