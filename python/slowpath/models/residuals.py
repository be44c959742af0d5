"""Residuals as a random walk with noise (local level model).

Noise and structure that is finer than the points' distance look alike, unless it is known how sure
each point is. Where it is, what is more than noise belongs to the curve. Where it is not, this says
what is likeliest, and points that are left out have to tell whether that helps.

(Harvey, Forecasting, Structural Time Series Models and the Kalman Filter, 1989, ch. 2; in words of
kriging, a linear variogram with a nugget.) Between two points, what is expected of a walk is on the
straight line from one to the other. How far it goes in a step is told by the likelihood of the
differences from each residual to the next, to which it does not matter where the walk begins.
"""

import math
from typing import NamedTuple

import numpy as np

from slowpath.models.templates.template import Floats

FINEST = 1e-6
"""Standard deviation of noise, at least: what is measured or printed is no more precise."""
_LEAST_VARIANCE = 1e-10
"""No variance is less, in the largest one: with more between them, matrices lose all digits."""
_STEPS = np.geomspace(1e-4, 4.0, 48)
"""Variances of a step that are tried, in those of the differences between neighbours."""
_RATIOS = np.geomspace(1e-3, 1e3, 48)
"""Variances of the noise that are tried, in those of a step."""


class Noise(NamedTuple):
    """How far measurements at each point are off by chance, relative to them."""

    variance: Floats
    known: bool  # else only the ratios of these variances are


class Walk(NamedTuple):
    """A random walk, and the noise on it."""

    step: float  # variance from one point to the next; zero without a walk
    noise: Floats  # variance of the noise at each point
    evidence: float  # twice the log-likelihood ratio of the walk to noise alone


def most_likely(residuals: Floats, noise: Noise) -> Walk:
    """The walk that explains residuals best."""
    variance = np.maximum(noise.variance, _LEAST_VARIANCE * float(noise.variance.max()))
    if noise.known:
        return _of_known_noise(residuals, np.maximum(variance, FINEST**2))
    return _of_unknown_noise(residuals, variance)


def _of_known_noise(residuals: Floats, noise: Floats) -> Walk:
    differences = np.diff(residuals)
    usual = float(np.mean(differences**2))
    alone = _surprise(differences, noise, 0.0)
    best, step = min((_surprise(differences, noise, one), one) for one in usual * _STEPS)
    return Walk(float(step), noise, alone - best) if best < alone else Walk(0.0, noise, 0.0)


def _of_unknown_noise(residuals: Floats, shape: Floats) -> Walk:
    differences = np.diff(residuals)
    size = len(differences)

    def scaled(ratio: float, step: float) -> tuple[float, float]:
        """The surprise, and the factor for ratio and step that makes it least."""
        root = _root(ratio * shape, step)
        factor = max(float((_whitened(root, differences) ** 2).mean()), FINEST**2 / 2)
        return size * math.log(factor) + 2 * float(np.log(root[1]).sum()), factor

    alone, _ = scaled(1.0, 0.0)
    best, ratio, factor = min(
        (surprise, ratio, factor)
        for ratio in _RATIOS.tolist()
        for surprise, factor in [scaled(ratio, 1.0)]
    )
    return Walk(factor, np.maximum(factor * ratio * shape, FINEST**2), max(alone - best, 0.0))


def expected(residuals: Floats, walk: Walk) -> Floats:
    """Where the walk is expected at each point, by all of them.

    A mean of the residuals with weights that are not negative, so between the least and the most.
    """
    from scipy.linalg import solveh_banded

    if walk.step == 0:
        return np.zeros_like(residuals)
    # Relative to the precision of a step, so that all numbers are of the same order.
    sure = walk.step / walk.noise
    banded = np.zeros((2, len(residuals)))
    banded[0, 1:] = -1.0
    banded[1] = sure + 2.0
    banded[1, [0, -1]] -= 1.0
    return np.asarray(solveh_banded(banded, sure * residuals))


def _surprise(differences: Floats, noise: Floats, step: float) -> float:
    """Twice the negative logarithm of the likelihood, but for a constant."""
    root = _root(noise, step)
    return float((_whitened(root, differences) ** 2).sum() + 2 * np.log(root[1]).sum())


def _root(noise: Floats, step: float) -> Floats:
    """The Cholesky factor of the covariance of the differences, which share a point each."""
    from scipy.linalg import cholesky_banded

    banded = np.zeros((2, len(noise) - 1))
    banded[0, 1:] = -noise[1:-1]
    banded[1] = step + noise[1:] + noise[:-1]
    return np.asarray(cholesky_banded(banded))


def _whitened(root: Floats, differences: Floats) -> Floats:
    """The differences as independent numbers of variance one."""
    from scipy.linalg import solve_banded

    # The transpose of the upper factor: a lower one, with its diagonal first.
    lower = np.vstack([root[1], np.append(root[0, 1:], 0.0)])
    return np.asarray(solve_banded((1, 0), lower, differences))


FEWEST = 10
"""Points without which a walk is not told from noise."""
_LEAST, _MOST = -0.5, 1.0
"""A curve is no less than half of its function, and no more than twice as much."""
_ROUNDING = 1e-9
"""Relative differences that are none."""


def shares(y: Floats, fitted: Floats, noise: Noise) -> Floats | None:
    """What is expected of the residuals at each point of a curve, as shares of the functions.

    None where there is nothing to expect, and where functions and values are not of one sign.
    """
    if len(y) < FEWEST or (np.sign(y) != np.sign(fitted[0])).any() or (fitted * y <= 0).any():
        return None
    residuals = np.clip(y / fitted - 1, _LEAST, _MOST)
    if np.abs(residuals).max() < _ROUNDING:
        return None
    walk = most_likely(residuals, noise)
    # As much as any other parameter has to gain.
    if walk.step == 0 or (noise.known and walk.evidence <= math.log(len(y))):
        return None
    found = expected(residuals, walk)
    return found if np.isfinite(found).all() else None
