"""The latency that is measured, from the time that a packet takes in the network.

Published latencies leave receiving and sending out, and are in proportion to the time of a packet
without its wait for the line, up to a factor that nobody documents and a part by kind of work.
That is a linear model, fitted to relative errors such that few outliers count little.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.insights.network.closed import THREADS, Array, wait_at
from slowpath.insights.network.parameters import Amounts, demands
from slowpath.insights.network.resources import LINE

_PARTS = (
    *("packet", "rules", "average", "counter", "encap", "blocks", "rounds", "calls", "crcs"),
    *("rewriter", "rewriter slots", "control", "control slots", "data slots"),
    *("webgen", "demux", "conn", "demux+conn"),
)
_CARD = 60
"""Cores of the card, for the unit of a term."""
_FEWEST = 0.4
"""The fewest that were measured, as a share of these."""
_ROUNDS = 10
_OUTLIER = 0.02
_RIDGE = 1e-3
_SMALLEST = 1e-3
NAMES = ("time", "cores", "time by cores", *_PARTS)
"""Of the terms."""
COUNT = len(NAMES)
LEAST = 16.0
"""Cycles: the clock ticks that often."""


class Times(NamedTuple):
    """Packets in the network, of settings and classes: what their latency is read off."""

    packet: Array  # ns, shape (settings, classes)
    line: Array  # the wait for the line in it, the same
    cores: Array  # the same


def times(members: Sequence[Array], work: Amounts, cores: Array, throughput: Array) -> Times:
    """What parameters, mean over several, say of packets at throughputs (packets/ns)."""
    packet = THREADS * cores / throughput
    waits = [
        wait_at(demands(one, work), cores, _below(one, work, throughput), LINE) for one in members
    ]
    line = np.mean([np.minimum(wait, packet) for wait in waits], 0)
    return Times(packet, line, cores)


def _below(parameters: Array, work: Amounts, throughput: Array) -> Array:
    """Throughputs that a member of several can have, which the mean of all may exceed."""
    shared = demands(parameters, work).shared
    used = np.einsum("sj,sj->s", throughput, shared[:, :, LINE])
    return np.asarray(throughput * np.minimum(1, 0.999 / used)[:, None])


def _columns(works: Mapping[str, Array], found: Times) -> Array:
    """Shape (settings, classes, COUNT); works of shape (settings, classes)."""
    inside = found.packet - found.line
    # Beyond what was measured, these terms are those of its ends.
    share = np.clip(found.cores / _CARD, _FEWEST, 1)
    return np.stack([inside, share, share * inside, *(works[name] for name in _PARTS)], -1)


def fit(works: Mapping[str, Array], found: Times, cycles: Array) -> Array:
    """The weights, shape (COUNT,).

    Args:
        works: by kind of work, of shape (settings, classes).
        found: the times of packets.
        cycles: the latencies that were measured, the same shape.
    """
    columns = _columns(works, found).reshape(-1, COUNT)
    measured = cycles.ravel()
    # In these units, every weight is a share of a typical latency.
    unit = np.maximum(np.abs(columns).mean(0), _SMALLEST) / np.median(measured)
    scaled, weight, weights = columns / unit, 1 / measured, np.zeros(COUNT)
    for _ in range(_ROUNDS):
        weighted = scaled * weight[:, None]
        square = weighted.T @ weighted + _RIDGE**2 * len(measured) * np.eye(COUNT)
        weights = np.linalg.solve(square, weighted.T @ (measured * weight))
        off = scaled @ weights / measured - 1
        weight = 1 / measured / np.sqrt(1 + np.abs(off) / _OUTLIER)
    return np.asarray(weights / unit)


def latency(weights: Array, works: Mapping[str, Array], found: Times) -> Array:
    """Cycles, shape (settings, classes)."""
    return np.maximum(_columns(works, found) @ weights, LEAST)
