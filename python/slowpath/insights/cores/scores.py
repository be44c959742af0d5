"""Scores of pairs, and agreement of their rankings."""

from typing import NamedTuple

import numpy as np

from slowpath.insights.cores.groups import PAIRS
from slowpath.insights.cores.queueing import Array

FIRST = np.array([first for first, _ in PAIRS])
SECOND = np.array([second for _, second in PAIRS])


class Scores(NamedTuple):
    """Scores of every pair, shape (groups, 6); high throughput and low latency are better."""

    throughput_total: Array
    throughput_average: Array
    latency_total: Array
    latency_average: Array


NAMES = Scores._fields


def totals(alone: Array, pairs: Array) -> tuple[Array, Array]:
    """Return the two scores of throughput, or of latency.

    Total: sum of both members in the pair, divided by the sum of both alone. Average: sum of both
    members' ratios of the value in the pair to that alone.

    Args:
        alone: shape (groups, 4).
        pairs: shape (groups, 6, 2).
    """
    first, second = alone[:, FIRST], alone[:, SECOND]
    total = pairs.sum(-1) / (first + second)
    return total, pairs[..., 0] / first + pairs[..., 1] / second


def scores(
    alone_throughput: Array, alone_latency: Array, throughput: Array, latency: Array
) -> Scores:
    """Return all four scores."""
    return Scores(*totals(alone_throughput, throughput), *totals(alone_latency, latency))
