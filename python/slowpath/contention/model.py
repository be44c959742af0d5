"""The contention model of a network function: one model per resource, and their combination.

The partial throughput of a resource is the function's throughput with contention for that resource
only, T_solo - dT_k. A pipeline is as fast as its slowest stage (Eq. 3). In run-to-completion, each
resource adds its delay to the time of a packet (Eq. 4). Eq. 7 combines both cases. `sum` and `min`
are the baseline compositions of the paper (2.2).

The execution pattern of a function is detected, declared or assumed. The paper chooses the equation
that fits better. We also give a confidence: how often the same equation wins if the co-runs are
resampled with replacement.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from slowpath.contention.accelerators import RequestTime, Waits, fit_request_time, waits_by
from slowpath.contention.columns import (
    MTBR,
    TRAFFIC_NAMES,
    AcceleratorProfile,
    CoRuns,
    MemoryProfile,
    OwnContention,
)
from slowpath.contention.memory.features import CACHE_MB, Columns, Rows
from slowpath.contention.memory.intervals import (
    TOGETHER,
    Conformal,
    Range,
    conformal,
    range_of,
    residual_quantile,
)
from slowpath.contention.memory.recipes import Kernels, MemoryStage, Recipe, fit_stage
from slowpath.contention.memory.selection import (
    Progress,
    Score,
    Trainings,
    candidates,
    no_progress,
    select,
)
from slowpath.core.arrays import Floats, Indices
from slowpath.core.terminal import first_few

Pattern = Literal["pipeline", "run-to-completion"]
Composition = Literal["pipeline", "run-to-completion", "sum", "min"]


def least(parts: Floats, _solo: Floats) -> Floats:
    """Return the least partial throughput, T_solo - max dT_k: that of a pipeline (Eq. 3)."""
    return np.asarray(parts.min(axis=0))


def run_to_completion(parts: Floats, solo: Floats) -> Floats:
    """Return the throughput of functions that process each packet to completion (Eq. 4).

    The throughput is 1 / (sum 1 / (T_solo - dT_k) - (r - 1) / T_solo), for r resources.
    """
    time = (1 / parts).sum(axis=0) - (len(parts) - 1) / solo
    return np.asarray(1 / np.maximum(time, 1 / parts.min(axis=0)))


def summed(parts: Floats, solo: Floats) -> Floats:
    """Return the throughput if the losses by contention for all resources add up; at least 0.

    The formula is T_solo - sum dT_k.
    """
    return np.asarray(np.maximum(solo - (solo - parts).sum(axis=0), 0.0))


COMPOSITIONS: Mapping[Composition, Callable[[Floats, Floats], Floats]] = {
    "pipeline": least,
    "run-to-completion": run_to_completion,
    "sum": summed,
    "min": least,
}
"""Functions that compute throughput from the partial throughputs of all resources and the solo
throughput. Partial throughputs have the axes `[resource, row]`, solo throughput has the axis
`[row]`.
"""


def bottleneck(parts: Floats) -> Indices:
    """Return the index of the resource with the least partial throughput, for each row.

    It is the bottleneck in both execution patterns.
    """
    return np.asarray(parts.argmin(axis=0))


_ADDED = ("irt", "l2crd", "l2cwr", "memrd", "memwr", "wss_mb", "dma_mb", "score")


def contention_at(own: OwnContention, flows: float, size: float) -> dict[str, float]:
    """Return the contention that a function causes under the given number of flows and packet size.

    It is that of the most similar measured traffic, by the distance between the logarithms of flows
    and packet size. Values are neither interpolated nor extrapolated.
    """
    wanted = np.log([flows, size])
    known = np.log(np.column_stack([own.columns[name] for name in TRAFFIC_NAMES]))
    nearest = int(np.abs(known - wanted).sum(axis=1).argmin())
    others = [name for name in own.columns if name not in TRAFFIC_NAMES]
    return {name: float(own.columns[name][nearest]) for name in others}


def total_contention(
    parts: Sequence[Mapping[str, float]], names: Sequence[str]
) -> dict[str, float]:
    """Return the contention that several competitors cause together, by column (`names`).

    It is zero without competitors. Rates, working sets and scores add up. Instructions per cycle
    are total instructions divided by total cycles.
    """
    found = {name: sum(part[name] for part in parts) for name in names if name in _ADDED}
    if "ipc" in names:
        cycles = sum(part["irt"] / part["ipc"] for part in parts if part["ipc"] > 0)
        found["ipc"] = found["irt"] / cycles if cycles else 0.0
    return {name: found[name] for name in names}


def together_by_row(counts: Floats, own: Columns, names: Sequence[str]) -> dict[str, Floats]:
    """Return the contention that several competitors cause together, for many rows at once.

    Args:
        counts: number of instances of each competitor, `[row, competitor]`.
        own: by column, contention of each competitor alone, `[competitor]`.
        names: columns to return.
    """
    found = {name: counts @ own[name] for name in names if name in _ADDED}
    if "ipc" in names:
        known = own["ipc"] > 0
        each = np.divide(own["irt"], own["ipc"], out=np.zeros_like(own["irt"]), where=known)
        cycles = counts @ each
        found["ipc"] = np.divide(found["irt"], cycles, out=np.zeros_like(cycles), where=cycles > 0)
    return {name: found[name] for name in names}


Source = Literal["given", "detected", "declared", "assumed"]

_DRAWS = 2000
_SURE = 0.9
_FEWEST = 3
_EQUAL = 1e-9


class Detected(NamedTuple):
    """An execution pattern that was detected from measurements of mixes, with its confidence."""

    pattern: Pattern | None  # None if the confidence is too low
    confidence: float  # confidence in the pattern that fits better, as a share
    pipeline_error: float  # mean relative error of Eq. 3
    run_to_completion_error: float  # mean relative error of Eq. 4
    co_runs: int


class Reason(NamedTuple):
    """The reason for the execution pattern of a model: its source and the evidence."""

    source: Source
    declared: Pattern | None = None  # pattern in the record of the profile
    detected: Detected | None = None  # None without suitable co-runs


def better_of(off_p: Floats, off_r: Floats) -> Detected:
    """Detect the execution pattern that fits measured mixes better.

    Args:
        off_p: relative errors of the pipeline model, by mix.
        off_r: relative errors of the run-to-completion model, by mix.

    Returns:
        The pattern, or None as pattern if fewer than 90 % of the resamples agree.
    """
    count = len(off_p)
    better: Pattern = "pipeline" if off_p.sum() <= off_r.sum() else "run-to-completion"
    confidence = 0.5
    if count >= _FEWEST:
        drawn = np.random.default_rng(0).integers(count, size=(_DRAWS, count))  # reproducible
        gain = (off_r - off_p)[drawn].mean(axis=1)  # above zero: pipeline fits better
        wins = np.mean(gain > _EQUAL) + np.mean(np.abs(gain) <= _EQUAL) / 2
        confidence = float(wins if better == "pipeline" else 1 - wins)
    sure = better if confidence >= _SURE else None
    errors = [float(off.mean()) if count else 0.0 for off in (off_p, off_r)]
    return Detected(sure, confidence, errors[0], errors[1], count)


_UNKNOWN = 9.0


class ModelChoice(NamedTuple):
    """The recipe that was chosen for the memory model by errors on held-out rows.

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
        """Name of the network function; without a name, the first file of its profile."""
        return self.memory.origin.function or self.memory.origin.files[0]

    def without_competitors(self, columns: Columns) -> dict[str, Floats]:
        """Return columns with the same traffic, and the least contention of all training rows."""
        return {
            name: values if name in TRAFFIC_NAMES else np.full_like(values, self.range.least[name])
            for name, values in columns.items()
        }

    def margin_beyond(self, confidence: float) -> float:
        """Return the half width of intervals outside the training range, for log(throughput).

        It follows from the errors on the lowest and the highest rows of each axis when they were
        held out. Without such errors, intervals reach to a factor of ten on both sides.
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
    """Return the rows of a profile as training rows for memory models, with the cache size."""
    return Rows(memory.columns, memory.throughput, memory.origin.cache_mb or CACHE_MB)


def choose(
    memory: MemoryProfile, recipe: Recipe | None = None, progress: Progress = no_progress
) -> ModelChoice:
    """Choose the memory model with the least error on held-out rows.

    If `recipe` is given, evaluate and choose only that recipe. `progress` receives the finished
    share.
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
    """Train the model of a function. The same profiles and choice always give the same model.

    `known` has kernel parameters from an earlier training, which replace the search for them: first
    those of the memory model trained on all rows, then those of each fold's model.

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


Values = Mapping[str, Sequence[float]]
"""Values of model inputs, by the names of their columns."""
_FEW = 3
"""Maximum number of inputs that a warning lists."""


def described(names: Iterable[str], values: Values, model: FunctionModel) -> str:
    """Describe inputs outside the measured range of a model, for a warning.

    The text has values and ranges, such as `wss_mb 12 (measured: 0 to 6)`. Only the first of
    `names` are described.
    """
    return first_few([_described(name, values, model) for name in names], _FEW)


def _described(name: str, values: Values, model: FunctionModel) -> str:
    if name == TOGETHER:
        return "the combination of all values"
    found = values.get(name, ())
    shown = f" {_span(found)}" if len(found) else ""
    limits = _limits(name, model)
    return f"{name}{shown}" if limits is None else f"{name}{shown} (measured: {_span(limits)})"


def _limits(name: str, model: FunctionModel) -> tuple[float, float] | None:
    """Return the least and the greatest measured value of a column; None if it is unknown."""
    if name == MTBR.name and model.request_time is not None:
        return model.request_time.lowest, model.request_time.highest
    if name not in model.range.least:
        return None
    return model.range.least[name], model.range.most[name]


def _span(values: Sequence[float]) -> str:
    """Format the range of values as `LOW to HIGH`, or as one number if all are equal."""
    low, high = (f"{one:.4g}" for one in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
