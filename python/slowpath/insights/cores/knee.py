"""The advised number of cores: the knee of a throughput curve."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.insights.cores.queueing import Array

CORES = (24, 30, 36, 42, 48, 54, 60)
"""Where curves were measured."""
_STEP = 6
_FULL = 0.72
_EACH = 0.12
_UNIT = 5.4


def knees(throughput: Array) -> NDArray[np.int64]:
    """The knees of curves, shape (...): throughput at CORES in the last dimension.

    The first step whose gain is below 0.72 units is too little; its gain says how many cores of it
    are still worth it. A unit is the throughput at 24 cores over 5.4.
    """
    gains = np.diff(throughput, axis=-1) / (throughput[..., :1] / _UNIT)
    small = gains < _FULL
    first = small.argmax(-1)
    gain = np.take_along_axis(gains, first[..., None], -1)[..., 0]
    # The smallest k in 0 to 5 with gain < 0.12 (k + 1).
    limits = _EACH * np.arange(1, _STEP + 1)
    part = (gain[..., None] >= limits).sum(-1)
    before = np.array(CORES)[first]
    return np.where(small.any(-1), before + np.minimum(part, _STEP - 1), CORES[-1])


class Advice(NamedTuple):
    """How many cores, and how sure that is."""

    cores: NDArray[np.int64]  # shape (functions,)
    low: NDArray[np.int64]
    high: NDArray[np.int64]


def scattered(spread: Array, draws: int) -> Array:
    """By how much curves are off, in logarithms, shape (draws, 7).

    Args:
        spread: covariance of logarithms, measured over predicted, shape (7, 7).
        draws: how many curves.
    """
    normal = np.random.default_rng(0).standard_normal((draws, len(CORES)))
    values, vectors = np.linalg.eigh(spread)
    return np.asarray(normal @ (vectors * np.sqrt(np.maximum(values, 0))).T)


def among(found: NDArray[np.int64], confidence: float) -> Advice:
    """The median of knees, shape (draws, functions), and the interval that so many are in."""
    tail = (1 - confidence) / 2
    at = (0.5, tail, 1 - tail)
    return Advice(*np.quantile(found, at, axis=0, method="closest_observation").astype(np.int64))


_DRAWS = 500
_BLOCK = 256
"""Functions that are drawn for at a time, for the memory."""


def advise(throughput: Array, spread: Array, confidence: float) -> Advice:
    """The median knee of curves like the predicted one, and an interval.

    A knee is a step function of its curve: it changes by several cores where a gain passes a
    limit. So it is read off many curves which differ from the prediction as measured ones do.

    Args:
        throughput: predicted at CORES, shape (functions, 7).
        spread: covariance of logarithms, measured over predicted, shape (7, 7).
        confidence: how often the interval has the knee that is measured, between 0 and 1.
    """
    half = scattered(spread, _DRAWS // 2)
    factors = np.exp(np.concatenate([half, -half]))[:, None, :]
    parts = [
        among(knees(throughput[first : first + _BLOCK] * factors), confidence)
        for first in range(0, len(throughput), _BLOCK)
    ]
    return Advice(*(np.concatenate(one) for one in zip(*parts, strict=True)))


def at_cores(throughput: Array, cores: Array) -> Array:
    """Throughput between the points of curves, on straight lines; shape (functions,)."""
    return np.array(
        [np.interp(at, CORES, curve) for at, curve in zip(cores, throughput, strict=True)]
    )
