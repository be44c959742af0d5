"""What each decision costs at least when room has a price instead of a limit.

With a price for each byte of a level, the decisions of units depend on each other by copies alone,
and these are few: units are taken out one after the other, each leaving a table over those that it
copies with (Bertele and Brioschi, Nonserial Dynamic Programming, 1972; on trees, dynamic
programming). On the way back each table is completed by what the rest costs at least. So for each
unit and level, and for both levels of a copy, the least cost of a solution that has this is known,
at these prices exactly; with limits it costs no less. Reduced costs of the linear relaxation are
weaker: they count what a decision itself costs, not what it makes its copies cost.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.insights.placement.units import Units

Floats = NDArray[np.float64]

_LARGEST = 200_000
"""Entries of a table; where copies need a larger one, nothing is calculated."""


class Least(NamedTuple):
    """The least cost of solutions, at prices of room."""

    alone: Floats
    """By unit and level, of those that have a member there; infinite where none can be."""
    both: dict[tuple[int, int], Floats]
    """By pair of units, of those that have members on two levels."""


class _Step(NamedTuple):
    """A unit that is taken out, and those that it then still copies with, the next one first."""

    unit: int
    beside: tuple[int, ...]


class _Left(NamedTuple):
    """What is left of a unit when it is taken out."""

    table: Floats
    """What it and those before it cost, by its level and those of the units beside it."""
    message: Floats
    """The least of that, by the levels of the units beside it."""


def least(found: Units, prices: Floats, capacity: Sequence[int]) -> Least | None:
    """Of all decisions, with a price for each byte by level; None where tables are too large."""
    steps = _steps(found, len(prices))
    if steps is None:
        return None
    left = _taken_out(found, prices, steps)
    room = float(prices @ np.array(capacity, dtype=float))
    total = sum(float(left[step.unit].message) for step in steps if not step.beside)
    after = {step.unit: step.beside for step in steps}
    whole = dict[int, Floats]()
    alone = np.empty((len(found.units), len(prices)))
    both = dict[tuple[int, int], Floats]()
    for unit, beside in reversed(steps):
        rest = np.array(total)
        if beside:
            names = (beside[0], *after[beside[0]])
            without = tuple(at for at, name in enumerate(names) if name not in beside)
            rest = whole[beside[0]].min(axis=without)
        table = _completed(left[unit], rest)
        whole[unit] = table
        others = [*range(1, table.ndim)]
        alone[unit] = table.min(axis=tuple(others)) - room
        for other, at in zip(beside, others, strict=True):
            costs = table.min(axis=tuple(one for one in others if one != at)) - room
            if (unit, other) in found.pairs:
                both[unit, other] = costs
            elif (other, unit) in found.pairs:
                both[other, unit] = costs.T
    return Least(alone, both)


def _taken_out(found: Units, prices: Floats, steps: Sequence[_Step]) -> dict[int, _Left]:
    """By unit, one after the other."""
    left = dict[int, _Left]()
    to = dict[int, list[_Step]]()
    for step in steps:
        unit, beside = step
        table = _own(found, prices, step)
        for before in to.pop(unit, []):
            table = table + _spread(left[before.unit].message, before.beside, (unit, *beside))
        if others := len(found.units[unit].members) - 1:  # are where they cost least
            table = table + others * table.min(axis=0)
        left[unit] = _Left(table, table.min(axis=0))
        for after in beside[:1]:
            to.setdefault(after, []).append(step)
    return left


def _completed(left: _Left, rest: Floats) -> Floats:
    """A table with everything in it, of what all costs at least by the levels beside the unit."""
    known = np.isfinite(left.message)
    more = np.zeros_like(left.message)
    more[known] = rest[known] - left.message[known]
    return left.table + more


def _steps(found: Units, levels: int) -> list[_Step] | None:
    """Units of many members first, as others copy with all of them; then those with few copies."""
    near: dict[int, set[int]] = {unit: set() for unit in range(len(found.units))}
    for one, other in found.pairs:
        near[one].add(other)
        near[other].add(one)
    order = list[tuple[int, set[int]]]()
    while near:
        unit = min(near, key=lambda at: (len(found.units[at].members) == 1, len(near[at]), at))
        beside = near.pop(unit)
        if levels ** (1 + len(beside)) > _LARGEST:
            return None
        for other in beside:
            near[other] |= beside - {other}
            near[other].discard(unit)
        order.append((unit, beside))
    when = {unit: at for at, (unit, _) in enumerate(order)}
    return [_Step(unit, tuple(sorted(beside, key=when.__getitem__))) for unit, beside in order]


def _own(found: Units, prices: Floats, step: _Step) -> Floats:
    """What one member costs, with copies, by its level and those of the units beside it."""
    unit, beside = step
    levels = len(prices)
    cost = found.units[unit].cost + found.units[unit].size * prices
    table = np.broadcast_to(cost.reshape(levels, *[1] * len(beside)), (levels,) * (1 + len(beside)))
    for other in beside:
        copies = found.pairs.get((unit, other))
        if copies is None:
            back = found.pairs.get((other, unit))
            copies = None if back is None else back.T
        if copies is not None:
            table = table + _spread(copies, (unit, other), (unit, *beside))
    return table


def _spread(table: Floats, names: tuple[int, ...], wanted: tuple[int, ...]) -> Floats:
    """A table over some units as one over more, which are in the same order."""
    levels = table.shape[0] if table.ndim else 1
    return table.reshape([levels if one in names else 1 for one in wanted])
