"""Models the residuals of a fitted curve as a random walk with noise (local level model).

The walk describes structure of the curve that its functions lack. Noise and structure finer than
the distance of points look alike, unless the precision of each point is known. If it is known,
deviations beyond the noise belong to the curve. If not, the likelihood decides, and predictions at
held-out points must confirm the result.

See Harvey, Forecasting, Structural Time Series Models and the Kalman Filter, 1989, ch. 2; in terms
of kriging, the model is a linear variogram with a nugget. Between two points, the expected walk is
a straight line. The likelihood of the differences between neighbouring residuals determines the
variance of a step; these differences do not depend on the start of the walk.
"""

import math
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats

FINEST = 1e-6
"""Minimum relative standard deviation of noise; values are not measured or printed more precisely.
"""
_LEAST_VARIANCE = 1e-10
"""Minimum ratio of a variance to the largest one; with smaller ratios, matrices lose all digits."""
_STEPS = np.geomspace(1e-4, 4.0, 48)
"""Candidate variances of a step of the walk, in units of the variance of differences between
neighbours.
"""
_RATIOS = np.geomspace(1e-3, 1e3, 48)
"""Candidate variances of the noise, in units of the variance of a step of the walk."""


class Noise(NamedTuple):
    """Relative noise of the measurements at each point of a curve."""

    variance: Floats
    known: bool  # false if only the ratios of variances are known


class Walk(NamedTuple):
    """A random walk with noise that models residuals."""

    step: float  # variance of a step between neighbouring points; zero without a walk
    noise: Floats  # variance of the noise at each point
    evidence: float  # twice the log-likelihood ratio of the walk to noise alone


def most_likely(residuals: Floats, noise: Noise) -> Walk:
    """Return the random walk with noise that makes the residuals most likely."""
    variance = np.maximum(noise.variance, _LEAST_VARIANCE * float(noise.variance.max()))
    if noise.known:
        return _of_known_noise(residuals, np.maximum(variance, FINEST**2))
    return _of_unknown_noise(residuals, variance)


def _of_known_noise(residuals: Floats, noise: Floats) -> Walk:
    differences = np.diff(residuals)
    usual = float(np.mean(differences**2))
    without_walk = _deviance(differences, noise, 0.0)
    best, step = min((_deviance(differences, noise, one), one) for one in usual * _STEPS)
    if best >= without_walk:
        return Walk(0.0, noise, 0.0)
    return Walk(float(step), noise, without_walk - best)


def _of_unknown_noise(residuals: Floats, shape: Floats) -> Walk:
    differences = np.diff(residuals)
    size = len(differences)

    def scaled(ratio: float, step: float) -> tuple[float, float]:
        """Return the least deviance over all scales of the variances, and the best scale.

        `ratio` is the variance of the noise relative to that of a step of the walk, `step` the
        variance of a step.
        """
        root = _root(ratio * shape, step)
        factor = max(float((_whitened(root, differences) ** 2).mean()), FINEST**2 / 2)
        return size * math.log(factor) + 2 * float(np.log(root[1]).sum()), factor

    without_walk, _ = scaled(1.0, 0.0)
    best, ratio, factor = min(
        (deviance, ratio, factor)
        for ratio in _RATIOS.tolist()
        for deviance, factor in [scaled(ratio, 1.0)]
    )
    noise = np.maximum(factor * ratio * shape, FINEST**2)
    return Walk(factor, noise, max(without_walk - best, 0.0))


def expected(residuals: Floats, walk: Walk) -> Floats:
    """Return the expected value of the walk at each point, given all residuals.

    The walk is a weighted mean of residuals, so it lies between the smallest and the largest.
    """
    from scipy.linalg import solveh_banded

    if walk.step == 0:
        return np.zeros_like(residuals)
    # Relative to the precision of a step, all numbers have the same order of magnitude.
    precision = walk.step / walk.noise
    banded = np.zeros((2, len(residuals)))
    banded[0, 1:] = -1.0
    banded[1] = precision + 2.0
    banded[1, [0, -1]] -= 1.0
    return np.asarray(solveh_banded(banded, precision * residuals))


def _deviance(differences: Floats, noise: Floats, step: float) -> float:
    """Return twice the negative log-likelihood of a random walk with noise, up to a constant.

    `differences` are those between neighbouring residuals, `step` is the variance of the walk's
    steps.
    """
    root = _root(noise, step)
    return float((_whitened(root, differences) ** 2).sum() + 2 * np.log(root[1]).sum())


def _root(noise: Floats, step: float) -> Floats:
    """Return the Cholesky factor of the covariance of differences between neighbour residuals.

    `noise` has the variance of the noise at each point, `step` is that of a step of the walk.
    Neighbouring differences are correlated because they share a point.
    """
    from scipy.linalg import cholesky_banded

    banded = np.zeros((2, len(noise) - 1))
    banded[0, 1:] = -noise[1:-1]
    banded[1] = step + noise[1:] + noise[:-1]
    return np.asarray(cholesky_banded(banded))


def _whitened(root: Floats, differences: Floats) -> Floats:
    """Transform differences between residuals to uncorrelated numbers of variance one.

    `root` is the Cholesky factor of their covariance matrix.
    """
    from scipy.linalg import solve_banded

    # Transpose the upper factor: the lower one stores its diagonal first.
    lower = np.vstack([root[1], np.append(root[0, 1:], 0.0)])
    return np.asarray(solve_banded((1, 0), lower, differences))


FEWEST = 10
"""Minimum number of points of a curve for distinguishing a walk from noise."""
_LEAST, _MOST = -0.5, 1.0
"""Limits of relative residuals: a curve lies between half of its function and twice its function.
"""
_ROUNDING = 1e-9
"""Relative residual up to which all residuals count as rounding errors."""


def shares(y: Floats, fitted: Floats, noise: Noise) -> Floats | None:
    """Return the expected residual at each point of a curve, relative to the fitted value.

    The result is None if residuals are only noise, or if a measured and a fitted value have
    different signs.
    """
    if len(y) < FEWEST or (np.sign(y) != np.sign(fitted[0])).any() or (fitted * y <= 0).any():
        return None
    residuals = np.clip(y / fitted - 1, _LEAST, _MOST)
    if np.abs(residuals).max() < _ROUNDING:
        return None
    walk = most_likely(residuals, noise)
    # The walk must gain as much as any other parameter.
    if walk.step == 0 or (noise.known and walk.evidence <= math.log(len(y))):
        return None
    found = expected(residuals, walk)
    return found if np.isfinite(found).all() else None
