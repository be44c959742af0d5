"""Recipes for memory models: each recipe names regressors, their features and their targets.

A memory model predicts throughput with contention for caches and memory. A trained recipe is called
a memory stage.

Features beyond the training range are clipped to its ends. Trees do so anyway; a Gaussian process
would return to its mean there, and linear models would extrapolate without limit.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np

from slowpath.contention.memory.features import (
    DEVICE_SETS,
    Columns,
    Feature,
    Rows,
    features,
)
from slowpath.contention.memory.learners import (
    LEARNERS,
    UNSURE,
    Learner,
    ProbabilisticLearner,
    kernel_of,
    near_kernel,
    with_kernel,
)
from slowpath.core.arrays import Floats, Mask

if TYPE_CHECKING:
    from slowpath.contention.memory.regressors import BoostedTrees

Target = Literal["throughput", "log throughput"]


class Member(NamedTuple):
    """A regressor of a recipe, with its features and its target."""

    learner: str  # a key of `learners.LEARNERS`
    traffic: str  # a key of `features.TRAFFIC`
    contention: str  # a key of `features.SETS`
    target: Target = "log throughput"


class Recipe(NamedTuple):
    """A kind of memory model: one or more regressors whose predictions are averaged.

    The average is that of predicted logarithms of throughput.
    """

    name: str
    words: str  # description
    members: tuple[Member, ...]
    baseline: bool = False  # published method, never chosen
    retired: bool = False  # recipe of older versions, whose models can still be read

    @property
    def devices(self) -> bool:
        """True if a regressor uses the memory traffic of network devices and accelerators (DMA)."""
        return any(one.contention in DEVICE_SETS for one in self.members)


_PUBLISHED = "boosted as published"
_TREES, _FALLING = "trees", "falling trees"
_SMOOTH, _ROUGH = "smooth process", "rough process"


def _recipe(name: str, words: str, learner: str, *features: str) -> Recipe:
    traffic, contention = features
    return Recipe(name, words, (Member(learner, traffic, contention),))


def _retired(name: str, words: str, learner: str, *features: str) -> Recipe:
    return _recipe(name, words, learner, *features)._replace(retired=True)


def _baseline(name: str, words: str, learner: str, *features: str) -> Recipe:
    traffic, contention = features
    member = Member(learner, traffic, contention, "throughput")
    return Recipe(name, words, (member,), baseline=True)


_AVERAGED = (
    Member(_ROUGH, "flows, table", "pressure"),
    Member(_ROUGH, "table, load", "pressure"),
    Member(_SMOOTH, "flows, table", "pressure"),
    Member(_SMOOTH, "flows, table", "accesses"),
)

_AVERAGED_BUS = (
    Member(_ROUGH, "flows, table", "pressure, bus"),
    Member(_SMOOTH, "flows, table", "pressure, bus"),
    Member(_SMOOTH, "flows, table", "accesses, moved"),
    Member(_SMOOTH, "flows, table", "roots, moved"),
)

RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        _baseline("constant", "the median of all rows", "median", "none", "none"),
        _baseline("slomo", "boosted trees, counters alone (SLOMO)", _PUBLISHED, "none", "raw"),
        _baseline(
            "published", "boosted trees, raw counters (the paper)", _PUBLISHED, "flows", "raw"
        ),
        _recipe("trees-accesses", "boosted trees, cache accesses", _TREES, "flows", "accesses"),
        _recipe("trees-pressure", "boosted trees, cache misses", _TREES, "flows", "pressure"),
        _recipe("falling-accesses", "monotone trees, accesses", _FALLING, "flows", "accesses"),
        _recipe("falling-pressure", "monotone trees, misses", _FALLING, "flows", "pressure"),
        _recipe("process-counters", "Gaussian process, counters", _SMOOTH, "flows", "counters"),
        _recipe(
            "process-kind", "Gaussian process, accesses, IPC", _SMOOTH, "flows", "accesses, kind"
        ),
        _recipe("process-plain", "Gaussian process, misses", _SMOOTH, "flows", "pressure"),
        _recipe(
            "process-table",
            "Gaussian process, misses, table sizes in powers of two",
            _SMOOTH,
            "flows, table",
            "pressure",
        ),
        _recipe("rough-table", "rough process, doublings", _ROUGH, "flows, table", "pressure"),
        _recipe("rough-load", "rough process, size and load", _ROUGH, "table, load", "pressure"),
        _recipe("ridge-counters", "log-log ridge, counters", "ridge", "flows", "counters"),
        _recipe("ridge-pressure", "log-log ridge, cache misses", "ridge", "flows", "pressure"),
        _recipe("segments", "lines by segment of flows, misses", "segments", "flows", "pressure"),
        Recipe("average", "mean of four Gaussian processes", _AVERAGED),
        _recipe("ridge-bus", "log-log ridge, misses, bus", "ridge", "flows", "pressure, bus"),
        _recipe("trees-bus", "boosted trees, misses, bus", _TREES, "flows", "pressure, bus"),
        _recipe("process-bus", "Gaussian process, bus", _SMOOTH, "flows, table", "pressure, bus"),
        _recipe(
            "process-moved",
            "Gaussian process, accesses, bus",
            _SMOOTH,
            "flows, table",
            "accesses, moved",
        ),
        Recipe("average-bus", "mean of four Gaussian processes, bus", _AVERAGED_BUS),
        _retired("boosted-accesses", "older boosted trees", "boosted", "flows", "accesses"),
        _retired("boosted-pressure", "older boosted trees", "boosted", "flows", "pressure"),
        _retired("boosted-bus", "older boosted trees", "boosted", "flows", "pressure, bus"),
        _retired("monotone-accesses", "older monotone trees", "monotone", "flows", "accesses"),
        _retired("monotone-pressure", "older monotone trees", "monotone", "flows", "pressure"),
    )
}
"""All recipes by name, in the order of evaluation. If several are equally good, the first is
chosen.
"""


Kernels = Sequence[Floats | None]
"""Kernel parameters of each regressor of a recipe; None for regressors without a kernel."""


class Fitted(NamedTuple):
    """A trained regressor of a recipe."""

    member: Member
    learner: Learner
    features: tuple[str, ...]  # names of the features; constant features are dropped
    least: Floats  # smallest training value of each feature
    most: Floats  # largest training value of each feature


class MemoryStage(NamedTuple):
    """A trained memory model, which predicts throughput with contention for caches and memory."""

    recipe: Recipe
    cache_mb: float
    fitted: tuple[Fitted, ...]

    def log_throughput(self, columns: Columns) -> Floats:
        """Return the predicted logarithms of throughput, by row."""
        parts = [_log_predicted(one, columns, self.cache_mb) for one in self.fitted]
        return np.asarray(np.mean(parts, axis=0))

    def kernels(self) -> Kernels:
        """Return the learnt kernel parameters of the regressors, which are saved with the model."""
        return [kernel_of(one.learner) for one in self.fitted]

    def spread(self, columns: Columns) -> Floats:
        """Return the standard deviation of each row's predicted logarithm, over all regressors.

        If a regressor does not predict standard deviations, the result is 1 for all rows.
        """
        if not all(one.member.learner in UNSURE for one in self.fitted):
            return np.ones(_count(columns))
        parts = [_predicted_deviation(one, columns, self.cache_mb) for one in self.fitted]
        middle, spread = np.moveaxis(np.array(parts), 1, 0)
        return np.asarray(np.sqrt((spread**2).mean(axis=0) + middle.var(axis=0)))


def fit_stage(recipe: Recipe, rows: Rows, known: Kernels | None = None) -> MemoryStage:
    """Train a recipe on measured rows. The same rows always give the same model.

    Args:
        recipe: the recipe to train.
        rows: the training rows.
        known: kernel parameters from an earlier training on these rows, to skip the search.

    Raises:
        ValueError: if `known` does not fit the recipe.
    """
    kernels = [None] * len(recipe.members) if known is None else known
    members = zip(recipe.members, kernels, strict=True)
    return MemoryStage(
        recipe, rows.cache_mb, tuple(fit_member(one, rows, kernel) for one, kernel in members)
    )


def training_key(member: Member, rows: Rows) -> tuple[object, ...]:
    """Return a key that is equal for regressors which would be trained on equal data.

    Such regressors need one training only. Feature sets of different names can have the same data:
    in rows without counters, a score replaces all sets that describe competitors.
    """
    used = features(rows.columns, member.traffic, member.contention, rows.cache_mb)
    values = tuple((one.name, one.values.tobytes(), one.falls) for one in used)
    return member.learner, member.target, values


def fit_member(
    member: Member, rows: Rows, known: Floats | None = None, near: "Fitted | None" = None
) -> Fitted:
    """Train one regressor of a recipe on measured rows.

    Args:
        member: the regressor to train.
        rows: the training rows.
        known: kernel parameters from an earlier training on these rows, to skip the search.
        near: the same regressor trained on similar rows, where the search begins.

    Raises:
        ValueError: if `known` does not fit the regressor.
    """
    varied, x, y = _training_data(member, rows)
    names = tuple(one.name for one in varied)
    begin = None if near is None or near.features != names else kernel_of(near.learner)
    if known is not None:
        learner = with_kernel(member.learner, known)
    elif begin is not None:
        learner = near_kernel(member.learner, begin)
    else:
        learner = LEARNERS[member.learner]([one.falls for one in varied] or [False])
    learner.fit(x, y)
    return Fitted(member, learner, names, x.min(axis=0), x.max(axis=0))


def fit_together(member: Member, rows: Rows, parts: Sequence[Mask]) -> list[Fitted]:
    """Train a regressor on several subsets of the rows at once.

    `parts` has a mask for each subset. The learner must be one of `learners.BATCHED`.
    """
    varied, x, y = _training_data(member, rows)
    names = tuple(one.name for one in varied)
    learner = cast(
        "BoostedTrees", LEARNERS[member.learner]([one.falls for one in varied] or [False])
    )
    trained = learner.fit_parts(x, y, np.array(parts))
    return [
        Fitted(member, one, names, x[part].min(axis=0), x[part].max(axis=0))
        for one, part in zip(trained, parts, strict=True)
    ]


def _training_data(member: Member, rows: Rows) -> tuple[list[Feature], Floats, Floats]:
    """Return a regressor's features that vary over the rows, their matrix, and the targets."""
    used = features(rows.columns, member.traffic, member.contention, rows.cache_mb)
    varied = [one for one in used if np.ptp(one.values) > 0]
    x = np.column_stack([one.values for one in varied] or [np.zeros(len(rows.throughput))])
    logs = member.target == "log throughput"
    return varied, x, np.log(rows.throughput) if logs else rows.throughput


