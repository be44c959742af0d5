"""Which recipe is taken for some rows: the one that predicts held-out rows best.

Two kinds of rows are held out: groups at random, which says how a recipe does among the rows, and
the ends of each axis, which says how it does beyond them. Both count, by `END_WEIGHT`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.memory.ends import held_out_ends
from slowpath.contention.memory.errors import relative
from slowpath.contention.memory.folds import Mask, grouped_folds, groups
from slowpath.contention.memory.learning.recipes import RECIPES, Recipe
from slowpath.contention.memory.learning.rows import Rows, columns_of
from slowpath.contention.memory.learning.stage import fit_stage

Floats = NDArray[np.float64]

FOLDS = 5
REPETITIONS = 2
END_WEIGHT = 0.25


class Score(NamedTuple):
    """How a recipe does on rows that it has not seen."""

    recipe: str
    among: float  # MAPE of groups held out at random
    beyond: float | None  # MAPE of ends held out; None where there are none

    @property
    def overall(self) -> float:
        """What recipes are ranked by."""
        if self.beyond is None:
            return self.among
        return (1 - END_WEIGHT) * self.among + END_WEIGHT * self.beyond


class Selection(NamedTuple):
    """The recipe that was taken, and how all did."""

    recipe: Recipe
    scores: tuple[Score, ...]  # in the order of recipes
    end_errors: Mapping[str, Floats]  # of that recipe


def candidates(rows: Rows) -> list[Recipe]:
    """What can be selected: recipes that see what devices move, where rows tell that apart."""
    return [one for one in compared(rows) if not one.baseline]


def compared(rows: Rows) -> list[Recipe]:
    """The same, and what others did."""
    devices = bool(np.ptp(rows.columns.get("dma_mb", np.zeros(1))) > 0)
    return [one for one in RECIPES.values() if one.baseline or one.devices == devices]


def select(rows: Rows, recipes: Sequence[Recipe] | None = None) -> Selection:
    """The recipe with the least error on held-out rows; the same rows select the same."""
    tried = candidates(rows) if recipes is None else recipes
    ends = [end_errors(recipe, rows) for recipe in tried]
    scores = tuple(_score(recipe, rows, at) for recipe, at in zip(tried, ends, strict=True))
    best = min(range(len(scores)), key=lambda at: scores[at].overall)
    return Selection(tried[best], scores, ends[best])


def _score(recipe: Recipe, rows: Rows, ends: Mapping[str, Floats]) -> Score:
    """How a recipe does on held-out rows."""
    off = [held_out_errors(recipe, rows, FOLDS, seed) for seed in range(REPETITIONS)]
    beyond = float(np.mean([one.mean() for one in ends.values()])) if ends else None
    return Score(recipe.name, float(np.mean(off)), beyond)


def held_out_errors(recipe: Recipe, rows: Rows, folds: int, seed: int) -> Floats:
    """Relative error of each row, predicted from the other groups."""
    off = np.zeros(len(rows.throughput))
    for held_out in grouped_folds(groups(rows.columns), folds, seed):
        off[held_out] = _off(recipe, rows, held_out)
    return off


def end_errors(recipe: Recipe, rows: Rows) -> Mapping[str, Floats]:
    """Relative errors of the rows at each end, predicted from the rest."""
    ends = held_out_ends(rows.columns)
    return {name: _off(recipe, rows, held_out) for name, held_out in ends}


def _off(recipe: Recipe, rows: Rows, held_out: Mask) -> Floats:
    stage = fit_stage(recipe, rows.where(~held_out))
    predicted = np.exp(stage.log_throughput(columns_of(rows.columns, held_out)))
    return relative(predicted, rows.throughput[held_out])
