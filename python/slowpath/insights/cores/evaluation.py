"""How well curves and knees of functions that were left out are predicted."""

from typing import NamedTuple

import numpy as np

from slowpath.insights.cores.curves import Curves
from slowpath.insights.cores.knee import CORES, at_cores, knees
from slowpath.insights.cores.model import CoresModel, advised, predict
from slowpath.insights.network.closed import Array


class Outcome(NamedTuple):
    """Predictions for functions that were left out, by function."""

    knee: Array  # |predicted - measured| in cores
    plain: Array  # the same of the knee of the predicted curve itself
    throughput: Array  # |predicted / measured - 1|, mean over the curve
    latency: Array  # the same
    covered: Array  # 1 where the interval has the measured knee
    width: Array  # of the interval, cores
    share: Array  # measured throughput at the advised cores over the most that was measured


def taken(curves: Curves, places: np.ndarray) -> Curves:
    """Functions at some places."""
    names = tuple(curves.names[at] for at in places)
    functions = curves.functions.taken(places)
    return Curves(names, functions, curves.throughput[places], curves.latency[places])


def inside(low: np.ndarray, high: np.ndarray, measured: np.ndarray) -> Array:
    """1 where an interval has what was measured, else 0."""
    return np.asarray((low <= measured) & (measured <= high), float)


def compared(model: CoresModel, curves: Curves, confidence: float) -> Outcome:
    """What a model says of curves, beside what was measured."""
    points = predict(model, curves.functions, CORES)
    advice = advised(model, curves.functions, confidence).advice
    truth = knees(curves.throughput)
    return Outcome(
        np.abs(advice.cores - truth).astype(float),
        np.abs(knees(points.throughput) - truth).astype(float),
        np.abs(points.throughput / curves.throughput - 1).mean(1),
        np.abs(points.latency / curves.latency - 1).mean(1),
        inside(advice.low, advice.high, truth),
        (advice.high - advice.low).astype(float),
        at_cores(curves.throughput, advice.cores.astype(float)) / curves.throughput.max(1),
    )
