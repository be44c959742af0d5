"""Regressors that memory models consist of, with settings for tens to hundreds of training rows.

The paper finds throughput to be piecewise linear in flows and in counters (appendix B, Figure 6).

The trees of the paper, and those of models saved by older versions, are from scikit-learn. It is
imported inside functions, so that other models do not need it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np

from slowpath.contention.memory.regressors import (
    ROUGH,
    SMOOTH,
    BoostedTrees,
    GaussianProcess,
    Roughness,
    Settings,
    scale_of,
)
from slowpath.core.arrays import Floats

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
    """A model that predicts the median of the training targets for all rows."""

    def fit(self, _x: Floats, y: Floats, /) -> "Median":
        """Train on the targets `y`; features are ignored."""
        self._median = float(np.median(y))
        return self

    def predict(self, x: Floats, /) -> Floats:
        """Return the median for each row of features `x`."""
        return np.full(len(x), self._median)


_SEGMENTS = 4


class SegmentedRidge:
    """A regression that is continuous, and piecewise linear in the first feature.

    Each segment contains the same number of distinct values.
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
    """Interface of regressors, as in scikit-learn."""

    def fit(self, x: Floats, y: Floats, /) -> object:
        """Train on rows of features `x` with the targets `y`."""

    def predict(self, x: Floats, /) -> Floats:
        """Return predictions for rows of features `x`."""


class ProbabilisticLearner(Protocol):
    """Interface of regressors that also predict standard deviations."""

    def predict(self, x: Floats, /, *, return_std: Literal[True]) -> tuple[Floats, Floats]:
        """Return predictions for rows of features `x`, and their standard deviations."""


class ScikitLearner:
    """Wrapper of a regressor of scikit-learn that skips the checks of its arguments.

    The checks take a third of the training time.
    """

    def __init__(self, regressor: Learner) -> None:
        self._regressor = regressor

    def fit(self, x: Floats, y: Floats, /) -> "ScikitLearner":
        """Train on rows of features `x` with the targets `y`."""
        from sklearn import config_context

        with config_context(assume_finite=True, skip_parameter_validation=True):
            self._regressor.fit(x, y)
        return self

    def predict(self, x: Floats, /) -> Floats:
        """Return predictions for rows of features `x`."""
        return self._regressor.predict(x)


Build = Callable[[Sequence[bool]], Learner]
"""Function that creates an untrained learner. The argument has an entry for each feature: true if
larger values of the feature can only slow the function down.
"""


class PublishedTrees:
    """Gradient-boosted trees with scikit-learn's defaults, as in the paper (4.1.2).

    The predictions are those of `GradientBoostingRegressor(random_state=0)`. This class replaces
    its loop, because the checks in it take longer than growing small trees.
    """

    _ROUNDS, _RATE, _DEPTH = 100, 0.1, 3

    def fit(self, x: Floats, y: Floats, /) -> "PublishedTrees":
        """Train on rows of features `x` with the targets `y`."""
        from sklearn import config_context
        from sklearn.tree import DecisionTreeRegressor

        x, self._mean = np.ascontiguousarray(x, dtype=np.float32), float(np.average(y))
        predicted, drawn = np.full(len(y), self._mean), np.random.RandomState(0)
        self._trees = []
        with config_context(assume_finite=True, skip_parameter_validation=True):
            for _ in range(self._ROUNDS):
                grown = DecisionTreeRegressor(max_depth=self._DEPTH, random_state=drawn)
                tree = grown.fit(x, y - predicted, check_input=False).tree_
                predicted += self._RATE * tree.predict(x)[:, 0]
                self._trees.append(tree)
        return self

    def predict(self, x: Floats, /) -> Floats:
        """Return predictions for rows of features `x`."""
        x = np.ascontiguousarray(x, dtype=np.float32)
        predicted = np.full(len(x), self._mean)
        for tree in self._trees:
            predicted += self._RATE * tree.predict(x)[:, 0]
        return predicted


def boosted(_slowing: Sequence[bool]) -> Learner:
    """Return untrained boosted trees with the settings of saved models that are named `boosted`.

    Only older versions of slowpath saved such models.
    """
    from sklearn.ensemble import GradientBoostingRegressor

    return ScikitLearner(
        GradientBoostingRegressor(
            learning_rate=0.03,
            n_estimators=300,
            max_depth=2,
            subsample=0.7,
            min_samples_leaf=3,
            random_state=0,
        )
    )


def monotone(slowing: Sequence[bool]) -> Learner:
    """Return untrained boosted trees with the settings of saved models that are named `monotone`.

    `slowing` has an entry for each feature: true if larger values can only slow the function down.
    Only older versions of slowpath saved such models.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    return ScikitLearner(
        HistGradientBoostingRegressor(
            monotonic_cst=[-1 if one else 0 for one in slowing],
            max_iter=150,
            learning_rate=0.06,
            min_samples_leaf=3,
            max_leaf_nodes=6,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=0,
        )
    )


_TREES = Settings(rounds=100, rate=0.1, subsample=0.7, least=3, penalty=0.0)
_FALLING = Settings(rounds=75, rate=0.12, subsample=1.0, least=3, penalty=1.0)


def kernel_of(learner: Learner) -> Floats | None:
    """Return the logarithms of a Gaussian process's kernel parameters; None for other learners."""
    return learner.theta if isinstance(learner, GaussianProcess) else None


def with_kernel(name: str, known: Floats) -> Learner:
    """Return an untrained Gaussian process that uses known kernel parameters, without a search.

    `name` is the name of the learner, `known` has the logarithms of the parameters.

    Raises:
        ValueError: if the learner of this name has no kernel.
    """
    if name not in _ROUGHNESS:
        raise ValueError(f"{name} has no kernel")
    return GaussianProcess(_ROUGHNESS[name], known)


def near_kernel(name: str, begin: Floats) -> Learner:
    """Return an untrained Gaussian process whose search for kernel parameters starts at `begin`.

    `name` is the name of the learner, `begin` has logarithms of parameters.
    """
    return GaussianProcess(_ROUGHNESS[name], begin=begin)


LEARNERS: Mapping[str, Build] = {
    "boosted as published": lambda _slowing: PublishedTrees(),
    # Each on a subsample. Three times the rounds at a third of the rate are not more accurate.
    "trees": lambda slowing: BoostedTrees(_TREES, [False] * len(slowing)),
    # Contention never makes the function faster.
    "falling trees": lambda slowing: BoostedTrees(_FALLING, slowing),
    # Once differentiable (nu 3/2).
    "smooth process": lambda _slowing: GaussianProcess(SMOOTH),
    # Not differentiable (nu 1/2), which allows for steps.
    "rough process": lambda _slowing: GaussianProcess(ROUGH),
    "ridge": lambda _slowing: Ridge(),
    "segments": lambda _slowing: SegmentedRidge(),
    "median": lambda _slowing: Median(),
    "boosted": boosted,
    "monotone": monotone,
}
"""Constructors of learners, by the names that saved models use for them."""

_ROUGHNESS: Mapping[str, Roughness] = {"smooth process": SMOOTH, "rough process": ROUGH}

UNSURE = frozenset(_ROUGHNESS)
"""Names of learners that predict standard deviations (`ProbabilisticLearner`)."""

BATCHED = frozenset({"trees", "falling trees"})
"""Names of learners that can train on several subsets of rows at once (`BoostedTrees`)."""
