"""`slowpath calibrate --list`: test beds and experiments."""

from collections.abc import Iterator, Sequence
from typing import TypedDict

from slowpath.calibrate.experiments.bed import Bed
from slowpath.calibrate.experiments.reading import shipped_experiment, shipped_names
from slowpath.calibrate.experiments.specification import Experiment, Metric
from slowpath.calibrate.settings import fits
from slowpath.calibrate.testbeds import TESTBEDS
from slowpath.core.command import load
from slowpath.core.engine import identity
from slowpath.core.errors import ExitCode
from slowpath.core.printable import json_line
from slowpath.core.terminal import Line, out, out_lines


class ListedBed(TypedDict):
    """Where experiments are measured or computed."""

    name: str
    """As `--testbed` has it."""
    says: str
    """What it is, in one line."""
    target: str
    """The target that it tells about."""
    metrics: list[Metric]
    """What it can tell of a packet; empty where programs are only written."""
    exact: bool
    """Whether it computes, and does not measure."""
    components: list[str]
    """Kinds of components that it has."""


class ListedExperiment(TypedDict):
    """An experiment that comes with slowpath."""

    specification: Experiment
    """All of it; its `name` is that of `--component`."""
    runs_on: list[str]
    """Names of the test beds that have it."""


class Catalogue(TypedDict):
    """What `slowpath calibrate --list --format json` writes."""

    slowpath: str
    """Version of slowpath."""
    testbeds: list[ListedBed]
    """All that there are."""
    experiments: list[ListedExperiment]
    """By name."""


def list_all(form: str) -> ExitCode:
    """Writes them.

    Raises:
        UnavailableError: when PyYAML is not installed.
    """
    beds: list[Bed] = [load(place) for place in TESTBEDS.values()]
    experiments = [shipped_experiment(name) for name in shipped_names()]
    if form == "json":
        out(json_line(_catalogue(beds, experiments)))
    else:
        out_lines(_listed(beds, experiments))
    return ExitCode.FINE


def _catalogue(beds: Sequence[Bed], experiments: Sequence[Experiment]) -> Catalogue:
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
            {"specification": one, "runs_on": [bed.name for bed in beds if fits(bed, one)]}
            for one in experiments
        ],
    }


def _listed(beds: Sequence[Bed], experiments: Sequence[Experiment]) -> Iterator[Line | str]:
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
