"""Types of the JSON documents of `slowpath contention train`, `predict`, `evaluate`, `diagnose`."""

from typing import Literal, NotRequired, TypedDict

from slowpath.core.schema import Document, Warned


class SavedOrigin(TypedDict):
    """Origin of the measured rows of a table."""

    files: list[str]
    """Files of the rows, as the user named them."""
    function: str | None
    """The network function; null if the file does not name it. The same holds for all fields
    below."""
    device: str | None
    """The device that the function ran on."""
    unit: str | None
    """Unit of throughput."""
    source: str | None
    """Method of measurement, or place of publication."""
    cache_mb: float | None
    """Size of the last-level cache, in MB."""
    mtbr: float | None
    """Match ratio of the traffic, in matches per MB."""


class SavedRows(TypedDict):
    """Measured rows of a table, with their origin."""

    origin: SavedOrigin
    """Origin of the rows."""
    rows: list[str]
    """Names of the rows."""
    columns: dict[str, list[float]]
    """Values of each column by its name, one per row; units: docs/reference/contention-files.md."""


class SavedScore(TypedDict):
    """Errors of a memory model on held-out training rows."""

    recipe: str
    """Name of the memory model."""
    among: float
    """Mean absolute relative error of groups of rows held out at random."""
    beyond: float | None
    """Mean absolute relative error of held-out rows at the ends of axes; null without such rows,
    and for models rejected earlier as clearly worse."""


class Checked(TypedDict):
    """Prediction of throughput with contention for memory, for one training row."""

    row: int
    """Index of the row, from 0."""
    throughput: float
    """Predicted throughput."""
    low: float
    """Lower end of the 90 % interval."""


class SavedDetection(TypedDict):
    """Execution pattern detected from co-runs with contention for several resources."""

    pattern: Literal["pipeline", "run-to-completion"] | None
    """Detected pattern; null if the confidence is below 90 %."""
    confidence: float
    """Confidence in the pattern with the smaller error, as a share: how often this pattern has the
    smaller error when the co-runs are resampled."""
    pipeline_error: float
    """Mean relative error of the pipeline model (Eq. 3)."""
    run_to_completion_error: float
    """Mean relative error of the run-to-completion model (Eq. 4)."""
    co_runs: int
    """Number of co-runs."""


class SavedReason(TypedDict):
    """Reason for the execution pattern of the model."""

    source: Literal["given", "detected", "declared", "assumed"]
    """`given` by `--pattern`, `detected` from co-runs, `declared` by the record of the profile, or
    `assumed` without any evidence."""
    declared: Literal["pipeline", "run-to-completion"] | None
    """Pattern declared by the record of the profile; null without such a declaration."""
    detected: SavedDetection | None
    """Pattern detected from co-runs; null without suitable co-runs."""


class SavedModel(Document):
    """Output of `slowpath contention train`: everything needed to train the model again."""

    version: int
    """Version of this format: 1."""
    pattern: Literal["pipeline", "run-to-completion"]
    """Use of resources by the function: concurrently in stages, or one after the other for each
    packet."""
    pattern_reason: NotRequired[SavedReason]
    """Reason for the pattern; missing in files of older versions."""
    queues: int
    """Number of request queues of the function at the accelerator."""
    recipe: str
    """The chosen memory model."""
    scores: list[SavedScore]
    """Errors of all candidate memory models."""
    end_errors: list[float]
    """Relative errors of the chosen model at held-out rows at the ends of axes; they estimate the
    error of predictions outside the training range."""
    memory: SavedRows
    """Throughput beside competitors for caches and memory."""
    accelerator: SavedRows | None
    """Request times by match ratio; null if the function uses no accelerator."""
    contention: SavedRows | None
    """Contention that the function causes for others; null if unknown."""
    co_runs: NotRequired[SavedRows | None]
    """Throughput beside one client that always has a request at the accelerator; source of the
    waiting times of requests. Null if not measured, missing in files of older versions."""
    widening: NotRequired[float]
    """Factor on the width of intervals with other clients at the accelerator, learnt from the mixes
    of the profile. Missing in files of older versions, where it is 1."""
    kernels: NotRequired[list[list[list[float] | None]]]
    """Logarithms of the kernel parameters of each Gaussian process: first of the model trained on
    all rows, then of the models for intervals; null for other kinds of models. Missing in files of
    older versions, whose parameters are searched again."""
    checks: list[Checked]
    """Reference predictions that the retrained model has to reproduce."""
    warnings: NotRequired[list[str]]
    """Warnings about the execution pattern; missing in files of older versions."""
    warning_codes: NotRequired[list[str]]
    """Codes of the causes of `warnings`, in the same order; absent in models of older versions."""


