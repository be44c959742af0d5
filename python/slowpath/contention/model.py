"""The contention model of a network function: one model per resource, and their combination."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.accelerators import RequestTime, Waits, fit_request_time, waits_by
from slowpath.contention.columns import (
    TRAFFIC_NAMES,
    AcceleratorProfile,
    CoRuns,
    MemoryProfile,
    OwnContention,
)
from slowpath.contention.composition import Pattern, Reason
from slowpath.contention.memory.features import CACHE_MB, Columns, Rows
from slowpath.contention.memory.folds import Trainings
from slowpath.contention.memory.intervals import (
    Conformal,
    Range,
    conformal,
    range_of,
    residual_quantile,
)
from slowpath.contention.memory.recipes import Kernels, MemoryStage, Recipe, fit_stage
from slowpath.contention.memory.selection import Progress, Score, candidates, no_progress, select
from slowpath.core.arrays import Floats

_UNKNOWN = 9.0


class ModelChoice(NamedTuple):
    """A recipe for the memory model, chosen by errors on held-out rows.

    `scores` has the errors of all candidates.
    """

    recipe: Recipe
    scores: tuple[Score, ...]
    end_errors: Floats  # relative errors of held-out rows at the ends of axes


class FunctionModel(NamedTuple):
    """A trained contention model of a network function, ready for predictions."""

    memory: MemoryProfile
    accelerator: AcceleratorProfile | None
    contention: OwnContention | None
    pattern: Pattern
    queues: int  # request queues of the function at the accelerator
    choice: ModelChoice
    stage: MemoryStage
    intervals: Conformal
    range: Range
    request_time: RequestTime | None
    co_runs: CoRuns | None = None  # source of `waits`
    waits: Waits | None = None  # for run-to-completion; None: requests wait a full round
    widening: float = 1.0  # factor on the width of intervals with clients of the accelerator
    pattern_reason: Reason | None = None  # None in files of older versions

    @property
    def name(self) -> str:
        """Name of the network function, or the first file of its profile."""
        return self.memory.origin.function or self.memory.origin.files[0]

    def without_competitors(self, columns: Columns) -> dict[str, Floats]:
        """Return the same traffic with the least contention that occurs in the training rows."""
        return {
            name: values if name in TRAFFIC_NAMES else np.full_like(values, self.range.least[name])
            for name, values in columns.items()
        }

    def margin_beyond(self, confidence: float) -> float:
        """Return the half width of intervals outside the training range, for log throughput.

        It follows from errors at held-out ends of axes. Without these, intervals reach to a
        factor of ten on both sides.
        """
        errors = self.choice.end_errors
        quantile = residual_quantile(errors, confidence) if len(errors) else _UNKNOWN
        return float(np.log1p(quantile))


class Profiles(NamedTuple):
    """All tables of measurements from which the model of a function is trained."""

    memory: MemoryProfile
    accelerator: AcceleratorProfile | None = None
    contention: OwnContention | None = None
    co_runs: CoRuns | None = None


def rows_of(memory: MemoryProfile) -> Rows:
    """Return the training rows of memory models, with the size of the cache, from a profile."""
    return Rows(memory.columns, memory.throughput, memory.origin.cache_mb or CACHE_MB)


def choose(
    memory: MemoryProfile, recipe: Recipe | None = None, progress: Progress = no_progress
) -> ModelChoice:
    """Choose the memory model with the least error on held-out rows.

    With `recipe`, evaluate only that recipe and choose it.
    """
    rows = rows_of(memory)
    tried = candidates(rows) if recipe is None else [recipe]
    found = select(Trainings(rows), tried, progress)
    end_errors = np.concatenate([*found.end_errors.values(), np.empty(0)])
    return ModelChoice(found.recipe, found.scores, end_errors)


def learn(
    profiles: Profiles,
    choice: ModelChoice,
    pattern: Pattern = "pipeline",
    queues: int = 1,
    known: Sequence[Kernels] | None = None,
) -> FunctionModel:
    """Train the model of a function; the same profiles and choice give the same model.

    `known` are kernel parameters from an earlier training, which replace the search for them:
    first those of the stage trained on all rows, then those of each fold's stage.

    Raises:
        InputError: if the request times do not fit a line.
        ValueError: if `known` does not fit the recipe or the rows.
    """
    memory, accelerator, contention, co_runs = profiles
    # With several queues, a slow packet does not tell which queue waits.
    waits = None if co_runs is None or queues > 1 else waits_by(co_runs)
    rows = rows_of(memory)
    first, folds = (None, None) if not known else (known[0], known[1:])
    trainings = Trainings(rows)
    recipe = choice.recipe
    stage = trainings.stage(recipe) if first is None else fit_stage(recipe, rows, first)
    return FunctionModel(
        memory,
        accelerator,
        contention,
        pattern,
        queues,
        choice,
        stage,
        conformal(stage, trainings, folds),
        range_of(memory.columns),
        None if accelerator is None else fit_request_time(accelerator),
        co_runs=None if waits is None else co_runs,
        waits=waits,
    )
