"""A network function as a whole: what was learnt of each resource, and how they act together."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.accelerator.service import RequestTime, fit_request_time
from slowpath.contention.composition import Pattern
from slowpath.contention.memory.conformal import Conformal, conformal, residual_quantile
from slowpath.contention.memory.learning.features import CACHE_MB
from slowpath.contention.memory.ranges import Range, range_of
from slowpath.contention.memory.learning.recipes import Recipe
from slowpath.contention.memory.selection import Score, end_errors, select
from slowpath.contention.memory.learning.stage import Stage, fit_stage
from slowpath.contention.tables.profiles import AcceleratorProfile, MemoryProfile, OwnContention

Floats = NDArray[np.float64]


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

    @property
    def name(self) -> str:
        """What the function is called."""
        return self.memory.origin.function or self.memory.origin.files[0]

    def margin_beyond(self, confidence: float) -> float:
        """How far off predictions are beyond the training rows, as a logarithm."""
        off = self.choice.end_errors
        return float(np.log1p(residual_quantile(off, confidence))) if len(off) else np.inf


def choose(memory: MemoryProfile, recipe: Recipe | None = None) -> Choice:
    """The memory model that does best on held-out rows; or a recipe, with how it does there."""
    cache = memory.origin.cache_mb or CACHE_MB
    tried = None if recipe is None else [recipe]
    found = select(memory.columns, memory.throughput, cache, tried)
    ends = end_errors(found.recipe, memory.columns, memory.throughput, cache)
    off = np.concatenate([*ends.values(), np.empty(0)])
    return Choice(found.recipe, found.scores, off)


def learn(
    memory: MemoryProfile,
    accelerator: AcceleratorProfile | None,
    contention: OwnContention | None,
    choice: Choice,
    *,
    pattern: Pattern = "pipeline",
    queues: int = 1,
) -> FunctionModel:
    """The model of a function; the same profiles and choice make the same model.

    Raises:
        InputError: when request times make no line.
    """
    cache = memory.origin.cache_mb or CACHE_MB
    return FunctionModel(
        memory,
        accelerator,
        contention,
        pattern,
        queues,
        choice,
        fit_stage(choice.recipe, memory.columns, memory.throughput, cache),
        conformal(choice.recipe, memory.columns, memory.throughput, cache),
        range_of(memory.columns),
        None if accelerator is None else fit_request_time(accelerator),
    )
