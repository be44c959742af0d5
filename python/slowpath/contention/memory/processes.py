"""Gaussian processes for tens to hundreds of rows.

The kernel is a constant times a Matern kernel with a length for each feature, plus noise (Rasmussen
and Williams, "Gaussian Processes for Machine Learning", MIT Press 2006, sections 2.2, 4.2 and
5.4.1). Features and targets are scaled to a mean of 0 and a standard deviation of 1. Kernel
parameters maximise the likelihood of the rows. Our own regression replaces that of scikit-learn:
its import takes longer than a prediction, and on so few rows its checks of arguments take longer
than the search.
"""

import math
from typing import Literal, NamedTuple, overload

import numpy as np

from slowpath.core.arrays import Floats, Indices

Roughness = float
"""Smoothness nu of the Matern kernel: `ROUGH` has no derivative, `SMOOTH` has one."""
ROUGH, SMOOTH = 0.5, 1.5

_CONSTANT, _LENGTH, _NOISE = (1.0, 1e-2, 1e2), (1.0, 0.1, 100.0), (0.05, 1e-3, 1.0)
"""Start value, smallest value and largest value of each kernel parameter."""
_PRECISION = 1e-5
"""The search for kernel parameters ends if a step improves the likelihood by a smaller share.

Ten times the precision costs twice the steps, and changes no error by 0.01 points.
"""
_SEARCHED = 128
"""Maximum number of rows by which kernel parameters are searched; all rows enter the prediction.

The time of the search grows with the cube of this number.
"""
_JITTER = 1e-10
"""Small number added to the diagonal of the kernel matrix, against rounding errors."""


class Scale(NamedTuple):
    """Mean and standard deviation of each column of a matrix.

    For a constant column, the deviation is set to 1.
    """

    mean: Floats
    deviation: Floats

    def __call__(self, values: Floats) -> Floats:
        """Return the values minus the mean, divided by the standard deviation, column by column."""
        return np.asarray((values - self.mean) / self.deviation)


def scale_of(values: Floats) -> Scale:
    """Return the mean and the standard deviation of each column."""
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    rounding = 10 * np.finfo(float).eps * np.abs(mean)
    return Scale(mean, np.where(deviation <= rounding, 1.0, deviation))


