"""How well pairs of groups that were left out are put in order."""

from typing import NamedTuple

import numpy as np

from slowpath.insights.colocation.groups import FUNCTIONS, Alone, Groups, Paired
from slowpath.insights.colocation.scores import Scores, friendlier, loss, overlap, scores
from slowpath.insights.network.closed import Array

COUNTS = (1, 2, 3)
"""How many best pairs are compared."""


class Agreement(NamedTuple):
    """Of one score, by group."""

    overlap: Array  # at each of COUNTS, shape (groups, 3)
    loss: Array  # shape (groups,)


def taken(groups: Groups, pairs: Paired, places: np.ndarray) -> tuple[Groups, Paired]:
    """Groups at some places."""
    members = (places[:, None] * FUNCTIONS + np.arange(FUNCTIONS)).ravel()
    part = Groups(
        groups.file,
        tuple(groups.names[at] for at in places),
        groups.functions.taken(members),
        tuple(groups.unusual[at] for at in members),
        Alone(*(one[places] for one in groups.alone)),
    )
    return part, Paired(*(one[places] for one in pairs))


def without_solo(groups: Groups) -> Groups:
    """The same groups before anything was measured."""
    nothing = np.full(groups.alone.throughput.shape, np.nan)
    return groups._replace(alone=Alone(nothing, nothing))


def truth(groups: Groups, pairs: Paired) -> Scores:
    """The measured scores."""
    return scores(groups.alone.throughput, groups.alone.latency, *pairs)


def agreement(true: Scores, found: Scores, name: str) -> Agreement:
    """How well one of the scores agrees."""
    one, other = friendlier(true, name), friendlier(found, name)
    return Agreement(
        np.stack([overlap(one, other, count) for count in COUNTS], 1), loss(one, other)
    )
