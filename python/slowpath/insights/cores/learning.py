"""A model learnt from curves: members that each leave a part of the functions out.

What members say of functions that they have not seen is also what the spread of measured around
predicted curves is taken from, and the latencies.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.insights.cores.curves import Curves
from slowpath.insights.cores.knee import CORES
from slowpath.insights.cores.model import CoresModel, mean_throughput
from slowpath.insights.functions.functions import Functions
from slowpath.insights.network import latency as delays
from slowpath.insights.network.closed import Array
from slowpath.insights.network.fitting import Measured, fit
from slowpath.insights.network.parameters import amounts, taken
from slowpath.insights.network.work import works

MEMBERS = 5
_GIGA = 1e9
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
