"""Useful number of cores, and throughput kept beside another function."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from slowpath.insights.cores.functions import Array
from slowpath.insights.cores.groups import GROUP_CORES
from slowpath.insights.cores.knee import CORES, Advice, knees, median_interval, scattered
from slowpath.insights.cores.queueing import Demands, solve
from slowpath.insights.demands.draws import PLACES, Draws, interval, throughput, used

MOST = CORES[-1]
EVERY = tuple(range(1, MOST + 1))
_GIGA = 1e9
_KNEES = 2.73
"""Exponent on the confidence of knee intervals. Knees of draws are more spread out than measured
ones are around the median. A 90 % interval takes the inner 75 % of draws, 0.9 to this power
(docs/insights.md)."""
_FULL = 0.8
"""Least utilisation of a bottleneck."""
WAITING = "waiting for memory"
LIMITS = (*PLACES, WAITING)
"""Possible bottlenecks at 60 cores: the busiest resource, or waiting threads if none is nearly
full."""


class Scaled(NamedTuple):
    """Advice and bottlenecks of functions."""

    advice: Advice
    limits: list[Mapping[str, float]]  # share of draws by bottleneck


def advise(draws: Draws, noise: Array, confidence: float) -> Scaled:
    """Return the median knee of all draws, with an interval.

    Args:
        draws: demands of packets.
        noise: covariance of logarithms, measured over predicted, at CORES, shape (7, 7): the error
            of the network for known demands.
        confidence: probability that the interval contains the measured knee.
    """
    rates = throughput(draws, CORES)
    found = knees(rates * np.exp(scattered(noise, len(rates)))[:, None, :])
    return Scaled(median_interval(found, confidence**_KNEES), limits_of(draws, rates[..., -1]))


def limits_of(draws: Draws, rates: Array) -> list[Mapping[str, float]]:
    """Return the bottlenecks of functions on all cores; rates have shape (draws, functions)."""
    busy = used(draws, float(MOST), rates)
    which = np.where(busy.max(-1) >= _FULL, busy.argmax(-1), len(PLACES))
    return [
        {name: float((which[:, one] == at).mean()) for at, name in enumerate(LIMITS)}
        for one in range(which.shape[1])
    ]


def curve(draws: Draws, confidence: float) -> Array:
    """Return packets/s at EVERY number of cores: low, median, high, shape (3, functions, 60)."""
    return np.stack(interval(throughput(draws, EVERY), confidence)) * _GIGA


class Kept(NamedTuple):
    """Shares of solo throughput, shape (draws, functions)."""

    own: Array
    others: Array  # shares that neighbours keep


def beside(own: Draws, others: Draws) -> Kept:
    """Return the shares that functions keep beside others, with 30 cores each.

    Functions are matched with neighbours one by one, and have the same fits.
    """
    alone = [_rates([one])[..., 0] for one in (own, others)]
    both = _rates([own, others])
    return Kept(both[..., 0] / alone[0], both[..., 1] / alone[1])


def _rates(classes: list[Draws]) -> Array:
    """Return the throughput of co-located functions, shape (draws, functions, classes)."""
    first = classes[0]
    found = np.zeros((*first.waiting.shape, len(classes)))
    for one, queueing in enumerate(first.queueing):
        these = np.flatnonzero(first.fit == one)
        if not len(these):
            continue
        waiting = np.stack([part.waiting[these] for part in classes], 2)
        computing = np.stack([part.computing[these] for part in classes], 2)
        shared = np.stack([part.shared[these] for part in classes], 2)
        needed = Demands(
            waiting.reshape(-1, len(classes)),
            computing.reshape(-1, len(classes)),
            shared.reshape(-1, len(classes), shared.shape[-1]),
            queueing,
        )
        rates = solve(needed, np.full(needed.waiting.shape, float(GROUP_CORES)))
        found[these] = rates.reshape(len(these), -1, len(classes))
    return found
