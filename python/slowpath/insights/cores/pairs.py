"""Trains, saves and evaluates the model of two functions that share the SmartNIC.

Both functions of a pair have equal equations, so swapping them swaps their results and keeps all
scores. If a function was measured alone, its times without contention are scaled until the queueing
network predicts the measured solo throughput. So properties of a function that the model does not
explain also affect its pairs.

In the published pairs, a function is slightly faster as the first member than as the second
(docs/explanation/insights-cores.md). This artefact of the measurement is removed.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from slowpath.insights.cores import network
from slowpath.insights.cores import network as delays
from slowpath.insights.cores.groups import (
    FIRST,
    FUNCTIONS,
    GROUP_CORES,
    PAIRS,
    SECOND,
    Alone,
    Groups,
    Paired,
    Scores,
    scores,
)
from slowpath.insights.cores.model import Measured, fit
from slowpath.insights.cores.network import (
    Amounts,
    SavedNetwork,
    amounts,
    demands,
    select_amounts,
    throughput,
    works,
)
from slowpath.insights.cores.queueing import Array, Demands, solve

_GIGA = 1e9
_ROUNDS = 12
_SMALL = 1e-3
_FLATTEST = -0.2
"""Largest slope of log throughput that the search assumes. Slopes are nearly zero if a shared
resource is full."""
_FARTHEST = 0.4
"""Maximum absolute logarithm of the factor by which a function's own times are scaled."""


class PairsModel(NamedTuple):
    """The model of pairs: a queueing network fitted to measured pairs, and latency weights."""

    parameters: Array
    latency: Array  # weights of latency terms
    groups: int  # number of training groups


class Sharing(NamedTuple):
    """Predicted throughput and latency of functions that run alone, and in pairs on one SmartNIC.

    Functions come in groups of four. The four functions of a group form six pairs.
    """

    alone: Array  # packets/s, shape (groups, 4)
    alone_latency: Array  # cycles, shape (groups, 4)
    pairs: Array  # packets/s, shape (groups, 6, 2)
    pairs_latency: Array  # cycles, shape (groups, 6, 2)


def alone_places(groups: int) -> tuple[np.ndarray]:
    """Return the index of the function in each measurement of a function alone.

    There are four functions in each of the `groups` groups, and each is measured once.
    """
    return (np.arange(groups * FUNCTIONS),)


