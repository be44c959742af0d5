"""`bid-price`: the place that costs least of what later arrivals are expected to need.

A linear program finds the fewest NICs, in parts, for arrivals as they are expected: by what fleets
declare at first, by what has come more and more. Its dual variables are prices, in NICs, of a
place that keeps a promise of a function. What a NIC may still be filled with, at these prices, is
what its free places are worth; a newcomer goes where that falls least, or to a new NIC where this
is cheaper. (Bid-price control: Talluri and van Ryzin, "An analysis of bid-price controls for
network revenue management", Management Science 44, 1998.) First-fit, which the paper has, puts
promises of 80 and of 95 % on the same NICs, where the strictest one decides for all.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.placement.fleet import Fleet
from slowpath.contention.placement.shares import Shares
from slowpath.contention.placement.truth import Mix

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

_PRIOR = 100.0
"""What a fleet declares counts as so many arrivals."""
RENEW = 1.25
"""Prices are found again when there are so many times as many arrivals."""


class Demand:
    """Arrivals as they are expected: so many of each function and promise, in proportion."""

    def __init__(self, fleet: Fleet) -> None:
        self._weights = dict[tuple[int, float], float]()
        for at, function in enumerate(fleet.functions):
            for promise in function.sla:
                share = _PRIOR / len(fleet.functions) / len(function.sla)
                self._weights[at, promise] = self._weights.get((at, promise), 0.0) + share

    def add(self, function: int, promise: float) -> None:
        """One has come."""
        key = function, promise
        self._weights[key] = self._weights.get(key, 0.0) + 1.0

    def promises(self, function: int) -> tuple[Floats, Floats]:
        """Of a function: promises, rising, and how much of the demand wants that much or more."""
        found = sorted((p, w) for (of, p), w in self._weights.items() if of == function)
        promises = np.array([p for p, _ in found])
        weights = np.array([w for _, w in found])
        return promises, weights[::-1].cumsum()[::-1]


class Room(NamedTuple):
    """What a mix may become: rows of larger mixes, and the places they have more, by function."""

    rows: Places
    more: Floats  # `[larger mix, function]`


class Prices:
    """What free places are worth."""

    def __init__(self, shares: Shares, mixes: Sequence[Mix]) -> None:
        """Of a table in which all these mixes are."""
        self._kept = shares.kept
        functions = self._kept.shape[1]
        self._rows = np.array([shares.place(mix) for mix in mixes], dtype=np.intp)
        self._counts = np.zeros((len(mixes), functions))
        for at, mix in enumerate(mixes):
            np.add.at(self._counts[at], list(mix), 1.0)
        self._at = {int(row): at for at, row in enumerate(self._rows)}
        self._room = dict[int, Room]()
        self._values = dict[int, Floats]()
        self._worth = np.zeros_like(self._counts)

    def renew(self, demand: Demand) -> None:
        """Finds prices for arrivals that are expected.

        Promises that no mix keeps are left out: they get a NIC of their own, or are broken there.
        """
        from scipy.optimize import linprog

        kept, counts = self._kept[self._rows], self._counts
        places, needed, whose = [], [], []
        for function in range(counts.shape[1]):
            promises, wanted = demand.promises(function)
            for promise, weight in zip(promises, wanted, strict=True):
                has = counts[:, function] * (kept[:, function] >= promise)
                if has.any():
                    places.append(has)
                    needed.append(weight)
                    whose.append((function, promise))
        found = linprog(
            np.ones(len(counts)), A_ub=-np.array(places), b_ub=-np.array(needed), method="highs"
        )
        # A place that keeps a promise keeps all smaller ones, so it has the prices of all.
        self._worth = np.zeros_like(counts)
        for (function, promise), price in zip(whose, -found.ineqlin.marginals, strict=True):
            self._worth[:, function] += price * (kept[:, function] >= promise)
        self._values.clear()

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
