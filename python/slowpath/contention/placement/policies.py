"""Policies that place each arriving function on a NIC (Tomur paper, 7.5.1).

- `monopolise`: one NIC for each function.
- `greedy`: the NIC with the most free cores, if they suffice.
- `contention-aware`: the first NIC on which, by the models' predictions, all functions including
  the newcomer keep the share of solo throughput promised to them. The paper does not say which of
  several such NICs; the fullest one, and those with the least or most slack, are no better.
- `bid-price`: of these NICs, the one whose free capacity loses the least value for the arrivals
  still expected; the total number of arrivals may be known.

If no NIC fits, the fleet uses another one, up to its limit; beyond the limit, the arrival is turned
away. NICs are numbered in the order of first use; of equals, the first is chosen.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from slowpath.contention.placement.fleet import Arrivals, Fleet, possible_mixes
from slowpath.contention.placement.prices import Demand, Prices
from slowpath.contention.placement.shares import PredictedShares
from slowpath.core.arrays import Floats, Indices

_WAITING = 0.93
"""Value of a place used later, relative to a place used now, if the number of arrivals is unknown.
The best values were 0.9 to 0.95, with the ground truth as model, on sequences of 500 and 2,000
arrivals that no figure uses."""
_AHEAD = 100
"""Minimum number of further arrivals to assume if it is unknown; otherwise as many as have arrived
(little effect)."""
_RENEW = 1.25
"""Growth factor of the number of arrivals after which prices are computed again."""
_PARTS = 4
"""If the number of arrivals is known, prices are computed again after 1 / `_PARTS` of the remaining
arrivals. Four is as often as the time for all sequences allows; twice as often is no better."""
_SAME = 1e-9
"""Prices that differ by less are equal except for rounding errors."""
TURNED_AWAY = -1
"""Stands for the NIC of an arrival that was turned away."""


class Placement(NamedTuple):
    """Result of a placement policy: the NIC of each arrival, and the number of NICs in use."""

    nic: Indices  # NIC of each arrival, or `TURNED_AWAY`
    nics: int  # number of NICs in use


class Nics:
    """The NICs in use: their free cores, mixes of functions, and promised shares of throughput."""

    def __init__(self, fleet: Fleet, most: int, predicted: PredictedShares) -> None:
        self.count = 0
        self.free = np.full(most, fleet.cores)
        self.mix = np.zeros(most, dtype=np.intp)  # rows of the table of shares
        self.promised = np.zeros((most, len(fleet.functions)))  # largest promise, by function
        self._most_promised = np.full((len(fleet.functions), most), np.nan)  # cached results
        self._sizes = fleet.sizes
        self._predicted = predicted
        self._after = dict[tuple[int, int], int]()

    @property
    def full(self) -> bool:
        """Return true if no unused NIC is left in the fleet."""
        return self.count == len(self.free)

    def put(self, nic: int, function: int, sla: float, *, known: bool = True) -> None:
        """Place a function, with the promised share `sla`, on a NIC.

        If `known` is false, do not predict the NIC's new mix of functions: `mix` keeps its old
        value.
        """
        if known:
            self.mix[nic] = self.after([nic], function)[0]
        self.free[nic] -= self._sizes[function]
        self.promised[nic, function] = max(self.promised[nic, function], sla)
        self._most_promised[:, nic] = np.nan
        self.count = max(self.count, nic + 1)

    def with_room(self, function: int) -> Indices:
        """Return the NICs in use with enough free cores."""
        return np.flatnonzero(self.free[: self.count] >= self._sizes[function])

    def after(self, nics: Iterable[int], function: int) -> Indices:
        """Return, for each NIC, the table row of its mix of functions after adding one function.

        NICs that are not in use count as empty.
        """
        now = [int(self.mix[nic]) if nic < self.count else TURNED_AWAY for nic in nics]
        new = [at for at in dict.fromkeys(now) if (at, function) not in self._after]
        if new:
            table = self._predicted.shares.mixes
            mixes = [tuple(sorted((*(table[at] if at >= 0 else ()), function))) for at in new]
            for at, row in zip(new, self._predicted.rows(mixes), strict=True):
                self._after[at, function] = int(row)
        return np.array([self._after[at, function] for at in now], dtype=np.intp)

    def most_promised(self, function: int) -> Floats:
        """Return, for each NIC in use, the throughput share that a newcomer would keep there.

        The result is negative if the newcomer would break the promise to another function, or if
        cores are missing. Only NICs that changed since the last call are computed.
        """
        found = self._most_promised[function, : self.count]
        new = np.flatnonzero(np.isnan(found))
        if len(new):
            found[new] = -np.inf
            room = new[self.free[new] >= self._sizes[function]]
            after = self.after(room, function)  # first, as it can extend the table
            kept = self._predicted.shares.kept[after]
            fits = (kept >= self.promised[room]).all(axis=1)
            found[room[fits]] = kept[fits, function]
        return found


Choose = Callable[[Nics, int, float], int | None]
"""A function that chooses a NIC in use for an arrival; it returns None to use a new NIC."""


def _monopolise(_nics: Nics, _function: int, _sla: float) -> int | None:
    return None


def _greedy(nics: Nics, function: int, _sla: float) -> int | None:
    room = nics.with_room(function)
    return int(room[nics.free[room].argmax()]) if len(room) else None


def _contention_aware(nics: Nics, function: int, sla: float) -> int | None:
    fits = nics.most_promised(function) >= sla
    return int(fits.argmax()) if fits.any() else None


class _BidPrice:
    """Policy that chooses the NIC whose free capacity loses the least expected value."""

    def __init__(self, fleet: Fleet, predicted: PredictedShares, expected: int | None) -> None:
        mixes = possible_mixes(fleet)
        predicted.fill(mixes)
        self._demand = Demand(fleet)
        self._prices = Prices(predicted.shares, mixes)
        self._alone = predicted.rows([(at,) for at in range(len(fleet.functions))])
        self._expected = expected
        self._arrived = 0
        self._renew = 0.0  # number of arrivals at which prices are computed again
        self._waiting = _WAITING

    def __call__(self, nics: Nics, function: int, sla: float) -> int | None:
        self._demand.add(function, sla)
        self._arrived += 1
        if self._arrived > self._renew:
            self._find_prices(nics)
        fits = np.flatnonzero(nics.most_promised(function) >= sla)
        if not len(fits):
            return None
        own = np.arange(nics.promised.shape[1]) == function
        now = self._prices.values(nics.mix[fits], nics.promised[fits])
        promised = np.maximum(nics.promised[fits], sla * own)
        lost = self._waiting * (now - self._prices.values(nics.after(fits, function), promised))
        best = int(lost.argmin())
        rest = self._prices.values(self._alone[[function]], (sla * own)[None, :])[0]
        is_new_cheaper = lost[best] > 1.0 - self._waiting * rest + _SAME
        return None if is_new_cheaper and not nics.full else int(fits[best])

    def _find_prices(self, nics: Nics) -> None:
        """Compute prices of free NIC capacity, and schedule the next computation."""
        left = 0 if self._expected is None else self._expected - self._arrived + 1
        if left > 0:
            self._waiting, self._renew = 1.0, self._arrived + max(1, left // _PARTS)
        else:  # unknown, or more arrivals than expected
            left = max(_AHEAD, self._arrived)
            self._waiting, self._renew = _WAITING, _RENEW * self._arrived
        used = slice(nics.count)
        self._prices.renew(self._demand.futures(left), nics.mix[used], nics.promised[used])


POLICIES: Mapping[str, Callable[[Fleet, PredictedShares, int | None], Choose]] = {
    "monopolise": lambda *_: _monopolise,
    "greedy": lambda *_: _greedy,
    "contention-aware": lambda *_: _contention_aware,
    "bid-price": _BidPrice,
}
"""Constructors of policies by name; each sequence needs a new one."""
_PREDICTING = ("contention-aware", "bid-price")


def place(
    fleet: Fleet,
    arrivals: Arrivals,
    policy: str,
    predicted: PredictedShares,
    expected: int | None = None,
) -> Placement:
    """Place all arrivals by a policy; `expected` is their total number, None if unknown.

    Raises:
        InputError: if so many mixes of functions fit on a NIC that `bid-price` cannot enumerate
            them.
    """
    choose, knows = POLICIES[policy](fleet, predicted, expected), policy in _PREDICTING
    most = min(len(arrivals.function), fleet.most or len(arrivals.function))
    nics = Nics(fleet, most, predicted)
    where = np.full(len(arrivals.function), TURNED_AWAY, dtype=np.intp)
    for at, (function, sla) in enumerate(zip(arrivals.function, arrivals.sla, strict=True)):
        nic = choose(nics, int(function), float(sla))
        if nic is None:
            if nics.full:
                continue
            nic = nics.count
        nics.put(nic, int(function), float(sla), known=knows)
        where[at] = nic
    return Placement(where, nics.count)
