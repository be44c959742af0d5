"""The kinds of models, as estimators of scikit-learn with settings for tens to hundreds of rows.

Every one takes the features as columns and whether each can only slow the function down.
Imports are inside: what is not used is not loaded.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Learner(Protocol):
    """What scikit-learn calls a regressor."""

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


def smooth_process(falls: Sequence[bool]) -> Learner:
    """A Gaussian process with a Matern kernel that has one derivative (nu 3/2)."""
    return _process(len(falls), 1.5)


def rough_process(falls: Sequence[bool]) -> Learner:
    """A Gaussian process without derivatives (nu 1/2): steps are possible."""
    return _process(len(falls), 0.5)


def _process(count: int, nu: float) -> Learner:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    shape = Matern(np.ones(count), (0.1, 100.0), nu=nu)
    kernel = ConstantKernel(1.0, (1e-2, 1e2)) * shape + WhiteKernel(0.05, (1e-3, 1.0))
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    return make_pipeline(StandardScaler(), process)  # type: ignore[no-any-return]


def kernel_of(learner: Learner) -> Floats | None:
    """Return the logarithms of the kernel parameters that a process has learnt; None for others.

    To find them takes nearly all of the time of learning.
    """
    steps = getattr(learner, "steps", None)
    process = None if steps is None else steps[-1][1]
    kernel = getattr(process, "kernel_", None)
    return None if kernel is None else np.asarray(kernel.theta)


def with_kernel(learner: Learner, known: Floats) -> None:
    """Give a process kernel parameters that were found before, so that it does not search them.

    Raises:
        ValueError: when there are not as many as the kernel has.
    """
    process = learner.steps[-1][1]  # type: ignore[attr-defined]
    if process.kernel.theta.shape != known.shape:
        raise ValueError(f"{len(known)} kernel parameters for {len(process.kernel.theta)}")
    process.set_params(kernel=process.kernel.clone_with_theta(known), optimizer=None)


def ridge(_falls: Sequence[bool]) -> Learner:
    """A linear model with a penalty that is chosen on the rows themselves."""
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), RidgeCV(_PENALTIES))  # type: ignore[no-any-return]


_PENALTIES = np.logspace(-2, 3, 16)


def segments(_falls: Sequence[bool]) -> Learner:
    """A line for each segment of the first feature (flows), joined, contention acting in each."""
    from slowpath.contention.memory.learning.segments import SegmentedRidge

    return SegmentedRidge(_PENALTIES)


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

UNSURE = frozenset({"smooth process", "rough process"})
"""Those that are `Unsure`."""
