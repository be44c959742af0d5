"""Shape of the record of an experiment that ran."""

from typing import Literal, NamedTuple, NotRequired, TypedDict

from slowpath.calibrate.experiments.specification import Metric
from slowpath.fit.documents import FittedModel

State = Literal["complete", "partial", "failed", "written"]
"""All points were measured that can be; it was interrupted; none was; the test bed only writes."""


class Sample(NamedTuple):
    """One observation of a point: what one load, or one round, says."""

    value: int  # of the parameter
    number: int  # of the observation, in its block
    component: float  # of the program with the component, in the unit of the metric
    baseline: float  # of the baseline program, at the same time
    block: int = 1  # of time, in which it was made; other experiments lie between two of them


class Point(TypedDict):
    """What the component costs at one value of the parameter."""

    value: int
    """Of the parameter."""
    cost: float
    """Of a packet, beyond the baseline program, in the unit of the metric: a mean of observations
    without outliers."""
    low: float | None
    """Lower end of its 95 % interval; null after a single observation. What is computed is exact,
    and both ends are the cost."""
    high: float | None
    """Upper end of its interval."""
    program: float
    """Of a packet in the program with the component, the same mean."""
    baseline: float
    """Of a packet in the baseline program."""
    observations: int
    """How many the mean is of."""


class PointError(TypedDict):
    """A value of the parameter without a cost."""

    value: int
    """Of the parameter."""
    reason: str
    """Why, in one line."""


IMPRECISE = "The precision that was asked for was not reached; --seconds gives it more time."
"""A note of experiments."""


class Measurement(TypedDict):
    """How an experiment was measured: `measurement.json` in its directory."""

    slowpath: str
    """Version of slowpath."""
    compiler: NotRequired[str]
    """Version of clang, as it prints it; absent where nothing was compiled."""
    testbed: str
    """Where it was measured or computed."""
    target: str
    """Which target the test bed is about."""
    metric: Metric
    """What costs are: nanoseconds, cycles or instructions of a packet."""
    state: State
    """How far it came: `complete`; `partial`, where it was interrupted; `failed`, where nothing is
    known of any point; `written`, by a test bed that only writes programs."""
    exact: bool
    """Whether costs are computed, not measured."""
    date: str
    """When it began, in UTC (ISO 8601)."""
    seconds: float
    """How long it took."""
    blocks: int
    """In how many blocks it was measured, with other experiments between them."""
    points: list[int]
    """Values of the parameter, all that were asked for."""
    errors: list[PointError]
    """Those of which nothing is known."""
    notes: list[str]
    """What has to be known of the figures, one sentence each."""
    samples_sha256: str | None
    """Hash of `samples.csv`; null where there is none."""


class ModelDocument(TypedDict):
    """What an experiment came to: `model.json`, which follows from its samples alone."""

    experiment: str
    """Name of the specification."""
    description: str
    """What it is about."""
    kind: str
    """The component."""
    parameter: str
    """What was swept: the x of the model."""
    fixed: dict[str, int | str]
    """All other parameters of the component, and `size`, that of packets."""
    baseline: Literal["without", "empty"]
    """What was taken off."""
    testbed: str
    """Where it was measured or computed."""
    target: str
    """Which target the test bed is about."""
    metric: Metric
    """The y of the model."""
    exact: bool
    """Whether costs are computed, not measured."""
    date: str
    """When they were."""
    samples_sha256: str | None
    """Hash of the samples that it follows from."""
    points: list[Point]
    """What the samples come to, ascending."""
    model: FittedModel | None
    """The model of the cost; null where it has none."""
    reason: str | None
    """Why it has none."""


class CalibratedExperiment(TypedDict):
    """An experiment that ran: how, and what it came to."""

    name: str
    """Name of the specification, and of its directory in that of the run."""
    measurement: Measurement
    """How it was measured."""
    result: ModelDocument
    """What it came to."""
