"""Measures the errors of memory models by nested cross-validation.

The command is `slowpath contention evaluate`.

A recipe is a kind of memory model, such as a Gaussian process on certain features. Errors are
measured for each recipe, and for the choice of the best recipe (`chosen`). Each outer fold runs
everything without the held-out rows: the choice with its own inner folds, the training, the
intervals. So the errors of `chosen` are those that a user gets on new rows. They include the
optimism of picking the best of many recipes.
"""

import gc
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.memory.features import Rows
from slowpath.contention.memory.intervals import conformal
from slowpath.contention.memory.recipes import Recipe
from slowpath.contention.memory.selection import (
    FOLDS,
    Errors,
    Progress,
    Trainings,
    candidates,
    end_errors,
    errors_of,
    grouped_folds,
    groups,
    no_progress,
    relative,
    select,
)
from slowpath.core import codes
from slowpath.core.arrays import Floats, Mask
from slowpath.core.errors import UnavailableError
from slowpath.core.jobs.local_pool import LocalPool
from slowpath.core.jobs.pool import Pool, PoolObserver, StopRequested, Unfinished

_FEW_FOLDS = 5
"""Number of folds for the intervals of published baselines, whose training takes longest."""
_SEEDS = 1000
"""Offset of random seeds, so that outer folds differ from the inner folds of a selection."""


class Evaluated(NamedTuple):
    """Errors of a memory model, or of choosing the best one, on rows that training did not see."""

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


class Protocol(NamedTuple):
    """Settings of a cross-validation: repetitions, confidence of intervals, and candidates."""

    repetitions: int = 1
    confidence: float = 0.9
    recipes: Sequence[Recipe] | None = None  # candidates of the selection; None: all suitable


def evaluate(recipe: Recipe | None, rows: Rows, protocol: Protocol) -> Evaluated:
    """Evaluate one memory model, or with None the choice among all, in this process.

    `evaluate_all` describes the arguments.
    """
    [only] = evaluate_all([recipe], rows, protocol, LocalPool(1))
    return only


def evaluate_all(
    recipes: Sequence[Recipe | None],
    rows: Rows,
    protocol: Protocol,
    pool: Pool,
    progress: Progress = no_progress,
) -> list[Evaluated]:
    """Evaluate memory models by nested cross-validation; return one result for each recipe.

    None in `recipes` stands for choosing the best of all models. In each outer fold, all models
    share trainings. `pool` runs the folds in parallel, and `progress` receives the finished share.

    Raises:
        UnavailableError: if worker processes die in each attempt.
    """
    folds = [
        _Fold(seed, held_out)
        for seed in range(protocol.repetitions)
        for held_out in grouped_folds(groups(rows.columns), FOLDS, _SEEDS + seed)
    ]
    parts = [None, *folds]
    observer = PoolObserver(look=lambda done: progress(done / len(parts)))
    common = _Common(recipes, rows, protocol)
    results = list[_Part]()
    for one in pool.each(_evaluate_part, common, parts, observer):
        if isinstance(one, Unfinished):
            raise UnavailableError(codes.WORKER_LOST, pool.lost)
        results.append(one)
    ends, by_fold = results[0].ends, [one.predicted for one in results[1:]]
    return [
        _evaluated(recipe, rows, end, list(zip(folds, predicted, strict=True)))
        for recipe, end, *predicted in zip(recipes, ends, *by_fold, strict=True)
    ]


class _Fold(NamedTuple):
    """A fold of the outer cross-validation: the rows held out in one of its repetitions."""

    repetition: int
    held_out: Mask


class _Predicted(NamedTuple):
    """Predictions for the held-out rows of an outer fold, as logarithms of throughput.

    `chosen` is the name of the recipe that made them, `low` and `high` are the ends of intervals.
    """

    chosen: str
    middle: Floats
    low: Floats
    high: Floats


class _Part(NamedTuple):
    """Results of one part of the evaluation, for each recipe.

    The part is either a fold, with predictions, or the evaluation at ends. Ends are the rows with
    the lowest and the highest values of a column.
    """

    ends: Sequence[Errors | None] = ()
    predicted: Sequence[_Predicted] = ()


class _Common(NamedTuple):
    """Arguments that all parts of an evaluation need."""

    recipes: Sequence[Recipe | None]
    rows: Rows
    protocol: Protocol


def _evaluate_part(common: _Common, fold: _Fold | None, _stop: StopRequested) -> _Part:
    """Return the predictions for the held-out rows of a fold.

    If `fold` is None, return errors at the ends: the rows with the lowest and the highest values of
    each column.

    Warnings of scikit-learn are suppressed: they concern the quality of a model, as the errors do.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if fold is None:
            whole = Trainings(common.rows)
            recipes = common.recipes
            return _Part(
                ends=[None if one is None else _ends(end_errors(one, whole)) for one in recipes]
            )
        found = _Part(predicted=_predictions(common, fold.held_out))
    if not gc.isenabled():  # by main.py; trees of scikit-learn leave cycles
        gc.collect()
    return found


def _predictions(common: _Common, held_out: Mask) -> list[_Predicted]:
    """Train each recipe without the held-out rows, and return its predictions for them.

    Regressors that occur in several recipes are trained once.
    """
    recipes, rows, protocol = common
    trainings, unseen = Trainings(rows.where(~held_out)), rows.where(held_out).columns
    tried = protocol.recipes
    if tried is None:
        tried = candidates(trainings.rows)
    found = []
    for recipe in recipes:
        one = recipe or select(trainings, tried).recipe
        stage = trainings.stage(one)
        folds = _FEW_FOLDS if one.baseline else FOLDS
        intervals = conformal(stage, trainings, count=folds)
        low, high = intervals.interval(unseen, protocol.confidence)
        found.append(_Predicted(one.name, stage.log_throughput(unseen), low, high))
    return found


def _evaluated(
    recipe: Recipe | None,
    rows: Rows,
    ends: Errors | None,
    parts: Sequence[tuple[_Fold, _Predicted]],
) -> Evaluated:
    """Combine the predictions of all folds for one recipe, and summarise their errors.

    `ends` are its errors at the lowest and highest values of columns.
    """
    repetitions = 1 + max(fold.repetition for fold, _ in parts)
    predicted, low, high = np.zeros((3, repetitions, len(rows.throughput)))  # logarithms
    for (repetition, held_out), one in parts:
        predicted[repetition, held_out] = one.middle
        low[repetition, held_out], high[repetition, held_out] = one.low, one.high
    errors = relative(np.exp(predicted), rows.throughput)
    logs = np.log(rows.throughput)
    return Evaluated(
        "chosen" if recipe is None else recipe.name,
        errors_of(errors),
        float(((low <= logs) & (logs <= high)).mean()),
        float(np.median(np.expm1(high - low))),
        ends,
        dict(Counter(one.chosen for _, one in parts)) if recipe is None else None,
        errors,
        np.exp(predicted),
        np.exp(low),
        np.exp(high),
    )


def _ends(found: Mapping[str, Floats]) -> Errors | None:
    return errors_of(np.concatenate([*found.values()])) if found else None
