"""Measures the errors of memory models by nested cross-validation.

A recipe says how to build a memory model. The errors of choosing between recipes are measured, too.
Each outer fold runs everything without the held-out rows: the selection with its own inner folds,
the training, the intervals. So the errors of `chosen` are those of new rows for a user. They
include the optimism of picking the best of many recipes.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.memory.features import Rows
from slowpath.contention.memory.intervals import conformal
from slowpath.contention.memory.recipes import Recipe, fit_stage
from slowpath.contention.memory.selection import (
    Errors,
    end_errors,
    errors_of,
    grouped_folds,
    groups,
    relative,
    select,
)
from slowpath.core.arrays import Floats

FOLDS = 10
_SEEDS = 1000
"""Offset of random seeds, so that folds differ from the inner folds of a selection."""


class Evaluated(NamedTuple):
    """Errors of a memory model, or of choosing one, on rows that training did not see."""

    name: str
    errors: Errors
    coverage: float  # share of rows inside their intervals
    width: float  # median of high / low - 1 over rows
    ends: Errors | None  # errors of held-out rows at the ends of axes; None for the selection
    chosen: dict[str, int] | None  # number of folds by chosen recipe; None for a single recipe
    relative_errors: Floats  # `[repetition, row]`, as all fields below
    predicted: Floats
    low: Floats  # ends of intervals
    high: Floats


Progress = Callable[[int, int], None]
"""Callback for progress; its arguments are the number of finished folds and of all folds."""


class Protocol(NamedTuple):
    """Settings of a cross-validation."""

    repetitions: int = 1
    confidence: float = 0.9
    recipes: Sequence[Recipe] | None = None  # candidates of the selection; None: all suitable


def evaluate(
    recipe: Recipe | None,
    rows: Rows,
    protocol: Protocol,
    progress: Progress = lambda _done, _all: None,
) -> Evaluated:
    """Evaluate a memory model by nested cross-validation.

    If `recipe` is None, evaluate the choice among all models.
    """
    count = len(rows.throughput)
    predicted, low, high = np.zeros((3, protocol.repetitions, count))  # logarithms
    choices = dict[str, int]()
    folds = [
        (seed, held_out)
        for seed in range(protocol.repetitions)
        for held_out in grouped_folds(groups(rows.columns), FOLDS, _SEEDS + seed)
    ]
    for done, (seed, held_out) in enumerate(folds):
        progress(done, len(folds))
        known, unseen = rows.where(~held_out), rows.where(held_out)
        one = recipe or select(known, protocol.recipes).recipe
        choices[one.name] = choices.get(one.name, 0) + 1
        stage = fit_stage(one, known)
        predicted[seed, held_out] = stage.log_throughput(unseen.columns)
        ends = conformal(stage, known).interval(unseen.columns, protocol.confidence)
        low[seed, held_out], high[seed, held_out] = ends
    errors = relative(np.exp(predicted), rows.throughput)
    logs = np.log(rows.throughput)
    return Evaluated(
        "chosen" if recipe is None else recipe.name,
        errors_of(errors),
        float(((low <= logs) & (logs <= high)).mean()),
        float(np.median(np.expm1(high - low))),
        None if recipe is None else _ends(end_errors(recipe, rows).values()),
        choices if recipe is None else None,
        errors,
        np.exp(predicted),
        np.exp(low),
        np.exp(high),
    )


def _ends(errors: Iterable[Floats]) -> Errors | None:
    parts = list(errors)
    return errors_of(np.concatenate(parts)) if parts else None
