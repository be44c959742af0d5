"""Chooses the memory model (recipe) that predicts held-out rows best, and measures its errors.

Cross-validation in ten folds measures the error within the range of the rows. Queries may be
outside this range, with other or with several competitors. So the ends of each axis are held out,
too, to measure the error beyond the range; `END_WEIGHT` is its weight.

A recipe that is clearly worse than the best one within the range is dropped before the ends, as in
a race (Maron and Moore, "Hoeffding Races", NIPS 1993), here with errors compared row by row.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.memory.features import Rows, accesses
from slowpath.contention.memory.folds import Trainings, training_folds
from slowpath.contention.memory.recipes import RECIPES, Recipe
from slowpath.core.arrays import Floats, Mask


class Errors(NamedTuple):
    """Summary of the absolute relative errors of predictions for rows."""

    mape: float  # mean absolute relative error
    standard_error: float  # standard error of the mean, with rows as random samples
    median: float
    largest: float
    within_5: float  # share of rows with an error of at most 5 %
    within_10: float  # share of rows with an error of at most 10 %


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
    known = [one for one in RECIPES.values() if not one.retired]
    return [one for one in known if one.baseline or one.devices == devices]


Progress = Callable[[float], None]
"""Callback for progress; its argument is the finished share of the work."""


def no_progress(_share: float) -> None:
    """Ignore progress."""


def select(
    trainings: Trainings, recipes: Sequence[Recipe], progress: Progress = no_progress
) -> Selection:
    """Choose the recipe with the least error on held-out rows.

    The same rows give the same result.
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
    """Return the relative error of each row, predicted by training on other groups of rows."""
    folds = training_folds(trainings.rows)
    errors = np.zeros(len(trainings.rows.throughput))
    for held_out, found in zip(folds, trainings.errors(recipe, folds), strict=True):
        errors[held_out] = found
    return errors


def end_errors(recipe: Recipe, trainings: Trainings) -> Mapping[str, Floats]:
    """Return the relative errors for the rows at each end of an axis, trained on all others."""
    ends = dict(held_out_ends(trainings.rows.columns))
    return dict(zip(ends, trainings.errors(recipe, list(ends.values())), strict=True))


def _clearly_worse(errors: Sequence[Floats]) -> list[bool]:
    """Return, for each recipe, true if its errors exceed the smallest ones by more than chance."""
    best = min(errors, key=np.mean)
    return [_clearly_larger(one - best) for one in errors]


def _clearly_larger(differences: Floats) -> bool:
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else math.inf
    return float(differences.mean()) > CLEARLY * spread / math.sqrt(len(differences))
