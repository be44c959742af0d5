"""Schema of predictions by cores and of pairs."""

from typing import TypedDict

import numpy as np

from slowpath.insights.cores.curves import Query
from slowpath.insights.cores.groups import FUNCTIONS, PAIRS, Groups
from slowpath.insights.cores.knee import CORES
from slowpath.insights.cores.model import CoresModel, advised, predict
from slowpath.insights.cores.pairs import PairsModel, predicted, surprising
from slowpath.insights.cores.scores import NAMES as SCORES
from slowpath.insights.cores.scores import Scores
from slowpath.insights.output import rounded


class Point(TypedDict):
    """Prediction for a function at a number of cores."""

    function: str
    cores: int
    throughput_pps: float
    latency_cycles: float
    outside: bool  # true outside the measured range of cores


class Knee(TypedDict):
    """Advised number of cores for a function."""

    function: str
    knee_cores: int
    knee_low: int
    knee_high: int
    throughput_pps: float  # throughput at the knee
    latency_cycles: float  # latency at the knee
    share: float  # relative to the greatest throughput at any number of cores
    unusual: list[str]  # columns outside the measured range


class CoresReport(TypedDict):
    """Output of `slowpath insights cores --format json`."""

    slowpath: str
    query: str
    train: str | None
    traffic: str | None  # kind of traffic of the shipped model; null with `--train`
    learnt_from: int  # number of functions
    confidence: float
    functions: list[Knee]
    points: list[Point]


def points_of(model: CoresModel, asked: Query) -> list[Point]:
    """Return the prediction for each row of the query."""
    every = tuple(sorted({cores for _, cores in asked.rows}))
    found = predict(model, asked.functions, every)
    column = {cores: at for at, cores in enumerate(every)}
    return [
        {
            "function": asked.names[place],
            "cores": cores,
            "throughput_pps": rounded(found.throughput[place, column[cores]]),
            "latency_cycles": rounded(found.latency[place, column[cores]]),
            "outside": not CORES[0] <= cores <= CORES[-1],
        }
        for place, cores in asked.rows
    ]


def functions_of(model: CoresModel, asked: Query, confidence: float) -> list[Knee]:
    """Return the advice for each function."""
    found = advised(model, asked.functions, confidence)
    return [
        {
            "function": name,
            "knee_cores": int(found.advice.cores[at]),
            "knee_low": int(found.advice.low[at]),
            "knee_high": int(found.advice.high[at]),
            "throughput_pps": rounded(found.throughput[at]),
            "latency_cycles": rounded(found.latency[at]),
            "share": rounded(found.share[at]),
            "unusual": list(asked.unusual[at]),
        }
        for at, name in enumerate(asked.names)
    ]


__all__ = ["SCORES", "ColocationReport", "Group", "Pair", "groups_of"]


class Pair(TypedDict):
    """Two functions on the card; members are numbered from 1."""

    first: int
    second: int
    throughput_total: float
    throughput_average: float
    latency_total: float
    latency_average: float


class Group(TypedDict):
    """Predictions for a group of functions."""

    group: str
    measured_alone: bool  # true if its functions were measured alone
    unusual: list[str]  # columns of any function outside the measured range
    pairs: list[Pair]


class ColocationReport(TypedDict):
    """Output of `slowpath insights colocation --format json`."""

    slowpath: str
    query: str
    train: str | None
    learnt_from: int  # number of groups
    groups: list[Group]


def groups_of(model: PairsModel, groups: Groups) -> list[Group]:
    """Return the predictions for each group."""
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
