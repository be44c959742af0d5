"""Types of the JSON documents that `slowpath calibrate` writes."""

from typing import TypedDict

from slowpath.calibrate.experiments.documents import CalibratedExperiment, Point
from slowpath.calibrate.experiments.specification import Experiment, Metric
from slowpath.core.schema import Document, Warned


class ListedBed(TypedDict):
    """A test bed that measures experiments or computes their costs."""

    name: str
    """Name, as an argument of `--testbed`."""
    says: str
    """Description in one line."""
    target: str
    """Name of the target whose costs it yields."""
    metrics: list[Metric]
    """Metrics that it yields for a packet; empty if it only writes programs, or measures rates."""
    exact: bool
    """True if it computes costs instead of measuring them."""
    components: list[str]
    """Kinds of components that it supports."""


class ListedExperiment(TypedDict):
    """An experiment that comes with slowpath."""

    specification: Experiment
    """Complete specification; its `name` is an argument of `--component`."""
    runs_on: list[str]
    """Names of the test beds that support it."""


class Catalogue(Document):
    """Output of `slowpath calibrate --list --format json`."""

    testbeds: list[ListedBed]
    """All test beds."""
    experiments: list[ListedExperiment]
    """Experiments that come with slowpath, by name."""


class ComparedBed(TypedDict):
    """Costs of an experiment on one test bed."""

    directory: str
    """Directory of the run."""
    testbed: str
    """Name of the test bed."""
    metric: Metric
    """Unit of costs: nanoseconds, cycles or instructions of a packet."""
    exact: bool
    """True if costs are computed, not measured."""
    fixed: dict[str, int | str]
    """All parameters of the component other than the swept one, and `size`, the packet size."""
    points: list[Point]
    """Costs, by ascending value of the parameter."""
    model: str
    """Functions of the model, or the reason why there is none."""


class ComparedExperiment(TypedDict):
    """An experiment that several test beds measured."""

    name: str
    """Name of the specification."""
    description: str
    """Description in the specification."""
    kind: str
    """Kind of the component."""
    parameter: str
    """Swept parameter."""
    testbeds: list[ComparedBed]
    """Costs by run, in the order of the options."""


class Comparison(Document):
    """Output of `slowpath calibrate --compare DIR --compare DIR --format json`."""

    directories: list[str]
    """Directories of the runs, as the user named them."""
    results: list[ComparedExperiment]
    """Experiments with costs in at least two runs."""


class CalibrateDocument(Warned):
    """Output of `slowpath calibrate --format json`."""

    directory: str
    """Directory of the run, as the user named it."""
    target_file: str | None
    """File that describes this machine as a target; null if too few experiments were measured."""
    results: list[CalibratedExperiment]
    """Experiments of the run that are measured, in the order of the run."""
