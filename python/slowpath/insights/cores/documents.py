"""The shape of what `slowpath insights cores` says, and how it is made from a model."""

from typing import TypedDict

from slowpath.insights.cores.curves import Asked
from slowpath.insights.cores.knee import CORES
from slowpath.insights.cores.model import CoresModel, advised, predict
from slowpath.insights.numbers import rounded


class Point(TypedDict):
    """A function at a number of cores."""

    function: str
    cores: int
    throughput_pps: float
    latency_cycles: float
    outside: bool  # whether the number is none of those that were measured


class Knee(TypedDict):
    """The advice for a function."""

    function: str
    knee_cores: int
    knee_low: int
    knee_high: int
    throughput_pps: float  # there
    latency_cycles: float
    share: float  # of the most throughput that any number of cores reaches
    unusual: list[str]  # columns in which it is unlike all that were measured


class CoresReport(TypedDict):
    """Everything."""

    slowpath: str
    query: str
    train: str | None
    traffic: str | None  # of the model without training
    learnt_from: int  # functions
    confidence: float
    functions: list[Knee]
    points: list[Point]


def points_of(model: CoresModel, asked: Asked) -> list[Point]:
    """What is predicted of each row of the query."""
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


def functions_of(model: CoresModel, asked: Asked, confidence: float) -> list[Knee]:
    """What is advised for each function."""
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
