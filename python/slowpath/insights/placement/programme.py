"""The integer programme whose solutions are placements.

For unit u and level l, n(u,l) members of u are on l: integers whose sum over l is the number of
members; sizes on a level are within its capacity. A copy between a member of u and the one of v
costs W(l,m) by the levels of both, a product of two decisions. It is linear in y(l,m), the members
of u on l while v is on m: sum over m of y(l,m) = n(u,l), sum over l of y(l,m) = members x n(v,m),
y >= 0. Of two decisions this describes the convex hull (the transportation polytope; Balas and
Martin's products by rows give a weaker relaxation), so pairs whose copies form no cycle need no
branching.

Rows of several levels together follow from those of each: they change no solution, nor the bound of
the linear relaxation, but they say what a solver does not find by itself. It often matters little
on which of two small levels a unit is, and much whether it is on one of them. So for each number k
of the smallest levels, how many members of u are on any of these is an integer, too, and all that
is there has the sum of their capacities. A solver then branches on near or far (as on special
ordered sets; Beale and Tomlin, 1970), and finds covers of several levels.

The time that a packet takes a card is the largest of several: of waiting contexts, of each memory.
A variable that is no smaller than any of them makes it linear, too: no search over rates is needed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.insights.placement.problem import Case, Rates
from slowpath.insights.placement.units import Units

Floats = NDArray[np.float64]
Terms = Mapping[int, float]
"""Coefficients by variable."""


class Row(NamedTuple):
    """`least <= terms <= most`."""

    terms: Terms
    least: float
    most: float


class Programme(NamedTuple):
    """Variables, all at least 0, the last of which is the time of a packet, if that matters."""

    placed: Mapping[tuple[int, int], int]
    """By unit and level, the variable that counts its members there."""
    nearer: Sequence[int]
    """Variables that count members of a unit on several levels."""
    together: Mapping[tuple[int, int], Mapping[tuple[int, int], int]]
    """By pair of units, by their levels, the variable that counts members of the first there."""
    room: Mapping[int, Sequence[int]]
    """By row of capacity, its levels."""
    cost: Terms
    """What accesses cost."""
    most: Sequence[float]
    """Limits of variables."""
    rows: Sequence[Row]
    times: Sequence[Terms]
    """Seconds that a packet takes contexts, and each memory; without what it takes in any case."""
    fixed: Sequence[float]
    """Of each of these, what it takes in any case; then what nothing can go below."""

    def counts(self, x: Floats, units: int, levels: int) -> list[list[int]]:
        """How many members of each unit a solution has on each level."""
        found = [[0] * levels for _ in range(units)]
        for (unit, level), at in self.placed.items():
            found[unit][level] = round(x[at])
        return found


def programme(case: Case, found: Units) -> Programme:
    """The programme of a case; it has a row without terms where a unit cannot be anywhere."""
    written = _Written(found)
    for index in range(len(found.units)):
        written.add_unit(index)
    for pair, copies in found.pairs.items():
        written.add_copies(pair, copies)
    capacity = [case.card.capacity[name] for name in case.card.levels]
    for level, holds in enumerate(capacity):
        written.add_capacity([level], holds)
    by_capacity = sorted(range(len(capacity)), key=capacity.__getitem__)
    for count in range(2, len(capacity)):
        smallest = by_capacity[:count]
        written.add_capacity(smallest, sum(capacity[level] for level in smallest))
    times, fixed = written.times(case.rates)
    return Programme(
        written.placed,
        written.nearer,
        written.together,
        written.room,
        written.cost,
        written.most,
        written.rows,
        times,
        fixed,
    )


def matrix(rows: Sequence[Row], width: int) -> Any:  # noqa: ANN401 - scipy has no types
    """Coefficients of rows, of so many variables, as scipy has them."""
    from scipy.sparse import csr_array

    counts = [len(row.terms) for row in rows]
    return csr_array(
        (
            [one for row in rows for one in row.terms.values()],
            [at for row in rows for at in row.terms],
            np.append([0], np.cumsum(counts)),
        ),
        shape=(len(rows), width),
    )


class _Written:
    """A programme that is being written down."""

    def __init__(self, found: Units) -> None:
        self.found = found
        self.placed: dict[tuple[int, int], int] = {}
        self.nearer: list[int] = []
        self.together: dict[tuple[int, int], dict[tuple[int, int], int]] = {}
        self.room: dict[int, Sequence[int]] = {}
        self.cost: dict[int, float] = {}
        self.most: list[float] = []
        self.rows: list[Row] = []

    def _variable(self, cost: float, most: float) -> int:
        at = len(self.most)
        self.cost[at] = cost
        self.most.append(most)
        return at

    def add_unit(self, index: int) -> None:
        """How many of its members are on each level that it may be on."""
        unit = self.found.units[index]
        members = float(len(unit.members))
        terms = dict[int, float]()
        for level, cost in enumerate(unit.cost):
            if np.isfinite(cost):
                self.placed[index, level] = self._variable(float(cost), members)
                terms[self.placed[index, level]] = 1.0
        self.rows.append(Row(terms, members, members))

    def add_copies(self, pair: tuple[int, int], copies: Floats) -> None:
        """What they cost between the members of one unit and the only one of another."""
        one, other = pair
        members = float(len(self.found.units[one].members))
        here = [level for level in range(len(copies)) if (one, level) in self.placed]
        there = [level for level in range(len(copies)) if (other, level) in self.placed]
        joint = {
            (level, to): self._variable(float(copies[level, to]), members)
            for level in here
            for to in there
            if np.isfinite(copies[level, to])
        }
        self.together[pair] = joint
        for level in here:
            terms = {joint[level, to]: 1.0 for to in there if (level, to) in joint}
            self.rows.append(Row(terms | {self.placed[one, level]: -1.0}, 0.0, 0.0))
        for to in there:
            terms = {joint[level, to]: 1.0 for level in here if (level, to) in joint}
            self.rows.append(Row(terms | {self.placed[other, to]: -members}, 0.0, 0.0))

    def add_capacity(self, levels: Sequence[int], capacity: int) -> None:
        """These levels have no more than they hold, where all that fits there could be more."""
        there = {
            index: [at for level in levels if (at := self.placed.get((index, level))) is not None]
            for index in range(len(self.found.units))
        }
        sizes = {index: self.found.units[index].size for index, each in there.items() if each}
        members = {index: len(self.found.units[index].members) for index in sizes}
        if sum(size * members[index] for index, size in sizes.items()) > capacity:
            terms = {self._on(there[index], members[index]): size for index, size in sizes.items()}
            self.room[len(self.rows)] = levels
            self.rows.append(Row(terms, 0.0, capacity))

    def _on(self, each: Sequence[int], members: int) -> int:
        """The variable that counts members of a unit on one of several levels."""
        if len(each) == 1:
            return each[0]
        at = self._variable(0.0, float(members))
        self.nearer.append(at)
        self.rows.append(Row({**dict.fromkeys(each, 1.0), at: -1.0}, 0.0, 0.0))
        return at

    def times(self, rates: Rates | None) -> tuple[list[Terms], list[float]]:
        """What a packet takes contexts and memories, in seconds, and what it takes in any case."""
        if rates is None:
            return [], []
        waiting = 1 / rates.clock / rates.contexts
        times: list[Terms] = [{at: one * waiting for at, one in self.cost.items() if one}]
        fixed = [rates.compute * waiting]
        for level in range(len(self.found.units[0].busy)):
            terms = {
                at: float(unit.busy[level])
                for index, unit in enumerate(self.found.units)
                if (at := self.placed.get((index, level))) is not None and unit.busy[level]
            }
            if terms:
                times.append(terms)
                fixed.append(0.0)
        computing = 0.0 if rates.cores is None else rates.compute / rates.clock / rates.cores
        wanted = 0.0 if rates.wanted is None else 1 / rates.wanted
        return times, [*fixed, max(computing, wanted)]
