"""The model of curves: training, files, quality.

Members predict functions they have not seen. These predictions determine the spread of measured
around predicted curves, and the weights of latencies.
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
from slowpath.insights.cores.knee import CORES, Advice, advise
from slowpath.insights.cores.network import SavedNetwork, amounts, taken, throughput, works
from slowpath.insights.cores.network_fitting import Measured, fit
from slowpath.insights.cores.queueing import Array

_GIGA = 1e9


class CoresModel(NamedTuple):
    """An ensemble of network fits, each to a part of the functions; predictions are their mean."""

    members: tuple[Array, ...]  # parameters of each
    latency: Array  # weights of latency terms
    spread: Array  # covariance of log(measured / predicted) at CORES, for held-out functions
    functions: int  # number of training functions


class Points(NamedTuple):
    """Predictions for functions at numbers of cores."""

    throughput: Array  # packets/s, shape (functions, numbers)
    latency: Array  # latency in cycles, same shape


def predict(model: CoresModel, functions: Functions, cores: tuple[int, ...]) -> Points:
    """Predict throughput and latency at each number of cores."""
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
    """Return the geometric mean of members' throughputs, packets/s.

    The shape is (functions, numbers of cores).
    """
    count, many = functions.size, len(cores)
    work = taken(amounts(works(functions)), (np.repeat(np.arange(count), many),))
    number = np.tile(np.array(cores, float), count)[:, None]
    logs = [np.log(throughput(one, work, number)) for one in members]
    return np.asarray(np.exp(np.mean(logs, 0)).reshape(count, many) * _GIGA)


class Advised(NamedTuple):
    """Advice for functions, with predictions at the advised numbers of cores."""

    advice: Advice
    throughput: Array  # packets/s, shape (functions,)
    latency: Array  # predicted latency, cycles
    share: Array  # relative to the greatest throughput at any number of cores from 24 to 60


def advised(model: CoresModel, functions: Functions, confidence: float) -> Advised:
    """Return the advised number of cores for each function."""
    every = tuple(range(CORES[0], CORES[-1] + 1))
    points = predict(model, functions, every)
    measured = [every.index(cores) for cores in CORES]
    advice = advise(points.throughput[:, measured], model.spread, confidence)
    at = (np.arange(functions.size), advice.cores - CORES[0])
    there = points.throughput[at]
    return Advised(advice, there, points.latency[at], there / points.throughput.max(1))


MEMBERS = 5
_WILD = 0.95
"""Share of functions with the smallest errors that determine the spread."""


class Crossed(NamedTuple):
    """Members, and their predictions for held-out functions."""

    members: tuple[Array, ...]
    throughput: Array  # packets/s at CORES, shape (functions, 7)
    times: delays.Times  # times of packets, same shape


def learn(curves: Curves, members: int = MEMBERS, seed: int = 0) -> CoresModel:
    """Train the model; the same curves and seed give the same model."""
    return model_of(curves, cross(curves, members, seed))


def cross(curves: Curves, members: int, seed: int) -> Crossed:
    """Train members, each without one part of the functions, and predict that part."""
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
    """Return the model: members, weights of latencies, and the spread of curves."""
    known = {
        name: np.repeat(one[:, None], len(CORES), 1)
        for name, one in works(curves.functions).items()
    }
    weights = delays.fit(known, crossed.times, curves.latency)
    off = np.log(curves.throughput / crossed.throughput)
    return CoresModel(crossed.members, weights, spread(off), len(curves.names))


def spread(off: Array) -> Array:
    """Return the covariance of curves around predictions, without a few outliers."""
    worst = np.abs(off).max(1)
    usual = off[worst <= np.quantile(worst, _WILD)]
    return np.asarray(usual.T @ usual / len(usual))


def _fitted(curves: Curves, places: NDArray[np.intp], seed: int) -> Array:
    work, number = _settings(curves.functions.taken(places))
    rates = curves.throughput[places].reshape(-1, 1) / _GIGA
    return fit([Measured(work, number, rates)], seed)


def _settings(functions: Functions) -> tuple[tuple[Array, ...], Array]:
    """Return work and cores for functions at all of CORES."""
    count = functions.size
    places = np.repeat(np.arange(count), len(CORES))
    work = taken(amounts(works(functions)), (places,))
    return work, np.tile(np.array(CORES, float), count)[:, None]


TRAFFIC = ("hit", "miss")
"""Kinds of traffic with a shipped model: accesses to external memory mostly hit its cache (few
large flows), or mostly miss it (many small flows)."""
_FOLDER = Path(__file__).parent / "models"


class SavedCores(TypedDict):
    """Schema of a saved model of curves."""

    functions: int
    members: list[SavedNetwork]
    latency: dict[str, float]
    spread: list[list[float]]


def shipped_file(traffic: str) -> Path:
    """Return the file of the shipped model for a kind of traffic."""
    return _FOLDER / f"{traffic}.json"


def shipped(traffic: str) -> CoresModel:
    """Return the shipped model for a kind of traffic."""
    return read(json.loads(shipped_file(traffic).read_text()))


def written(model: CoresModel) -> SavedCores:
    """Return the model as a document."""
    return {
        "functions": model.functions,
        "members": [network.written(one) for one in model.members],
        "latency": network.written_latency(model.latency),
        "spread": [[network.rounded(one) for one in row] for row in model.spread],
    }


def read(document: SavedCores) -> CoresModel:
    """Return the model in a document."""
    return CoresModel(
        tuple(network.read(one) for one in document["members"]),
        network.read_latency(document["latency"]),
        np.array(document["spread"]),
        document["functions"],
    )
