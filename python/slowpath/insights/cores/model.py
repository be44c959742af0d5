"""What was learnt from curves, and what it says of other functions."""

from typing import NamedTuple

import numpy as np

from slowpath.insights.cores.knee import CORES, Advice, advise
from slowpath.insights.functions.functions import Functions
from slowpath.insights.network import latency as delays
from slowpath.insights.network.closed import Array
from slowpath.insights.network.parameters import amounts, taken, throughput
from slowpath.insights.network.work import works

_GIGA = 1e9


class CoresModel(NamedTuple):
    """Several fits of the network, each to a part of the functions; their mean is taken."""

    members: tuple[Array, ...]  # parameters of each
    latency: Array  # weights
    spread: Array  # covariance of log(measured / predicted) at CORES, of functions left out
    functions: int  # how many it was learnt from


class Points(NamedTuple):
    """Predictions for functions at some numbers of cores."""

    throughput: Array  # packets/s, shape (functions, numbers)
    latency: Array  # cycles, the same


def predict(model: CoresModel, functions: Functions, cores: tuple[int, ...]) -> Points:
    """Throughput and latency at each number of cores."""
    count, many = functions.size, len(cores)
    places = np.repeat(np.arange(count), many)
    number = np.tile(np.array(cores, float), count)[:, None]
    known = works(functions)
    work = taken(amounts(known), (places,))
    rates = mean_throughput(model.members, functions, cores).reshape(-1, 1) / _GIGA
    found = delays.times(model.members, work, number, rates)
    settings = {name: one[places][:, None] for name, one in known.items()}
    cycles = delays.latency(model.latency, settings, found)
    shape = (count, many)
    return Points(rates.reshape(shape) * _GIGA, cycles.reshape(shape))


def mean_throughput(
    members: tuple[Array, ...], functions: Functions, cores: tuple[int, ...]
) -> Array:
    """The geometric mean of what members say, packets/s, shape (functions, numbers of cores)."""
    count, many = functions.size, len(cores)
    work = taken(amounts(works(functions)), (np.repeat(np.arange(count), many),))
    number = np.tile(np.array(cores, float), count)[:, None]
    logs = [np.log(throughput(one, work, number)) for one in members]
    return np.asarray(np.exp(np.mean(logs, 0)).reshape(count, many) * _GIGA)


class Advised(NamedTuple):
    """The advice for functions, and what it comes to."""

    advice: Advice
    throughput: Array  # predicted there, packets/s, shape (functions,)
    latency: Array  # cycles
    share: Array  # of the most that any number of cores from 24 to 60 reaches


def advised(model: CoresModel, functions: Functions, confidence: float) -> Advised:
    """How many cores each function is worth."""
    every = tuple(range(CORES[0], CORES[-1] + 1))
    points = predict(model, functions, every)
    measured = [every.index(cores) for cores in CORES]
    advice = advise(points.throughput[:, measured], model.spread, confidence)
    at = (np.arange(functions.size), advice.cores - CORES[0])
    there = points.throughput[at]
    return Advised(advice, there, points.latency[at], there / points.throughput.max(1))