class PredictedRow(TypedDict):
    """Prediction for one row of a query."""

    row: str
    """Name of the row."""
    throughput: float
    """Predicted throughput."""
    low: float | None
    """Lower end of the interval of `throughput`; null if the error is unknown."""
    high: float | None
    """Upper end of the interval of `throughput`; null if the error is unknown."""
    share_of_solo: float | None
    """`throughput` as a share of the solo throughput under the same traffic, at most 1; null if
    unknown."""
    bottleneck: str
    """The limiting resource."""
    outside: list[str]
    """Columns whose values are outside the training range."""
    memory: float
    """Throughput that contention for memory alone would allow."""
    accelerator: float | None
    """Throughput that the accelerator alone would allow; null without one."""


class PredictionDocument(Warned):
    """Output of `slowpath contention predict --format json`."""

    function: str | None
    """The network function; null if the model does not name it. The same holds for the two fields
    below."""
    device: str | None
    """The device of the function's profile."""
    unit: str | None
    """Unit of throughput."""
    pattern: Literal["pipeline", "run-to-completion"]
    """Execution pattern of the function."""
    recipe: str
    """Name of the memory model that made the predictions."""
    method: Literal["slowpath", "sum", "min", "slomo"]
    """Method of `--method`."""
    confidence: float | None
    """Coverage of intervals, as a share; null for methods without intervals."""
    results: list[PredictedRow]
    """Predictions, one for each row of the query."""


class EvaluatedErrors(TypedDict):
    """Absolute relative errors of predictions for held-out rows, as shares."""

    mape: float
    """Mean."""
    standard_error: float
    """Standard error of the mean, with rows as random samples."""
    median: float
    """Median."""
    largest: float
    """Largest error."""
    within_5: float
    """Share of rows with an error of at most 5 %."""
    within_10: float
    """Share of rows with an error of at most 10 %."""


class EvaluatedRow(TypedDict):
    """Prediction for a row when it was first held out."""

    row: str
    """Name of the row."""
    measured: float
    """Measured throughput."""
    predicted: float
    """Predicted throughput."""
    low: float
    """Lower end of its interval."""
    high: float
    """Upper end of its interval."""


class EvaluatedModel(TypedDict):
    """Errors of a memory model, or of the choice of one, on rows held out from training."""

    recipe: str
    """Name of the memory model, or of the choice."""
    errors: EvaluatedErrors
    """Errors of all rows."""
    coverage: float
    """Share of rows inside their intervals."""
    width: float
    """Median width of the intervals, relative to their lower ends."""
    ends: EvaluatedErrors | None
    """Errors of held-out rows at the ends of axes; null for the choice."""
    chosen: dict[str, int] | None
    """Number of times that each recipe was chosen; null for a single model."""
    predictions: list[EvaluatedRow]
    """Predictions for the rows of the profile."""


class EvaluationDocument(Document):
    """Output of `slowpath contention evaluate --format json`."""

    files: list[str]
    """Files of the profile, as the user named them."""
    rows: int
    """Number of rows of the profile."""
    repetitions: int
    """Number of times that the cross-validation was repeated."""
    confidence: float
    """Coverage of intervals, as a share."""
    results: list[EvaluatedModel]
    """Memory models, and the choice between them."""


