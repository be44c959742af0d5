"""Output of `slowpath calibrate --list`: test beds and experiments."""

from collections.abc import Iterator, Sequence
from typing import TypedDict

from slowpath.calibrate.experiments.bed import TestBed
from slowpath.calibrate.experiments.reading import shipped_experiment, shipped_names
from slowpath.calibrate.experiments.specification import Experiment, Metric
from slowpath.calibrate.settings import is_supported
from slowpath.calibrate.testbeds import TESTBEDS
from slowpath.core.command import load
from slowpath.core.engine import identity
from slowpath.core.errors import ExitCode
from slowpath.core.printable import json_line
from slowpath.core.terminal import Line, out, out_lines


class ListedBed(TypedDict):
    """A test bed that measures experiments or computes their costs."""

    name: str
    """Name, as an argument of `--testbed`."""
    says: str
    """Description in one line."""
    target: str
    """Name of the target whose costs it yields."""
    metrics: list[Metric]
    """Metrics that it yields for a packet; empty if it only writes programs."""
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


class Catalogue(TypedDict):
    """Output of `slowpath calibrate --list --format json`."""

    slowpath: str
    """Version of slowpath."""
    testbeds: list[ListedBed]
    """All test beds."""
    experiments: list[ListedExperiment]
    """Experiments that come with slowpath, by name."""


def list_all(form: str) -> ExitCode:
    """Print test beds and experiments.

    Raises:
        UnavailableError: when PyYAML is not installed.
    """
    beds: list[TestBed] = [load(place) for place in TESTBEDS.values()]
    experiments = [shipped_experiment(name) for name in shipped_names()]
    if form == "json":
        out(json_line(_catalogue(beds, experiments)))
    else:
        out_lines(_listed(beds, experiments))
    return ExitCode.FINE


def _catalogue(beds: Sequence[TestBed], experiments: Sequence[Experiment]) -> Catalogue:
    return {
        "slowpath": identity.version(),
        "testbeds": [
            {
                "name": bed.name,
                "says": bed.says,
                "target": bed.target,
                "metrics": list(bed.metrics),
                "exact": bed.exact,
                "components": list(bed.kinds()),
            }
            for bed in beds
        ],
        "experiments": [
            {"specification": one, "runs_on": [bed.name for bed in beds if is_supported(bed, one)]}
            for one in experiments
        ],
    }


def _listed(beds: Sequence[TestBed], experiments: Sequence[Experiment]) -> Iterator[Line | str]:
    yield Line("Test beds", "bold")
    width = max(len(bed.name) for bed in beds)
    for bed in beds:
        yield f"  {bed.name:<{width}}  {bed.says}"
    yield ""
    yield Line("Experiments", "bold")
    width = max(len(one["name"]) for one in experiments)
    for one in experiments:
        yield f"  {one['name']:<{width}}  {one['description']} ({_sweep(one)})"


def _sweep(experiment: Experiment) -> str:
    sweep = experiment["component"]["sweep"]
    return f"{sweep['parameter']} {sweep['first']:,} to {sweep['last']:,}"
