"""Formats the results of a calibration, and the list of test beds and experiments (`--list`)."""

from collections.abc import Iterator, Sequence

from slowpath.calibrate.derivation import Derived
from slowpath.calibrate.documents import CalibrateDocument, Catalogue, ListedBed
from slowpath.calibrate.experiments.documents import CalibratedExperiment, Point
from slowpath.calibrate.experiments.running import TestBed
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
from slowpath.core.terminal import Line, grid
from slowpath.models.documents import FittedModel

# --- results --------------------------------------------------------------------------------------

_COLUMNS = ("experiment", "by", "from", "to", "first", "last", "unit", "error", "model")
_RIGHT = ("from", "to", "first", "last", "error")
_WORDS = {"polynomial-0": "constant", "polynomial-1": "linear", "polynomial-2": "quadratic"}
_LARGE = 100.0  # minimum of costs without decimals


def text_report(document: CalibrateDocument, derived: Derived | None) -> Iterator[Line | str]:
    """Yield the lines of a text report: experiments, the run's directory, the target's errors."""
    found = document["results"]
    # A quick calibration has too few values for models of its own, so omit their columns.
    base = None if derived is None else derived.quality.base
    columns = _COLUMNS if base is None else _COLUMNS[: _COLUMNS.index("error")]
    if found:
        rows = [_row(each)[: len(columns)] for each in found]
        yield from grid(columns, rows, right=[one for one in _RIGHT if one in columns], margin="")
        yield ""
    yield f"Programs, samples, models and pictures: {document['directory']}"
    if derived is None:
        return
    scaled = "" if base is None else f", scaled from {base}"
    yield f"Target of this machine: {derived.file}{scaled}"
    error = f"within {derived.error:.1%} for half of these programs"
    yield f"The target was fitted to the times of {derived.programs} programs, {error}."
    good = derived.quality
    checks = f"{good.checks} further programs, within {good.check_error:.1%} for half of them"
    precise = f"{good.precise} of {good.experiments} experiments reached their precision"
    yield f"As a check, the target predicts the times of {checks}. {precise}."


_POINT = ("value", "cost", "low", "high", "program", "baseline", "observations")


def costs_csv(document: CalibrateDocument, derived: Derived | None) -> Iterator[str]:
    """Yield the lines of a CSV report: one for each measured value of each experiment."""
    del derived
    yield csv_line(("experiment", "parameter", "unit", *_POINT))
    for found in document["results"]:
        result = found["result"]
        for point in result["points"]:
            values = (point[key] for key in _POINT)  # type: ignore[literal-required]
            yield csv_line((found["name"], result["parameter"], result["metric"], *values))


def _row(found: CalibratedExperiment) -> list[str]:
    result, state = found["result"], found["measurement"]["state"]
    points, model = result["points"], result["model"]
    requested = found["measurement"]["points"]
    head = [found["name"], result["parameter"]]
    if not points:
        return [*head, f"{requested[0]:,}", f"{requested[-1]:,}", "", "", "", "", state]
    ends = [f"{one['value']:,}" for one in (points[0], points[-1])]
    costs = [cost_text(one) for one in (points[0], points[-1])]
    error = "" if model is None else f"{model['errors']['smape']:.1%}"
    return [*head, *ends, *costs, result["metric"], error, model_text(found)]


def model_text(found: CalibratedExperiment) -> str:
    """Describe the cost model of an experiment in a few words, or the reason why there is none.

    If the experiment is not complete, its state is added.
    """
    result, state = found["result"], found["measurement"]["state"]
    model = result["model"]
    words = result["reason"] or "" if model is None else in_short(model)
    return words + ("" if state == "complete" else f" ({state})")


def cost_text(point: Point) -> str:
    """Format a cost: with one decimal if it is below 100, else without decimals."""
    cost = point["cost"]
    return f"{cost:,.0f}" if abs(cost) >= _LARGE or cost.is_integer() else f"{cost:.1f}"


def in_short(model: FittedModel) -> str:
    """Describe a model in a few words: the function of each segment, and where the segment ends."""
    segments = model["segments"]
    words = [_WORDS.get(one["template"], one["template"]) for one in segments]
    ends = [f"{word} to {one['to']:,.0f}" for word, one in zip(words, segments, strict=True)]
    return ", ".join([*ends[:-1], words[-1]])


# --- test beds and experiments --------------------------------------------------------------------


def list_all(reporter: Reporter) -> ExitCode:
    """Print all test beds and all experiments that come with slowpath.

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


def catalogue_text(catalogue: Catalogue) -> Iterator[Line | str]:
    """Yield two tables: the test beds, and the experiments with their swept parameters."""
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
    """Yield the lines of a CSV report: one for each experiment, with parameter and test beds."""
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
