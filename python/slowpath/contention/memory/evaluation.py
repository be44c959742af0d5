"""How well recipes, and the selection itself, predict: nested cross-validation with groups.

In each outer fold everything is done without the rows held out: the selection with its own inner
folds, the fit, the intervals. What is reported of `chosen` is thus what a user gets, the luck of
picking the best of many included.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.memory.conformal import conformal
from slowpath.contention.memory.errors import Errors, errors_of, relative
from slowpath.contention.memory.folds import grouped_folds, groups
from slowpath.contention.memory.learning.recipes import Recipe
from slowpath.contention.memory.selection import end_errors, select
from slowpath.contention.memory.learning.stage import Columns, fit_stage, rows_of

Floats = NDArray[np.float64]

FOLDS = 10


class Evaluated(NamedTuple):
    """How a recipe, or the selection, did on rows that it had not seen."""

    name: str
    errors: Errors
    coverage: float | None  # share of rows in their intervals; None where none were made
    width: float | None  # median of high / low - 1
    ends: Errors | None  # of rows at the ends of axes, held out; None of the selection
    chosen: dict[str, int] | None  # of the selection: how often which recipe was taken
    off: Floats  # relative errors, `[repetition, row]`


Progress = Callable[[int, int], None]
"""Is told how many folds of how many are done."""


def evaluate(
    recipe: Recipe | None,
    columns: Columns,
    throughput: Floats,
    cache_mb: float,
    *,
    repetitions: int,
    confidence: float,
    recipes: Sequence[Recipe] | None = None,
    progress: Progress = lambda _done, _all: None,
) -> Evaluated:
    """A recipe, or with None the selection among `recipes`, by nested cross-validation."""
    count = len(throughput)
    off, inside, widths = np.zeros((repetitions, count)), np.zeros((repetitions, count)), []
    taken = dict[str, int]()
    folds = [
        (seed, held_out)
        for seed in range(repetitions)
        for held_out in grouped_folds(groups(columns), FOLDS, 1000 + seed)
    ]
    for done, (seed, held_out) in enumerate(folds):
        progress(done, len(folds))
        known, there = rows_of(columns, ~held_out), throughput[~held_out]
        asked, measured = rows_of(columns, held_out), throughput[held_out]
        one = recipe or select(known, there, cache_mb, recipes).recipe
        taken[one.name] = taken.get(one.name, 0) + 1
        stage = fit_stage(one, known, there, cache_mb)
        off[seed, held_out] = relative(np.exp(stage.log_throughput(asked)), measured)
        low, high = conformal(one, known, there, cache_mb).interval(asked, confidence)
        logs = np.log(measured)
        inside[seed, held_out] = (low <= logs) & (logs <= high)
        widths.extend(np.expm1(high - low))
    beyond = (
        None
        if recipe is None
        else _ends(end_errors(recipe, columns, throughput, cache_mb).values())
    )
    return Evaluated(
        "chosen" if recipe is None else recipe.name,
        errors_of(off),
        float(inside.mean()),
        float(np.median(widths)),
        beyond,
        taken if recipe is None else None,
        off,
    )


def _ends(off: Iterable[Floats]) -> Errors | None:
    parts = list(off)
    return errors_of(np.concatenate(parts)) if parts else None
