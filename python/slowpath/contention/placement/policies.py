"""Online policies: each arrival is placed for good, knowing nothing of later ones (paper, 7.5.1).

- `monopolise`: a NIC for each function.
- `greedy`: the NIC with the most free cores that has enough of them.
- `contention-aware`: the first NIC on which, as predicted, everybody keeps what is promised, the
  newcomer included. The paper does not say which of several; the fullest, the one with the least to
  spare or the most are no better.

Where nothing fits, the fleet gets another NIC, up to as many as there are; then the arrival is
turned away. NICs are numbered in the order in which they come into use; the first of equals is
taken.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.placement.fleet import Arrivals, Fleet
from slowpath.contention.placement.shares import Predicted

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

AWAY = -1
"""The NIC of an arrival that was turned away."""


class Placement(NamedTuple):
    """Where everybody went."""

    nic: Places  # of each arrival, or `AWAY`
    nics: int  # how many are in use


class Nics:
    """NICs in use."""

    def __init__(self, fleet: Fleet, most: int, predicted: Predicted) -> None:
        self.count = 0
        self.free = np.full(most, fleet.cores)
        self.mix = np.zeros(most, dtype=np.intp)  # rows of the table of shares
        self.promised = np.zeros((most, len(fleet.functions)))  # the largest share, by function
        self._sizes = fleet.sizes
        self._predicted = predicted
        self._after = dict[tuple[int, int], int]()

    def put(self, nic: int, function: int, sla: float, *, known: bool = True) -> None:
        """Places a function; with `known`, the mix that comes of it is looked up."""
        if known:
            self.mix[nic] = self.after(np.array([nic]), function)[0]
        self.free[nic] -= self._sizes[function]
        self.promised[nic, function] = max(self.promised[nic, function], sla)
        self.count = max(self.count, nic + 1)

    def with_room(self, function: int) -> Places:
        """Those in use that have the cores."""
        return np.flatnonzero(self.free[: self.count] >= self._sizes[function])

    def after(self, nics: Places, function: int) -> Places:
        """The mixes that NICs would have with one more function; empty ones among them."""
        now, inverse = np.unique(
            np.where(nics < self.count, self.mix[nics], -1), return_inverse=True
        )
        new = [int(at) for at in now if (int(at), function) not in self._after]
        table = self._predicted.shares.mixes
        mixes = [tuple(sorted((*(table[at] if at >= 0 else ()), function))) for at in new]
        for at, place in zip(new, self._predicted.places(mixes), strict=True):
            self._after[at, function] = int(place)
        return np.array([self._after[int(at), function] for at in now], dtype=np.intp)[inverse]


Choose = Callable[[Nics, int, float, Predicted], int | None]
"""The NIC in use that a function with a promise goes to; None: none of them."""


def _monopolise(_nics: Nics, _function: int, _sla: float, _predicted: Predicted) -> int | None:
    return None


def _greedy(nics: Nics, function: int, _sla: float, _predicted: Predicted) -> int | None:
    room = nics.with_room(function)
    return int(room[nics.free[room].argmax()]) if len(room) else None


def _contention_aware(nics: Nics, function: int, sla: float, predicted: Predicted) -> int | None:
    room = nics.with_room(function)
    if not len(room):
        return None
    promised = nics.promised[room]
    promised[:, function] = np.maximum(promised[:, function], sla)
    after = nics.after(room, function)  # before the table is looked at: it may grow
    spare = (predicted.shares.kept[after] - promised).min(axis=1)
    fits = np.flatnonzero(spare >= 0)
    return int(room[fits[0]]) if len(fits) else None


POLICIES: Mapping[str, Choose] = {
    "monopolise": _monopolise,
    "greedy": _greedy,
    "contention-aware": _contention_aware,
}
"""By name."""


def place(fleet: Fleet, arrivals: Arrivals, policy: str, predicted: Predicted) -> Placement:
    """Places a sequence."""
    choose, knows = POLICIES[policy], policy == "contention-aware"
    most = min(len(arrivals.function), fleet.most or len(arrivals.function))
    nics = Nics(fleet, most, predicted)
    where = np.full(len(arrivals.function), AWAY, dtype=np.intp)
    for at, (function, sla) in enumerate(zip(arrivals.function, arrivals.sla, strict=True)):
        nic = choose(nics, int(function), float(sla), predicted)
        if nic is None:
            if nics.count == most:
                continue
            nic = nics.count
        nics.put(nic, int(function), float(sla), known=knows)
        where[at] = nic
    return Placement(where, nics.count)
