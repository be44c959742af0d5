"""Judges predicted throughput curves and advised numbers of cores against measurements."""

from typing import NamedTuple

import numpy as np

from slowpath.insights.cores.curves import Curves
from slowpath.insights.cores.functions import Array
from slowpath.insights.cores.knee import CORES, knees
from slowpath.insights.cores.model import CoresModel, advised, predict


class Outcome(NamedTuple):
    """Errors of predicted throughput curves and advised numbers of cores, by function."""

    knee: Array  # |predicted - measured| in cores
    plain: Array  # |knee of the predicted curve - measured knee| in cores
    throughput: Array  # |predicted / measured - 1|, mean over the curve
    latency: Array  # |predicted / measured - 1|, mean over the curve
    covered: Array  # 1 if the interval contains the measured knee
    width: Array  # width of the interval, cores
    share: Array  # measured throughput at the advised cores / maximum measured throughput


def curves_of(curves: Curves, places: np.ndarray) -> Curves:
    """Return the curves of the functions with the given indices."""
    names = tuple(curves.names[at] for at in places)
    functions = curves.functions.selected(places)
    return Curves(names, functions, curves.throughput[places], curves.latency[places])


def at_cores(throughput: Array, cores: Array) -> Array:
    """Return the throughput of each curve at a number of cores, by linear interpolation."""
    return np.array(
        [np.interp(at, CORES, curve) for at, curve in zip(cores, throughput, strict=True)]
    )


def inside(low: np.ndarray, high: np.ndarray, measured: np.ndarray) -> Array:
    """Return 1 for each measured value that lies in its interval, else 0."""
    return np.asarray((low <= measured) & (measured <= high), float)


def compared(model: CoresModel, curves: Curves, confidence: float) -> Outcome:
    """Predict the curves of functions, and compare them with the measured curves."""
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
