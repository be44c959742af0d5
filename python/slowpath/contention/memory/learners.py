"""Regressors for memory models, with settings for tens to hundreds of rows.

The paper finds throughput to be piecewise linear in flows and in counters (appendix B, Figure 6).

Trees are from scikit-learn. It is imported inside functions, so that models without trees do not
need it.

The kernel of Gaussian processes is a constant times a Matern kernel with a length for each feature,
plus noise (Rasmussen and Williams, "Gaussian Processes for Machine Learning", MIT Press 2006,
sections 2.2, 4.2 and 5.4.1). Features and targets are scaled to a mean of 0 and a standard
deviation of 1. Kernel parameters maximise the likelihood of the rows. Our own regression replaces
that of scikit-learn: its import takes longer than a prediction, and on so few rows its checks of
arguments take longer than the search.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, overload

import numpy as np

from slowpath.core.arrays import Floats

Roughness = float
"""Smoothness nu of the Matern kernel: `ROUGH` has no derivative, `SMOOTH` has one."""
ROUGH, SMOOTH = 0.5, 1.5

_CONSTANT, _LENGTH, _NOISE = (1.0, 1e-2, 1e2), (1.0, 0.1, 100.0), (0.05, 1e-3, 1.0)
"""Start value, smallest value and largest value of each kernel parameter."""
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

    `fit` searches for the kernel parameters, unless they are `known`.
    """

    def __init__(self, roughness: Roughness, known: Floats | None = None) -> None:
        self._roughness = roughness
        self._known = known

    @property
    def theta(self) -> Floats:
        """Logarithms of the kernel parameters: constant, a length for each feature, noise."""
        return self._theta

    def fit(self, x: Floats, y: Floats, /) -> "GaussianProcess":
        """Train on rows of features `x` with the targets `y`.

        Raises:
            ValueError: if the number of known parameters does not fit the features.
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
        """Return the predicted mean for rows, and with `return_std` also the standard deviation."""
        constant, lengths, noise = _parameters(self._theta)
        new, trained = self._x_scale(x) / lengths, self._x / lengths
        squares = ((new[:, None, :] - trained[None]) ** 2).sum(axis=2)
        across = constant * _matern(np.sqrt(squares), self._roughness)
        mean, deviation = self._y_scale
        middle = np.asarray(across @ self._weights * deviation + mean)
        if not return_std:
            return middle
        explained = np.linalg.solve(self._lower, across.T)
        variance = constant + noise - (explained**2).sum(axis=0)
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
    """The likelihood of the training rows under a Gaussian process, by kernel parameters."""

    def __init__(self, x: Floats, y: Floats, roughness: Roughness) -> None:
        rows, self.features = x.shape
        self._y, self._roughness = y, roughness
        squares = (x[:, None, :] - x[None]) ** 2
        self._squares = np.ascontiguousarray(squares.reshape(rows * rows, self.features).T)

    def kernel(self, theta: Floats) -> Floats:
        """Return the kernel matrix of the training rows, with noise added to its diagonal."""
        constant, lengths, noise = _parameters(theta)
        return self._kernel(constant * _matern(self._distance(lengths), self._roughness), noise)

    def loss(self, theta: Floats) -> tuple[float, Floats]:
        """Return the negative logarithm of the likelihood, and its gradient by `theta`."""
        constant, lengths, noise = _parameters(theta)
        distance = self._distance(lengths)
        shape = constant * _matern(distance, self._roughness)
        kernel = self._kernel(shape, noise)
        lower = np.linalg.cholesky(kernel)
        inverse = np.linalg.inv(kernel)
        weights = inverse @ self._y
        constants = np.log(np.diag(lower)).sum() + len(self._y) / 2 * math.log(2 * math.pi)
        slope = (inverse - np.outer(weights, weights)) / 2
        by_length = slope * constant * _matern_slope(distance, self._roughness)
        gradient = np.empty(len(theta))
        gradient[0] = (slope * shape).sum()
        gradient[1:-1] = self._squares @ by_length.ravel() / lengths**2
        gradient[-1] = noise * np.trace(slope)
        return float(self._y @ weights / 2 + constants), gradient

    def _distance(self, lengths: Floats) -> Floats:
        rows = len(self._y)
        return np.asarray(np.sqrt(lengths**-2 @ self._squares).reshape(rows, rows))

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
    """Return a factor of the Matern kernel's derivative by the logarithm of a length parameter.

    The derivative is this factor times the squared difference of the feature that the length
    scales. For equal rows the square is 0, so any factor is right.
    """
    if roughness == ROUGH:
        return np.asarray(np.exp(-distance) / np.where(distance > 0, distance, 1.0))
    return np.asarray(3 * np.exp(-math.sqrt(3) * distance))


_PENALTIES = np.logspace(-2, 3, 16)


class Ridge:
    """Ridge regression on scaled features; its penalty minimises the leave-one-out error.

    Each leave-one-out error follows from the fit to all rows (Golub, Heath and Wahba, "Generalized
    cross-validation as a method for choosing a good ridge parameter", Technometrics 1979).
    """

    def fit(self, x: Floats, y: Floats, /) -> "Ridge":
        """Train on rows of features `x` with the targets `y`."""
        self._scale, self._mean = scale_of(x), float(y.mean())
        left, sizes, right = np.linalg.svd(self._scale(x), full_matrices=False)
        centred = y - self._mean
        projected = left.T @ centred
        errors = []
        for penalty in _PENALTIES:
            kept = sizes**2 / (sizes**2 + penalty)
            leverage = left**2 @ kept + 1 / len(y)
            residuals = centred - left @ (kept * projected)
            errors.append(((residuals / (1 - leverage)) ** 2).mean())
        best = _PENALTIES[int(np.argmin(errors))]
        self._slopes = right.T @ (sizes / (sizes**2 + best) * projected)
        return self

    def predict(self, x: Floats, /) -> Floats:
        """Return predictions for rows of features `x`."""
        return np.asarray(self._scale(x) @ self._slopes + self._mean)


class Median:
    """A model that predicts the median training throughput for all rows."""

    def fit(self, _x: Floats, y: Floats, /) -> "Median":
        """Train on the targets `y`."""
        self._median = float(np.median(y))
        return self

    def predict(self, x: Floats, /) -> Floats:
        """Return predictions for rows of features `x`."""
        return np.full(len(x), self._median)


_SEGMENTS = 4


class SegmentedRidge:
    """A regression that is continuous and piecewise linear in the first feature.

    The segments have equally many distinct values.
    """

    def fit(self, x: Floats, y: Floats, /) -> "SegmentedRidge":
        """Train on rows of features `x` with the targets `y`."""
        inner = np.linspace(0, 1, _SEGMENTS + 1)[:-1]
        self._knots = np.quantile(np.unique(x[:, 0]), inner) if x.shape[1] else np.empty(0)
        self._model = Ridge().fit(self._columns(x), y)
        return self

    def predict(self, x: Floats, /) -> Floats:
        """Return predictions for rows of features `x`."""
        return self._model.predict(self._columns(x))

    def _columns(self, x: Floats) -> Floats:
        others = x[:, 1:]
        hinges = np.maximum(x[:, :1] - self._knots, 0)
        products = (hinges[:, :, None] * others[:, None, :]).reshape(len(x), -1)
        return np.column_stack([hinges, others, products])


class Learner(Protocol):
    """A regressor with the interface of scikit-learn."""

    def fit(self, x: Floats, y: Floats, /) -> object:
        """Train on rows of features `x` with the targets `y`."""

    def predict(self, x: Floats, /) -> Floats:
        """Return predictions for rows of features `x`."""


class ProbabilisticLearner(Protocol):
    """A regressor that also predicts standard deviations."""

    def predict(self, x: Floats, /, *, return_std: Literal[True]) -> tuple[Floats, Floats]:
        """Return predictions for rows of features `x`, and their standard deviations."""


Build = Callable[[Sequence[bool]], Learner]
"""Constructor of a learner. Its argument is true for features that can only slow a function down.
"""


def boosted_as_published(_slowing: Sequence[bool]) -> Learner:
    """Return gradient-boosted trees with scikit-learn's defaults (paper, 4.1.2)."""
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(random_state=0)  # type: ignore[no-any-return]


def boosted(_slowing: Sequence[bool]) -> Learner:
    """Return gradient-boosted trees: shallow, with a small learning rate, each on a subsample."""
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(  # type: ignore[no-any-return]
        learning_rate=0.03,
        n_estimators=300,
        max_depth=2,
        subsample=0.7,
        min_samples_leaf=3,
        random_state=0,
    )


def monotone(slowing: Sequence[bool]) -> Learner:
    """Return gradient-boosted trees in which contention never makes the function faster."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(  # type: ignore[no-any-return]
        monotonic_cst=[-1 if one else 0 for one in slowing],
        max_iter=150,
        learning_rate=0.06,
        min_samples_leaf=3,
        max_leaf_nodes=6,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )


def kernel_of(learner: Learner) -> Floats | None:
    """Return the logarithms of a Gaussian process's kernel parameters; None for other learners."""
    return learner.theta if isinstance(learner, GaussianProcess) else None


def with_kernel(name: str, known: Floats) -> Learner:
    """Return a Gaussian process with known kernel parameters.

    Raises:
        ValueError: if the learner of this name has no kernel.
    """
    if name not in _ROUGHNESS:
        raise ValueError(f"{name} has no kernel")
    return GaussianProcess(_ROUGHNESS[name], known)


LEARNERS: Mapping[str, Build] = {
    "boosted as published": boosted_as_published,
    "boosted": boosted,
    "monotone": monotone,
    # Once differentiable (nu 3/2).
    "smooth process": lambda _slowing: GaussianProcess(SMOOTH),
    # Not differentiable (nu 1/2), which allows for steps.
    "rough process": lambda _slowing: GaussianProcess(ROUGH),
    "ridge": lambda _slowing: Ridge(),
    "segments": lambda _slowing: SegmentedRidge(),
    "median": lambda _slowing: Median(),
}
"""Constructors of learners, by the names that saved models use."""

_ROUGHNESS: Mapping[str, Roughness] = {"smooth process": SMOOTH, "rough process": ROUGH}

UNSURE = frozenset(_ROUGHNESS)
"""Names of learners that predict standard deviations (`ProbabilisticLearner`)."""
