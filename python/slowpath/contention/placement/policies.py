"""Online policies: each arrival is placed for good, knowing nothing of later ones (paper, 7.5.1).

- `monopolise`: a NIC for each function.
- `greedy`: the NIC with the most free cores that has enough of them.
- `contention-aware`: the first NIC on which, as predicted, everybody keeps what is promised, the
  newcomer included. The paper does not say which of several; the fullest, the one with the least to
  spare or the most are no better.
- `bid-price`: of these the one whose free places are worth least to arrivals as they are expected.

Where nothing fits, the fleet gets another NIC, up to as many as there are; then the arrival is
turned away. NICs are numbered in the order in which they come into use; the first of equals is
taken.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.placement.fleet import Arrivals, Fleet
from slowpath.contention.placement.possible import possible_mixes
from slowpath.contention.placement.prices import RENEW, Demand, Prices
from slowpath.contention.placement.shares import Predicted

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

_WAITING = 0.9
"""What a place that has to wait is worth of one that is used now: with the truth for a model, and
sequences of 500 and of 2,000 arrivals that no figure is of, best between 0.9 and 0.95."""
_SAME = 1e-9
"""Differences of prices below this are rounding."""
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
        self._most_promised = np.full((len(fleet.functions), most), np.nan)  # see `most_promised`
        self._sizes = fleet.sizes
        self._predicted = predicted
        self._after = dict[tuple[int, int], int]()

    @property
    def full(self) -> bool:
        """Whether there are no more."""
        return self.count == len(self.free)

    def put(self, nic: int, function: int, sla: float, *, known: bool = True) -> None:
        """Places a function; with `known`, the mix that comes of it is looked up."""
        if known:
            self.mix[nic] = self.after([nic], function)[0]
        self.free[nic] -= self._sizes[function]
        self.promised[nic, function] = max(self.promised[nic, function], sla)
        self._most_promised[:, nic] = np.nan
        self.count = max(self.count, nic + 1)

    def with_room(self, function: int) -> Places:
        """Those in use that have the cores."""
        return np.flatnonzero(self.free[: self.count] >= self._sizes[function])

    def after(self, nics: Iterable[int], function: int) -> Places:
        """The mixes that NICs would have with one more function; empty ones among them."""
        now = [int(self.mix[nic]) if nic < self.count else AWAY for nic in nics]
        new = [at for at in dict.fromkeys(now) if (at, function) not in self._after]
        if new:
            table = self._predicted.shares.mixes
            mixes = [tuple(sorted((*(table[at] if at >= 0 else ()), function))) for at in new]
            for at, place in zip(new, self._predicted.places(mixes), strict=True):
                self._after[at, function] = int(place)
        return np.array([self._after[at, function] for at in now], dtype=np.intp)

    def most_promised(self, function: int) -> Floats:
        """By NIC in use, how much a newcomer may be promised such that everybody keeps theirs.

        Below zero where others would not, or cores are lacking. Only NICs that have changed since
        they were asked are looked at.
        """
        found = self._most_promised[function, : self.count]
        new = np.flatnonzero(np.isnan(found))
        if len(new):
            found[new] = -np.inf
            room = new[self.free[new] >= self._sizes[function]]
            after = self.after(room, function)  # before the table is looked at: it may grow
            kept = self._predicted.shares.kept[after]
            fits = (kept >= self.promised[room]).all(axis=1)
            found[room[fits]] = kept[fits, function]
        return found


Choose = Callable[[Nics, int, float], int | None]
"""The NIC in use that a function with a promise goes to; None: none of them."""


def _monopolise(_nics: Nics, _function: int, _sla: float) -> int | None:
    return None


def _greedy(nics: Nics, function: int, _sla: float) -> int | None:
    room = nics.with_room(function)
    return int(room[nics.free[room].argmax()]) if len(room) else None


def _contention_aware(nics: Nics, function: int, sla: float) -> int | None:
    fits = nics.most_promised(function) >= sla
    return int(fits.argmax()) if fits.any() else None


class _BidPrice:
    """Of NICs that fit, also of new ones, the one whose free places lose least of their worth."""

    def __init__(self, fleet: Fleet, predicted: Predicted) -> None:
        mixes = possible_mixes(fleet)
        predicted.fill(mixes)
        self._demand = Demand(fleet)
        self._prices = Prices(predicted.shares, mixes)
        self._alone = predicted.places([(at,) for at in range(len(fleet.functions))])
        self._arrived = 0
        self._renew = 0.0

    def __call__(self, nics: Nics, function: int, sla: float) -> int | None:
        self._arrived += 1
        if self._arrived > self._renew:
            self._prices.renew(self._demand)
            self._renew = RENEW * self._arrived
        self._demand.add(function, sla)
        fits = np.flatnonzero(nics.most_promised(function) >= sla)
        if not len(fits):
            return None
        mine = np.arange(nics.promised.shape[1]) == function
        now = self._prices.values(nics.mix[fits], nics.promised[fits])
        promised = np.maximum(nics.promised[fits], sla * mine)
        lost = _WAITING * (now - self._prices.values(nics.after(fits, function), promised))
        best = int(lost.argmin())
        rest = self._prices.values(self._alone[[function]], (sla * mine)[None, :])[0]
        is_new_cheaper = lost[best] > 1.0 - _WAITING * rest + _SAME
        return None if is_new_cheaper and not nics.full else int(fits[best])


POLICIES: Mapping[str, Callable[[Fleet, Predicted], Choose]] = {
    "monopolise": lambda _fleet, _predicted: _monopolise,
    "greedy": lambda _fleet, _predicted: _greedy,
    "contention-aware": lambda _fleet, _predicted: _contention_aware,
    "bid-price": _BidPrice,
}
"""By name; each sequence has its own."""
_PREDICTING = ("contention-aware", "bid-price")


def place(fleet: Fleet, arrivals: Arrivals, policy: str, predicted: Predicted) -> Placement:
    """Places a sequence.

    Raises:
        InputError: when there are too many mixes for prices.
    """
    choose, knows = POLICIES[policy](fleet, predicted), policy in _PREDICTING
    most = min(len(arrivals.function), fleet.most or len(arrivals.function))
    nics = Nics(fleet, most, predicted)
    where = np.full(len(arrivals.function), AWAY, dtype=np.intp)
    for at, (function, sla) in enumerate(zip(arrivals.function, arrivals.sla, strict=True)):
        nic = choose(nics, int(function), float(sla))
        if nic is None:
            if nics.full:
                continue
            nic = nics.count
        nics.put(nic, int(function), float(sla), known=knows)
        where[at] = nic
    return Placement(where, nics.count)
