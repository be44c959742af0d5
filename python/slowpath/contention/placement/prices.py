"""Bid prices from a linear program over expected arrivals.

Promises of a function are nested: a place that keeps 95 % keeps 90 %, too. So a place belongs to
the largest promise that it keeps, and what is left over there is handed down to the next smaller
one. There is a row for each function and promise, `places + handed down >= wanted`, a column for
each mix, and one for each mix that NICs in use may still become, of which there are no more than
these. Dual variables are prices, in NICs, of a place that keeps a promise.

A linear program (`covering.py`) finds the fewest NICs, in parts, for arrivals as they are expected:
by what fleets declare at first, by what has come more and more. What a NIC may still be filled
with, at the prices of places there, is what its free places are worth; a newcomer goes where that
falls least, or to a new NIC where this is cheaper. (Bid-price control: Talluri and van Ryzin, "An
analysis of bid-price controls for network revenue management", Management Science 44, 1998.)
First-fit, which the paper has, puts promises of 80 and of 95 % on the same NICs, where the
strictest one decides for all.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.placement.fleet import Fleet, Mix, counts_of
from slowpath.contention.placement.shares import Shares

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

NONE = -1
"""The level of a place that keeps no promise."""


class Wanted(NamedTuple):
    """What is expected to arrive, by function and promise, promises of a function rising."""

    function: Places
    promise: Floats
    arrivals: Floats

    def levels(self, kept: Floats) -> Places:
        """By mix and function, the row of the largest promise that a place keeps, or `NONE`."""
        found = np.full(kept.shape, NONE, dtype=np.intp)
        for function in np.unique(self.function):
            rows = np.flatnonzero(self.function == function)
            below = np.searchsorted(self.promise[rows], kept[:, function], side="right")
            found[:, function] = np.where(below > 0, rows[0] + below - 1, NONE)
        return found


class Column(NamedTuple):
    """Places that a NIC has, or may still get: how many, of which levels, both by function."""

    places: Floats  # `[column, function]`
    levels: Places  # rows of what is wanted


class Grown(NamedTuple):
    """NICs in use that are alike, and what they may become."""

    nics: int
    columns: Column


class Cover(NamedTuple):
    """The fewest NICs."""

    nics: Floats  # of each mix
    prices: Floats  # of a place, by row of what is wanted
    total: float  # NICs in all, without those in use


def cover(wanted: Wanted, mixes: Column, grown: Sequence[Grown] = ()) -> Cover:
    """The linear program, for mixes of new NICs and NICs in use.

    Promises that no mix keeps are left out: they get a NIC of their own, or are broken there.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack, vstack

    rows, count = len(wanted.function), len(mixes.places)
    parts = [_matrix(rows, one) for one in (mixes, *(one.columns for one in grown))]
    places = hstack([*parts, _handed_down(wanted)]).tocsr()
    whose = np.repeat(np.arange(len(grown)), [part.shape[1] for part in parts[1:]])
    limits = coo_array(
        (np.ones(len(whose)), (whose, count + np.arange(len(whose)))),
        shape=(len(grown), places.shape[1]),
    )
    cost = np.zeros(places.shape[1])
    cost[:count] = 1.0
    arrivals = np.where(_keepable(wanted, mixes), wanted.arrivals, 0.0)
    found = linprog(
        cost,
        A_ub=vstack([-places, limits]),
        b_ub=np.concatenate([-arrivals, [one.nics for one in grown]]),
        method="highs",
    )
    return Cover(found.x[:count], -found.ineqlin.marginals[:rows], float(found.fun))


def _matrix(rows: int, column: Column) -> Any:  # noqa: ANN401 - SciPy has no types
    """Places of columns, by row of what is wanted."""
    from scipy.sparse import coo_array

    at, function = np.nonzero((column.places > 0) & (column.levels != NONE))
    where = (column.levels[at, function], at)
    return coo_array((column.places[at, function], where), shape=(rows, len(column.places)))


def _handed_down(wanted: Wanted) -> Any:  # noqa: ANN401 - SciPy has no types
    """Columns that take a place from a promise and give it to the next smaller one."""
    from scipy.sparse import coo_array

    taken = np.flatnonzero(wanted.function[1:] == wanted.function[:-1]) + 1
    columns = np.arange(len(taken))
    where = (np.concatenate([taken, taken - 1]), np.concatenate([columns, columns]))
    values = np.repeat([-1.0, 1.0], len(taken))
    return coo_array((values, where), shape=(len(wanted.function), len(taken)))


def _keepable(wanted: Wanted, mixes: Column) -> NDArray[np.bool_]:
    """Which promises are kept in some mix."""
    highest = np.where(mixes.places > 0, mixes.levels, NONE).max(axis=0, initial=NONE)
    kept: NDArray[np.bool_] = np.arange(len(wanted.function)) <= highest[wanted.function]
    return kept


_DECLARED = np.array([30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0])
"""What a fleet declares counts as so many arrivals: as many as make likeliest what has come."""
DRAWS = 4
"""Futures that prices are averages of: one is too few where a function and promise comes once or
not at all, and more than four are no better."""


