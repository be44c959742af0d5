"""Policies that place each arriving function on a NIC (Tomur paper, 7.5.1), and their bid prices.

A promise is the share of its solo throughput that a function has to keep.

- `monopolise`: one NIC for each function.
- `greedy`: the NIC with the most free cores, if they suffice.
- `contention-aware`: the first NIC on which, by the models' predictions, all promises are kept,
  including that to the new function. The paper does not say which of several such NICs is chosen;
  the fullest one, and those with the least or most slack, are no better.
- `bid-price`: of these NICs, the one whose free capacity loses the least value for the arrivals
  still expected; the total number of arrivals may be known.

If no NIC fits, the fleet uses another one, up to its limit; beyond the limit, the arrival is turned
away. NICs are numbered in the order of first use; of equals, the first is chosen.

The prices of `bid-price` come from a linear program. A place is capacity for one instance of a
function in a mix of functions on a NIC. Promises of a function are nested: a place that keeps 95 %
also keeps 90 %. So a place belongs to the largest promise that it keeps, and surplus places are
handed down to the next smaller promise. The linear program has a row for each function and promise,
`places + handed down >= wanted`. It has a column for each mix of a new NIC, and for each mix that a
NIC in use can still become. The number of NICs in use limits the columns of the second kind. Dual
variables are the prices, in NICs, of a place that keeps a promise.

The linear program finds the fewest NICs, as a fraction, for the expected arrivals. They follow the
proportions that the fleet declares, and increasingly those observed. The value of a NIC's free
places is that of the best mix it can become, at these prices. A new function is placed where this
value falls least, or on a new NIC if that is cheaper. (Bid-price control: Talluri and van Ryzin,
"An analysis of bid-price controls for network revenue management", Management Science 44, 1998.)
`contention-aware` puts promises of 80 and of 95 % on the same NICs, where the strictest promise
limits all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from slowpath.contention.placement.fleet import Arrivals, Fleet, Mix, counts_of, possible_mixes
from slowpath.contention.placement.shares import PredictedShares, Shares
from slowpath.core.arrays import Floats, Indices, Mask

NONE = -1
"""Stands for a row of `ExpectedArrivals` if a place (capacity for one instance of a function) keeps
no promise.
"""


class ExpectedArrivals(NamedTuple):
    """Expected number of arrivals of each function with each promise.

    A promise is the share of its solo throughput that a function has to keep. Rows are sorted by
    function, then by ascending promise.
    """

    function: Indices
    promise: Floats
    arrivals: Floats

    def levels(self, kept: Floats) -> Indices:
        """Return the row of the largest promise that each function keeps in each mix.

        `kept` has the shares of solo throughput, `[mix, function]`. The result has the same axes;
        it is `NONE` where no promise is kept.
        """
        found = np.full(kept.shape, NONE, dtype=np.intp)
        for function in np.unique(self.function):
            rows = np.flatnonzero(self.function == function)
            below = np.searchsorted(self.promise[rows], kept[:, function], side="right")
            found[:, function] = np.where(below > 0, rows[0] + below - 1, NONE)
        return found


class Column(NamedTuple):
    """Columns of the linear program, one for each mix of functions that can share a NIC.

    `places` has the number of instances of each function, `levels` the promises that they keep.
    """

    places: Floats  # `[column, function]`
    levels: Indices  # rows of `ExpectedArrivals`


class Grown(NamedTuple):
    """NICs with the same mix of functions, and the larger mixes that they can still become."""

    nics: int
    columns: Column


class Cover(NamedTuple):
    """Solution of the linear program: the fewest NICs for the expected arrivals."""

    nics: Floats  # number of new NICs with each mix
    prices: Floats  # price of a place, by row of `ExpectedArrivals`
    total: float  # number of new NICs


def cover(wanted: ExpectedArrivals, mixes: Column, grown: Sequence[Grown] = ()) -> Cover:
    """Find how many NICs to use with each mix, so that few new NICs serve all expected arrivals.

    Variables of the linear program are mixes of new NICs (`mixes`) and larger mixes of NICs in use
    (`grown`). Arrivals with a promise that no mix keeps are left out. They get a NIC alone, where
    the promise can break.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack, vstack

    rows, count = len(wanted.function), len(mixes.places)
    parts = [_matrix(rows, one) for one in (mixes, *(one.columns for one in grown))]
    places = hstack([*parts, _handed_down(wanted)]).tocsr()
    owner = np.repeat(np.arange(len(grown)), [part.shape[1] for part in parts[1:]])
    limits = coo_array(
        (np.ones(len(owner)), (owner, count + np.arange(len(owner)))),
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
    """Return the matrix of the linear program for these columns.

    It has the number of places for each row of `ExpectedArrivals` (`rows` rows) and each mix. A
    place is capacity for one instance of a function in a mix.
    """
    from scipy.sparse import coo_array

    at, function = np.nonzero((column.places > 0) & (column.levels != NONE))
    where = (column.levels[at, function], at)
    return coo_array((column.places[at, function], where), shape=(rows, len(column.places)))


def _handed_down(wanted: ExpectedArrivals) -> Any:  # noqa: ANN401 - SciPy has no types
    """Return a matrix whose columns move a place from a promise to the next smaller one.

    A place is capacity for one instance of a function. If a place keeps a promise, it keeps smaller
    promises, too.
    """
    from scipy.sparse import coo_array

    taken = np.flatnonzero(wanted.function[1:] == wanted.function[:-1]) + 1
    columns = np.arange(len(taken))
    where = (np.concatenate([taken, taken - 1]), np.concatenate([columns, columns]))
    values = np.repeat([-1.0, 1.0], len(taken))
    return coo_array((values, where), shape=(len(wanted.function), len(taken)))


def _keepable(wanted: ExpectedArrivals, mixes: Column) -> Mask:
    """Return true for each row of `wanted` whose promise at least one mix keeps."""
    highest = np.where(mixes.places > 0, mixes.levels, NONE).max(axis=0, initial=NONE)
    kept: Mask = np.arange(len(wanted.function)) <= highest[wanted.function]
    return kept


_DECLARED = np.array([30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0])
"""Candidate weights of the fleet's declared proportions, as numbers of arrivals. The likeliest one
is used.
"""
DRAWS = 4
"""Number of random samples of future arrivals over which prices are averaged. One is too few for
rare functions and promises; more than four are no better.
"""


class Demand:
    """Forecast of arrivals by function and promise, from declared and observed proportions."""

    def __init__(self, fleet: Fleet) -> None:
        self._declared = dict[tuple[int, float], float]()
        for at, function in enumerate(fleet.functions):
            for promise in function.sla:
                self._declared[at, promise] = 1 / len(fleet.functions) / len(function.sla)
        self._come = dict.fromkeys(self._declared, 0)
        self._draw = np.random.default_rng(0)

    def add(self, function: int, promise: float) -> None:
        """Count an observed arrival of a function.

        `promise` is its promised share of solo throughput.
        """
        key = function, promise
        self._come[key] = self._come.get(key, 0) + 1

    def expected(self, arrivals: float) -> ExpectedArrivals:
        """Return the expected number of arrivals for each function and promise.

        They add up to `arrivals`.
        """
        keys = sorted(self._come)
        come = np.array([self._come[key] for key in keys], dtype=float)
        declared = np.array([self._declared.get(key, 0.0) for key in keys])
        weights = come + _trust(declared, come) * declared
        return ExpectedArrivals(
            np.array([function for function, _ in keys], dtype=np.intp),
            np.array([promise for _, promise in keys]),
            weights * arrivals / weights.sum(),
        )

    def futures(self, arrivals: int) -> list[ExpectedArrivals]:
        """Return several random samples of future arrivals, each with a total of `arrivals`."""
        mean = self.expected(arrivals)
        shares = mean.arrivals / mean.arrivals.sum()
        return [
            mean._replace(arrivals=self._draw.multinomial(arrivals, shares).astype(float))
            for _ in range(DRAWS)
        ]


def _trust(declared: Floats, come: Floats) -> float:
    """Return the likeliest weight of the fleet's declared proportions against observed arrivals.

    `declared` has the declared proportions, `come` the observed numbers of arrivals, which have a
    Dirichlet-multinomial distribution. The weight is a number of arrivals that follow the declared
    proportions exactly.
    """
    from scipy.special import gammaln

    known = declared > 0
    prior = _DECLARED[:, None] * declared[known]
    likely = (gammaln(prior + come[known]) - gammaln(prior)).sum(axis=1)
    likely += gammaln(_DECLARED) - gammaln(_DECLARED + come[known].sum())
    return float(_DECLARED[likely.argmax()])


class Room(NamedTuple):
    """Larger mixes that the mix of a NIC can become if functions are added."""

    rows: Indices  # rows of the larger mixes in the table of shares
    additional: Floats  # additional places, `[larger mix, function]`


class Prices:
    """Values of free places on NICs, computed with prices from the linear program.

    A place is capacity for one more instance of a function on a NIC.
    """

    def __init__(self, shares: Shares, mixes: Sequence[Mix]) -> None:
        """Prepare to compute values of free places.

        `shares` has the shares that functions keep in `mixes`.
        """
        self._kept = shares.kept
        self._rows = shares.rows(mixes)
        self._counts = counts_of(mixes, self._kept.shape[1])
        self._at = {int(row): at for at, row in enumerate(self._rows)}
        self._room = dict[int, Room]()
        self._values = dict[int, Floats]()
        self._worth = np.zeros_like(self._counts)

    def renew(self, futures: Sequence[ExpectedArrivals], rows: Indices, promised: Floats) -> None:
        """Compute prices for several random samples of future arrivals, and store their means.

        `rows` has the mix of each NIC in use, as a row of the table of shares. `promised` has the
        largest promise to each function on each NIC.

        All futures have the same functions and promises. Prices are averaged because those of one
        future only reflect its last arrivals. (Talluri and van Ryzin, "A randomized linear
        programming method for computing network bid prices", Transportation Science 33, 1999.)
        """
        levels = futures[0].levels(self._kept[self._rows])
        mixes, grown = Column(self._counts, levels), self._grown(levels, rows, promised)
        prices = np.mean([cover(one, mixes, grown).prices for one in futures], axis=0)
        # A place that keeps no promise has no value.
        self._worth = np.append(prices, 0.0)[levels]
        self._values.clear()

    def _grown(self, levels: Indices, rows: Indices, promised: Floats) -> list[Grown]:
        """Return the larger mixes that NICs in use can become without breaking promises.

        NICs with the same mix and promises are grouped. `levels` is the result of
        `ExpectedArrivals.levels`; `rows` and `promised` are those of `renew`.
        """
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
            if len(at) > 1:  # the first is the mix itself
                found.append(Grown(int(count), Column(room.additional[fits], levels[at])))
        return found

    def worth(self) -> Floats:
        """Return the value, in NICs, of the places of each function in each mix, `[mix, function]`.

        A place is capacity for one instance of a function. A whole mix is worth at most one NIC.
        """
        return self._counts * self._worth

    def values(self, rows: Indices, promised: Floats) -> Floats:
        """Return the value, in NICs, of the free places on each NIC.

        `rows` has the mix of each NIC, as a row of the table of shares; `promised` has its largest
        promise to each function.
        """
        found = np.zeros(len(rows))
        for row in np.unique(rows):
            same = np.flatnonzero(rows == row)
            room = self._room_of(int(row))
            fits = (self._kept[room.rows] >= promised[same][:, None]).all(axis=2)
            found[same] = np.where(fits, self._value_of(int(row)), 0.0).max(axis=1)
        return found

    def _value_of(self, row: int) -> Floats:
        """Return the value of the additional places in each larger mix that a mix can become.

        `row` is the row of the mix in the table of shares.
        """
        found = self._values.get(row)
        if found is None:
            room = self._room_of(row)
            at = [self._at[int(one)] for one in room.rows]
            found = self._values[row] = (room.additional * self._worth[at]).sum(axis=1)
        return found

    def _room_of(self, row: int) -> Room:
        found = self._room.get(row)
        if found is None:
            has = self._counts[self._at[row]]
            larger = np.flatnonzero((self._counts >= has).all(axis=1))
            found = self._room[row] = Room(self._rows[larger], self._counts[larger] - has)
        return found


_WAITING = 0.93
"""Value of a place used later, relative to a place used now, if the number of arrivals is unknown.
Values from 0.9 to 0.95 were best in trials that used the true throughputs as predictions, on
sequences of 500 and 2,000 arrivals. No figure uses these sequences.
"""
_AHEAD = 100
"""Minimum number of further arrivals that is assumed if their number is unknown. If more functions
have arrived, their number is assumed instead. The value has little effect.
"""
_RENEW = 1.25
"""If the number of arrivals is unknown, prices are computed again when it has grown by this factor.
"""
_PARTS = 4
"""If the number of arrivals is known, prices are computed again after 1 / `_PARTS` of the remaining
arrivals. Computing them twice as often gives no better placements.
"""
_SAME = 1e-9
"""Prices that differ by less count as equal; such differences are rounding errors."""
TURNED_AWAY = -1
"""Stands for the NIC of an arrival for which no NIC had room."""


class Placement(NamedTuple):
    """Result of a placement policy: the NIC of each arrival, and the number of NICs in use."""

    nic: Indices  # NIC of each arrival, or `TURNED_AWAY`
    nics: int  # number of NICs in use


class Nics:
    """The NICs in use: their free cores, mixes of functions, and promises to these functions."""

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
        """True if the fleet has no unused NIC left."""
        return self.count == len(self.free)

    def put(self, nic: int, function: int, sla: float, *, known: bool = True) -> None:
        """Record that a function is placed on a NIC, and promised the throughput share `sla`.

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
        """Return the indices of the NICs in use that have enough free cores for the function."""
        return np.flatnonzero(self.free[: self.count] >= self._sizes[function])

    def after(self, nics: Iterable[int], function: int) -> Indices:
        """Return the row of each NIC's mix, after adding one function, in the table of shares.

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
        """Return the share of solo throughput that a new function would keep on each NIC in use.

        The result is negative if the new function would break the promise to another function, or
        if cores are missing. Only NICs that changed since the last call are computed.
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
"""Function that chooses a NIC in use for an arrival, from the NICs, the function and its promise.
It returns None to use a new NIC.
"""


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
        """Compute the prices of free places on NICs, and set the time of the next computation."""
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
"""Constructors of policies, by name. A policy has state, so each sequence of arrivals needs a new
one.
"""
_PREDICTING = ("contention-aware", "bid-price")


def place(
    fleet: Fleet,
    arrivals: Arrivals,
    policy: str,
    predicted: PredictedShares,
    expected: int | None = None,
) -> Placement:
    """Place all arrivals by a policy.

    `expected` is the number of arrivals that the policy `bid-price` expects; None: unknown.

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
