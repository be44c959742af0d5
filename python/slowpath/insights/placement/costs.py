"""Cost of a placement, the packet rate it allows, and the order of solutions.

Throughput is what three limits allow: contexts (cores x threads) that each wait for the accesses of
one packet after the other, cores that compute, and memories that do one access at a time. Queues
at memories that are not saturated are not modelled, so it is an upper limit (the asymptotic bounds
of closed queueing networks; Denning and Buzen, The Operational Analysis of Queueing Network Models,
1978, section on asymptotes).
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from slowpath.insights.placement.problem import COPY, Access, Card, Case, Rates, Spread

WAITING = "waiting"
COMPUTING = "computing"
WANTED = "wanted"
"""What limits throughput where no memory does: contexts, cores, or that nobody asks for more."""


def price(card: Card, operation: str, level: str, *, free: bool) -> float:
    """Of one access that is no copy: infinite without a price, or nothing where that is free."""
    return card.access_cost.get(operation, {}).get(level, 0.0 if free else math.inf)


def copy_price(card: Card, read: str, written: str, *, free: bool) -> float:
    """Of one copy from level to level."""
    return card.copy_cost.get(read, {}).get(written, 0.0 if free else math.inf)


def costs(case: Case, spread: Spread, *, free: bool) -> list[float]:
    """Of each structure, what its accesses cost; copies are the cost of what they read.

    Infinite where a structure is on a level without a price, unless that is free.
    """
    places = {one.name: counts for one, counts in zip(case.structures, spread, strict=True)}

    def of_each(access: Access, level: str) -> float:
        if access.to is None:
            return price(case.card, access.operation, level, free=free)
        written = case.card.levels[_only(places[access.to])]
        return copy_price(case.card, level, written, free=free)

    return [
        math.fsum(
            access.times * parts / one.parts * of_each(access, level)
            for access in one.accesses
            if access.times
            for level, parts in zip(case.card.levels, counts, strict=True)
            if parts
        )
        for one, counts in zip(case.structures, spread, strict=True)
    ]


def _only(counts: Sequence[int]) -> int:
    """The level of a structure that is in one place."""
    return next(at for at, count in enumerate(counts) if count)


def busy(case: Case, spread: Spread, rates: Rates) -> list[float]:
    """Of each level, seconds for which a packet keeps it from others: a copy, at both ends."""
    found = [0.0] * len(case.card.levels)
    each = accesses_by_structure(case)
    for one, counts, accesses in zip(case.structures, spread, each, strict=True):
        for at, (level, count) in enumerate(zip(case.card.levels, counts, strict=True)):
            if count:
                found[at] += busy_seconds(rates, level, accesses) * count / one.parts
    return found


def accesses_by_structure(case: Case) -> list[dict[str, float]]:
    """Of each structure, how often it is accessed by which operation; copies count at both ends."""
    found: list[dict[str, float]] = [{} for _ in case.structures]
    at = {one.name: index for index, one in enumerate(case.structures)}
    for index, one in enumerate(case.structures):
        for access in one.accesses:
            ends = (index,) if access.to is None else (index, at[access.to])
            operation = access.operation if access.to is None else COPY
            for end in ends:
                found[end][operation] = found[end].get(operation, 0.0) + access.times
    return found


def busy_seconds(rates: Rates, level: str, accesses: dict[str, float]) -> float:
    """How long these accesses keep a level busy; levels without bandwidth, not at all."""
    seconds = rates.busy.get(level, {})
    return math.fsum(seconds.get(operation, 0.0) * count for operation, count in accesses.items())


class Throughput(NamedTuple):
    """What a card lets through."""

    seconds: float
    """Between two packets."""
    limit: str
    """A level, `WAITING`, `COMPUTING` or `WANTED`."""
    busy: Sequence[float]
    """Of each level, which share of the time it works at that rate."""

    @property
    def rate(self) -> float:
        """Packets in a second; infinite where nothing takes time."""
        return 1 / self.seconds if self.seconds else math.inf


def throughput(case: Case, rates: Rates, spread: Spread, cost: float) -> Throughput:
    """With a placement whose accesses cost so much for each packet."""
    memories = busy(case, spread, rates)
    seconds = {WAITING: (cost + rates.compute) / rates.clock / rates.contexts}
    if rates.cores is not None:
        seconds[COMPUTING] = rates.compute / rates.clock / rates.cores
    seconds |= dict(zip(case.card.levels, memories, strict=True))
    if rates.wanted is not None:
        seconds[WANTED] = 1 / rates.wanted
    limit = max(seconds, key=lambda one: seconds[one])
    slowest = seconds[limit]
    shares = [one / slowest if slowest else 0.0 for one in memories]
    return Throughput(slowest, limit, shares)


Objective = Literal["cost", "throughput"]
COST: Objective = "cost"
THROUGHPUT: Objective = "throughput"


class Value(NamedTuple):
    """The smaller the better, the first part before the second one."""

    first: float
    """The cost; seconds between two packets where throughput is asked for."""
    second: float
    """Then the cost; else 0."""


def value(case: Case, objective: Objective, spread: Spread, *, free: bool) -> Value:
    """Of a placement; `throughput` takes a case with rates."""
    cost = math.fsum(costs(case, spread, free=free))
    if objective == COST or case.rates is None:
        return Value(cost, 0.0)
    return Value(throughput(case, case.rates, spread, cost).seconds, cost)
