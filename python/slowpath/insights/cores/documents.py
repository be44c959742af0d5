"""Types of the JSON documents of `slowpath insights cores` and `slowpath insights colocation`."""

from typing import TypedDict

import numpy as np

from slowpath.core.schema import Warned
from slowpath.insights.cores.curves import CORES, Query
from slowpath.insights.cores.groups import FUNCTIONS, PAIRS, Groups, Scores
from slowpath.insights.cores.groups import NAMES as SCORES
from slowpath.insights.cores.model import CoresModel, advised, predict
from slowpath.insights.cores.pairs import PairsModel, predicted, surprising
from slowpath.insights.output import rounded


class Point(TypedDict):
    """Predicted throughput and latency of a function on a number of cores."""

    function: str
    cores: int
    throughput_pps: float
    latency_cycles: float
    outside: bool  # true if the number of cores is outside the measured range


class Knee(TypedDict):
    """Recommended number of cores for a function: the knee of its throughput curve."""

    function: str
    knee_cores: int
    knee_low: int
    knee_high: int
    throughput_pps: float  # throughput at the knee
    latency_cycles: float  # latency at the knee
    share: float  # throughput at the knee / maximum throughput at any number of cores
    unusual: list[str]  # columns whose values are outside the measured range


class CoresReport(Warned):
    """The JSON document that `slowpath insights cores --format json` prints."""

    query: str
    train: str | None
    traffic: str | None  # kind of traffic of the shipped model; null with `--train`
    learnt_from: int  # number of functions
    confidence: float
    functions: list[Knee]
    points: list[Point]


def points_of(model: CoresModel, query: Query) -> list[Point]:
    """Return the predictions for each function and number of cores that `query` asks for."""
    core_counts = tuple(sorted({cores for _, cores in query.rows}))
    found = predict(model, query.functions, core_counts)
    column = {cores: at for at, cores in enumerate(core_counts)}
    return [
        {
            "function": query.names[at],
            "cores": cores,
            "throughput_pps": rounded(found.throughput[at, column[cores]]),
            "latency_cycles": rounded(found.latency[at, column[cores]]),
            "outside": not CORES[0] <= cores <= CORES[-1],
        }
        for at, cores in query.rows
    ]


def functions_of(model: CoresModel, query: Query, confidence: float) -> list[Knee]:
    """Return the recommended number of cores for each function in `query`.

    `confidence` is the confidence level of the intervals, between 0 and 1.
    """
    found = advised(model, query.functions, confidence)
    return [
        {
            "function": name,
            "knee_cores": int(found.advice.cores[at]),
            "knee_low": int(found.advice.low[at]),
            "knee_high": int(found.advice.high[at]),
            "throughput_pps": rounded(found.throughput[at]),
            "latency_cycles": rounded(found.latency[at]),
            "share": rounded(found.share[at]),
            "unusual": list(query.unusual[at]),
        }
        for at, name in enumerate(query.names)
    ]


__all__ = ["SCORES", "ColocationReport", "Group", "Pair", "groups_of"]


class Pair(TypedDict):
    """Two functions that share the SmartNIC, with their scores (`groups.py`).

    A function is given by its number in its group, from 1.
    """

    first: int
    second: int
    throughput_total: float
    throughput_average: float
    latency_total: float
    latency_average: float


class Group(TypedDict):
    """Predictions for all pairs of a group of functions."""

    group: str
    measured_alone: bool  # true if its functions were measured alone
    unusual: list[str]  # columns in which a function is outside the measured range
    pairs: list[Pair]


class ColocationReport(Warned):
    """The JSON document that `slowpath insights colocation --format json` prints."""

    query: str
    train: str | None
    learnt_from: int  # number of groups
    results: list[Group]


def groups_of(model: PairsModel, groups: Groups) -> list[Group]:
    """Return the predictions for all pairs of functions in each group."""
    found, surprises = predicted(model, groups), surprising(model, groups)
    return [
        {
            "group": name,
            "measured_alone": not bool(np.isnan(groups.alone.throughput[at]).any()),
            "unusual": [*_unusual(groups, at), *(["solo"] if surprises[at].any() else [])],
            "pairs": [_pair(found, at, pair) for pair in range(len(PAIRS))],
        }
        for at, name in enumerate(groups.names)
    ]


def _unusual(groups: Groups, at: int) -> list[str]:
    members = groups.unusual[at * FUNCTIONS : (at + 1) * FUNCTIONS]
    return list(dict.fromkeys(name for one in members for name in one))


def _pair(found: Scores, at: int, pair: int) -> Pair:
    first, second = PAIRS[pair]
    return {
        "first": first + 1,
        "second": second + 1,
        "throughput_total": rounded(found.throughput_total[at, pair]),
        "throughput_average": rounded(found.throughput_average[at, pair]),
        "latency_total": rounded(found.latency_total[at, pair]),
        "latency_average": rounded(found.latency_average[at, pair]),
    }
