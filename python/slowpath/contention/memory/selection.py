"""Chooses the memory model (recipe) that predicts held-out rows best, and measures its errors.

Cross-validation in ten folds measures the error within the range of the training rows. Queries may
be outside this range, with other or with several competitors. So the lowest and the highest fifth
of each quantity (the ends of its axis) are held out, too. This measures the error beyond the range;
`END_WEIGHT` is its weight.

A recipe that is clearly worse than the best one within the range is dropped before the ends are
tried, as in a race (Maron and Moore, "Hoeffding Races", NIPS 1993); here, errors are compared row
by row.

The same competitors are often measured several times. A model trained on one of these rows knows
more about the others than about a new query, so all of them are in the same fold.

The choice of a recipe and the intervals use the same ten folds, and recipes share regressors. The
search for kernel parameters without a fold starts at the parameters for all rows, which are near.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.memory.features import Rows, accesses, columns_of
from slowpath.contention.memory.learners import BATCHED, UNSURE
from slowpath.contention.memory.recipes import (
    RECIPES,
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
"""Minimum number of groups of rows for cross-validation by groups: the number of folds in a
selection.
"""


def groups(columns: Mapping[str, Floats]) -> Indices:
    """Return the index of each row's group; rows with the same competitors are in the same group.

    If there are too few different competitors to hold any out, each row is a group of its own. The
    rows of such a table differ mainly in their traffic.
    """
    contention = [values for name, values in columns.items() if name not in _TRAFFIC]
    _, group = np.unique(np.column_stack(contention), axis=0, return_inverse=True)
    if group.max(initial=0) + 1 < _FEWEST:
        return np.arange(len(group))
    return np.asarray(group.ravel())


def grouped_folds(group: Indices, count: int, seed: int) -> Iterator[Mask]:
    """Yield a mask of held-out rows for each of `count` folds.

    `group` has the group of each row. Each group is held out in exactly one fold. Folds have about
    the same number of groups, drawn with the random `seed`. With fewer than `count` groups, each
    group is a fold.
    """
    known, group = np.unique(group, return_inverse=True)
    number = len(known)
    drawn = np.random.default_rng(seed).permutation(number)
    for fold in range(min(count, number)):
        yield drawn[group] % count == fold


def training_folds(rows: Rows, count: int = FOLDS) -> list[Mask]:
    """Return a mask of held-out rows for each fold. Selection and intervals use the same folds."""
    return list(grouped_folds(groups(rows.columns), count, 0))


def relative(predicted: Floats, measured: Floats) -> Floats:
    """Return absolute relative errors of predictions: |predicted - measured| / measured."""
    return np.asarray(np.abs(predicted / measured - 1))


class Trainings:
    """Trainer of recipes on subsets of the rows of a table, with a cache of trained regressors."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._keys = dict[Member, tuple[object, ...]]()
        self._known = dict[tuple[object, bytes], Fitted]()

    def stage(self, recipe: Recipe) -> MemoryStage:
        """Train a recipe (kind of memory model) on all rows."""
        [only] = self.stages(recipe, [self._none()])
        return only

    def stages(
        self, recipe: Recipe, held_out: Sequence[Mask], known: Sequence[Kernels] | None = None
    ) -> list[MemoryStage]:
        """Train a recipe once for each mask in `held_out`, without the rows of the mask.

        `known` has the kernel parameters of an earlier training for each mask, to skip the search.

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
        """Return the relative errors of predictions for held-out rows, for each mask in `held_out`.

        Each time, the recipe is trained on all other rows.
        """
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
        """Return a regressor of a recipe, trained once for each mask of held-out rows.

        Trainings on equal data are done only once.
        """
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


class Errors(NamedTuple):
    """Summary of the absolute relative errors of predictions."""

    mape: float  # mean absolute relative error
    standard_error: float  # standard error of the mean, with rows as random samples
    median: float
    largest: float
    within_5: float  # share of rows with an error of at most 5 %
    within_10: float  # share of rows with an error of at most 10 %


def errors_of(errors: Floats | Sequence[Floats]) -> Errors:
    """Summarise absolute relative errors; the axes are `[repetition, row]` or `[row]`.

    Repetitions of a row do not count as independent rows.
    """
    by_row = np.atleast_2d(np.asarray(errors))
    means = by_row.mean(axis=0)
    spread = float(means.std(ddof=1)) if len(means) > 1 else 0.0
    return Errors(
        float(means.mean()),
        spread / math.sqrt(len(means)),
        float(np.median(by_row)),
        float(by_row.max()),
        float((by_row <= 0.05).mean()),  # noqa: PLR2004 - as the name says
        float((by_row <= 0.10).mean()),  # noqa: PLR2004
    )


_SHARE = 0.2
_FEWEST_HELD_OUT = 2
_LEFT = 5


def held_out_ends(columns: Mapping[str, Floats]) -> Iterator[tuple[str, Mask]]:
    """Yield a name and a mask for the lowest and for the highest fifth of the rows on each axis.

    An axis is a quantity such as the number of flows or the competitors' accesses.
    """
    for name, values in _axes(columns):
        for end, held_out in (
            ("low", values < np.quantile(values, _SHARE)),
            ("high", values > np.quantile(values, 1 - _SHARE)),
        ):
            if held_out.sum() >= _FEWEST_HELD_OUT and (~held_out).sum() >= _LEFT:
                yield f"{end} {name}", held_out


def _axes(columns: Mapping[str, Floats]) -> Iterator[tuple[str, Floats]]:
    for name in ("flow_count", "packet_size_bytes", "score", "ipc", "wss_mb"):
        if name in columns:
            yield name, columns[name]
    if "l2crd" in columns:
        yield "accesses", accesses(columns)


END_WEIGHT = 0.25
CLEARLY = 2.0
"""A recipe is clearly worse if its mean error exceeds the smallest mean error by this number of
standard errors.
"""


class Score(NamedTuple):
    """Errors of a recipe on rows that training did not see, by which recipes are compared."""

    recipe: str
    among: float  # MAPE of groups held out at random
    beyond: float | None  # MAPE of held-out ends; None without ends, or for a dropped recipe

    @property
    def overall(self) -> float:
        """Weighted error within and beyond the range of the training rows; the lowest wins."""
        if self.beyond is None:
            return self.among
        return (1 - END_WEIGHT) * self.among + END_WEIGHT * self.beyond


class Selection(NamedTuple):
    """The recipe that was chosen for the memory model, and the errors of all candidates."""

    recipe: Recipe
    scores: tuple[Score, ...]  # in the order of recipes
    end_errors: Mapping[str, Floats]  # errors of the chosen recipe, by the name of the end


def candidates(rows: Rows) -> list[Recipe]:
    """Return the recipes that can be chosen for these rows; published baselines cannot."""
    return [one for one in candidates_and_baselines(rows) if not one.baseline]


def candidates_and_baselines(rows: Rows) -> list[Recipe]:
    """Return the recipes that can be chosen for these rows, and the published baselines.

    If the rows have DMA traffic that varies, only recipes with features of it can be chosen;
    otherwise, only recipes without.
    """
    devices = bool(np.ptp(rows.columns.get("dma_mb", np.zeros(1))) > 0)
    known = [one for one in RECIPES.values() if not one.retired]
    return [one for one in known if one.baseline or one.devices == devices]


Progress = Callable[[float], None]
"""Callback for progress; its argument is the finished share of the work."""


def no_progress(_share: float) -> None:
    """Do nothing; this is the default callback for progress."""


def select(
    trainings: Trainings, recipes: Sequence[Recipe], progress: Progress = no_progress
) -> Selection:
    """Choose the recipe with the least error on held-out rows, and return the errors of all.

    The same rows always give the same choice.
    """
    first = list[Floats]()
    for recipe in recipes:
        progress(len(first) / len(recipes) / 2)
        first.append(_errors(trainings, recipe))
    scores, ends = [], list[Mapping[str, Floats]]()
    clear = _clearly_worse(first)
    for recipe, errors, worse in zip(recipes, first, clear, strict=True):
        progress((1 + len(ends) / len(recipes)) / 2)
        end = {} if worse else end_errors(recipe, trainings)
        beyond = float(np.mean([one.mean() for one in end.values()])) if end else None
        scores.append(Score(recipe.name, float(errors.mean()), beyond))
        ends.append(end)
    left = [at for at, worse in enumerate(clear) if not worse]
    best = min(left, key=lambda at: scores[at].overall)
    return Selection(recipes[best], tuple(scores), ends[best])


def _errors(trainings: Trainings, recipe: Recipe) -> Floats:
    """Return the relative error of each row, predicted by training on other folds."""
    folds = training_folds(trainings.rows)
    errors = np.zeros(len(trainings.rows.throughput))
    for held_out, found in zip(folds, trainings.errors(recipe, folds), strict=True):
        errors[held_out] = found
    return errors


def end_errors(recipe: Recipe, trainings: Trainings) -> Mapping[str, Floats]:
    """Return a recipe's errors beyond the range of its training rows.

    For each end of an axis (see `held_out_ends`), these are the errors for its rows if the recipe
    is trained on all other rows.
    """
    ends = dict(held_out_ends(trainings.rows.columns))
    return dict(zip(ends, trainings.errors(recipe, list(ends.values())), strict=True))


def _clearly_worse(errors: Sequence[Floats]) -> list[bool]:
    """Return true for each recipe whose errors exceed those of the best by more than chance.

    `errors` has the errors of each recipe, by row.
    """
    best = min(errors, key=np.mean)
    return [_clearly_larger(one - best) for one in errors]


def _clearly_larger(differences: Floats) -> bool:
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else math.inf
    return float(differences.mean()) > CLEARLY * spread / math.sqrt(len(differences))
