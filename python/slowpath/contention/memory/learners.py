"""Learners: regressors, with settings for tens to hundreds of rows.

The paper finds throughput to be piecewise linear in flows and in counters (appendix B, Figure 6).

A learner gets the features as columns, and for each feature whether it can only slow the function
down. Trees are from scikit-learn. Its import is inside functions, so models without trees do not
need it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.memory.gaussian_process import GaussianProcess, Roughness, scale_of

Floats = NDArray[np.float64]

_PENALTIES = np.logspace(-2, 3, 16)


class Ridge:
    """Ridge regression on scaled features; the penalty minimises the leave-one-out error.

    Each leave-one-out error follows from the fit to all rows (Golub, Heath and Wahba, "Generalized
    cross-validation as a method for choosing a good ridge parameter", Technometrics 1979).
    """

    def fit(self, x: Floats, y: Floats, /) -> "Ridge":
        """Train on rows."""
        self._scale, self._mean = scale_of(x), float(y.mean())
        left, sizes, right = np.linalg.svd(self._scale(x), full_matrices=False)
        rest = y - self._mean
        along = left.T @ rest
        errors = []
        for penalty in _PENALTIES:
            kept = sizes**2 / (sizes**2 + penalty)
            leverage = left**2 @ kept + 1 / len(y)
            errors.append((((rest - left @ (kept * along)) / (1 - leverage)) ** 2).mean())
        best = _PENALTIES[int(np.argmin(errors))]
        self._slopes = right.T @ (sizes / (sizes**2 + best) * along)
        return self

    def predict(self, x: Floats, /) -> Floats:
        """Return predictions for other rows."""
        return np.asarray(self._scale(x) @ self._slopes + self._mean)


_SEGMENTS = 4


class SegmentedRidge:
    """A continuous piecewise linear regression; segments have equally many distinct values."""

    def fit(self, x: Floats, y: Floats, /) -> "SegmentedRidge":
        """Train on rows."""
        inner = np.linspace(0, 1, _SEGMENTS + 1)[:-1]
        self._knots = np.quantile(np.unique(x[:, 0]), inner) if x.shape[1] else np.empty(0)
        self._model = Ridge().fit(self._columns(x), y)
        return self

    def predict(self, x: Floats, /) -> Floats:
        """Return predictions for other rows."""
        return self._model.predict(self._columns(x))

    def _columns(self, x: Floats) -> Floats:
        others = x[:, 1:]
        hinges = np.maximum(x[:, :1] - self._knots, 0)
        products = (hinges[:, :, None] * others[:, None, :]).reshape(len(x), -1)
        return np.column_stack([hinges, others, products])


class Learner(Protocol):
    """A regressor with the interface of scikit-learn."""

    def fit(self, x: Floats, y: Floats, /) -> object:
        """Train on rows."""

    def predict(self, x: Floats, /) -> Floats:
        """Return predictions for other rows."""


class ProbabilisticLearner(Protocol):
    """A regressor that predicts a standard deviation, too."""

    def predict(self, x: Floats, /, *, return_std: Literal[True]) -> tuple[Floats, Floats]:
        """Return predictions for other rows, and their standard deviations."""


Build = Callable[[Sequence[bool]], Learner]
"""Constructor of a learner; the argument is true for features that can only slow a function
down."""


def boosted_as_published(_falls: Sequence[bool]) -> Learner:
    """Return gradient-boosted trees with scikit-learn's defaults (paper, 4.1.2)."""
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(random_state=0)  # type: ignore[no-any-return]


def boosted(_falls: Sequence[bool]) -> Learner:
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


def monotone(falls: Sequence[bool]) -> Learner:
    """Return gradient-boosted trees in which more contention never makes the function faster."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(  # type: ignore[no-any-return]
        monotonic_cst=[-1 if one else 0 for one in falls],
        max_iter=150,
        learning_rate=0.06,
        min_samples_leaf=3,
        max_leaf_nodes=6,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )


def smooth_process(_falls: Sequence[bool]) -> Learner:
    """Return a Gaussian process with a once differentiable Matern kernel (nu 3/2)."""
    return GaussianProcess(1.5)


def rough_process(_falls: Sequence[bool]) -> Learner:
    """Return a Gaussian process without derivatives (nu 1/2), which allows for steps."""
    return GaussianProcess(0.5)


def kernel_of(learner: Learner) -> Floats | None:
    """Return the learnt logarithms of a process's kernel parameters; None for other learners.

    Their search takes nearly all of the training time.
    """
    return learner.theta if isinstance(learner, GaussianProcess) else None


def with_kernel(name: str, known: Floats) -> Learner:
    """Return a process with known kernel parameters, which it does not search.

    Raises:
        ValueError: if the learner of that name has no kernel.
    """
    if name not in _ROUGHNESS:
        raise ValueError(f"{name} has no kernel")
    return GaussianProcess(_ROUGHNESS[name], known)


def ridge(_falls: Sequence[bool]) -> Learner:
    """Return a linear model whose penalty is chosen on the training rows."""
    return Ridge()


def segments(_falls: Sequence[bool]) -> Learner:
    """Return a model with a line for each segment of the first feature (flows).

    The lines join at the ends of segments; contention has its own slopes in each segment.
    """
    return SegmentedRidge()


def median(_falls: Sequence[bool]) -> Learner:
    """Return a model that predicts the same for all rows."""
    from sklearn.dummy import DummyRegressor

    return DummyRegressor(strategy="median")  # type: ignore[no-any-return]


LEARNERS: Mapping[str, Build] = {
    "boosted as published": boosted_as_published,
    "boosted": boosted,
    "monotone": monotone,
    "smooth process": smooth_process,
    "rough process": rough_process,
    "ridge": ridge,
    "segments": segments,
    "median": median,
}
"""Learners by their names, which saved models use."""

_ROUGHNESS: Mapping[str, Roughness] = {"smooth process": 1.5, "rough process": 0.5}

UNSURE = frozenset(_ROUGHNESS)
"""Names of learners that are `ProbabilisticLearner`."""
