"""Useful cores, and throughput kept beside another function."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from slowpath.insights.cores.functions import Array
from slowpath.insights.cores.groups import GROUP_CORES
from slowpath.insights.cores.knee import CORES, Advice, among, knees, scattered
from slowpath.insights.cores.queueing import Demands, solve
from slowpath.insights.demands.draws import PLACES, Draws, interval, throughput, used

MOST = CORES[-1]
EVERY = tuple(range(1, MOST + 1))
_GIGA = 1e9
_KNEES = 2.73
"""Knees of draws are farther apart than measured ones are from the median: an interval that has to
have 90 % takes the inner 75 % of the draws, 0.9 to this power (docs/insights.md)."""
_FULL = 0.8
"""How busy something is that holds a function back."""
WAITING = "waiting for memory"
LIMITS = (*PLACES, WAITING)
"""What may hold a function back at 60 cores: the busiest place, or, if none of them is nearly full,
that threads wait."""


class Scaled(NamedTuple):
    """What is said of functions."""

    advice: Advice
    limits: list[Mapping[str, float]]  # the share of draws in which it is that


def advise(draws: Draws, noise: Array, confidence: float) -> Scaled:
    """The median knee of all draws, with an interval.

    Args:
        draws: what packets need.
        noise: covariance of logarithms, measured over predicted, at CORES, shape (7, 7): how far
            curves are from the network even where all is known.
        confidence: how often the interval has the knee that would be measured.
    """
    rates = throughput(draws, CORES)
    found = knees(rates * np.exp(scattered(noise, len(rates)))[:, None, :])
    return Scaled(among(found, confidence**_KNEES), limits_of(draws, rates[..., -1]))


def limits_of(draws: Draws, rates: Array) -> list[Mapping[str, float]]:
    """What holds functions back on all cores; rates of shape (draws, functions)."""
    busy = used(draws, float(MOST), rates)
    which = np.where(busy.max(-1) >= _FULL, busy.argmax(-1), len(PLACES))
    return [
        {name: float((which[:, one] == at).mean()) for at, name in enumerate(LIMITS)}
        for one in range(which.shape[1])
    ]


def curve(draws: Draws, confidence: float) -> Array:
    """Packets/s at EVERY number of cores: low, median, high, shape (3, functions, 60)."""
    return np.stack(interval(throughput(draws, EVERY), confidence)) * _GIGA


class Kept(NamedTuple):
    """Shares of the throughput alone, shape (draws, functions)."""

    own: Array
    others: Array  # what neighbours keep


def beside(own: Draws, others: Draws) -> Kept:
    """What functions keep beside others, each on its 30 cores; one by one, by the same fits."""
    alone = [_rates([one])[..., 0] for one in (own, others)]
    both = _rates([own, others])
    return Kept(both[..., 0] / alone[0], both[..., 1] / alone[1])


def _rates(classes: list[Draws]) -> Array:
    """Throughput of functions on the card together, shape (draws, functions, classes)."""
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
