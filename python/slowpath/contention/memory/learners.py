"""Kinds of models, with settings for tens to hundreds of rows.

The paper finds throughput to be piecewise linear in flows and in counters (appendix B, Figure 6).

Every one takes the features as columns and whether each can only slow the function down. Trees are
those of scikit-learn, which is imported inside: models without trees do without it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.memory.gaussian_process import GaussianProcess, Roughness, scale_of

Floats = NDArray[np.float64]

_PENALTIES = np.logspace(-2, 3, 16)


class Ridge:
    """A ridge on scaled features; of all penalties, rows left out one by one take the best.

    Each left-out error follows from the fit to all rows (Golub, Heath and Wahba, "Generalized
    cross-validation as a method for choosing a good ridge parameter", Technometrics 1979).
    """

    def fit(self, x: Floats, y: Floats, /) -> "Ridge":
        """Learn from rows."""
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
        """Return what the line says of other rows."""
        return np.asarray(self._scale(x) @ self._slopes + self._mean)


_SEGMENTS = 4


class SegmentedRidge:
    """Lines that meet where segments do; segments have equally many different values."""

    def fit(self, x: Floats, y: Floats, /) -> "SegmentedRidge":
        """Learns from rows."""
        inner = np.linspace(0, 1, _SEGMENTS + 1)[:-1]
        self._knots = np.quantile(np.unique(x[:, 0]), inner) if x.shape[1] else np.empty(0)
        self._model = Ridge().fit(self._columns(x), y)
        return self

    def predict(self, x: Floats, /) -> Floats:
        """What it says of others."""
        return self._model.predict(self._columns(x))

    def _columns(self, x: Floats) -> Floats:
        others = x[:, 1:]
        hinges = np.maximum(x[:, :1] - self._knots, 0)
        products = (hinges[:, :, None] * others[:, None, :]).reshape(len(x), -1)
        return np.column_stack([hinges, others, products])


class Learner(Protocol):
    """A regressor, as scikit-learn calls it."""

    def fit(self, x: Floats, y: Floats, /) -> object:
        """Learns from rows."""

    def predict(self, x: Floats, /) -> Floats:
        """What it says of others."""


class Unsure(Protocol):
    """A regressor that knows how sure it is."""

    def predict(self, x: Floats, /, *, return_std: Literal[True]) -> tuple[Floats, Floats]:
        """What it says of others, and the standard deviation of that."""


Build = Callable[[Sequence[bool]], Learner]
"""From whether each feature can only slow the function down."""


def boosted_as_published(_falls: Sequence[bool]) -> Learner:
    """Gradient-boosted trees as scikit-learn has them if told nothing (paper, 4.1.2)."""
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(random_state=0)  # type: ignore[no-any-return]


def boosted(_falls: Sequence[bool]) -> Learner:
    """Gradient-boosted trees: shallow, slow, each on some of the rows."""
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
    """Gradient-boosted trees in which more contention never makes the function faster."""
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
    """A Gaussian process with a Matern kernel that has one derivative (nu 3/2)."""
    return GaussianProcess(1.5)


def rough_process(_falls: Sequence[bool]) -> Learner:
    """A Gaussian process without derivatives (nu 1/2): steps are possible."""
    return GaussianProcess(0.5)


def kernel_of(learner: Learner) -> Floats | None:
    """Return the logarithms of the kernel parameters that a process has learnt; None for others.

    To find them takes nearly all of the time of learning.
    """
    return learner.theta if isinstance(learner, GaussianProcess) else None


def with_kernel(name: str, known: Floats) -> Learner:
    """Return a process with kernel parameters that were found before: it does not search them.

    Raises:
        ValueError: when the learner of that name has no kernel.
    """
    if name not in _ROUGHNESS:
        raise ValueError(f"{name} has no kernel")
    return GaussianProcess(_ROUGHNESS[name], known)


def ridge(_falls: Sequence[bool]) -> Learner:
    """A linear model with a penalty that is chosen on the rows themselves."""
    return Ridge()


def segments(_falls: Sequence[bool]) -> Learner:
    """A line for each segment of the first feature (flows), joined, contention acting in each."""
    return SegmentedRidge()


def median(_falls: Sequence[bool]) -> Learner:
    """The same for all rows."""
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
"""By name, as saved models name them."""

_ROUGHNESS: Mapping[str, Roughness] = {"smooth process": 1.5, "rough process": 0.5}

UNSURE = frozenset(_ROUGHNESS)
"""Those that are `Unsure`."""
