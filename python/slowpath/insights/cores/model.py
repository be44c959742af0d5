"""The model learnt from curves: training, files, quality.

What members say of functions that they have not seen is also what the spread of measured around
predicted curves is taken from, and the latencies.
"""

import json
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from slowpath.insights.cores import network
from slowpath.insights.cores import network as delays
from slowpath.insights.cores.curves import Curves
from slowpath.insights.cores.functions import Functions
from slowpath.insights.cores.knee import CORES, Advice, advise, at_cores, knees
from slowpath.insights.cores.network import SavedNetwork, amounts, taken, throughput, works
from slowpath.insights.cores.network_fitting import Measured, fit
from slowpath.insights.cores.queueing import Array

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


MEMBERS = 5
_WILD = 0.95
"""Which part of functions, those with the smallest errors, the spread is taken from."""


class Crossed(NamedTuple):
    """Members, and what they say of the functions that each has not seen."""

    members: tuple[Array, ...]
    throughput: Array  # packets/s at CORES, shape (functions, 7)
    times: delays.Times  # of packets, the same


def learn(curves: Curves, members: int = MEMBERS, seed: int = 0) -> CoresModel:
    """The model; the same for the same curves and seed."""
    return model_of(curves, cross(curves, members, seed))


def cross(curves: Curves, members: int, seed: int) -> Crossed:
    """Fits members, each to all functions but a part of them."""
    count, many = len(curves.names), len(CORES)
    part = np.random.default_rng(seed).permutation(count) % members
    found = tuple(_fitted(curves, np.flatnonzero(part != one), one) for one in range(members))
    unseen, packet, line = (np.zeros((count, many)) for _ in range(3))
    for one, parameters in enumerate(found):
        places = np.flatnonzero(part == one)
        functions = curves.functions.taken(places)
        unseen[places] = mean_throughput((parameters,), functions, CORES)
        work, number = _settings(functions)
        times = delays.times((parameters,), work, number, unseen[places].reshape(-1, 1) / _GIGA)
        packet[places] = times.packet.reshape(-1, many)
        line[places] = times.line.reshape(-1, many)
    number = np.tile(np.array(CORES, float), (count, 1))
    return Crossed(found, unseen, delays.Times(packet, line, number))


def model_of(curves: Curves, crossed: Crossed) -> CoresModel:
    """Members with latencies, and how far curves are from predictions."""
    known = {
        name: np.repeat(one[:, None], len(CORES), 1)
        for name, one in works(curves.functions).items()
    }
    weights = delays.fit(known, crossed.times, curves.latency)
    off = np.log(curves.throughput / crossed.throughput)
    return CoresModel(crossed.members, weights, spread(off), len(curves.names))


def spread(off: Array) -> Array:
    """The covariance of curves around predictions, a few wild ones left out."""
    worst = np.abs(off).max(1)
    usual = off[worst <= np.quantile(worst, _WILD)]
    return np.asarray(usual.T @ usual / len(usual))


def _fitted(curves: Curves, places: NDArray[np.intp], seed: int) -> Array:
    work, number = _settings(curves.functions.taken(places))
    rates = curves.throughput[places].reshape(-1, 1) / _GIGA
    return fit([Measured(work, number, rates)], seed)


def _settings(functions: Functions) -> tuple[tuple[Array, ...], Array]:
    """Functions at all of CORES: amounts of work, and cores."""
    count = functions.size
    places = np.repeat(np.arange(count), len(CORES))
    work = taken(amounts(works(functions)), (places,))
    return work, np.tile(np.array(CORES, float), count)[:, None]


TRAFFIC = ("hit", "miss")
"""Kinds of traffic that there are models for: whether accesses to external memory mostly hit its
cache (few large flows) or miss it (many small ones)."""
_FOLDER = Path(__file__).parent / "models"


class SavedCores(TypedDict):
    """A model of curves."""

    functions: int
    members: list[SavedNetwork]
    latency: dict[str, float]
    spread: list[list[float]]


def shipped_file(traffic: str) -> Path:
    """Where the model for a kind of traffic is that comes with the package."""
    return _FOLDER / f"{traffic}.json"


def shipped(traffic: str) -> CoresModel:
    """The model that comes with the package."""
    return read(json.loads(shipped_file(traffic).read_text()))


def written(model: CoresModel) -> SavedCores:
    """A model as a document."""
    return {
        "functions": model.functions,
        "members": [network.written(one) for one in model.members],
        "latency": network.written_latency(model.latency),
        "spread": [[network.rounded(one) for one in row] for row in model.spread],
    }


def read(document: SavedCores) -> CoresModel:
    """The model of a document."""
    return CoresModel(
        tuple(network.read(one) for one in document["members"]),
        network.read_latency(document["latency"]),
        np.array(document["spread"]),
        document["functions"],
    )


class Outcome(NamedTuple):
    """Predictions for functions that were left out, by function."""

    knee: Array  # |predicted - measured| in cores
    plain: Array  # the same of the knee of the predicted curve itself
    throughput: Array  # |predicted / measured - 1|, mean over the curve
    latency: Array  # the same
    covered: Array  # 1 where the interval has the measured knee
    width: Array  # of the interval, cores
    share: Array  # measured throughput at the advised cores over the most that was measured


def curves_of(curves: Curves, places: np.ndarray) -> Curves:
    """Functions at some places."""
    names = tuple(curves.names[at] for at in places)
    functions = curves.functions.taken(places)
    return Curves(names, functions, curves.throughput[places], curves.latency[places])


def inside(low: np.ndarray, high: np.ndarray, measured: np.ndarray) -> Array:
    """1 where an interval has what was measured, else 0."""
    return np.asarray((low <= measured) & (measured <= high), float)


def compared(model: CoresModel, curves: Curves, confidence: float) -> Outcome:
    """What a model says of curves, beside what was measured."""
    points = predict(model, curves.functions, CORES)
    advice = advised(model, curves.functions, confidence).advice
    truth = knees(curves.throughput)
    return Outcome(
        np.abs(advice.cores - truth).astype(float),
        np.abs(knees(points.throughput) - truth).astype(float),
        np.abs(points.throughput / curves.throughput - 1).mean(1),
        np.abs(points.latency / curves.latency - 1).mean(1),
        inside(advice.low, advice.high, truth),
        (advice.high - advice.low).astype(float),
        at_cores(curves.throughput, advice.cores.astype(float)) / curves.throughput.max(1),
    )
