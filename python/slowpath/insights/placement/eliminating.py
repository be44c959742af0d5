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


def least(found: Units, prices: Floats, capacity: Sequence[int]) -> Least | None:
    """Of all decisions, with a price for each byte by level; None where tables are too large."""
    steps = _steps(found, len(prices))
    if steps is None:
        return None
    room = float(prices @ np.array(capacity, dtype=float))
    tables = dict[int, Floats]()
    messages = dict[int, Floats]()
    total = 0.0
    for unit, beside in steps:
        table = _own(found, prices, unit, beside)
        for step in steps:
            if step.beside[:1] == (unit,):
                table = table + _spread(messages[step.unit], step.beside, (unit, *beside))
        if others := len(found.units[unit].members) - 1:  # are where they cost least
            table = table + others * table.min(axis=0)
        tables[unit] = table
        messages[unit] = table.min(axis=0)
        if not beside:
            total += float(messages[unit])
    after = {step.unit: step.beside for step in steps}
    alone = np.empty((len(found.units), len(prices)))
    both = dict[tuple[int, int], Floats]()
    for unit, beside in reversed(steps):
        message = messages[unit]
        if beside:
            names = (beside[0], *after[beside[0]])
            without = tuple(at for at, name in enumerate(names) if name not in beside)
            rest = tables[beside[0]].min(axis=without)
        else:
            rest = np.array(total)
        known = np.isfinite(message)
        more = np.zeros_like(message)
        more[known] = rest[known] - message[known]
        table = tables[unit] + more
        tables[unit] = table
        others = range(1, table.ndim)
        alone[unit] = table.min(axis=tuple(others)) - room
        for at, other in enumerate(beside, 1):
            flat = table.min(axis=tuple(one for one in others if one != at)) - room
            if (unit, other) in found.pairs:
                both[unit, other] = flat
            elif (other, unit) in found.pairs:
                both[other, unit] = flat.T
    return Least(alone, both)


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


def _own(found: Units, prices: Floats, unit: int, beside: tuple[int, ...]) -> Floats:
    """What one member costs, with copies, by its level and those of the units beside it."""
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
