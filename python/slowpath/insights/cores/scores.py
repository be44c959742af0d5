"""Friendliness of pairs, and agreement of orders."""

from typing import NamedTuple

import numpy as np

from slowpath.insights.cores.groups import PAIRS
from slowpath.insights.cores.queueing import Array

FIRST = np.array([first for first, _ in PAIRS])
SECOND = np.array([second for _, second in PAIRS])


class Scores(NamedTuple):
    """Of every pair, shape (groups, 6); more is friendlier of throughput, less of latency."""

    throughput_total: Array
    throughput_average: Array
    latency_total: Array
    latency_average: Array


NAMES = Scores._fields


def totals(alone: Array, pairs: Array) -> tuple[Array, Array]:
    """The two scores of throughput, or of latency.

    Total: what both do together over what both do alone. Average: the sum of what each does over
    what it does alone.

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
    """All four."""
    return Scores(*totals(alone_throughput, throughput), *totals(alone_latency, latency))


def friendlier(found: Scores, name: str) -> Array:
    """A score such that more is friendlier."""
    score: Array = getattr(found, name)
    return -score if name.startswith("latency") else score


def overlap(true: Array, predicted: Array, count: int) -> Array:
    """Which part of the best pairs is among those predicted to be the best; shape (groups,).

    Args:
        true: more is friendlier, shape (groups, 6).
        predicted: the same.
        count: how many are the best.
    """
    best = [np.argsort(-one, axis=1, kind="stable")[:, :count] for one in (true, predicted)]
    same = best[0][:, :, None] == best[1][:, None, :]
    return np.asarray(same.any(2).mean(1))


def loss(true: Array, predicted: Array) -> Array:
    """How much worse the pair is that is predicted to be the best, relative; shape (groups,)."""
    best = true.max(1)
    chosen = true[np.arange(len(true)), predicted.argmax(1)]
    return np.asarray((best - chosen) / np.abs(best))
