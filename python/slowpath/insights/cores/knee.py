"""Finds the knee of a throughput curve: the number of cores beyond which more add little."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.insights.cores.queueing import Array

CORES = (24, 30, 36, 42, 48, 54, 60)
"""Numbers of cores at which throughput curves were measured."""
_STEP = 6
_FULL = 0.72
_EACH = 0.12
_UNIT = 5.4


def knees(throughput: Array) -> NDArray[np.int64]:
    """Return the knee of each throughput curve, as a number of cores.

    The last dimension of `throughput` has one value for each of the core counts in CORES (24 to 60,
    in steps of six). The result has the shape of the other dimensions. Gains from one core count to
    the next are measured in units of the throughput at 24 cores divided by 5.4. The knee is in the
    first step of six cores whose gain is below 0.72 units; each 0.12 units of its gain add one
    core. Without such a step, the knee is 60 cores.
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
    """Advised numbers of cores, one per network function, with confidence intervals."""

    cores: NDArray[np.int64]  # shape (functions,)
    low: NDArray[np.int64]
    high: NDArray[np.int64]


def scattered(spread: Array, draws: int) -> Array:
    """Draw random errors of predicted throughput curves, as log(measured / predicted).

    The result has the shape (draws, 7), with a column for each of the seven core counts in CORES.

    Args:
        spread: covariance of log(measured / predicted) at CORES, shape (7, 7).
        draws: number of random curves.
    """
    normal = np.random.default_rng(0).standard_normal((draws, len(CORES)))
    values, vectors = np.linalg.eigh(spread)
    return np.asarray(normal @ (vectors * np.sqrt(np.maximum(values, 0))).T)


def median_interval(found: NDArray[np.int64], confidence: float) -> Advice:
    """Return the median and a confidence interval of the knees of random throughput curves.

    Args:
        found: knees as numbers of cores, shape (draws, functions).
        confidence: probability that the interval contains a knee, between 0 and 1.
    """
    tail = (1 - confidence) / 2
    at = (0.5, tail, 1 - tail)
    return Advice(*np.quantile(found, at, axis=0, method="closest_observation").astype(np.int64))


_DRAWS = 500
_BLOCK = 256
"""Number of functions that are processed at a time, to limit the use of memory."""


def advise(throughput: Array, spread: Array, confidence: float) -> Advice:
    """Advise core counts: the median knee of random throughput curves, with an interval.

    A small change of the throughput can move the knee of a curve by several cores. So the knee is
    determined for many random curves, which differ from the prediction as much as measured curves
    do.

    Args:
        throughput: predicted throughput at CORES, shape (functions, 7).
        spread: covariance of log(measured / predicted) at CORES, shape (7, 7).
        confidence: probability that the interval contains the measured knee, between 0 and 1.
    """
    half = scattered(spread, _DRAWS // 2)
    factors = np.exp(np.concatenate([half, -half]))[:, None, :]
    parts = [
        median_interval(knees(throughput[first : first + _BLOCK] * factors), confidence)
        for first in range(0, len(throughput), _BLOCK)
    ]
    return Advice(*(np.concatenate(one) for one in zip(*parts, strict=True)))