class Demand:
    """Arrivals as they are expected: so many of each function and promise, in proportion."""

    def __init__(self, fleet: Fleet) -> None:
        self._declared = dict[tuple[int, float], float]()
        for at, function in enumerate(fleet.functions):
            for promise in function.sla:
                self._declared[at, promise] = 1 / len(fleet.functions) / len(function.sla)
        self._come = dict.fromkeys(self._declared, 0)
        self._draw = np.random.default_rng(0)

    def add(self, function: int, promise: float) -> None:
        """One has come."""
        key = function, promise
        self._come[key] = self._come.get(key, 0) + 1

    def expected(self, arrivals: float) -> Wanted:
        """So many arrivals, of each function and promise as many as there are in proportion."""
        keys = sorted(self._come)
        come = np.array([self._come[key] for key in keys], dtype=float)
        declared = np.array([self._declared.get(key, 0.0) for key in keys])
        weights = come + _trust(declared, come) * declared
        return Wanted(
            np.array([function for function, _ in keys], dtype=np.intp),
            np.array([promise for _, promise in keys]),
            weights * arrivals / weights.sum(),
        )

    def futures(self, arrivals: int) -> list[Wanted]:
        """So many arrivals as they may come, drawn several times."""
        mean = self.expected(arrivals)
        shares = mean.arrivals / mean.arrivals.sum()
        return [
            mean._replace(arrivals=self._draw.multinomial(arrivals, shares).astype(float))
            for _ in range(DRAWS)
        ]


def _trust(declared: Floats, come: Floats) -> float:
    """What is declared, as a number of arrivals: by the likelihood of what has come (Dirichlet)."""
    from scipy.special import gammaln

    known = declared > 0
    prior = _DECLARED[:, None] * declared[known]
    likely = (gammaln(prior + come[known]) - gammaln(prior)).sum(axis=1)
    likely += gammaln(_DECLARED) - gammaln(_DECLARED + come[known].sum())
    return float(_DECLARED[likely.argmax()])


class Room(NamedTuple):
    """What a mix may become: rows of larger mixes, and the places they have more, by function."""

    rows: Places
    more: Floats  # `[larger mix, function]`


class Prices:
    """What free places are worth."""

    def __init__(self, shares: Shares, mixes: Sequence[Mix]) -> None:
        """Of a table in which all these mixes are."""
        self._kept = shares.kept
        self._rows = np.array([shares.place(mix) for mix in mixes], dtype=np.intp)
        self._counts = counts_of(mixes, self._kept.shape[1])
        self._at = {int(row): at for at, row in enumerate(self._rows)}
        self._room = dict[int, Room]()
        self._values = dict[int, Floats]()
        self._worth = np.zeros_like(self._counts)

    def renew(self, futures: Sequence[Wanted], rows: Places, promised: Floats) -> None:
        """Finds prices for what may arrive, by NICs in use with these mixes and promises.

        Futures have the same functions and promises. Their prices are averaged, as of one future
        they are those of its last arrivals. (Talluri and van Ryzin, "A randomized linear
        programming method for computing network bid prices", Transportation Science 33, 1999.)
        """
        levels = futures[0].levels(self._kept[self._rows])
        mixes, grown = Column(self._counts, levels), self._grown(levels, rows, promised)
        prices = np.mean([cover(one, mixes, grown).prices for one in futures], axis=0)
        # Whoever keeps no promise is worth nothing.
        self._worth = np.append(prices, 0.0)[levels]
        self._values.clear()

    def _grown(self, levels: Places, rows: Places, promised: Floats) -> list[Grown]:
        """What NICs may become, those that are alike together."""
        if not len(rows):
            return []
        alike, nics = np.unique(
            np.column_stack([rows.astype(float), promised]), axis=0, return_counts=True
        )
        found = []
        for (row, *least), count in zip(alike, nics, strict=True):
            room = self._room_of(int(row))
            fits = np.flatnonzero((self._kept[room.rows] >= least).all(axis=1))
            at = [self._at[int(one)] for one in room.rows[fits]]
            if len(at) > 1:  # else there is room for nobody
                found.append(Grown(int(count), Column(room.more[fits], levels[at])))
        return found

    def worth(self) -> Floats:
        """What all places of each mix are worth, by function: no more than a NIC in all."""
        return self._counts * self._worth

    def values(self, rows: Places, promised: Floats) -> Floats:
        """What free places are worth of NICs with these mixes and promises, `[NIC, function]`."""
        found = np.zeros(len(rows))
        for row in np.unique(rows):
            those = np.flatnonzero(rows == row)
            room = self._room_of(int(row))
            fits = (self._kept[room.rows] >= promised[those][:, None]).all(axis=2)
            found[those] = np.where(fits, self._value_of(int(row)), 0.0).max(axis=1)
        return found

    def _value_of(self, row: int) -> Floats:
        """What all is worth that a mix may become."""
        found = self._values.get(row)
        if found is None:
            room = self._room_of(row)
            at = [self._at[int(one)] for one in room.rows]
            found = self._values[row] = (room.more * self._worth[at]).sum(axis=1)
        return found

    def _room_of(self, row: int) -> Room:
        found = self._room.get(row)
        if found is None:
            has = self._counts[self._at[row]]
            larger = np.flatnonzero((self._counts >= has).all(axis=1))
            found = self._room[row] = Room(self._rows[larger], self._counts[larger] - has)
        return found
