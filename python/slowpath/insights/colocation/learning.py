"""The network of pairs, learnt from functions that were measured alone and in pairs.

In the published pairs the first member is a little faster, and the second slower, than the same
function in the other place (docs/insights.md): an artefact of the measurement, which is taken out.
"""

from collections.abc import Mapping

import numpy as np

from slowpath.insights.colocation.groups import CORES, Groups, Paired
from slowpath.insights.colocation.model import PairsModel, alone_places, pair_places
from slowpath.insights.colocation.scores import FIRST, SECOND
from slowpath.insights.network import latency as delays
from slowpath.insights.network.closed import Array
from slowpath.insights.network.fitting import Measured, fit
from slowpath.insights.network.parameters import amounts, taken, throughput
from slowpath.insights.network.work import works

_GIGA = 1e9


def learn(groups: Groups, pairs: Paired, seed: int = 0) -> PairsModel:
    """The model; the same for the same groups and seed."""
    count = groups.size
    known = works(groups.functions)
    one = amounts(known)
    logs = np.log(pairs.throughput / _GIGA) - favour(groups, pairs)
    alone = Measured(
        taken(one, alone_places(count)),
        np.full((4 * count, 1), float(CORES)),
        groups.alone.throughput.reshape(-1, 1) / _GIGA,
    )
    double = np.exp(logs).reshape(-1, 2)
    beside = Measured(taken(one, pair_places(count)), np.full(double.shape, float(CORES)), double)
    parameters = fit([alone, beside], seed)
    return PairsModel(parameters, _latency(parameters, alone, known, groups), count)


def favour(groups: Groups, pairs: Paired) -> Array:
    """By how much places favour their members, in logarithms, shape (2,): +d and -d."""
    alone = groups.alone.throughput
    off = np.log(pairs.throughput) - np.log(np.stack([alone[:, FIRST], alone[:, SECOND]], -1))
    half = float((off[..., 0] - off[..., 1]).mean()) / 2
    return np.array([half, -half])


def _latency(
    parameters: Array, alone: Measured, known: Mapping[str, Array], groups: Groups
) -> Array:
    """Weights of latencies, from functions alone."""
    rates = throughput(parameters, alone.work, alone.cores)
    times = delays.times((parameters,), alone.work, alone.cores, rates)
    settings = {name: amount[:, None] for name, amount in known.items()}
    return delays.fit(settings, times, groups.alone.latency.reshape(-1, 1))