class ResourcePart(TypedDict):
    """Throughput that a resource allows if no other resource limits the function."""

    resource: str
    """Name of the resource: `memory` or `regex`."""
    throughput: float
    """Throughput in the unit of the profile, as all throughputs."""
    low: float | None
    """Lower end of the interval of `throughput`; null if the error is unknown."""
    high: float | None
    """Upper end of the interval of `throughput`; null if the error is unknown."""


class Diagnosed(TypedDict):
    """Resource that limits the function under given traffic and competitors."""

    throughput: float
    """Predicted throughput with all resources."""
    low: float | None
    """Lower end of the interval of `throughput`; null if the error is unknown."""
    high: float | None
    """Upper end of the interval of `throughput`; null if the error is unknown."""
    share_of_solo: float
    """Predicted throughput as a share of the solo throughput under the same traffic, at most 1."""
    bottleneck: str
    """The limiting resource. In a pipeline, it is the slowest stage. In run-to-completion, it is
    the resource whose contention adds the most time."""
    sure: bool
    """True if the intervals of the bottleneck and the next resource do not overlap; false if an
    error is unknown."""
    next: str | None
    """The resource that would limit the function without the bottleneck; null if the function uses
    only one resource."""
    margin: float | None
    """Speedup without the bottleneck, as a share of `throughput`; null without a next resource."""
    resources: list[ResourcePart]
    """Throughput that each resource allows on its own."""
    outside: list[str]
    """Attributes of the setting outside the training range."""


class SettingTraffic(TypedDict):
    """Traffic that all functions process."""

    flows: float
    """Number of flows."""
    size: float
    """Packet size in bytes."""
    mtbr: float | None
    """Matches per MB; null if no function uses an accelerator."""


class WhatIf(TypedDict):
    """Diagnosis after one hypothetical change."""

    change: str
    """The change, as the user wrote it."""
    gain: float
    """Speedup of the function, as a share of its throughput now."""
    diagnosis: Diagnosed
    """Bottleneck after the change."""


class SweptPoint(TypedDict):
    """Bottleneck at one value of the swept traffic attribute."""

    value: float
    """Value of the attribute."""
    diagnosis: Diagnosed
    """Bottleneck at this value."""


class Crossing(TypedDict):
    """A value of the swept attribute at which the bottleneck changes."""

    at: float
    """The first value with the new bottleneck: a whole number of flows or bytes, or a match ratio
    to 12 digits."""
    before: str
    """The bottleneck below this value."""
    after: str
    """The bottleneck from this value on."""


class DiagnosedSweep(TypedDict):
    """Bottlenecks of the function for a range of values of a traffic attribute."""

    attribute: Literal["flows", "size", "mtbr"]
    """The swept attribute."""
    points: list[SweptPoint]
    """Sampled values in ascending order, including those where the bottleneck changes."""
    crossings: list[Crossing]
    """Values where the bottleneck changes."""


class DiagnosisReport(Warned):
    """Output of `slowpath contention diagnose --format json`."""

    function: str | None
    """The network function; null if the model does not name it. The same holds for the two fields
    below."""
    device: str | None
    """The device of the function's profile."""
    unit: str | None
    """Unit of throughput."""
    pattern: Literal["pipeline", "run-to-completion"]
    """Execution pattern of the function."""
    beside: list[str]
    """Models of the co-located functions, as the user named them."""
    traffic: SettingTraffic
    """Traffic of all functions."""
    confidence: float
    """Coverage of intervals, as a share."""
    now: Diagnosed
    """Bottleneck in the given setting."""
    what_if: list[WhatIf]
    """Results of `--what-if`, in the order of the command line."""
    sweep: DiagnosedSweep | None
    """Result of `--sweep`; null without the option."""
