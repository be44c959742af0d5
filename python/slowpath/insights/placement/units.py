"""Groups equal parts of data structures into units, so that only their number per level matters.

If two equal structures have their own variables, every placement has a symmetric placement. A
solver must refute both, so its time doubles with every pair. So structures that are equal in size,
prices, use of memories and copies share one integer variable for each memory level.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats
from slowpath.insights.placement.costs import accesses_by_structure, busy_seconds, copy_price, price
from slowpath.insights.placement.problem import Case, PartCounts


class Unit(NamedTuple):
    """A group of equal parts of data structures, which are its members."""

    members: Sequence[int]
    """For each member, the index of its structure."""
    size: int
    """Size of one part in bytes."""
    cost: Floats
    """Cost of one part by memory level; infinite if the part cannot be on the level."""
    busy: Floats
    """Seconds for which accesses to one part occupy each memory level."""


class Units(NamedTuple):
    """The data structures of a case as units, with the copies between them."""

    units: Sequence[Unit]
    pairs: Mapping[tuple[int, int], Floats]
    """Cost of copies between a member of the first unit and the only member of the second, by pair
    of units, then by their levels."""


def units(case: Case, *, free: bool, alike: bool) -> Units:
    """Return the parts of all data structures as units.

    With `alike`, equal parts form one unit; otherwise each part is a unit. Accesses without a price
    are free if `free`, else forbidden.
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
    """Return, for each structure, a unit that has its cost but no members yet.

    Copies between different structures are ignored.
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
    """Return the cost of all copies between two structures, by the levels of both.

    The keys are the indices of two structures, the smaller one first.
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
    """Return the placement that follows from the number of members of each unit on each level."""
    spread = [[0] * len(case.card.levels) for _ in case.structures]
    for unit, level_counts in zip(found.units, counts, strict=True):
        members = iter(unit.members)
        for level, count in enumerate(level_counts):
            for _ in range(count):
                spread[next(members)][level] += 1
    return spread
