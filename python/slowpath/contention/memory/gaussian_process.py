"""Gaussian process regression on a few hundred rows.

The kernel is a constant times a Matern kernel with a length for each feature, plus noise (Rasmussen
and Williams, "Gaussian Processes for Machine Learning", MIT Press 2006, sections 2.2, 4.2 and
5.4.1). Features and targets are scaled to a mean of 0 and a standard deviation of 1. Kernel
parameters maximise the likelihood of the rows. This module replaces scikit-learn: its import takes
longer than a prediction, and its checks of arguments take longer than the search on so few rows.
"""

import math
from typing import Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Roughness = float
"""Smoothness parameter nu of the Matern kernel: `ROUGH` (no derivative) or `SMOOTH` (one)."""
ROUGH, SMOOTH = 0.5, 1.5

_CONSTANT, _LENGTH, _NOISE = (1.0, 1e-2, 1e2), (1.0, 0.1, 100.0), (0.05, 1e-3, 1.0)
"""Start value, least and greatest value of each kernel parameter."""
_JITTER = 1e-10
"""Added to the diagonal of the kernel, against rounding errors."""


class Scale(NamedTuple):
    """Mean and standard deviation of each column; the deviation of a constant column is 1."""

    mean: Floats
    deviation: Floats

    def __call__(self, values: Floats) -> Floats:
        """Return the values scaled to a mean of 0 and a standard deviation of 1."""
        return np.asarray((values - self.mean) / self.deviation)


def scale_of(values: Floats) -> Scale:
    """Return the scale of columns."""
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    rounding = 10 * np.finfo(float).eps * np.abs(mean)
    return Scale(mean, np.where(deviation <= rounding, 1.0, deviation))


class GaussianProcess:
    """A Gaussian process; it searches kernel parameters unless they are given."""

    def __init__(self, roughness: Roughness, known: Floats | None = None) -> None:
        self._roughness = roughness
        self._known = known

    @property
    def theta(self) -> Floats:
        """Logarithms of the kernel parameters: constant, a length for each feature, noise."""
        return self._theta

    def fit(self, x: Floats, y: Floats, /) -> "GaussianProcess":
        """Train on rows.

        Raises:
            ValueError: if the number of given parameters does not fit the features.
        """
        self._x_scale, self._y_scale = scale_of(x), scale_of(y)
        self._x, scaled = self._x_scale(x), self._y_scale(y)
        count = x.shape[1] + 2
        if self._known is not None and self._known.shape != (count,):
            raise ValueError(f"{len(self._known)} kernel parameters for {count}")
        likelihood = Likelihood(self._x, scaled, self._roughness)
        self._theta = self._search(likelihood) if self._known is None else self._known
        kernel = likelihood.kernel(self._theta)
        self._lower = np.linalg.cholesky(kernel)
        self._weights = np.linalg.solve(kernel, scaled)
        return self

    @overload
    def predict(self, x: Floats, /) -> Floats: ...
    @overload
    def predict(self, x: Floats, /, *, return_std: Literal[True]) -> tuple[Floats, Floats]: ...
    def predict(self, x: Floats, /, *, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Return the mean for other rows, and with `return_std` the standard deviation."""
        constant, lengths, noise = _parameters(self._theta)
        there, here = self._x_scale(x) / lengths, self._x / lengths
        squares = ((there[:, None, :] - here[None]) ** 2).sum(axis=2)
        across = constant * _matern(np.sqrt(squares), self._roughness)
        mean, deviation = self._y_scale
        middle = np.asarray(across @ self._weights * deviation + mean)
        if not return_std:
            return middle
        told = np.linalg.solve(self._lower, across.T)
        variance = constant + noise - (told**2).sum(axis=0)
        return middle, np.asarray(np.sqrt(np.maximum(variance, 0.0)) * deviation)

    @staticmethod
    def _search(likelihood: "Likelihood") -> Floats:
        from scipy.optimize import minimize

        limits = [_CONSTANT, *[_LENGTH] * likelihood.features, _NOISE]
        begin = np.log([one[0] for one in limits])
        bounds = [(math.log(least), math.log(most)) for _, least, most in limits]
        found = minimize(likelihood.loss, begin, method="L-BFGS-B", jac=True, bounds=bounds)
        return np.asarray(found.x)


class Likelihood:
    """The likelihood of rows as a function of the kernel parameters."""

    def __init__(self, x: Floats, y: Floats, roughness: Roughness) -> None:
        rows, self.features = x.shape
        self._y, self._roughness = y, roughness
        apart = (x[:, None, :] - x[None]) ** 2
        self._apart = np.ascontiguousarray(apart.reshape(rows * rows, self.features).T)

    def kernel(self, theta: Floats) -> Floats:
        """Return the kernel matrix of the rows, including noise."""
        constant, lengths, noise = _parameters(theta)
        return self._kernel(constant * _matern(self._distance(lengths), self._roughness), noise)

    def loss(self, theta: Floats) -> tuple[float, Floats]:
        """Return the negative logarithm of the likelihood, and its gradient."""
        constant, lengths, noise = _parameters(theta)
        distance = self._distance(lengths)
        shape = constant * _matern(distance, self._roughness)
        kernel = self._kernel(shape, noise)
        lower = np.linalg.cholesky(kernel)
        inverse = np.linalg.inv(kernel)
        weights = inverse @ self._y
        halves = np.log(np.diag(lower)).sum() + len(self._y) / 2 * math.log(2 * math.pi)
        slope = (inverse - np.outer(weights, weights)) / 2
        falls = slope * constant * _matern_slope(distance, self._roughness)
        gradient = np.empty(len(theta))
        gradient[0] = (slope * shape).sum()
        gradient[1:-1] = self._apart @ falls.ravel() / lengths**2
        gradient[-1] = noise * np.trace(slope)
        return float(self._y @ weights / 2 + halves), gradient

    def _distance(self, lengths: Floats) -> Floats:
        rows = len(self._y)
        return np.asarray(np.sqrt(lengths**-2 @ self._apart).reshape(rows, rows))

    @staticmethod
    def _kernel(shape: Floats, noise: float) -> Floats:
        kernel = shape.copy()
        kernel[np.diag_indices_from(kernel)] += noise + _JITTER
        return kernel


def _parameters(theta: Floats) -> tuple[float, Floats, float]:
    found = np.exp(theta)
    return float(found[0]), found[1:-1], float(found[-1])


def _matern(distance: Floats, roughness: Roughness) -> Floats:
    if roughness == ROUGH:
        return np.asarray(np.exp(-distance))
    scaled = math.sqrt(3) * distance
    return np.asarray((1 + scaled) * np.exp(-scaled))


def _matern_slope(distance: Floats, roughness: Roughness) -> Floats:
    """Return the derivative by the logarithm of a length, as a factor.

    It multiplies the square of the scaled difference. For equal rows that square is 0, so any
    factor is right.
    """
    if roughness == ROUGH:
        return np.asarray(np.exp(-distance) / np.where(distance > 0, distance, 1.0))
    return np.asarray(3 * np.exp(-math.sqrt(3) * distance))
