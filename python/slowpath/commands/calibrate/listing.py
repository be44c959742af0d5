"""`slowpath calibrate --list`: test beds, and experiments with what they sweep."""

from collections.abc import Iterator

from slowpath.cli.command import load
from slowpath.cli.exit_codes import ExitCode
from slowpath.cli.terminal import Line, out_lines
from slowpath.experiments.shipped import shipped_experiment, shipped_names
from slowpath.experiments.specification.documents import Experiment
from slowpath.experiments.testbeds import TESTBEDS


def list_all() -> ExitCode:
    """Writes them.

    Raises:
        UnavailableError: when PyYAML is not installed.
    """
    out_lines(_listed())
    return ExitCode.FINE


def _listed() -> Iterator[Line | str]:
    beds = [load(place) for place in TESTBEDS.values()]
    yield Line("Test beds", "bold")
    width = max(len(bed.name) for bed in beds)
    for bed in beds:
        yield f"  {bed.name:<{width}}  {bed.says}"
    yield ""
    yield Line("Experiments", "bold")
    experiments = [shipped_experiment(name) for name in shipped_names()]
    width = max(len(one["name"]) for one in experiments)
    for one in experiments:
        yield f"  {one['name']:<{width}}  {one['description']} ({_sweep(one)})"


def _sweep(experiment: Experiment) -> str:
    sweep = experiment["component"]["sweep"]
    return f"{sweep['parameter']} {sweep['first']:,} to {sweep['last']:,}"
