"""Defines placement problems, and computes the cost and the throughput of a placement.

A placement puts the data structures of a network function into the memories of a SmartNIC.

Costs are in the unit of the SmartNIC's prices, mostly cycles. Accesses are counted per packet; if
the objective is cost, they may be counted for any number of packets.

Three limits determine the throughput: contexts (cores x threads) wait for the accesses of their
packet, cores compute, and memories serve one access at a time. The model ignores queues at memories
that are not saturated, so the throughput is an upper limit (the asymptotic bounds of closed
queueing networks; Denning and Buzen, The Operational Analysis of Queueing Network Models, 1978,
section on asymptotes).

If two equal structures have their own variables, every placement has a symmetric placement. A
solver must refute both, so its time doubles with every pair. So structures that are equal in size,
prices, use of memories and copies share one integer variable for each memory level.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from slowpath.core.arrays import Floats

COPY = "memcpy"
"""Operation that reads one data structure and writes another."""


class Access(NamedTuple):
    """A kind of operation on a data structure, with the number of its executions."""

    operation: str
    times: float
    to: str | None = None
    """Name of the structure that a copy writes; the copy reads the structure that has this access.
    None for other operations."""


class Structure(NamedTuple):
    """A data structure of a network function, with the operations that access it."""

    name: str
    size: int
    """Size in bytes."""
    accesses: Sequence[Access]
    parts: int = 1
    """Number of equal parts that may be on different memory levels, such as groups of a hash
    table's buckets; 1 if the structure is undivided."""

    @property
    def part_size(self) -> int:
        """Size in bytes of one of the structure's equal parts, rounded up."""
        return -(-self.size // self.parts)


class Card(NamedTuple):
    """The memory levels of a SmartNIC, with capacities and prices of accesses."""

    levels: Sequence[str]
    capacity: Mapping[str, int]
    """Capacity in bytes, by level."""
    access_cost: Mapping[str, Mapping[str, float]]
    """Price of an access by operation and level; unknown prices are missing."""
    copy_cost: Mapping[str, Mapping[str, float]]
    """Price of a copy by the levels of the structures that are read and written."""


class ThroughputLimits(NamedTuple):
    """Properties of the SmartNIC that limit the throughput, besides prices of accesses."""

    clock: float
    """Units of cost per second, such as cycles per second."""
    contexts: int
    """Number of packets in progress at a time: cores times threads."""
    busy: Mapping[str, Mapping[str, float]]
    """Seconds for which one access occupies a memory, by level and operation."""
    compute: float = 0.0
    """Cost of a packet without its accesses."""
    cores: int | None = None
    """Number of cores, each computing for one packet at a time; None if cores do not limit the
    throughput."""
    wanted: float | None = None
    """Requested packets per second, a maximum of the throughput; None for as many as possible."""


class Case(NamedTuple):
    """A placement problem: data structures to place, the SmartNIC, and the objective."""

    name: str
    card: Card
    structures: Sequence[Structure]
    rates: ThroughputLimits | None = None
    """Data for throughput; None if the objective is cost."""


PartCounts = Sequence[Sequence[int]]
"""For each structure and level, the number of the structure's parts on the level."""


class StatedPlacement(NamedTuple):
    """A placement that the input file states, for comparison with the advised one."""

    title: str
    placement: Mapping[str, str]
    """Name of the memory level of each structure, by name of the structure."""
    cost: float | None
    """Cost that the file states; None if it states none."""


class Described(NamedTuple):
    """A placement problem read from a file, with the placements that the file states."""

    case: Case
    scope: str
    before: Sequence[StatedPlacement]


WAITING = "waiting"
COMPUTING = "computing"
WANTED = "wanted"
"""Names of the limits of throughput other than memories: waiting contexts, computing cores, and the
requested packet rate."""


def price(card: Card, operation: str, level: str, *, free: bool) -> float:
    """Return the price of an access on a memory level, for any operation except copies.

    If the price is unknown, return 0 if `free`, else infinity.
    """
    return card.access_cost.get(operation, {}).get(level, 0.0 if free else math.inf)


def copy_price(card: Card, read: str, written: str, *, free: bool) -> float:
    """Return the price of a copy from the memory level `read` to the level `written`.

    If the price is unknown, return 0 if `free`, else infinity.
    """
    return card.copy_cost.get(read, {}).get(written, 0.0 if free else math.inf)


def costs(case: Case, spread: PartCounts, *, free: bool) -> list[float]:
    """Return the cost of the accesses to each data structure, for a placement.

    `spread` is the placement: the number of each structure's parts on each level. A copy belongs to
    the structure that it reads. The cost of accesses without a price is 0 if `free`, else infinite.
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
    """Return the index of the memory level that contains an undivided structure.

    `counts` has the number of the structure's parts on each level.
    """
    return next(at for at, count in enumerate(counts) if count)


def busy(case: Case, spread: PartCounts, rates: ThroughputLimits) -> list[float]:
    """Return the time in seconds for which one packet occupies each memory level.

    `spread` is the placement. A copy occupies both levels, the one that it reads and the one that
    it writes.
    """
    found = [0.0] * len(case.card.levels)
    operations = accesses_by_structure(case)
    for one, counts, accesses in zip(case.structures, spread, operations, strict=True):
        for at, (level, count) in enumerate(zip(case.card.levels, counts, strict=True)):
            if count:
                found[at] += busy_seconds(rates, level, accesses) * count / one.parts
    return found


def accesses_by_structure(case: Case) -> list[dict[str, float]]:
    """Return the number of accesses to each data structure, by operation.

    A copy counts for the structure that it reads and for the one that it writes.
    """
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
    """Return the seconds for which accesses occupy a memory level; 0 if its bandwidth is unlimited.

    `accesses` contains numbers of accesses by operation.
    """
    seconds = rates.busy.get(level, {})
    return math.fsum(seconds.get(operation, 0.0) * count for operation, count in accesses.items())


class Throughput(NamedTuple):
    """The throughput of a SmartNIC with a given placement, and its bottleneck."""

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
    """Return the throughput of a SmartNIC with a given placement, and its bottleneck.

    `spread` is the placement, and `cost` the cost of a packet's accesses with it.
    """
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
    """The value of a placement, to compare placements; a smaller value is better.

    `first` decides; if it is equal, `second` does.
    """

    first: float
    """Cost; if the objective is throughput, seconds between two packets."""
    second: float
    """Cost if the objective is throughput, else 0."""


def value(case: Case, objective: Objective, spread: PartCounts, *, free: bool) -> Value:
    """Return the value of a placement for the objective `cost` or `throughput`.

    `throughput` requires a case with rates. Accesses without a price are free if `free`, else their
    cost is infinite.
    """
    cost = math.fsum(costs(case, spread, free=free))
    if objective == COST or case.rates is None:
        return Value(cost, 0.0)
    return Value(throughput(case, case.rates, spread, cost).seconds, cost)


# --- units ----------------------------------------------------------------------------------------


class Unit(NamedTuple):
    """A set of equal parts of data structures, which share variables in the integer program.

    The parts are called the members of the unit.
    """

    members: Sequence[int]
    """For each member, the index of its structure."""
    size: int
    """Size of one part in bytes."""
    cost: Floats
    """Cost of one part by memory level; infinite if the part cannot be on the level."""
    busy: Floats
    """Seconds for which accesses to one part occupy each memory level."""


class Units(NamedTuple):
    """The data structures of a placement problem as units, with the copies between units.

    A unit is a set of equal parts.
    """

    units: Sequence[Unit]
    pairs: Mapping[tuple[int, int], Floats]
    """Cost of copies between a member of the first unit and the only member of the second, by pair
    of units, then by their levels."""


def units(case: Case, *, free: bool, alike: bool) -> Units:
    """Divide the data structures of a placement problem into units.

    With `alike`, a unit is the set of all equal parts; otherwise each part is a unit. Accesses
    without a price are free if `free`, else forbidden.
    """
    alone, pairs = _alone(case, free=free), _pairs(case, free=free)
    partners = dict[int, dict[int, Floats]]()
    for (first, second), cost in pairs.items():
        partners.setdefault(first, {})[second] = cost
        partners.setdefault(second, {})[first] = cost.T
    groups = dict[object, list[int]]()
    singles = set[int]()
    for at, (one, unit) in enumerate(zip(case.structures, alone, strict=True)):
        neighbours = partners.get(at, {})
        copy_costs = tuple((to, neighbours[to].tobytes()) for to in sorted(neighbours))
        key = (unit.size, unit.cost.tobytes(), unit.busy.tobytes(), copy_costs)
        if not alike:
            groups |= {(at, part): [at] for part in range(one.parts)}
        elif at in singles:
            groups[at] = [at]
        else:
            groups.setdefault(key, []).extend([at] * one.parts)
            singles |= neighbours.keys()
    found = [alone[members[0]]._replace(members=members) for members in groups.values()]
    unit_of = {member: at for at, unit in enumerate(found) for member in unit.members}
    unit_pairs = dict[tuple[int, int], Floats]()
    for (first, second), cost in pairs.items():
        first_unit, second_unit = unit_of[first], unit_of[second]
        if len(found[second_unit].members) == 1:
            unit_pairs[first_unit, second_unit] = cost
        else:
            unit_pairs[second_unit, first_unit] = cost.T
    return Units(found, unit_pairs)


def _alone(case: Case, *, free: bool) -> list[Unit]:
    """Return a unit (set of equal parts) for each structure, with its cost but without members.

    Copies between different structures are ignored. Accesses without a price are free if `free`,
    else forbidden.
    """
    found = []
    for one, accesses in zip(case.structures, accesses_by_structure(case), strict=True):
        size = one.part_size
        cost = [
            math.fsum(
                access.times
                / one.parts
                * (
                    price(case.card, access.operation, level, free=free)
                    if access.to is None
                    else copy_price(case.card, level, level, free=free)
                )
                for access in one.accesses
                if access.times and access.to in {None, one.name}
            )
            if size <= case.card.capacity[level]
            else math.inf
            for level in case.card.levels
        ]
        rates = case.rates
        seconds = [
            0.0 if rates is None else busy_seconds(rates, level, accesses) / one.parts
            for level in case.card.levels
        ]
        found.append(Unit([], size, np.array(cost), np.array(seconds)))
    return found


def _pairs(case: Case, *, free: bool) -> dict[tuple[int, int], Floats]:
    """Return the cost of the copies between every two structures, by the levels of both.

    The keys are the indices of two structures, the smaller one first. Copies without a price are
    free if `free`, else forbidden.
    """
    at = {one.name: index for index, one in enumerate(case.structures)}
    levels = case.card.levels
    copies = np.array(
        [[copy_price(case.card, read, to, free=free) for to in levels] for read in levels]
    )
    found = dict[tuple[int, int], Floats]()
    for index, one in enumerate(case.structures):
        for access in one.accesses:
            if access.to is None or access.to == one.name or not access.times:
                continue
            other, cost = at[access.to], access.times * copies
            key, cost = ((index, other), cost) if index < other else ((other, index), cost.T)
            found[key] = found[key] + cost if key in found else cost
    return found


def spread_of(case: Case, found: Units, counts: Sequence[Sequence[int]]) -> PartCounts:
    """Convert the number of each unit's parts on each level to a placement of the structures.

    A unit is a set of equal parts of structures.
    """
    spread = [[0] * len(case.card.levels) for _ in case.structures]
    for unit, level_counts in zip(found.units, counts, strict=True):
        members = iter(unit.members)
        for level, count in enumerate(level_counts):
            for _ in range(count):
                spread[next(members)][level] += 1
    return spread
