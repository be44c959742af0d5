"""Computes the cost and the packet rate of a placement, and compares placements.

Three limits determine the throughput: contexts (cores x threads) wait for the accesses of their
packet, cores compute, and memories serve one access at a time. The model ignores queues at memories
that are not saturated, so the throughput is an upper limit (the asymptotic bounds of closed
queueing networks; Denning and Buzen, The Operational Analysis of Queueing Network Models, 1978,
section on asymptotes).
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from slowpath.insights.placement.problem import (
    COPY,
    Access,
    Card,
    Case,
    PartCounts,
    ThroughputLimits,
)

WAITING = "waiting"
COMPUTING = "computing"
WANTED = "wanted"
"""Names of the limits of throughput other than memories: waiting contexts, computing cores, and the
requested packet rate."""


def price(card: Card, operation: str, level: str, *, free: bool) -> float:
    """Return the price of an access that is not a copy, on a memory level.

    If the price is unknown, return 0 if `free`, else infinity.
    """
    return card.access_cost.get(operation, {}).get(level, 0.0 if free else math.inf)


def copy_price(card: Card, read: str, written: str, *, free: bool) -> float:
    """Return the price of a copy from the memory level `read` to the level `written`.

    If the price is unknown, return 0 if `free`, else infinity.
    """
    return card.copy_cost.get(read, {}).get(written, 0.0 if free else math.inf)


def costs(case: Case, spread: PartCounts, *, free: bool) -> list[float]:
    """Return the cost of each structure's accesses; a copy belongs to the structure that it reads.

    The cost of accesses without a price is 0 if `free`, else infinite.
    """
    spread_by_name = {one.name: counts for one, counts in zip(case.structures, spread, strict=True)}

    def cost_of_access(access: Access, level: str) -> float:
        if access.to is None:
            return price(case.card, access.operation, level, free=free)
        written = case.card.levels[_only(spread_by_name[access.to])]
        return copy_price(case.card, level, written, free=free)

    return [
        math.fsum(
            access.times * parts / one.parts * cost_of_access(access, level)
            for access in one.accesses
            if access.times
            for level, parts in zip(case.card.levels, counts, strict=True)
            if parts
        )
        for one, counts in zip(case.structures, spread, strict=True)
    ]


def _only(counts: Sequence[int]) -> int:
    """Return the index of the memory level that contains an undivided structure."""
    return next(at for at, count in enumerate(counts) if count)


def busy(case: Case, spread: PartCounts, rates: ThroughputLimits) -> list[float]:
    """Return the time in seconds for which one packet occupies each memory level.

    A copy occupies both levels, the one that it reads and the one that it writes.
    """
    found = [0.0] * len(case.card.levels)
    operations = accesses_by_structure(case)
    for one, counts, accesses in zip(case.structures, spread, operations, strict=True):
        for at, (level, count) in enumerate(zip(case.card.levels, counts, strict=True)):
            if count:
                found[at] += busy_seconds(rates, level, accesses) * count / one.parts
    return found


def accesses_by_structure(case: Case) -> list[dict[str, float]]:
    """Return the accesses to each structure, by operation; a copy counts for both structures."""
    found: list[dict[str, float]] = [{} for _ in case.structures]
    indices = {one.name: index for index, one in enumerate(case.structures)}
    for index, one in enumerate(case.structures):
        for access in one.accesses:
            ends = (index,) if access.to is None else (index, indices[access.to])
            operation = access.operation if access.to is None else COPY
            for end in ends:
                found[end][operation] = found[end].get(operation, 0.0) + access.times
    return found


def busy_seconds(rates: ThroughputLimits, level: str, accesses: dict[str, float]) -> float:
    """Return how long accesses occupy a level, in seconds; 0 for levels without bandwidth.

    `accesses` contains numbers of accesses by operation.
    """
    seconds = rates.busy.get(level, {})
    return math.fsum(seconds.get(operation, 0.0) * count for operation, count in accesses.items())


class Throughput(NamedTuple):
    """Throughput of a SmartNIC with a placement, and its bottleneck."""

    seconds: float
    """Seconds between two packets."""
    limit: str
    """The limit of the throughput: a memory level, `WAITING`, `COMPUTING` or `WANTED`."""
    busy: Sequence[float]
    """Utilisation of each memory level at this throughput, as a share of the time."""

    @property
    def rate(self) -> float:
        """Packets per second; infinite if packets take no time."""
        return 1 / self.seconds if self.seconds else math.inf


def throughput(case: Case, rates: ThroughputLimits, spread: PartCounts, cost: float) -> Throughput:
    """Return the throughput of a placement; the accesses of a packet cost `cost`."""
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
    """The value of a placement, by which placements are compared; a smaller value is better.

    `first` decides; if it is equal, `second` does.
    """

    first: float
    """Cost; if the objective is throughput, seconds between two packets."""
    second: float
    """Cost if the objective is throughput, else 0."""


def value(case: Case, objective: Objective, spread: PartCounts, *, free: bool) -> Value:
    """Return the value of a placement; the objective `throughput` requires a case with rates."""
    cost = math.fsum(costs(case, spread, free=free))
    if objective == COST or case.rates is None:
        return Value(cost, 0.0)
    return Value(throughput(case, case.rates, spread, cost).seconds, cost)
