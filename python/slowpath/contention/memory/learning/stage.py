"""A recipe fitted to rows: the memory stage of a function.

Features beyond those of the training rows are taken as at their ends. Trees do so anyway; a process
would return to its mean there, and lines run to anything.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.memory.learning.features import features
from slowpath.contention.memory.learning.learners import (
    LEARNERS,
    UNSURE,
    Learner,
    Unsure,
    kernel_of,
    with_kernel,
)
from slowpath.contention.memory.learning.recipes import Member, Recipe
from slowpath.contention.memory.learning.rows import Columns, Rows

Floats = NDArray[np.float64]


Kernels = Sequence[Floats | None]
"""Kernel parameters of each member of a recipe; None for members without a kernel."""


class _Fitted(NamedTuple):
    """A member of a recipe that has learnt."""

    member: Member
    learner: Learner
    varied: tuple[str, ...]  # features that it sees; those with one value teach nothing
    least: Floats
    most: Floats


class Stage(NamedTuple):
    """A recipe that has learnt."""

    recipe: Recipe
    cache_mb: float
    fitted: tuple[_Fitted, ...]

    def log_throughput(self, columns: Columns) -> Floats:
        """The logarithm of throughput, row by row."""
        parts = [_log_predicted(one, columns, self.cache_mb) for one in self.fitted]
        return np.asarray(np.mean(parts, axis=0))

    def kernels(self) -> Kernels:
        """Return the kernel parameters that members have learnt."""
        return [kernel_of(one.learner) for one in self.fitted]

    def spread(self, columns: Columns) -> Floats:
        """How unsure the recipe is of each row, as a standard deviation of the logarithm.

        That of all members taken together, as one that is drawn among them. Where a member does
        not say how sure it is, all rows are the same: 1.
        """
        if not all(one.member.learner in UNSURE for one in self.fitted):
            return np.ones(_count(columns))
        parts = [_unsure(one, columns, self.cache_mb) for one in self.fitted]
        middle, spread = np.moveaxis(np.array(parts), 1, 0)
        return np.asarray(np.sqrt((spread**2).mean(axis=0) + middle.var(axis=0)))


def fit_stage(recipe: Recipe, rows: Rows, known: Kernels | None = None) -> Stage:
    """Return the recipe, learnt from rows; the same rows make the same stage.

    Args:
        recipe: which members there are.
        rows: what they learn from.
        known: kernel parameters that were learnt from the same rows before; saves the search.

    Raises:
        ValueError: when `known` does not fit the recipe.
    """
    kernels = [None] * len(recipe.members) if known is None else known
    members = zip(recipe.members, kernels, strict=True)
    return Stage(recipe, rows.cache_mb, tuple(_fit(one, rows, kernel) for one, kernel in members))


def sees(member: Member, rows: Rows) -> tuple[object, ...]:
    """Return the same for members that learn the same from rows, whatever its features are called.

    Without counters, a score stands for all sets of contention.
    """
    seen = features(rows.columns, member.traffic, member.contention, rows.cache_mb)
    values = tuple((one.values.tobytes(), one.falls) for one in seen)
    return member.learner, member.target, values


def _fit(member: Member, rows: Rows, known: Floats | None) -> _Fitted:
    seen = features(rows.columns, member.traffic, member.contention, rows.cache_mb)
    varied = [one for one in seen if np.ptp(one.values) > 0]
    x = np.column_stack([one.values for one in varied] or [np.zeros(len(rows.throughput))])
    if known is None:
        learner = LEARNERS[member.learner]([one.falls for one in varied] or [False])
    else:
        learner = with_kernel(member.learner, known)
    logs = member.target == "log throughput"
    learner.fit(x, np.log(rows.throughput) if logs else rows.throughput)
    names = tuple(one.name for one in varied)
    return _Fitted(member, learner, names, x.min(axis=0), x.max(axis=0))


def _log_predicted(fitted: _Fitted, columns: Columns, cache_mb: float) -> Floats:
    if not _count(columns):
        return np.empty(0)
    predicted = np.asarray(fitted.learner.predict(_seen(fitted, columns, cache_mb)))
    if fitted.member.target == "log throughput":
        return predicted
    return np.asarray(np.log(np.maximum(predicted, np.finfo(float).tiny)))


def _unsure(fitted: _Fitted, columns: Columns, cache_mb: float) -> tuple[Floats, Floats]:
    """What a member says of the logarithm, and its standard deviation."""
    if not _count(columns):
        return np.empty(0), np.empty(0)
    learner = cast("Unsure", fitted.learner)
    return learner.predict(_seen(fitted, columns, cache_mb), return_std=True)


def _seen(fitted: _Fitted, columns: Columns, cache_mb: float) -> Floats:
    """The features of rows that a member looks at, within those that it has learnt from."""
    member = fitted.member
    seen = features(columns, member.traffic, member.contention, cache_mb)
    taken = [one.values for one in seen if one.name in fitted.varied]
    x = np.column_stack(taken or [np.zeros(_count(columns))])
    return np.clip(x, fitted.least, fitted.most)


def _count(columns: Columns) -> int:
    return len(next(iter(columns.values())))
