"""Computes the useful number of cores, and the throughput a function keeps beside another."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from slowpath.insights.cores.functions import Array
from slowpath.insights.cores.groups import GROUP_CORES
from slowpath.insights.cores.knee import CORES, Advice, knees, median_interval, scattered
from slowpath.insights.cores.queueing import Demands, solve
from slowpath.insights.demands.draws import PLACES, Draws, interval, throughput, used

ALL_CORES = CORES[-1]
CORE_COUNTS = tuple(range(1, ALL_CORES + 1))
_GIGA = 1e9
_KNEES = 2.73
"""Exponent on the confidence level of knee intervals. Around the median, knees of random draws
spread more than measured knees. So a 90 % interval is the inner 75 % of draws, 0.9 to this power
(docs/explanation/insights-advice.md)."""
_FULL = 0.8
"""Utilisation from which on a resource counts as a bottleneck."""
WAITING = "waiting for memory"
LIMITS = (*PLACES, WAITING)
"""Possible bottlenecks on 60 cores: the busiest resource, or WAITING if no resource is nearly
full."""


class Scaled(NamedTuple):
    """Advised numbers of cores for functions, with the resources that limit them on all cores."""

    advice: Advice
    limits: list[Mapping[str, float]]  # share of draws by bottleneck


def advise(draws: Draws, noise: Array, confidence: float) -> Scaled:
    """Return the median knee of the throughput curves in all random draws, with an interval.

    The knee is the number of cores beyond which more cores add little throughput.

    Args:
        draws: demands of packets.
        noise: error of the network for known demands: covariance of log(measured / predicted) at
            CORES, shape (7, 7).
        confidence: probability that the interval contains the measured knee, between 0 and 1.
    """
    rates = throughput(draws, CORES)
    found = knees(rates * np.exp(scattered(noise, len(rates)))[:, None, :])
    return Scaled(median_interval(found, confidence**_KNEES), limits_of(draws, rates[..., -1]))


def limits_of(draws: Draws, rates: Array) -> list[Mapping[str, float]]:
    """Return, for each function on 60 cores, the share of random draws with each bottleneck.

    `rates` are the throughputs on 60 cores in packets/ns, shape (draws, functions).
    """
    busy = used(draws, float(ALL_CORES), rates)
    bottlenecks = np.where(busy.max(-1) >= _FULL, busy.argmax(-1), len(PLACES))
    return [
        {name: float((bottlenecks[:, one] == at).mean()) for at, name in enumerate(LIMITS)}
        for one in range(bottlenecks.shape[1])
    ]


def curve(draws: Draws, confidence: float) -> Array:
    """Return the throughput at 1 to 60 cores in packets/s: low, median and high.

    Low and high are the ends of the confidence interval. The shape is (3, functions, 60).
    """
    return np.stack(interval(throughput(draws, CORE_COUNTS), confidence)) * _GIGA


class Kept(NamedTuple):
    """Shares of solo throughput that co-located functions keep, shape (draws, functions)."""

    own: Array
    others: Array  # shares of the neighbours


def beside(own: Draws, others: Draws) -> Kept:
    """Return the shares of solo throughput that pairs of functions keep, with 30 cores each.

    Function i of `own` runs next to function i of `others`. In each draw, both use the same fitted
    queueing network.
    """
    alone = [_rates([one])[..., 0] for one in (own, others)]
    both = _rates([own, others])
    return Kept(both[..., 0] / alone[0], both[..., 1] / alone[1])


def _rates(classes: list[Draws]) -> Array:
    """Return the throughputs of functions that share the SmartNIC, in packets/ns.

    Function i of all entries of `classes` run together. The shape is (draws, functions, classes).
    """
    first = classes[0]
    found = np.zeros((*first.waiting.shape, len(classes)))
    for one, queueing in enumerate(first.queueing):
        selected = np.flatnonzero(first.fit == one)
        if not len(selected):
            continue
        waiting = np.stack([part.waiting[selected] for part in classes], 2)
        computing = np.stack([part.computing[selected] for part in classes], 2)
        shared = np.stack([part.shared[selected] for part in classes], 2)
        needed = Demands(
            waiting.reshape(-1, len(classes)),
            computing.reshape(-1, len(classes)),
            shared.reshape(-1, len(classes), shared.shape[-1]),
            queueing,
        )
        rates = solve(needed, np.full(needed.waiting.shape, float(GROUP_CORES)))
        found[selected] = rates.reshape(len(selected), -1, len(classes))
    return found
