"""Writes a placement problem as an integer program, and solves it with the solver HiGHS.

A unit u is a set of equal parts (members) of data structures. n(u,l) members of unit u are on
memory level l; the sum of n(u,l) over l is the number of members of u. The sizes on a level add up
to at most its capacity. A copy between a member of u and the only member of v costs W(l,m) if u is
on l and v on m, a product of two decisions. The cost is linear in y(l,m), the members of u on l
while v is on m: sum over m of y(l,m) = n(u,l), sum over l of y(l,m) = members x n(v,m), y >= 0. For
two decisions, this describes the convex hull (the transportation polytope; Balas and Martin's
products by rows give a weaker relaxation). So pairs whose copies form no cycle need no branching.

Integer variables count the members of u on the smallest level, on the two smallest levels, and so
on; the n(u,l) are their differences. The choice between two small levels often matters little, the
choice between small and large levels much. So the solver should branch on the choice between small
and large levels (as on special ordered sets; Beale and Tomlin, 1970). Additional rows limit the
members on the smallest levels together by the sum of capacities. They follow from the rows of the
levels, and change neither solutions nor the linear relaxation. But only from them, the solver
derives cover cuts over several levels.

The time between packets is the maximum of several times: of waiting contexts, and of each memory. A
variable that is no smaller than any of them makes the program linear, without a search over rates.
"""

import ctypes
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from slowpath.core.arrays import Floats
from slowpath.insights.placement.problem import Case, ThroughputLimits, Units

Terms = Mapping[int, float]
"""The terms of a linear sum: a coefficient for each variable, by index."""


class Row(NamedTuple):
    """A linear constraint: `least <= sum of terms <= most`."""

    terms: Terms
    least: float
    most: float


class IntegerProgram(NamedTuple):
    """An integer program whose solutions are placements; all variables are at least 0."""

    placed: Mapping[tuple[int, int], int]
    """Index of the variable n(u,l), by unit and level."""
    whole: Sequence[int]
    """Indices of the variables that must be integers; all n(u,l) are integers then, too."""
    together: Mapping[tuple[int, int], Mapping[tuple[int, int], int]]
    """Index of the variable y(l,m), by pair of units, then by their levels."""
    room: Mapping[int, Sequence[int]]
    """Memory levels that a capacity row limits, by index of the row."""
    cost: Terms
    """The objective to minimise: the cost of accesses."""
    most: Sequence[float]
    """Upper limits of the variables."""
    rows: Sequence[Row]
    times: Sequence[Terms]
    """Seconds for which a packet occupies the contexts, then each memory, without constants."""
    fixed: Sequence[float]
    """Constants to add to `times`; the last one is the minimum of the time between packets."""

    def counts(self, x: Floats, units: int, levels: int) -> list[list[int]]:
        """Return the number of parts of each unit on each memory level, from a solution.

        `x` has the values of all variables. A unit is a set of equal parts of data structures.
        """
        found = [[0] * levels for _ in range(units)]
        for (unit, level), at in self.placed.items():
            found[unit][level] = round(x[at])
        return found


def build_integer_program(case: Case, found: Units) -> IntegerProgram:
    """Write a placement problem as an integer program.

    `found` has the data structures as units (sets of equal parts). If a unit fits on no memory
    level, a row of the program has no terms.
    """
    builder = _Builder(found)
    for index in range(len(found.units)):
        builder.add_unit(index)
    for pair, copies in found.pairs.items():
        builder.add_copies(pair, copies)
    capacity = [case.card.capacity[name] for name in case.card.levels]
    for level, holds in enumerate(capacity):
        builder.add_capacity([level], holds)
    by_capacity = sorted(range(len(capacity)), key=capacity.__getitem__)
    for count in range(1, len(capacity)):
        smallest = by_capacity[:count]
        builder.add_counts(smallest)
        if count > 1:
            builder.add_capacity(smallest, sum(capacity[level] for level in smallest))
    times, fixed = builder.times(case.rates)
    return IntegerProgram(
        builder.placed,
        [*builder.counted.values()],
        builder.together,
        builder.room,
        builder.cost,
        builder.most,
        builder.rows,
        times,
        fixed,
    )


