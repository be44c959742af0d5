"""Shape of saved models."""

from typing import Literal, NotRequired, TypedDict


class SavedOrigin(TypedDict):
    """What rows are of, and where they come from."""

    files: list[str]
    """Their files as the user named them."""
    function: str | None
    """The network function; null where the file does not say, as in what follows."""
    device: str | None
    """The device that it ran on."""
    unit: str | None
    """Unit of throughput."""
    source: str | None
    """How it was measured, or where it was published."""
    cache_mb: float | None
    """Size of the last-level cache, in MB."""
    mtbr: float | None
    """Match ratio of the traffic, in matches per MB."""


class SavedRows(TypedDict):
    """Rows that were measured."""

    origin: SavedOrigin
    """What they are of."""
    rows: list[str]
    """Their names."""
    columns: dict[str, list[float]]
    """By the name of a column, its values, one for each row; docs/contention.md has the units."""


class SavedScore(TypedDict):
    """How a memory model did on training rows that were held out."""

    recipe: str
    """Its name."""
    among: float
    """Mean absolute relative error of groups of rows held out at random."""
    beyond: float | None
    """That of rows at the ends of axes; null where there are none, and for models that were
    clearly worse than another one before."""


class Checked(TypedDict):
    """What the memory stage said of a training row."""

    row: int
    """Which, from 0."""
    throughput: float
    """The prediction."""
    low: float
    """Lower end of its 90 % interval."""


class SavedDetection(TypedDict):
    """What co-runs with contention for several resources say of the execution pattern."""

    pattern: Literal["pipeline", "run-to-completion"] | None
    """Which it is; null where that is less than 90 % sure."""
    confidence: float
    """How sure that of the smaller error is, a share: how often it has the smaller one when co-runs
    are drawn again."""
    pipeline_error: float
    """Mean relative error of a pipeline (Eq. 3)."""
    run_to_completion_error: float
    """The same of run-to-completion (Eq. 4)."""
    co_runs: int
    """How many there are."""


class SavedReason(TypedDict):
    """Why the model has its execution pattern."""

    source: Literal["given", "detected", "declared", "assumed"]
    """`given` by `--pattern`, `detected` from co-runs, `declared` by the record of the profile, or
    `assumed`, as nothing tells."""
    declared: Literal["pipeline", "run-to-completion"] | None
    """By the record of the profile; null where there is none that says it."""
    detected: SavedDetection | None
    """From co-runs; null where there are none that could tell."""


class SavedModel(TypedDict):
    """What `slowpath contention train` writes: enough to learn the model again."""

    slowpath: str
    """Version of slowpath."""
    version: int
    """Of this format: 1."""
    pattern: Literal["pipeline", "run-to-completion"]
    """How the function uses resources: in stages, or one after the other for each packet."""
    pattern_reason: NotRequired[SavedReason]
    """Why; missing in files of older versions."""
    queues: int
    """Its request queues at the accelerator."""
    recipe: str
    """The memory model that was chosen."""
    scores: list[SavedScore]
    """How the models that it was chosen from did."""
    end_errors: list[float]
    """Relative errors of the chosen one at rows at the ends of axes, held out: how far predictions
    beyond the rows may be off."""
    memory: SavedRows
    """Throughput beside competitors for caches and memory."""
    accelerator: SavedRows | None
    """Request times by match ratio; null where there are none."""
    contention: SavedRows | None
    """What the function does to others; null where that is not known."""
    co_runs: NotRequired[SavedRows | None]
    """Throughput beside one client of the accelerator that always has requests, which tells how
    long requests wait; null where that is not known, missing in files of older versions."""
    widening: NotRequired[float]
    """By how much intervals beside clients of the accelerator are wider than those without, as
    mixes of the profile show; missing in files of older versions, which is 1."""
    kernels: NotRequired[list[list[list[float] | None]]]
    """Logarithms of the kernel parameters of each Gaussian process: of the model of all rows, then
    of those for intervals; null for other kinds of models. Missing in files of older versions,
    whose parameters are searched again."""
    checks: list[Checked]
    """Predictions that a model learnt from this has to repeat."""
