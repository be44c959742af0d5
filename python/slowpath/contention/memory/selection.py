"""Chooses the memory model (recipe) that predicts held-out rows best, and measures its errors.

A competitor configuration is often measured several times. A model trained on one of these rows
knows more about the others than about a new query, so they stay in one fold.

Random cross-validation measures the error within the range of the rows. Queries may be outside this
range, with other or with several competitors. So the ends of each axis are held out, too, to
measure the error beyond the range; `END_WEIGHT` is its weight.

A recipe that is clearly worse than the best one after the first repetition is dropped, as in a race
(Maron and Moore, "Hoeffding Races", NIPS 1993), here with errors compared row by row. Recipes share
trained members.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.memory.features import Rows, accesses, columns_of
from slowpath.contention.memory.recipes import RECIPES, Member, Recipe, fit_stage, training_key
from slowpath.core.arrays import Floats, Indices, Mask


class Errors(NamedTuple):
    """Summary of the absolute relative errors of predictions for rows."""

    mape: float  # mean absolute relative error
    standard_error: float  # standard error of the mean, with rows as random samples
    median: float
    largest: float
    within_5: float  # share of rows with an error of at most 5 %
    within_10: float  # share of rows with an error of at most 10 %


def relative(predicted: Floats, measured: Floats) -> Floats:
    """Return the absolute relative error of predictions: |predicted - measured| / measured."""
    return np.asarray(np.abs(predicted / measured - 1))


def errors_of(errors: Floats | Sequence[Floats]) -> Errors:
    """Summarise relative errors with the axes `[repetition, row]` or `[row]`.

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


_SHARE = 0.2
_FEWEST_HELD_OUT = 2
_LEFT = 5


def held_out_ends(columns: Mapping[str, Floats]) -> Iterator[tuple[str, Mask]]:
    """Yield a name and a mask for the lowest and the highest fifth of the rows on each axis."""
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


FOLDS = 5
REPETITIONS = 2
END_WEIGHT = 0.25
CLEARLY = 2.0
"""A recipe is clearly worse if its mean error is larger by this number of standard errors."""


class Score(NamedTuple):
    """Errors of a recipe, which is a candidate for the memory model, on unseen rows."""

    recipe: str
    among: float  # MAPE of groups held out at random
    beyond: float | None  # MAPE of held-out ends; None without ends, or for a dropped recipe

    @property
    def overall(self) -> float:
        """Weighted error within and beyond the range of the rows, by which recipes are ranked."""
        if self.beyond is None:
            return self.among
        return (1 - END_WEIGHT) * self.among + END_WEIGHT * self.beyond


class Selection(NamedTuple):
    """The chosen recipe for the memory model, and the errors of all candidates."""

    recipe: Recipe
    scores: tuple[Score, ...]  # in the order of recipes
    end_errors: Mapping[str, Floats]  # errors of the chosen recipe, by the name of the end


def candidates(rows: Rows) -> list[Recipe]:
    """Return the recipes to choose from, which exclude published baselines."""
    return [one for one in candidates_and_baselines(rows) if not one.baseline]


def candidates_and_baselines(rows: Rows) -> list[Recipe]:
    """Return the recipes to choose from, and the published baselines."""
    devices = bool(np.ptp(rows.columns.get("dma_mb", np.zeros(1))) > 0)
    return [one for one in RECIPES.values() if one.baseline or one.devices == devices]


def select(rows: Rows, recipes: Sequence[Recipe] | None = None) -> Selection:
    """Choose the recipe with the least error on held-out rows.

    The same rows give the same result. If `recipes` is None, all suitable ones are candidates.
    """
    tried = candidates(rows) if recipes is None else recipes
    held_out = _HeldOut(rows)
    first = [held_out.errors(recipe, FOLDS, 0) for recipe in tried]
    clear = _clearly_worse(first)
    scores, ends = [], list[Mapping[str, Floats]]()
    for recipe, errors, worse in zip(tried, first, clear, strict=True):
        if worse:
            scores.append(Score(recipe.name, float(errors.mean()), None))
            ends.append({})
            continue
        repeated = [held_out.errors(recipe, FOLDS, seed) for seed in range(1, REPETITIONS)]
        end = held_out.end_errors(recipe)
        beyond = float(np.mean([one.mean() for one in end.values()])) if end else None
        scores.append(Score(recipe.name, float(np.mean([errors, *repeated])), beyond))
        ends.append(end)
    left = [at for at, worse in enumerate(clear) if not worse]
    best = min(left, key=lambda at: scores[at].overall)
    return Selection(tried[best], tuple(scores), ends[best])


def end_errors(recipe: Recipe, rows: Rows) -> Mapping[str, Floats]:
    """Return the relative errors for the rows at each end of an axis, trained on all others."""
    return _HeldOut(rows).end_errors(recipe)


def _clearly_worse(errors: Sequence[Floats]) -> list[bool]:
    """Return, for each recipe, true if its errors exceed the smallest ones by more than chance."""
    best = min(errors, key=np.mean)
    return [_clearly_larger(one - best) for one in errors]


def _clearly_larger(differences: Floats) -> bool:
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else math.inf
    return float(differences.mean()) > CLEARLY * spread / math.sqrt(len(differences))


class _HeldOut:
    """Predicts held-out rows from the other rows, and caches the predictions."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._groups = groups(rows.columns)
        self._known = dict[tuple[object, bytes], Floats]()

    def errors(self, recipe: Recipe, folds: int, seed: int) -> Floats:
        """Return the relative error of each row, predicted by training on other groups of rows."""
        errors = np.zeros(len(self._rows.throughput))
        for held_out in grouped_folds(self._groups, folds, seed):
            errors[held_out] = self._errors(recipe, held_out)
        return errors

    def end_errors(self, recipe: Recipe) -> Mapping[str, Floats]:
        """Return the relative errors for the rows at each end of an axis, trained on all others."""
        ends = held_out_ends(self._rows.columns)
        return {name: self._errors(recipe, held_out) for name, held_out in ends}

    def _errors(self, recipe: Recipe, held_out: Mask) -> Floats:
        parts = [self._predicted(recipe, one, held_out) for one in recipe.members]
        predicted = np.exp(np.mean(parts, axis=0))
        return relative(predicted, self._rows.throughput[held_out])

    def _predicted(self, recipe: Recipe, member: Member, held_out: Mask) -> Floats:
        """Return the logarithms of throughput that one regressor predicts for held-out rows.

        Regressors with the same training data share cached predictions.
        """
        key = training_key(member, self._rows), held_out.tobytes()
        found = self._known.get(key)
        if found is None:
            single = recipe._replace(members=(member,))
            stage = fit_stage(single, self._rows.where(~held_out))
            found = stage.log_throughput(columns_of(self._rows.columns, held_out))
            self._known[key] = found
        return found