def matrix(rows: Sequence[Row], width: int) -> Any:  # noqa: ANN401 - scipy has no types
    """Return the coefficients of constraints as a sparse array of SciPy with `width` columns."""
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


class _Builder:
    def __init__(self, found: Units) -> None:
        self.found = found
        self.placed: dict[tuple[int, int], int] = {}
        self.counted: dict[tuple[int, ...], int] = {}
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
        """Add variables for the number of a unit's parts on each memory level that it may use.

        A unit is a set of equal parts; `index` is its index.
        """
        unit = self.found.units[index]
        members = float(len(unit.members))
        terms = dict[int, float]()
        for level, cost in enumerate(unit.cost):
            if np.isfinite(cost):
                self.placed[index, level] = self._variable(float(cost), members)
                terms[self.placed[index, level]] = 1.0
        self.rows.append(Row(terms, members, members))

    def add_copies(self, pair: tuple[int, int], copies: Floats) -> None:
        """Add the cost of copies between the parts of one unit and the only part of another.

        `pair` has the indices of both units, and `copies` the cost of a copy by the memory levels
        of both.
        """
        one, other = pair
        members = float(len(self.found.units[one].members))
        first_levels = [level for level in range(len(copies)) if (one, level) in self.placed]
        second_levels = [level for level in range(len(copies)) if (other, level) in self.placed]
        joint = {
            (level, to): self._variable(float(copies[level, to]), members)
            for level in first_levels
            for to in second_levels
            if np.isfinite(copies[level, to])
        }
        self.together[pair] = joint
        for level in first_levels:
            terms = {joint[level, to]: 1.0 for to in second_levels if (level, to) in joint}
            self.rows.append(Row(terms | {self.placed[one, level]: -1.0}, 0.0, 0.0))
        for to in second_levels:
            terms = {joint[level, to]: 1.0 for level in first_levels if (level, to) in joint}
            self.rows.append(Row(terms | {self.placed[other, to]: -members}, 0.0, 0.0))

    def add_counts(self, levels: Sequence[int]) -> None:
        """Add an integer variable for each unit: the number of its parts on the levels together."""
        for index, unit in enumerate(self.found.units):
            variables = self._variables_on(index, levels)
            if len(variables) == 1:
                self.counted[variables] = variables[0]
            elif variables and variables not in self.counted:
                at = self._variable(0.0, float(len(unit.members)))
                self.counted[variables] = at
                self.rows.append(Row({**dict.fromkeys(variables, 1.0), at: -1.0}, 0.0, 0.0))

    def _variables_on(self, index: int, levels: Sequence[int]) -> tuple[int, ...]:
        """Return the indices of the variables that count a unit's parts on each of the levels.

        `index` is the index of the unit. Levels that the unit may not use are left out.
        """
        return tuple(at for level in levels if (at := self.placed.get((index, level))) is not None)

    def add_capacity(self, levels: Sequence[int], capacity: int) -> None:
        """Add a constraint: the bytes of all units on the levels must not exceed `capacity`.

        No constraint is added if all units fit. For several levels together, call `add_counts`
        first.
        """
        sizes = dict[int, int]()
        most = 0
        for index, unit in enumerate(self.found.units):
            if variables := self._variables_on(index, levels):
                sizes[variables[0] if len(variables) == 1 else self.counted[variables]] = unit.size
                most += unit.size * len(unit.members)
        if most > capacity:
            self.room[len(self.rows)] = levels
            self.rows.append(Row(sizes, 0.0, capacity))

    def times(self, rates: ThroughputLimits | None) -> tuple[list[Terms], list[float]]:
        """Return the fields `times` (terms) and `fixed` (constants) of the `IntegerProgram`.

        They describe the times that limit the throughput. Without `rates`, both are empty.
        """
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


_LARGEST = 1e6
"""Largest coefficient of the scaled objective; HiGHS stops at an absolute gap of 1e-6."""
_TIMES = 1e4  # largest coefficient of rows of times, in which the time has the coefficient -1
_FEASIBLE = 1e-7  # tolerance of HiGHS for rows
_OPTIMAL, _INFEASIBLE = 0, 2  # scipy's status codes


class Solved(NamedTuple):
    """Result of the solver HiGHS for an integer program."""

    x: Floats | None
    """Values of the variables; None if HiGHS found no solution in time."""
    bound: float
    """Lower bound of the objective."""
    proven: bool
    """True if `x` is optimal."""


