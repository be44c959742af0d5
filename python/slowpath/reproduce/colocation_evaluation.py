"""Judges predicted co-location scores of pairs of functions against measured scores.

All six pairs of each group of four functions were measured.
"""

from typing import NamedTuple

import numpy as np

from slowpath.insights.cores.groups import FUNCTIONS, Alone, Groups, Paired
from slowpath.insights.cores.queueing import Array
from slowpath.insights.cores.scores import Scores, scores

COUNTS = (1, 2, 3)
"""Numbers of best pairs for which the overlap of prediction and measurement is computed."""


class Agreement(NamedTuple):
    """Agreement of a predicted co-location score with the measured score, by group."""

    overlap: Array  # see `overlap`, for each of COUNTS, shape (groups, 3)
    loss: Array  # see `loss`, shape (groups,)


def groups_at(groups: Groups, pairs: Paired, places: np.ndarray) -> tuple[Groups, Paired]:
    """Return the groups and pairs whose group indices are in `places`."""
    members = (places[:, None] * FUNCTIONS + np.arange(FUNCTIONS)).ravel()
    part = Groups(
        groups.file,
        tuple(groups.names[at] for at in places),
        groups.functions.selected(members),
        tuple(groups.unusual[at] for at in members),
        Alone(*(one[places] for one in groups.alone)),
    )
    return part, Paired(*(one[places] for one in pairs))


def without_solo(groups: Groups) -> Groups:
    """Return the groups with unknown measurements of functions that run alone."""
    unmeasured = np.full(groups.alone.throughput.shape, np.nan)
    return groups._replace(alone=Alone(unmeasured, unmeasured))


def truth(groups: Groups, pairs: Paired) -> Scores:
    """Return the co-location scores that follow from measured throughput and latency."""
    return scores(groups.alone.throughput, groups.alone.latency, *pairs)


def higher_is_better(found: Scores, name: str) -> Array:
    """Return the score with this name such that higher is better: latency scores are negated."""
    score: Array = getattr(found, name)
    return -score if name.startswith("latency") else score


def overlap(true: Array, predicted: Array, count: int) -> Array:
    """Return the share of the `count` best pairs that are predicted to be among them, by group.

    Args:
        true: measured scores, higher is better, shape (groups, 6).
        predicted: predicted scores, shape (groups, 6).
        count: number of best pairs.
    """
    best = [np.argsort(-one, axis=1, kind="stable")[:, :count] for one in (true, predicted)]
    same = best[0][:, :, None] == best[1][:, None, :]
    return np.asarray(same.any(2).mean(1))


def loss(true: Array, predicted: Array) -> Array:
    """Return the loss from choosing the pair that is predicted to be best, by group.

    The loss is a share of the measured score of the best pair.
    """
    best = true.max(1)
    chosen = true[np.arange(len(true)), predicted.argmax(1)]
    return np.asarray((best - chosen) / np.abs(best))


def agreement(true: Scores, found: Scores, name: str) -> Agreement:
    """Compare measured and predicted values of the score named `name`."""
    one, other = higher_is_better(true, name), higher_is_better(found, name)
    return Agreement(
        np.stack([overlap(one, other, count) for count in COUNTS], 1), loss(one, other)
    )
