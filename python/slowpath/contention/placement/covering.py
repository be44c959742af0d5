"""The fewest NICs, in parts, for arrivals as they are expected: a linear program, and its prices.

Promises of a function are nested: a place that keeps 95 % keeps 90 %, too. So a place belongs to
the largest promise that it keeps, and what is left over there is handed down to the next smaller
one. There is a row for each function and promise, `places + handed down >= wanted`, a column for
each mix, and one for each mix that NICs in use may still become, of which there are no more than
these. Dual variables are prices, in NICs, of a place that keeps a promise.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
