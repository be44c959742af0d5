"""What pairs do, by the network with two classes of packets; and the scores of that.

Both members have the same equations, so that swapping them swaps their results and changes no
score. Where functions were measured alone, their own times are scaled such that the network says
the same of each: what no count of work explains of a function goes with it into its pairs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.insights.colocation.groups import CORES, FUNCTIONS, PAIRS, Alone, Groups
from slowpath.insights.colocation.scores import FIRST, SECOND, Scores, scores
from slowpath.insights.network import latency as delays
from slowpath.insights.network.closed import Array, Demands, solve
from slowpath.insights.network.parameters import Amounts, amounts, demands, taken
from slowpath.insights.network.work import works

_GIGA = 1e9
_ROUNDS = 12
_SMALL = 1e-3
_FLATTEST = -0.2
"""The least slope that is taken: where something shared is full, own times hardly matter."""
_FARTHEST = 0.4
"""The logarithm of the largest scale."""


class PairsModel(NamedTuple):
    """The network of pairs."""

    parameters: Array
    latency: Array  # weights
    groups: int  # how many it was learnt from


class Sharing(NamedTuple):
    """What functions do alone and in pairs."""

    alone: Array  # packets/s, shape (groups, 4)
    alone_latency: Array  # cycles
    pairs: Array  # packets/s, shape (groups, 6, 2)
    pairs_latency: Array  # cycles


def alone_places(groups: int) -> tuple[np.ndarray]:
    """The place of every function."""
    return (np.arange(groups * FUNCTIONS),)


def pair_places(groups: int) -> tuple[np.ndarray, np.ndarray]:
    """The places of first and second members of all pairs."""
    first = np.arange(groups)[:, None] * FUNCTIONS
    return (first + FIRST).ravel(), (first + SECOND).ravel()


def shared(model: PairsModel, groups: Groups) -> Sharing:
    """What the network says, with what was measured alone where that is known."""
    count, known = groups.size, works(groups.functions)
    one = amounts(known)
    single, double = taken(one, alone_places(count)), taken(one, pair_places(count))
    needed = demands(model.parameters, single)
    scale = _scales(needed, groups).reshape(-1, 1)
    both = np.concatenate([scale[place] for place in pair_places(count)], 1)
    alone = _Setting(model, single, _scaled(needed, scale))
    pairs = _Setting(model, double, _scaled(demands(model.parameters, double), both))
    named = {name: amount[:, None] for name, amount in known.items()}
    paired = {
        name: np.stack([amount[place] for place in pair_places(count)], 1)
        for name, amount in known.items()
    }
    shape = (count, len(PAIRS), 2)
    cycles = alone.latency(named).reshape(count, FUNCTIONS)
    beside = pairs.latency(paired).reshape(shape)
    # What was measured alone is what pairs are compared with: both are off alike.
    rates = alone.throughput.reshape(count, FUNCTIONS) * _GIGA
    off = _off(groups.alone.throughput, rates), _off(groups.alone.latency, cycles)
    both_off = [np.stack([one[:, FIRST], one[:, SECOND]], -1) for one in off]
    return Sharing(
        rates * off[0],
        cycles * off[1],
        pairs.throughput.reshape(shape) * _GIGA * both_off[0],
        beside * both_off[1],
    )


def _off(measured: Array, predicted: Array) -> Array:
    """Measured over predicted, 1 where nothing was measured."""
    return np.where(np.isnan(measured), 1.0, measured / predicted)


def surprising(model: PairsModel, groups: Groups) -> NDArray[np.bool_]:
    """Which functions do alone something far from what was ever measured; shape (groups, 4)."""
    expected = shared(model, groups._replace(alone=Alone(*(one * np.nan for one in groups.alone))))
    gap = np.log(groups.alone.throughput / expected.alone)
    return np.nan_to_num(np.abs(gap)) > _FARTHEST


def predicted(model: PairsModel, groups: Groups) -> Scores:
    """The scores of all pairs."""
    found = shared(model, groups)
    return scores(found.alone, found.alone_latency, found.pairs, found.pairs_latency)


class _Setting:
    """Functions beside each other, solved."""

    def __init__(self, model: PairsModel, work: Amounts, needed: Demands) -> None:
        self.model, self.work = model, work
        self.cores = np.full(needed.waiting.shape, float(CORES))
        self.throughput = solve(needed, self.cores)

    def latency(self, known: dict[str, Array]) -> Array:
        times = delays.times((self.model.parameters,), self.work, self.cores, self.throughput)
        return delays.latency(self.model.latency, known, times)


def _scaled(needed: Demands, scale: Array) -> Demands:
    return needed._replace(waiting=needed.waiting * scale, computing=needed.computing * scale)


def _scales(needed: Demands, groups: Groups) -> Array:
    """By how much own times differ from those of the network, shape (functions,)."""
    measured = groups.alone.throughput.reshape(-1, 1) / _GIGA
    known = ~np.isnan(measured)
    wanted = np.log(np.where(known, measured, 1.0))
    cores = np.full(wanted.shape, float(CORES))
    found = np.zeros(wanted.shape)
    if not known.any():
        return np.asarray(np.exp(found).ravel())
    for _ in range(_ROUNDS):
        here = np.log(solve(_scaled(needed, np.exp(found)), cores))
        there = np.log(solve(_scaled(needed, np.exp(found + _SMALL)), cores))
        slope = np.minimum((there - here) / _SMALL, _FLATTEST)
        found = np.clip(found + (wanted - here) / slope, -_FARTHEST, _FARTHEST)
        found = np.where(known, found, 0.0)
    return np.asarray(np.exp(found).ravel())
