"""Computes how much of their solo throughput and latency the functions of a pair keep."""

from typing import NamedTuple

import numpy as np

from slowpath.insights.cores.groups import PAIRS
from slowpath.insights.cores.queueing import Array

FIRST = np.array([first for first, _ in PAIRS])
SECOND = np.array([second for _, second in PAIRS])


class Scores(NamedTuple):
    """Four scores of each pair of functions, shape (groups, 6); `totals` defines them."""

    throughput_total: Array
    throughput_average: Array
    latency_total: Array
    latency_average: Array


NAMES = Scores._fields


def totals(alone: Array, pairs: Array) -> tuple[Array, Array]:
    """Return two scores of throughput (high is better), or of latency (low is better).

    The first score is the sum of both members' values in the pair, divided by the sum of their solo
    values. The second score is the sum of both members' ratios of the value in the pair to the solo
    value.

    Args:
        alone: solo values, shape (groups, 4).
        pairs: values in pairs, shape (groups, 6, 2).
    """
    first, second = alone[:, FIRST], alone[:, SECOND]
    total = pairs.sum(-1) / (first + second)
    return total, pairs[..., 0] / first + pairs[..., 1] / second


def scores(
    alone_throughput: Array, alone_latency: Array, throughput: Array, latency: Array
) -> Scores:
    """Return all four scores of each pair of functions."""
    return Scores(*totals(alone_throughput, throughput), *totals(alone_latency, latency))
