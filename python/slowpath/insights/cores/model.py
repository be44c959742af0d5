"""Trains, saves and evaluates the model of throughput and latency curves.

Each member of the ensemble predicts functions that it was not trained with. These predictions
determine the spread of measured curves around predictions, and the weights of latency terms.
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
from slowpath.insights.cores.network import SavedNetwork, amounts, select_amounts, throughput, works
from slowpath.insights.cores.network_fitting import Measured, fit
from slowpath.insights.cores.queueing import Array

_GIGA = 1e9


class CoresModel(NamedTuple):
    """An ensemble of network fits, each to a part of the functions; predictions are their mean."""

    members: tuple[Array, ...]  # network parameters of each fit
    latency: Array  # weights of latency terms
    spread: Array  # covariance of log(measured / predicted) at CORES, for held-out functions
    functions: int  # number of training functions


class Points(NamedTuple):
    """Predictions for functions at several core counts."""

    throughput: Array  # packets/s, shape (functions, core counts)
    latency: Array  # cycles, shape (functions, core counts)


def predict(model: CoresModel, functions: Functions, cores: tuple[int, ...]) -> Points:
    """Predict throughput and latency at each number of cores."""
    count, many = functions.size, len(cores)
    places = np.repeat(np.arange(count), many)
    number = np.tile(np.array(cores, float), count)[:, None]
    known = works(functions)
    work = select_amounts(amounts(known), (places,))
    rates = mean_throughput(model.members, functions, cores).reshape(-1, 1) / _GIGA
    found = delays.times(model.members, work, number, rates)
    settings = {name: one[places][:, None] for name, one in known.items()}
    cycles = delays.latency(model.latency, settings, found)
    shape = (count, many)
    return Points(rates.reshape(shape) * _GIGA, cycles.reshape(shape))


def mean_throughput(
    members: tuple[Array, ...], functions: Functions, cores: tuple[int, ...]
) -> Array:
    """Return the geometric mean of the members' throughputs in packets/s.

    The shape is (functions, core counts).
    """
    count, many = functions.size, len(cores)
    work = select_amounts(amounts(works(functions)), (np.repeat(np.arange(count), many),))
    number = np.tile(np.array(cores, float), count)[:, None]
    logs = [np.log(throughput(one, work, number)) for one in members]
    return np.asarray(np.exp(np.mean(logs, 0)).reshape(count, many) * _GIGA)


class Advised(NamedTuple):
    """Advice for functions, with predictions at the advised numbers of cores."""

    advice: Advice
    throughput: Array  # packets/s, shape (functions,)
    latency: Array  # predicted latency, cycles
    share: Array  # throughput / maximum throughput on 24 to 60 cores


def advised(model: CoresModel, functions: Functions, confidence: float) -> Advised:
    """Return the advised number of cores for each function."""
    core_counts = tuple(range(CORES[0], CORES[-1] + 1))
    points = predict(model, functions, core_counts)
    measured = [core_counts.index(cores) for cores in CORES]
    advice = advise(points.throughput[:, measured], model.spread, confidence)
    at = (np.arange(functions.size), advice.cores - CORES[0])
    at_knee = points.throughput[at]
    return Advised(advice, at_knee, points.latency[at], at_knee / points.throughput.max(1))


MEMBERS = 5
_INLIERS = 0.95
"""Share of functions whose errors determine the spread: those with the smallest errors."""


class Crossed(NamedTuple):
    """Trained members of an ensemble, and their predictions for functions held out from them."""

    members: tuple[Array, ...]
    throughput: Array  # packets/s at CORES, shape (functions, 7)
    times: delays.Times  # times of packets, shape (functions, 7)


def learn(curves: Curves, members: int = MEMBERS, seed: int = 0) -> CoresModel:
    """Train the model; the same curves and seed always give the same model."""
    return model_of(curves, cross(curves, members, seed))


def cross(curves: Curves, members: int, seed: int) -> Crossed:
    """Train members, each without one part of the functions, and predict this part."""
    count, many = len(curves.names), len(CORES)
    part = np.random.default_rng(seed).permutation(count) % members
    found = tuple(_fitted(curves, np.flatnonzero(part != one), one) for one in range(members))
    unseen, packet, line = (np.zeros((count, many)) for _ in range(3))
    for one, parameters in enumerate(found):
        places = np.flatnonzero(part == one)
        functions = curves.functions.selected(places)
        unseen[places] = mean_throughput((parameters,), functions, CORES)
        work, number = _settings(functions)
        times = delays.times((parameters,), work, number, unseen[places].reshape(-1, 1) / _GIGA)
        packet[places] = times.packet.reshape(-1, many)
        line[places] = times.line.reshape(-1, many)
    number = np.tile(np.array(CORES, float), (count, 1))
    return Crossed(found, unseen, delays.Times(packet, line, number))


def model_of(curves: Curves, crossed: Crossed) -> CoresModel:
    """Return the model: its members, the weights of latencies, and the spread of curves."""
    known = {
        name: np.repeat(one[:, None], len(CORES), 1)
        for name, one in works(curves.functions).items()
    }
    weights = delays.fit(known, crossed.times, curves.latency)
    errors = np.log(curves.throughput / crossed.throughput)
    return CoresModel(crossed.members, weights, spread(errors), len(curves.names))


def spread(errors: Array) -> Array:
    """Return the covariance of `errors`, log(measured / predicted), without a few outliers."""
    largest = np.abs(errors).max(1)
    inliers = errors[largest <= np.quantile(largest, _INLIERS)]
    return np.asarray(inliers.T @ inliers / len(inliers))


def _fitted(curves: Curves, places: NDArray[np.intp], seed: int) -> Array:
    work, number = _settings(curves.functions.selected(places))
    rates = curves.throughput[places].reshape(-1, 1) / _GIGA
    return fit([Measured(work, number, rates)], seed)


def _settings(functions: Functions) -> tuple[tuple[Array, ...], Array]:
    """Return work and core counts for each function at each of CORES."""
    count = functions.size
    places = np.repeat(np.arange(count), len(CORES))
    work = select_amounts(amounts(works(functions)), (places,))
    return work, np.tile(np.array(CORES, float), count)[:, None]


TRAFFIC = ("hit", "miss")
"""Kinds of traffic with a shipped model. Accesses to external memory mostly hit its cache (few
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
    """Return the model that a document contains."""
    return CoresModel(
        tuple(network.read(one) for one in document["members"]),
        network.read_latency(document["latency"]),
        np.array(document["spread"]),
        document["functions"],
    )
