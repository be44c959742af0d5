"""Parameters of the network: ns by kind of work and resource, and how long queues are."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.insights.network.closed import THREADS, Array, Demands, busy, curvature, solve
from slowpath.insights.network.resources import RESOURCES, SHARED

SIZES = tuple(len(one.work) for one in RESOURCES)
TIMES = sum(SIZES)
"""How many of the parameters are times; after them, logarithms of c for each shared resource."""
COUNT = TIMES + len(SHARED)
_ENDS = tuple(np.cumsum((0, *SIZES)))
_LEAST = np.array([1.0, 1.0, *(1e-6 for _ in SHARED)])
"""Below which no demand is taken to be, ns."""
_OTHERS = (THREADS - 1) / THREADS

Amounts = tuple[Array, ...]
"""Amounts of work for each resource, shape (settings, classes, kinds of work)."""


def amounts(works: Mapping[str, Array]) -> Amounts:
    """Amounts of functions by themselves: shape (functions, 1, kinds of work)."""
    return tuple(
        np.stack([works[name] for name in resource.work], -1)[:, None, :] for resource in RESOURCES
    )


def taken(many: Amounts, places: Sequence[Array] | Sequence[np.ndarray]) -> Amounts:
    """Amounts of settings whose classes are functions at some places.

    Args:
        many: of functions by themselves.
        places: for each class, the place of its function in each setting.
    """
    return tuple(np.concatenate([one[place] for place in places], 1) for one in many)


def demands(parameters: Array, work: Amounts) -> Demands:
    """What packets need."""
    times = [
        np.maximum(one @ parameters[first:end], least)
        for one, first, end, least in zip(work, _ENDS[:-1], _ENDS[1:], _LEAST, strict=True)
    ]
    computing, waiting, *shared = times
    return Demands(waiting, computing, np.stack(shared, -1), np.exp(parameters[TIMES:]))


class Sensitivity(NamedTuple):
    """Throughputs, and how they follow the parameters."""

    throughput: Array  # packets/ns, shape (settings, classes)
    slopes: Array  # of its logarithm, shape (settings, classes, parameters)


def throughput(parameters: Array, work: Amounts, cores: Array, near: Array | None = None) -> Array:
    """Of each class, packets/ns, shape (settings, classes)."""
    return solve(demands(parameters, work), cores, near)


def sensitivity(
    parameters: Array, work: Amounts, cores: Array, near: Array | None = None
) -> Sensitivity:
    """The same with derivatives, by the implicit function theorem."""
    needed = demands(parameters, work)
    found = solve(needed, cores, near)
    state = busy(needed, cores, found)
    turned = -np.linalg.inv(curvature(needed, cores, found, state)) / found[:, :, None]
    computing, waiting, *shared = work
    steep = 1 / (1 - _OTHERS * state.cores) ** 2
    slopes = [_along(turned * steep[:, None, :], computing), _along(turned, waiting)]
    queues = needed.queueing * state.resources / (1 - state.resources)
    bends = needed.queueing / (1 - state.resources) ** 2
    for at, amount in enumerate(shared):
        # Its own queue takes longer for each visit; and whoever uses it makes all queues longer.
        own = turned * queues[:, at, None, None]
        longer = np.einsum("sjl,sl->sj", turned, needed.shared[:, :, at]) * bends[:, at, None]
        slopes.append(_along(own + longer[:, :, None] * found[:, None, :], amount))
    slopes.append(np.einsum("sjl,slk,sk->sjk", turned, needed.shared, queues))
    return Sensitivity(found, np.concatenate(slopes, -1))


def _along(turned: Array, amount: Array) -> Array:
    return np.asarray(np.einsum("sjl,slf->sjf", turned, amount, optimize=True))
