"""Prints the test beds and experiments for `slowpath calibrate --list`."""

from collections.abc import Iterator, Sequence

from slowpath.calibrate.documents import Catalogue, ListedBed
from slowpath.calibrate.experiments.bed import TestBed
from slowpath.calibrate.experiments.specification import (
    Experiment,
    shipped_experiment,
    shipped_names,
)
from slowpath.calibrate.settings import is_supported
from slowpath.calibrate.testbeds import LOAD, LOADED, TESTBEDS
from slowpath.core import engine
from slowpath.core.command import load
from slowpath.core.errors import ExitCode
from slowpath.core.formats import Reporter
from slowpath.core.printable import csv_line
from slowpath.core.terminal import Line


def list_all(reporter: Reporter) -> ExitCode:
    """Print test beds and experiments.

    Raises:
        UnavailableError: when PyYAML is not installed.
    """
    beds: list[TestBed] = [load(place) for place in TESTBEDS.values()]
    experiments = [shipped_experiment(name) for name in shipped_names()]
    reporter.write(_catalogue(beds, experiments))
    return ExitCode.FINE


def _catalogue(beds: Sequence[TestBed], experiments: Sequence[Experiment]) -> Catalogue:
    loaded: list[TestBed] = [load(place) for place in dict.fromkeys(LOADED.values())]

    def runs_on(experiment: Experiment) -> list[str]:
        found = [bed.name for bed in beds if is_supported(bed, experiment)]
        return [*found, LOAD] if any(is_supported(bed, experiment) for bed in loaded) else found

    return {
        **engine.head("calibrate", "catalogue"),
        "testbeds": [*map(_listed, beds), _load_bed(loaded)],
        "experiments": [{"specification": one, "runs_on": runs_on(one)} for one in experiments],
    }


def _listed(bed: TestBed) -> ListedBed:
    return {
        "name": bed.name,
        "says": bed.says,
        "target": bed.target,
        "metrics": list(bed.metrics),
        "exact": bed.exact,
        "components": list(bed.kinds()),
    }


def _load_bed(loaded: Sequence[TestBed]) -> ListedBed:
    return {
        "name": LOAD,
        "says": "Sends packets to programs at given rates; measures losses and latencies",
        "target": loaded[0].target,
        "metrics": [],
        "exact": False,
        "components": sorted({kind for bed in loaded for kind in bed.kinds()}),
    }


def text_report(catalogue: Catalogue) -> Iterator[Line | str]:
    """Yield a table of the test beds, and one of the experiments with their swept parameters."""
    beds = catalogue["testbeds"]
    experiments = [one["specification"] for one in catalogue["experiments"]]
    yield Line("Test beds", "bold")
    width = max(len(bed["name"]) for bed in beds)
    for bed in beds:
        yield f"  {bed['name']:<{width}}  {bed['says']}"
    yield ""
    yield Line("Experiments", "bold")
    width = max(len(one["name"]) for one in experiments)
    for one in experiments:
        yield f"  {one['name']:<{width}}  {one['description']} ({_sweep(one)})"


def list_csv(catalogue: Catalogue) -> Iterator[str]:
    """Yield a line for each experiment, with its swept parameter and its test beds."""
    yield csv_line(("experiment", "component", "parameter", "first", "last", "test beds"))
    for one in catalogue["experiments"]:
        experiment, beds = one["specification"], " ".join(one["runs_on"])
        part = experiment["component"]
        sweep = part["sweep"]
        swept = sweep["parameter"], sweep["first"], sweep["last"]
        yield csv_line((experiment["name"], part["kind"], *swept, beds))


def _sweep(experiment: Experiment) -> str:
    sweep = experiment["component"]["sweep"]
    return f"{sweep['parameter']} {sweep['first']:,} to {sweep['last']:,}"