class GaussianProcess:
    """A Gaussian process regressor.

    `fit` searches for the kernel parameters, unless they are `known`. The search begins at `begin`,
    if these are parameters for as many features.
    """

    def __init__(
        self, roughness: Roughness, known: Floats | None = None, begin: Floats | None = None
    ) -> None:
        self._roughness = roughness
        self._known, self._begin = known, begin

    @property
    def theta(self) -> Floats:
        """Logarithms of the kernel parameters: constant, a length for each feature, noise."""
        return self._theta

    def fit(self, x: Floats, y: Floats, /) -> "GaussianProcess":
        """Train on rows of features `x` with the targets `y`.

        Raises:
            ValueError: if the number of known parameters does not fit the features.
        """
        from scipy.linalg.lapack import dpotrs

        self._x_scale, self._y_scale = scale_of(x), scale_of(y)
        self._x, scaled = self._x_scale(x), self._y_scale(y)
        count = x.shape[1] + 2
        if self._known is not None and self._known.shape != (count,):
            raise ValueError(f"{len(self._known)} kernel parameters for {count}")
        likelihood = Likelihood(self._x, scaled, self._roughness)
        if self._known is None:
            searched = likelihood
            if len(scaled) > _SEARCHED:
                some = _some_rows(len(scaled))
                searched = Likelihood(self._x[some], scaled[some], self._roughness)
            self._theta = self._search(searched, self._begin)
        else:
            self._theta = self._known
        kernel = likelihood.kernel(self._theta)
        self._lower = np.linalg.cholesky(kernel)
        self._weights = dpotrs(self._lower, scaled, lower=1)[0]
        return self

    @overload
    def predict(self, x: Floats, /) -> Floats: ...
    @overload
    def predict(self, x: Floats, /, *, return_std: Literal[True]) -> tuple[Floats, Floats]: ...
    def predict(self, x: Floats, /, *, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Return the predicted mean for rows, and with `return_std` also the standard deviation."""
        from scipy.linalg.lapack import dtrtrs

        constant, lengths, noise = _parameters(self._theta)
        new, trained = self._x_scale(x) / lengths, self._x / lengths
        squares = ((new[:, None, :] - trained[None]) ** 2).sum(axis=2)
        across = constant * _matern(np.sqrt(squares), self._roughness)
        mean, deviation = self._y_scale
        middle = np.asarray(across @ self._weights * deviation + mean)
        if not return_std:
            return middle
        explained, _ = dtrtrs(self._lower, across.T, lower=1)
        variance = constant + noise - (explained**2).sum(axis=0)
        return middle, np.asarray(np.sqrt(np.maximum(variance, 0.0)) * deviation)

    @staticmethod
    def _search(likelihood: "Likelihood", begin: Floats | None) -> Floats:
        from scipy.optimize import minimize

        limits = [_CONSTANT, *[_LENGTH] * likelihood.features, _NOISE]
        if begin is None or len(begin) != len(limits):
            begin = np.log([one[0] for one in limits])
        bounds = [(math.log(least), math.log(most)) for _, least, most in limits]
        found = minimize(
            likelihood.loss,
            begin,
            method="L-BFGS-B",
            jac=True,
            bounds=bounds,
            options={"ftol": _PRECISION},
        )
        return np.asarray(found.x)


def _some_rows(count: int) -> Indices:
    """Return the numbers of the rows by which kernel parameters of many rows are searched."""
    return np.sort(np.random.default_rng(0).permutation(count)[:_SEARCHED])


class Likelihood:
    """The likelihood of the training rows under a Gaussian process, by kernel parameters."""

    def __init__(self, x: Floats, y: Floats, roughness: Roughness) -> None:
        rows, self.features = x.shape
        self._y, self._roughness = y, roughness
        columns = np.ascontiguousarray(x.T)
        squares = columns[:, :, None] - columns[:, None, :]
        squares *= squares
        self._squares = squares.reshape(self.features, rows * rows)

    def kernel(self, theta: Floats) -> Floats:
        """Return the kernel matrix of the training rows, with noise added to its diagonal."""
        constant, lengths, noise = _parameters(theta)
        kernel = constant * _matern(self._distance(lengths), self._roughness)
        return _with_noise(kernel, noise)

    def loss(self, theta: Floats) -> tuple[float, Floats]:
        """Return the negative logarithm of the likelihood, and its gradient by `theta`."""
        from scipy.linalg.lapack import dpotrf, dpotri

        constant, lengths, noise = _parameters(theta)
        distance = self._distance(lengths)
        shape, by_length = _matern_and_slope(distance, self._roughness)
        shape *= constant
        # The matrices are symmetric; their transposes are in the order of LAPACK, and not copied.
        lower, failed = dpotrf(_with_noise(shape.copy(), noise).T, lower=1, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError("kernel matrix is not positive definite")
        constants = np.log(np.diag(lower)).sum() + len(self._y) / 2 * math.log(2 * math.pi)
        inverse, _ = dpotri(lower, lower=1, overwrite_c=1)  # zeros above its diagonal
        diagonal = np.diag(inverse).copy()
        weights = inverse @ self._y + self._y @ inverse - diagonal * self._y
        # Below, sums over the whole inverse are twice those over its lower half, whose diagonal is
        # counted twice. By length, the diagonal is zero.
        slope = np.multiply(2, inverse.T, out=inverse.T)
        slope -= np.outer(weights, weights)
        gradient = np.empty(len(theta))
        trace = diagonal.sum()
        gradient[0] = (np.vdot(slope, shape) - constant * trace) / 2
        by_length *= slope
        gradient[1:-1] = self._squares @ by_length.ravel() * (constant / 2) / lengths**2
        gradient[-1] = noise * (trace - weights @ weights) / 2
        return float(self._y @ weights / 2 + constants), gradient

    def _distance(self, lengths: Floats) -> Floats:
        rows = len(self._y)
        squares = lengths**-2 @ self._squares
        return np.sqrt(squares, out=squares).reshape(rows, rows)


def _with_noise(kernel: Floats, noise: float) -> Floats:
    """Add noise to the diagonal of a kernel matrix, in place."""
    kernel.ravel()[:: len(kernel) + 1] += noise + _JITTER
    return kernel


def _parameters(theta: Floats) -> tuple[float, Floats, float]:
    found = np.exp(theta)
    return float(found[0]), found[1:-1], float(found[-1])


def _matern(distance: Floats, roughness: Roughness) -> Floats:
    if roughness == ROUGH:
        return np.asarray(np.exp(-distance))
    scaled = math.sqrt(3) * distance
    return np.asarray((1 + scaled) * np.exp(-scaled))


def _matern_and_slope(distance: Floats, roughness: Roughness) -> tuple[Floats, Floats]:
    """Return the Matern kernel, and a factor of its derivative by the logarithm of a length.

    The derivative is this factor times the squared difference of the feature that the length
    scales. For equal rows the square is 0, so any factor is right.
    """
    if roughness == ROUGH:
        kernel = np.exp(-distance)
        return kernel, kernel / np.where(distance > 0, distance, 1.0)
    scaled = math.sqrt(3) * distance
    falling = np.exp(-scaled)
    scaled += 1
    scaled *= falling
    falling *= 3
    return scaled, falling
