"""The model of a network function: its resources, and how they act together."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.accelerator.service import RequestTime, fit_request_time
from slowpath.contention.accelerator.waiting import Waits, waits_by
from slowpath.contention.composition import Pattern
from slowpath.contention.execution_pattern import Reason
from slowpath.contention.memory.features import CACHE_MB, Columns, Rows
from slowpath.contention.memory.intervals import (
    Conformal,
    Range,
    conformal,
    range_of,
    residual_quantile,
)
from slowpath.contention.memory.recipes import Kernels, Recipe, Stage, fit_stage
from slowpath.contention.memory.selection import Score, select
from slowpath.contention.tables.columns import TRAFFIC_NAMES
from slowpath.contention.tables.profiles import (
    AcceleratorProfile,
    CoRuns,
    MemoryProfile,
    OwnContention,
)

Floats = NDArray[np.float64]

_UNKNOWN = 9.0


class Choice(NamedTuple):
    """How memory models did on held-out training rows, and which was taken."""

    recipe: Recipe
    scores: tuple[Score, ...]
    end_errors: Floats  # relative errors of rows at the ends of axes, held out


class FunctionModel(NamedTuple):
    """A function that predictions can be made of."""

    memory: MemoryProfile
    accelerator: AcceleratorProfile | None
    contention: OwnContention | None
    pattern: Pattern
    queues: int  # of the function, at the accelerator
    choice: Choice
    stage: Stage
    intervals: Conformal
    range: Range
    request_time: RequestTime | None
    co_runs: CoRuns | None = None  # that waits are known by
    waits: Waits | None = None  # of run-to-completion; None: for a whole round of the others
    widening: float = 1.0  # of intervals beside clients (`methods/calibration.py`)
    why: Reason | None = None  # of the pattern; None where a file of an older slowpath does not say

    @property
    def name(self) -> str:
        """What the function is called."""
        return self.memory.origin.function or self.memory.origin.files[0]

    def without_competitors(self, columns: Columns) -> dict[str, Floats]:
        """The same traffic with the least contention that was measured."""
        return {
            name: values if name in TRAFFIC_NAMES else np.full_like(values, self.range.least[name])
            for name, values in columns.items()
        }

    def margin_beyond(self, confidence: float) -> float:
        """How far off predictions are beyond the training rows, as a logarithm.

        Where no ends could be held out, nothing is known of that: a factor of ten either way.
        """
        off = self.choice.end_errors
        return float(np.log1p(residual_quantile(off, confidence) if len(off) else _UNKNOWN))


class Profiles(NamedTuple):
    """What was measured of a function."""

    memory: MemoryProfile
    accelerator: AcceleratorProfile | None = None
    contention: OwnContention | None = None
    co_runs: CoRuns | None = None


def rows_of(memory: MemoryProfile) -> Rows:
    """What memory models learn from."""
    return Rows(memory.columns, memory.throughput, memory.origin.cache_mb or CACHE_MB)


def choose(memory: MemoryProfile, recipe: Recipe | None = None) -> Choice:
    """The memory model that does best on held-out rows; or a recipe, with how it does there."""
    rows = rows_of(memory)
    found = select(rows, None if recipe is None else [recipe])
    off = np.concatenate([*found.end_errors.values(), np.empty(0)])
    return Choice(found.recipe, found.scores, off)


def learn(
    profiles: Profiles,
    choice: Choice,
    pattern: Pattern = "pipeline",
    queues: int = 1,
    known: Sequence[Kernels] | None = None,
) -> FunctionModel:
    """Return the model of a function; the same profiles and choice make the same model.

    `known` are kernel parameters of the stage of all rows, then of each fold's, learnt before.

    Raises:
        InputError: when request times make no line.
        ValueError: when `known` does not fit the recipe or the rows.
    """
    memory, accelerator, contention, co_runs = profiles
    # Of several queues, nobody knows which waits.
    waits = None if co_runs is None or queues > 1 else waits_by(co_runs)
    rows = rows_of(memory)
    first, folds = (None, None) if not known else (known[0], known[1:])
    stage = fit_stage(choice.recipe, rows, first)
    return FunctionModel(
        memory,
        accelerator,
        contention,
        pattern,
        queues,
        choice,
        stage,
        conformal(stage, rows, folds),
        range_of(memory.columns),
        None if accelerator is None else fit_request_time(accelerator),
        co_runs=None if waits is None else co_runs,
        waits=waits,
    )