def least_cost(
    problem: IntegerProgram, cuts: Sequence[Row], until: float, within: float | None = None
) -> Solved | None:
    """Find the cheapest placement whose time between packets is at most `within` seconds.

    `within` is None if the time does not matter. `cuts` are additional constraints, and `until` is
    the deadline. Return None if the program is infeasible.
    """
    scale = max((abs(one) for one in problem.cost.values()), default=0.0) / _LARGEST or 1.0
    c = np.zeros(len(problem.most))
    for at, one in problem.cost.items():
        c[at] = one / scale
    timed = [] if within is None else _timed(problem, within)
    return _solved(problem, c, [*problem.rows, *cuts, *timed], until, scale)


def _timed(problem: IntegerProgram, most: float) -> list[Row]:
    """Return constraints that limit the time between packets to `most` seconds.

    One constraint limits the time of waiting contexts; there is another one for each memory.
    """
    found = []
    for terms, fixed in zip(problem.times, problem.fixed, strict=False):
        scale = _TIMES / (most or max(terms.values(), default=1.0))
        scaled = {at: one * scale for at, one in terms.items()}
        found.append(Row(scaled, -np.inf, (most - fixed) * scale))
    return [row for row in found if row.terms]


def least_time(problem: IntegerProgram, cuts: Sequence[Row], until: float) -> Solved | None:
    """Find the placement with the least time between packets; return None if there is none.

    `cuts` are additional constraints, and `until` is the deadline.
    """
    largest = max((one for terms in problem.times for one in terms.values()), default=0.0)
    scale = (max(largest, *problem.fixed) or 1.0) / _TIMES
    at = len(problem.most)
    rows = [
        Row(
            {**{variable: one / scale for variable, one in terms.items()}, at: -1.0},
            -np.inf,
            -fixed / scale,
        )
        for terms, fixed in zip(problem.times, problem.fixed, strict=False)
    ]
    rows.append(Row({at: 1.0}, problem.fixed[-1] / scale, np.inf))
    c = np.zeros(at + 1)
    c[at] = 1.0
    return _solved(problem, c, [*problem.rows, *cuts, *rows], until, scale)


def _solved(
    problem: IntegerProgram, c: Floats, rows: Sequence[Row], until: float, scale: float
) -> Solved | None:
    from scipy.optimize import Bounds, LinearConstraint, milp

    whole = np.zeros(len(c))
    whole[list(problem.whole)] = 1
    most = np.append(problem.most, [np.inf] * (len(c) - len(problem.most)))
    # Remove variables that are fixed to 0: the search takes longer if HiGHS's presolve does.
    used = np.flatnonzero(most > 0)
    if not used.size:  # HiGHS rejects problems without variables
        feasible = all(row.least <= _FEASIBLE and row.most >= -_FEASIBLE for row in rows)
        return Solved(np.zeros(len(c)), 0.0, proven=True) if feasible else None
    options: dict[str, float] = {"mip_rel_gap": 0.0}
    if math.isfinite(until):
        options["time_limit"] = max(until - time.monotonic(), 0.0)
    limits = [row.least for row in rows], [row.most for row in rows]
    with _quiet():
        found = milp(
            c[used],
            integrality=whole[used],
            bounds=Bounds(0.0, most[used]),
            constraints=LinearConstraint(matrix(rows, len(c))[:, used], *limits),
            options=options,
        )
    if found.status == _INFEASIBLE:
        return None
    bound = 0.0 if found.mip_dual_bound is None else float(found.mip_dual_bound) * scale
    x = None
    if found.x is not None:
        x = np.zeros(len(c))
        x[used] = found.x
    return Solved(x, max(bound, 0.0), found.status == _OPTIMAL)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence standard output while the solver runs: HiGHS 1.12 prints a line on repairs."""
    try:
        stdout = os.dup(1)
    except OSError:  # standard output is closed
        yield
        return
    flush = ctypes.CDLL(None).fflush
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        flush(None)
        os.dup2(null, 1)
        yield
    finally:
        flush(None)
        os.dup2(stdout, 1)
        os.close(null)
        os.close(stdout)
