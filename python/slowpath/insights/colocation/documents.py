"""The shape of what `slowpath insights colocation` says, and how it is made from a model."""

from typing import TypedDict

import numpy as np

from slowpath.insights.colocation.groups import FUNCTIONS, PAIRS, Groups
from slowpath.insights.colocation.model import PairsModel, predicted, surprising
from slowpath.insights.colocation.scores import NAMES as SCORES
from slowpath.insights.colocation.scores import Scores
from slowpath.insights.numbers import rounded

__all__ = ["SCORES", "ColocationReport", "Group", "Pair", "groups_of"]


class Pair(TypedDict):
    """Two functions on the card; members are counted from 1."""

    first: int
    second: int
    throughput_total: float
    throughput_average: float
    latency_total: float
    latency_average: float


class Group(TypedDict):
    """A group of functions."""

    group: str
    measured_alone: bool  # whether it has what its functions do alone
    unusual: list[str]  # in what a function is unlike all that were measured
    pairs: list[Pair]


class ColocationReport(TypedDict):
    """Everything."""

    slowpath: str
    query: str
    train: str | None
    learnt_from: int  # groups
    groups: list[Group]


def groups_of(model: PairsModel, groups: Groups) -> list[Group]:
    """What is predicted of each group."""
    found, surprises = predicted(model, groups), surprising(model, groups)
    return [
        {
            "group": name,
            "measured_alone": not bool(np.isnan(groups.alone.throughput[at]).any()),
            "unusual": [*_unusual(groups, at), *(["solo"] if surprises[at].any() else [])],
            "pairs": [_pair(found, at, place) for place in range(len(PAIRS))],
        }
        for at, name in enumerate(groups.names)
    ]


def _unusual(groups: Groups, at: int) -> list[str]:
    members = groups.unusual[at * FUNCTIONS : (at + 1) * FUNCTIONS]
    return list(dict.fromkeys(name for one in members for name in one))


def _pair(found: Scores, at: int, place: int) -> Pair:
    first, second = PAIRS[place]
    return {
        "first": first + 1,
        "second": second + 1,
        "throughput_total": rounded(found.throughput_total[at, place]),
        "throughput_average": rounded(found.throughput_average[at, place]),
        "latency_total": rounded(found.latency_total[at, place]),
        "latency_average": rounded(found.latency_average[at, place]),
    }
