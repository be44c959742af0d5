"""Types of the JSON documents about measured experiments."""

from typing import Literal, NamedTuple, NotRequired, TypedDict

from slowpath.calibrate.experiments.specification import Metric
from slowpath.models.documents import FittedModel

State = Literal["complete", "partial", "failed", "written"]
"""Outcome of an experiment. `complete`: all possible points are measured. `partial`: the run was
interrupted. `failed`: no point is measured. `written`: programs were only written.
"""


class Sample(NamedTuple):
    """One observation of a sweep: the costs of a program with and without the component.

    It comes from one load of the programs into the kernel, or from one round of measurements.
    """

    value: int  # value of the swept parameter
    number: int  # number of the observation in its block
    component: float  # cost of the program with the component, in the unit of the metric
    baseline: float  # cost of the baseline program, in the same observation
    block: int = 1  # number of the time block; other experiments run between two blocks


class Point(TypedDict):
    """Cost of the component at one value of the parameter."""

    value: int
    """Value of the swept parameter."""
    cost: float
    """Cost of a packet beyond the baseline program, in the unit of the metric: the mean of the
    observations without outliers."""
    low: float | None
    """Lower end of the cost's 95 % interval; null after a single observation. Computed costs are
    exact: both ends equal the cost."""
    high: float | None
    """Upper end of the cost's 95 % interval."""
    program: float
    """Cost of a packet in the program with the component, the same kind of mean."""
    baseline: float
    """Cost of a packet in the baseline program, the same kind of mean."""
    observations: int
    """Number of observations in the mean of `cost`."""


class PointError(TypedDict):
    """A value of the parameter whose cost could not be measured."""

    value: int
    """Value of the swept parameter."""
    reason: str
    """Reason for the missing cost, in one line."""


IMPRECISE = "The requested precision was not reached; allow more time with --seconds."
"""Note about an experiment whose times missed the requested precision."""


class Measurement(TypedDict):
    """Record of how an experiment was measured: `measurement.json` in its directory."""

    slowpath: str
    """Version of slowpath."""
    compiler: NotRequired[str]
    """Version of clang, as clang prints it; absent if nothing was compiled."""
    testbed: str
    """Name of the test bed."""
    target: str
    """Name of the target whose costs the test bed yields."""
    metric: Metric
    """Unit of costs: nanoseconds, cycles or instructions of a packet."""
    state: State
    """Outcome: `complete`; `partial`, if interrupted; `failed`, if no point has a cost; `written`,
    by a test bed that only writes programs."""
    exact: bool
    """True if costs are computed, not measured."""
    date: str
    """Start of the measurement, in UTC (ISO 8601)."""
    seconds: float
    """Duration of the measurement."""
    blocks: int
    """Number of measured time blocks; other experiments ran between them."""
    points: list[int]
    """All requested values of the parameter."""
    errors: list[PointError]
    """Values of the parameter without a cost."""
    notes: list[str]
    """Notes on the figures, one sentence each."""
    samples_sha256: str | None
    """SHA-256 of `samples.csv`; null if it does not exist."""


class ModelDocument(TypedDict):
    """Result of an experiment, derived only from its samples: `model.json` in its directory."""

    experiment: str
    """Name of the specification."""
    description: str
    """Description in the specification."""
    kind: str
    """Kind of the component."""
    parameter: str
    """Swept parameter: the x of the model."""
    fixed: dict[str, int | str]
    """All other parameters of the component, and `size`, the packet size."""
    baseline: Literal["without", "empty"]
    """Subtracted baseline: the program without the component, or an empty program."""
    testbed: str
    """Name of the test bed."""
    target: str
    """Name of the target whose costs the test bed yields."""
    metric: Metric
    """Unit of costs: the y of the model."""
    exact: bool
    """True if costs are computed, not measured."""
    date: str
    """Start of the measurement, in UTC (ISO 8601)."""
    samples_sha256: str | None
    """SHA-256 of the samples; null if there are none."""
    points: list[Point]
    """Costs, by ascending value of the parameter."""
    model: FittedModel | None
    """Model of the cost; null if none could be fitted."""
    reason: str | None
    """Reason for the missing model; null if there is a model."""


class CalibratedExperiment(TypedDict):
    """A measured experiment with its result."""

    name: str
    """Name of the specification, and of the experiment's directory within that of the run."""
    measurement: Measurement
    """Record of the measurement."""
    result: ModelDocument
    """Points and model."""
