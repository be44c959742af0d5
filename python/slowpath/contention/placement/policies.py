"""Online placement policies (paper, 7.5.1).

- `monopolise`: a NIC for each function.
- `greedy`: the NIC with the most free cores that has enough of them.
- `contention-aware`: the first NIC on which, as predicted, everybody keeps what is promised, the
  newcomer included. The paper does not say which of several; the fullest, the one with the least to
  spare or the most are no better.
- `bid-price`: of these the one whose free places are worth least to arrivals as they are expected,
  of which it may be known how many there will be.

Where nothing fits, the fleet gets another NIC, up to as many as there are; then the arrival is
turned away. NICs are numbered in the order in which they come into use; the first of equals is
taken.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.placement.fleet import Arrivals, Fleet, possible_mixes
from slowpath.contention.placement.prices import Demand, Prices
from slowpath.contention.placement.shares import Predicted

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

_WAITING = 0.93
"""What a place that has to wait is worth of one that is used now, where nobody knows how long
arrivals go on: with the truth for a model, and sequences of 500 and of 2,000 arrivals that no
figure is of, best between 0.9 and 0.95."""
_AHEAD = 100
"""So many are then taken to come, and no fewer than have come already (which matters little)."""
_RENEW = 1.25
"""And prices are found again when there are so many times as many arrivals."""
_PARTS = 4
"""Where it is known how many come, after one in so many of those that are left: as often as the
time of all sequences allows, and twice as often is no better."""
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

    def __init__(self, fleet: Fleet, predicted: Predicted, expected: int | None) -> None:
        mixes = possible_mixes(fleet)
        predicted.fill(mixes)
        self._demand = Demand(fleet)
        self._prices = Prices(predicted.shares, mixes)
        self._alone = predicted.places([(at,) for at in range(len(fleet.functions))])
        self._expected = expected
        self._arrived = 0
        self._renew = 0.0  # how many have come when prices are found again
        self._waiting = _WAITING

    def __call__(self, nics: Nics, function: int, sla: float) -> int | None:
        self._demand.add(function, sla)
        self._arrived += 1
        if self._arrived > self._renew:
            self._find_prices(nics)
        fits = np.flatnonzero(nics.most_promised(function) >= sla)
        if not len(fits):
            return None
        mine = np.arange(nics.promised.shape[1]) == function
        now = self._prices.values(nics.mix[fits], nics.promised[fits])
        promised = np.maximum(nics.promised[fits], sla * mine)
        lost = self._waiting * (now - self._prices.values(nics.after(fits, function), promised))
        best = int(lost.argmin())
        rest = self._prices.values(self._alone[[function]], (sla * mine)[None, :])[0]
        is_new_cheaper = lost[best] > 1.0 - self._waiting * rest + _SAME
        return None if is_new_cheaper and not nics.full else int(fits[best])

    def _find_prices(self, nics: Nics) -> None:
        """Finds prices by what is still to come, and says when to find them again."""
        left = 0 if self._expected is None else self._expected - self._arrived + 1
        if left > 0:
            self._waiting, self._renew = 1.0, self._arrived + max(1, left // _PARTS)
        else:  # nobody knows, or there are more than were expected
            left = max(_AHEAD, self._arrived)
            self._waiting, self._renew = _WAITING, _RENEW * self._arrived
        used = slice(nics.count)
        self._prices.renew(self._demand.futures(left), nics.mix[used], nics.promised[used])


POLICIES: Mapping[str, Callable[[Fleet, Predicted, int | None], Choose]] = {
    "monopolise": lambda *_: _monopolise,
    "greedy": lambda *_: _greedy,
    "contention-aware": lambda *_: _contention_aware,
    "bid-price": _BidPrice,
}
"""By name; each sequence has its own."""
_PREDICTING = ("contention-aware", "bid-price")


def place(
    fleet: Fleet,
    arrivals: Arrivals,
    policy: str,
    predicted: Predicted,
    expected: int | None = None,
) -> Placement:
    """Places a sequence, of which it may be known how many are expected in all.

    Raises:
        InputError: when there are too many mixes for prices.
    """
    choose, knows = POLICIES[policy](fleet, predicted, expected), policy in _PREDICTING
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