def _log_predicted(fitted: Fitted, columns: Columns, cache_mb: float) -> Floats:
    if not _count(columns):
        return np.empty(0)
    predicted = np.asarray(fitted.learner.predict(_features(fitted, columns, cache_mb)))
    if fitted.member.target == "log throughput":
        return predicted
    return np.asarray(np.log(np.maximum(predicted, np.finfo(float).tiny)))


def _predicted_deviation(
    fitted: Fitted, columns: Columns, cache_mb: float
) -> tuple[Floats, Floats]:
    """Return a regressor's predicted logarithms of throughput, and their standard deviations."""
    if not _count(columns):
        return np.empty(0), np.empty(0)
    learner = cast("ProbabilisticLearner", fitted.learner)
    return learner.predict(_features(fitted, columns, cache_mb), return_std=True)


def _features(fitted: Fitted, columns: Columns, cache_mb: float) -> Floats:
    """Return a regressor's input features as a matrix, clipped to the training range."""
    member = fitted.member
    known = features(columns, member.traffic, member.contention, cache_mb)
    used = [one.values for one in known if one.name in fitted.features]
    x = np.column_stack(used or [np.zeros(_count(columns))])
    return np.clip(x, fitted.least, fitted.most)


def _count(columns: Columns) -> int:
    return len(next(iter(columns.values())))
