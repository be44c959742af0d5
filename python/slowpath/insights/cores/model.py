"""Trains, saves and evaluates the model that predicts throughput and latency by core count.

The model is an ensemble of queueing networks. Each network predicts functions that it was not
trained with. These predictions determine the spread of measured curves around predictions, and the
weights of the terms of the latency model.

The fit of a queueing network minimises the sum of squared relative errors and of squared parameters
in typical units. The second part keeps parameters small that the measurements do not determine.
Times are not negative. The method is Levenberg-Marquardt with projection on the bounds: Moré, The
Levenberg-Marquardt Algorithm, 1978; Kanzow et al., 2004.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from slowpath.insights.cores import network
from slowpath.insights.cores import network as delays
from slowpath.insights.cores.curves import CORES, Advice, Curves, advise
from slowpath.insights.cores.functions import Functions
from slowpath.insights.cores.network import (
    COUNT,
    RESOURCES,
    SHARED,
    TIMES,
    Amounts,
    SavedNetwork,
    amounts,
    select_amounts,
    sensitivity,
    throughput,
    works,
)
from slowpath.insights.cores.queueing import Array

_RIDGE = 1e-3
_RIDGE_QUEUES = 1e-2
_QUEUES = np.log([one.queueing for one in SHARED]).T
"""Lower and upper bounds of the logarithm of the queue length factor c, by shared resource."""
_STARTS = 2
_ROUNDS = 100
_ENOUGH = 1e-4
"""Minimum share by which a useful round of the fit reduces the objective."""
_IDLE = 4
"""Number of consecutive rounds without a useful gain after which the fit ends."""
_DAMPED = 1e8
_SMALLEST = 0.1
_TINY = 1e-12


class Measured(NamedTuple):
    """Measured throughputs of functions, alone or together, to fit a queueing network to.

    A setting is one measurement of functions (classes) that share the SmartNIC. All settings have
    the same number of functions.
    """

    work: Amounts
    cores: Array  # shape (settings, classes)
    throughput: Array  # packets/ns, shape (settings, classes)


class _Fitted(NamedTuple):
    value: float  # value of the objective
    parameters: Array


class _Point(NamedTuple):
    value: float
    near: list[Array]
    slope: Array
    square: Array


def fit(sets: Sequence[Measured], seed: int) -> Array:
    """Fit the parameters of the queueing network to measured throughputs.

    Args:
        sets: measurements of functions alone or together; each entry has another number of
            functions (classes) that share the SmartNIC.
        seed: seed of the start points. Several are tried, because some fits end in a bad optimum
            that leaves a resource unused.
    """
    random = np.random.default_rng(seed)
    found = [_fitted_from(sets, _start(random)) for _ in range(_STARTS)]
    return min(found, key=lambda one: one.value).parameters


def _fitted_from(sets: Sequence[Measured], start: Array) -> _Fitted:
    """Fit the parameters of the queueing network, beginning at the values `start`."""
    unit = _units(sets[0].work)
    low, high = np.zeros(COUNT), np.full(COUNT, np.inf)
    low[TIMES:], high[TIMES:] = _QUEUES
    ridge = np.full(COUNT, _RIDGE**2)
    ridge[TIMES:] = _RIDGE_QUEUES**2
    at = start
    current = _point(sets, at, unit, ridge)
    damping, idle = 1e-2, 0
    for _ in range(_ROUNDS):
        free = np.flatnonzero(
            ~(
                ((at <= low + _TINY) & (current.slope > 0))
                | ((at >= high - _TINY) & (current.slope < 0))
            )
        )
        scale = np.diag(current.square)[free]
        square = current.square[np.ix_(free, free)]
        while damping < _DAMPED:
            step = np.zeros(COUNT)
            step[free] = -np.linalg.solve(
                square + np.diag(damping * scale + _TINY), current.slope[free]
            )
            candidate = np.clip(at + step, low, high)
            value, near = _value(sets, candidate, unit, ridge, current.near)
            if np.isfinite(value) and value < current.value:
                break
            damping *= 4
        else:
            break
        idle = idle + 1 if (current.value - value) < _ENOUGH * current.value else 0
        at, damping = candidate, max(damping / 5, 1e-7)
        current = _point(sets, at, unit, ridge, near)
        if idle == _IDLE:
            break
    return _Fitted(current.value, np.asarray(at * unit))


def _units(work: Amounts) -> Array:
    """Return a typical value of each parameter of the queueing network.

    The fit divides the parameters by these units, so that all are of similar size.
    """
    found = []
    for resource, amount in zip(RESOURCES, work, strict=True):
        flat = np.abs(amount).reshape(-1, amount.shape[-1])
        found.append(resource.scale / np.maximum(flat.mean(0) + flat.std(0), _SMALLEST))
    return np.concatenate([*found, np.ones(COUNT - TIMES)])


def _start(random: np.random.Generator) -> Array:
    times = [
        random.uniform(0.3, 1.0, len(one.work)) * 0.5 / np.sqrt(len(one.work)) for one in RESOURCES
    ]
    return np.concatenate([*times, _QUEUES.mean(0)])


def _value(
    sets: Sequence[Measured], at: Array, unit: Array, ridge: Array, near: Sequence[Array]
) -> tuple[float, list[Array]]:
    total, found = float((ridge * at * at).sum()), list[Array]()
    for one, close in zip(sets, near, strict=True):
        found.append(throughput(at * unit, one.work, one.cores, close))
        total += float((np.log(found[-1] / one.throughput) ** 2).sum())
    return total, found


def _point(
    sets: Sequence[Measured],
    at: Array,
    unit: Array,
    ridge: Array,
    near: Sequence[Array] | None = None,
) -> _Point:
    total, found = float((ridge * at * at).sum()), list[Array]()
    slope, square = ridge * at, np.diag(ridge)
    for place, one in enumerate(sets):
        close = None if near is None else near[place]
        here = sensitivity(at * unit, one.work, one.cores, close)
        found.append(here.throughput)
        errors = np.log(here.throughput / one.throughput).ravel()
        slopes = here.slopes.reshape(-1, COUNT) * unit
        total += float((errors**2).sum())
        slope = slope + slopes.T @ errors
        square = square + slopes.T @ slopes
    return _Point(total, found, slope, square)


# --- model ----------------------------------------------------------------------------------------

_GIGA = 1e9


class CoresModel(NamedTuple):
    """An ensemble of queueing networks, each fitted to a subset of the measured network functions.

    Predictions are the mean over the members of the ensemble.
    """

    members: tuple[Array, ...]  # network parameters of each fit
    latency: Array  # weights of latency terms
    spread: Array  # covariance of log(measured / predicted) at CORES, for held-out functions
    functions: int  # number of training functions


class Points(NamedTuple):
    """Predicted throughput and latency of several functions, on each of several core counts."""

    throughput: Array  # packets/s, shape (functions, core counts)
    latency: Array  # cycles, shape (functions, core counts)


def predict(model: CoresModel, functions: Functions, cores: tuple[int, ...]) -> Points:
    """Predict the throughput and latency of each function on each of these numbers of cores."""
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
    """Return the mean throughput that several fitted queueing networks predict, in packets/s.

    The mean is geometric. `members` has the parameters of each network. The shape of the result is
    (functions, core counts).
    """
    count, many = functions.size, len(cores)
    work = select_amounts(amounts(works(functions)), (np.repeat(np.arange(count), many),))
    number = np.tile(np.array(cores, float), count)[:, None]
    logs = [np.log(throughput(one, work, number)) for one in members]
    return np.asarray(np.exp(np.mean(logs, 0)).reshape(count, many) * _GIGA)


class Advised(NamedTuple):
    """The advised number of cores for each function, with predictions at this number."""

    advice: Advice
    throughput: Array  # packets/s, shape (functions,)
    latency: Array  # predicted latency, cycles
    share: Array  # throughput / maximum throughput on 24 to 60 cores


def advised(model: CoresModel, functions: Functions, confidence: float) -> Advised:
    """Return the advised number of cores for each function, with a confidence interval."""
    core_counts = tuple(range(CORES[0], CORES[-1] + 1))
    points = predict(model, functions, core_counts)
    measured = [core_counts.index(cores) for cores in CORES]
    advice = advise(points.throughput[:, measured], model.spread, confidence)
    at = (np.arange(functions.size), advice.cores - CORES[0])
    at_knee = points.throughput[at]
    return Advised(advice, at_knee, points.latency[at], at_knee / points.throughput.max(1))


MEMBERS = 5
_INLIERS = 0.95
"""Share of functions from which the spread of errors is computed: those with the smallest
errors."""


class Crossed(NamedTuple):
    """A cross-validated ensemble of queueing networks, with predictions for held-out functions.

    Each function is predicted by the one network that was not trained with it.
    """

    members: tuple[Array, ...]
    throughput: Array  # packets/s at CORES, shape (functions, 7)
    times: delays.Times  # times of packets, shape (functions, 7)


def learn(curves: Curves, members: int = MEMBERS, seed: int = 0) -> CoresModel:
    """Train the model of throughput and latency from measured curves.

    `members` is the number of queueing networks in the ensemble. Equal curves and seeds give equal
    models.
    """
    return model_of(curves, cross(curves, members, seed))


def cross(curves: Curves, members: int, seed: int) -> Crossed:
    """Fit and cross-validate an ensemble of `members` queueing networks.

    Each network is fitted without one subset of the functions, and then predicts this subset.
    """
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
    """Build the model from cross-validated queueing networks.

    The weights of the latency model and the spread of errors are computed from the predictions for
    held-out functions.
    """
    known = {
        name: np.repeat(one[:, None], len(CORES), 1)
        for name, one in works(curves.functions).items()
    }
    weights = delays.fit(known, crossed.times, curves.latency)
    errors = np.log(curves.throughput / crossed.throughput)
    return CoresModel(crossed.members, weights, spread(errors), len(curves.names))


def spread(errors: Array) -> Array:
    """Return the covariance of prediction errors at different core counts.

    A few outliers are left out. An error is log(measured / predicted). `errors` has the shape
    (functions, 7).
    """
    largest = np.abs(errors).max(1)
    inliers = errors[largest <= np.quantile(largest, _INLIERS)]
    return np.asarray(inliers.T @ inliers / len(inliers))


def _fitted(curves: Curves, places: NDArray[np.intp], seed: int) -> Array:
    work, number = _settings(curves.functions.selected(places))
    rates = curves.throughput[places].reshape(-1, 1) / _GIGA
    return fit([Measured(work, number, rates)], seed)


def _settings(functions: Functions) -> tuple[tuple[Array, ...], Array]:
    """Return each function at each core count in CORES: its work per packet, and the core count."""
    count = functions.size
    places = np.repeat(np.arange(count), len(CORES))
    work = select_amounts(amounts(works(functions)), (places,))
    return work, np.tile(np.array(CORES, float), count)[:, None]


TRAFFIC = ("hit", "miss")
"""Kinds of traffic with a shipped model. Accesses to external memory mostly hit its cache (few
large flows), or mostly miss it (many small flows)."""
_FOLDER = Path(__file__).parents[1] / "models"


class SavedCores(TypedDict):
    """Schema of a saved model of throughput and latency curves."""

    functions: int
    members: list[SavedNetwork]
    latency: dict[str, float]
    spread: list[list[float]]


def shipped_file(traffic: str) -> Path:
    """Return the path of the shipped model for a kind of traffic, one of TRAFFIC."""
    return _FOLDER / f"{traffic}.json"


def shipped(traffic: str) -> CoresModel:
    """Load the shipped model for a kind of traffic, one of TRAFFIC."""
    return read(json.loads(shipped_file(traffic).read_text()))


def written(model: CoresModel) -> SavedCores:
    """Convert the model to a JSON document, to save it."""
    return {
        "functions": model.functions,
        "members": [network.written(one) for one in model.members],
        "latency": network.written_latency(model.latency),
        "spread": [[network.rounded(one) for one in row] for row in model.spread],
    }


def read(document: SavedCores) -> CoresModel:
    """Restore the model from a JSON document."""
    return CoresModel(
        tuple(network.read(one) for one in document["members"]),
        network.read_latency(document["latency"]),
        np.array(document["spread"]),
        document["functions"],
    )
