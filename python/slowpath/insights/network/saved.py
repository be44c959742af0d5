"""Parameters as JSON, with the names of resources and kinds of work; what is 0 is left out."""

from collections.abc import Mapping
from typing import TypedDict

import numpy as np

from slowpath.insights import numbers
from slowpath.insights.network import latency
from slowpath.insights.network.closed import Array
from slowpath.insights.network.parameters import COUNT, TIMES
from slowpath.insights.network.resources import RESOURCES, SHARED

_NOTHING = 1e-9


class SavedNetwork(TypedDict):
    """Parameters of a network."""

    times: Mapping[str, Mapping[str, float]]  # ns, by resource and kind of work
    queues: Mapping[str, float]  # c, by resource


def written(parameters: Array) -> SavedNetwork:
    """Parameters as a document."""
    times, at = dict[str, dict[str, float]](), 0
    for resource in RESOURCES:
        part = parameters[at : at + len(resource.work)]
        named = zip(resource.work, part, strict=True)
        times[resource.name] = {name: rounded(one) for name, one in named if rounded(one)}
        at += len(resource.work)
    queues = np.exp(parameters[TIMES:])
    found = {one.name: rounded(queue) for one, queue in zip(SHARED, queues, strict=True)}
    return {"times": times, "queues": found}


def read(document: SavedNetwork) -> Array:
    """The parameters of a document."""
    found, at = np.zeros(COUNT), 0
    for resource in RESOURCES:
        times = document["times"][resource.name]
        for name in resource.work:
            found[at] = times.get(name, 0.0)
            at += 1
    found[TIMES:] = np.log([document["queues"][one.name] for one in SHARED])
    return found


def written_latency(weights: Array) -> dict[str, float]:
    """Weights of latencies by name."""
    return {name: rounded(one) for name, one in zip(latency.NAMES, weights, strict=True)}


def read_latency(document: Mapping[str, float]) -> Array:
    """The weights of a document."""
    return np.array([document[name] for name in latency.NAMES])


def rounded(number: float) -> float:
    """A number with as many digits as say something; what is next to nothing is 0."""
    return numbers.rounded(number) if abs(number) > _NOTHING else 0.0