def pair_places(groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the index of the first function, and that of the second function, of each pair.

    Each of the `groups` groups of four functions forms six pairs.
    """
    first = np.arange(groups)[:, None] * FUNCTIONS
    return (first + FIRST).ravel(), (first + SECOND).ravel()


def shared(model: PairsModel, groups: Groups) -> Sharing:
    """Predict the throughput and latency of functions alone and in pairs.

    Where a group has measurements of functions alone, they correct the predictions.
    """
    count, known = groups.size, works(groups.functions)
    one = amounts(known)
    single, double = (
        select_amounts(one, alone_places(count)),
        select_amounts(one, pair_places(count)),
    )
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
    paired_cycles = pairs.latency(paired).reshape(shape)
    # Scores compare pairs with solo values, so a function has one correction for both.
    rates = alone.throughput.reshape(count, FUNCTIONS) * _GIGA
    corrections = (
        _correction(groups.alone.throughput, rates),
        _correction(groups.alone.latency, cycles),
    )
    paired_corrections = [np.stack([one[:, FIRST], one[:, SECOND]], -1) for one in corrections]
    return Sharing(
        rates * corrections[0],
        cycles * corrections[1],
        pairs.throughput.reshape(shape) * _GIGA * paired_corrections[0],
        paired_cycles * paired_corrections[1],
    )


def _correction(measured: Array, predicted: Array) -> Array:
    """Return the factor measured / predicted by which to correct predictions.

    It is 1 without a measurement (NaN).
    """
    return np.where(np.isnan(measured), 1.0, measured / predicted)


def surprising(model: PairsModel, groups: Groups) -> NDArray[np.bool_]:
    """Return true for each function whose measured solo throughput is far from the prediction.

    Predictions for its pairs are less reliable. The shape is (groups, 4).
    """
    expected = shared(model, groups._replace(alone=Alone(*(one * np.nan for one in groups.alone))))
    gap = np.log(groups.alone.throughput / expected.alone)
    return np.nan_to_num(np.abs(gap)) > _FARTHEST


def predicted(model: PairsModel, groups: Groups) -> Scores:
    """Predict the scores of all pairs of functions in each group; see `groups.totals`."""
    found = shared(model, groups)
    return scores(found.alone, found.alone_latency, found.pairs, found.pairs_latency)


class _Setting:
    """Functions that run alone or in pairs, with the throughputs that the network predicts."""

    def __init__(self, model: PairsModel, work: Amounts, needed: Demands) -> None:
        self.model, self.work = model, work
        self.cores = np.full(needed.waiting.shape, float(GROUP_CORES))
        self.throughput = solve(needed, self.cores)

    def latency(self, known: dict[str, Array]) -> Array:
        times = delays.times((self.model.parameters,), self.work, self.cores, self.throughput)
        return delays.latency(self.model.latency, known, times)


def _scaled(needed: Demands, scale: Array) -> Demands:
    return needed._replace(waiting=needed.waiting * scale, computing=needed.computing * scale)


def _scales(needed: Demands, groups: Groups) -> Array:
    """Return the factors by which the functions' own times in the queueing network are multiplied.

    These are times without contention. With the factors, the network predicts the measured solo
    throughputs. The shape is (functions,); functions without measurements have the factor 1.
    """
    measured = groups.alone.throughput.reshape(-1, 1) / _GIGA
    known = ~np.isnan(measured)
    target = np.log(np.where(known, measured, 1.0))
    cores = np.full(target.shape, float(GROUP_CORES))
    found = np.zeros(target.shape)
    if not known.any():
        return np.asarray(np.exp(found).ravel())
    for _ in range(_ROUNDS):
        value = np.log(solve(_scaled(needed, np.exp(found)), cores))
        next_value = np.log(solve(_scaled(needed, np.exp(found + _SMALL)), cores))
        slope = np.minimum((next_value - value) / _SMALL, _FLATTEST)
        found = np.clip(found + (target - value) / slope, -_FARTHEST, _FARTHEST)
        found = np.where(known, found, 0.0)
    return np.asarray(np.exp(found).ravel())


def learn(groups: Groups, pairs: Paired, seed: int = 0) -> PairsModel:
    """Train the model of pairs from measurements of functions alone and in pairs.

    Equal measurements and seeds give equal models.
    """
    count = groups.size
    known = works(groups.functions)
    one = amounts(known)
    logs = np.log(pairs.throughput / _GIGA) - position_bias(groups, pairs)
    alone = Measured(
        select_amounts(one, alone_places(count)),
        np.full((4 * count, 1), float(GROUP_CORES)),
        groups.alone.throughput.reshape(-1, 1) / _GIGA,
    )
    double = np.exp(logs).reshape(-1, 2)
    paired = Measured(
        select_amounts(one, pair_places(count)), np.full(double.shape, float(GROUP_CORES)), double
    )
    parameters = fit([alone, paired], seed)
    return PairsModel(parameters, _latency(parameters, alone, known, groups), count)


def position_bias(groups: Groups, pairs: Paired) -> Array:
    """Return the bias of measured throughput by position in a pair, as logarithms +d and -d.

    In the published measurements, the first function of a pair is slightly faster than the second.
    The shape is (2,).
    """
    alone = groups.alone.throughput
    advantage = np.log(pairs.throughput) - np.log(np.stack([alone[:, FIRST], alone[:, SECOND]], -1))
    half = float((advantage[..., 0] - advantage[..., 1]).mean()) / 2
    return np.array([half, -half])


def _latency(
    parameters: Array, alone: Measured, known: Mapping[str, Array], groups: Groups
) -> Array:
    """Fit the weights of the latency model's terms to measurements of functions alone."""
    rates = throughput(parameters, alone.work, alone.cores)
    times = delays.times((parameters,), alone.work, alone.cores, rates)
    settings = {name: amount[:, None] for name, amount in known.items()}
    return delays.fit(settings, times, groups.alone.latency.reshape(-1, 1))


SHIPPED = Path(__file__).parents[1] / "models" / "pairs.json"


class SavedPairs(TypedDict):
    """Schema of a saved model of pairs."""

    groups: int
    network: SavedNetwork
    latency: dict[str, float]


def shipped() -> PairsModel:
    """Load the shipped model of pairs."""
    return read(json.loads(SHIPPED.read_text()))


def written(model: PairsModel) -> SavedPairs:
    """Convert the model of pairs to a JSON document, to save it."""
    return {
        "groups": model.groups,
        "network": network.written(model.parameters),
        "latency": network.written_latency(model.latency),
    }


def read(document: SavedPairs) -> PairsModel:
    """Restore the model of pairs from a JSON document."""
    parameters = network.read(document["network"])
    return PairsModel(parameters, network.read_latency(document["latency"]), document["groups"])
