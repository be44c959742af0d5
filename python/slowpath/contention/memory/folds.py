"""Divides rows into folds, and trains recipes on all rows but those of a fold, each only once.

A competitor configuration is often measured several times. A model trained on one of these rows
knows more about the others than about a new query, so they stay in one fold.

The choice of a recipe and the intervals use the same ten folds, and recipes share members. The
search for kernel parameters without a fold begins at the parameters of all rows, which are near.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from slowpath.contention.memory.features import Rows, columns_of
from slowpath.contention.memory.learners import BATCHED, UNSURE
from slowpath.contention.memory.recipes import (
    Fitted,
    Kernels,
    Member,
    MemoryStage,
    Recipe,
    fit_member,
    fit_stage,
    fit_together,
    training_key,
)
from slowpath.core.arrays import Floats, Indices, Mask

FOLDS = 10
_TRAFFIC = {"flow_count", "packet_size_bytes"}
_FEWEST = 5
"""Minimum number of groups: the number of folds in a selection."""


def groups(columns: Mapping[str, Floats]) -> Indices:
    """Return the number of each row's group; rows with equal contention are in the same group.

    If there are too few different values of contention to hold any out, each row is its own group.
    The rows of such a table differ mainly in their traffic.
    """
    contention = [values for name, values in columns.items() if name not in _TRAFFIC]
    _, group = np.unique(np.column_stack(contention), axis=0, return_inverse=True)
    if group.max(initial=0) + 1 < _FEWEST:
        return np.arange(len(group))
    return np.asarray(group.ravel())


def grouped_folds(group: Indices, count: int, seed: int) -> Iterator[Mask]:
    """Yield a mask of held-out rows for each fold; each group is held out in exactly one fold.

    Folds have about the same number of groups, drawn by `seed`. With fewer than `count` groups,
    each group is a fold.
    """
    known, group = np.unique(group, return_inverse=True)
    number = len(known)
    drawn = np.random.default_rng(seed).permutation(number)
    for fold in range(min(count, number)):
        yield drawn[group] % count == fold


def training_folds(rows: Rows, count: int = FOLDS) -> list[Mask]:
    """Return the folds by which a recipe is chosen and its intervals are computed."""
    return list(grouped_folds(groups(rows.columns), count, 0))


def relative(predicted: Floats, measured: Floats) -> Floats:
    """Return the absolute relative error of predictions: |predicted - measured| / measured."""
    return np.asarray(np.abs(predicted / measured - 1))


class Trainings:
    """Trains recipes on the rows of a table without some of them, and keeps the trained members."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._keys = dict[Member, tuple[object, ...]]()
        self._known = dict[tuple[object, bytes], Fitted]()

    def stage(self, recipe: Recipe) -> MemoryStage:
        """Train a recipe on all rows."""
        [only] = self.stages(recipe, [self._none()])
        return only

    def stages(
        self, recipe: Recipe, held_out: Sequence[Mask], known: Sequence[Kernels] | None = None
    ) -> list[MemoryStage]:
        """Train a recipe once for each mask of held-out rows.

        `known` are kernel parameters of an earlier training for each mask.

        Raises:
            ValueError: if `known` does not fit the recipe or the masks.
        """
        if known is not None:
            kernels = zip(held_out, known, strict=True)
            return [fit_stage(recipe, self.rows.where(~mask), kernel) for mask, kernel in kernels]
        members = [self._members(one, held_out) for one in recipe.members]
        return [
            MemoryStage(recipe, self.rows.cache_mb, fitted) for fitted in zip(*members, strict=True)
        ]

    def errors(self, recipe: Recipe, held_out: Sequence[Mask]) -> list[Floats]:
        """Return the relative errors of the held-out rows of each mask."""
        return [
            relative(
                np.exp(stage.log_throughput(columns_of(self.rows.columns, mask))),
                self.rows.throughput[mask],
            )
            for mask, stage in zip(held_out, self.stages(recipe, held_out), strict=True)
        ]

    def _none(self) -> Mask:
        return np.zeros(len(self.rows.throughput), dtype=bool)

    def _members(self, member: Member, held_out: Sequence[Mask]) -> list[Fitted]:
        """Return a member trained without each mask of rows; equal trainings are done once."""
        key = self._keys.get(member)
        if key is None:
            key = self._keys[member] = training_key(member, self.rows)
        missing = [one for one in held_out if (key, one.tobytes()) not in self._known]
        if missing:
            for mask, fitted in zip(missing, self._train(member, missing), strict=True):
                self._known[key, mask.tobytes()] = fitted
        return [self._known[key, one.tobytes()] for one in held_out]

    def _train(self, member: Member, held_out: Sequence[Mask]) -> list[Fitted]:
        if member.learner in BATCHED:
            return fit_together(member, self.rows, [~one for one in held_out])
        near = None
        if member.learner in UNSURE and all(one.any() for one in held_out):
            [near] = self._members(member, [self._none()])
        return [fit_member(member, self.rows.where(~one), near=near) for one in held_out]
