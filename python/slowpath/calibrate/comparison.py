"""Compares calibration runs on several test beds, for `slowpath calibrate --compare`.

A test bed is a way to measure or compute costs, such as XDP in the kernel or DPDK.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from slowpath.calibrate.documents import ComparedBed, ComparedExperiment, Comparison
from slowpath.calibrate.experiments.documents import CalibratedExperiment, Point
from slowpath.calibrate.experiments.evaluation import evaluate_all
from slowpath.calibrate.experiments.folder import RunFolder, write
from slowpath.calibrate.page_figures import axis_name
from slowpath.calibrate.report import cost_text, model_text
from slowpath.core import codes, engine
from slowpath.core.errors import ExitCode, InputError
from slowpath.core.extras import need_models
from slowpath.core.formats import Reporter
from slowpath.core.html import Column, Content, Html, element, facts, join, page, table
from slowpath.core.html.chart import Chart, Curve, Points, colour, draw
from slowpath.core.printable import csv_line
from slowpath.core.terminal import Line, grid


def compare(directories: Sequence[str], html: str | None, reporter: Reporter) -> ExitCode:
    """Compare the calibration runs in several directories.

    The report has the costs of each experiment that at least two runs have measured.

    Raises:
        InputError: when an extra is missing, a directory cannot be read, or the runs have no
            experiment in common.
    """
    need_models(("numpy", "scipy"))
    runs = [_measured(directory) for directory in directories]
    document: Comparison = {
        **engine.head("calibrate", "comparison"),
        "directories": list(directories),
        "results": [*_compared(directories, runs)],
    }
    if not document["results"]:
        reason = (
            "no experiment has costs in two of these runs; measure the same --component on "
            "several test beds"
        )
        raise InputError(codes.EXPERIMENT_FOLDER_UNUSABLE, ", ".join(directories), reason)
    if html is not None:
        write(Path(html), comparison_page(document))
    reporter.write(document)
    return ExitCode.FINE


def _measured(directory: str) -> dict[str, CalibratedExperiment]:
    """Return the measured experiments of the run in a directory, by name."""
    folder = RunFolder(Path(directory))
    experiments = [folder.of(name) for name in folder.settings()["experiments"]]
    found = evaluate_all([one for one in experiments if one.measured], lambda _: None)
    return {one["name"]: one for one in found if one["result"]["points"]}


def _compared(
    directories: Sequence[str], runs: Sequence[dict[str, CalibratedExperiment]]
) -> Iterator[ComparedExperiment]:
    for name in dict.fromkeys(name for run in runs for name in run):
        beds = [
            _bed(directory, run[name])
            for directory, run in zip(directories, runs, strict=True)
            if name in run
        ]
        if len(beds) > 1:
            result = next(run[name]["result"] for run in runs if name in run)
            yield {
                "name": name,
                "description": result["description"],
                "kind": result["kind"],
                "parameter": result["parameter"],
                "testbeds": beds,
            }


def _bed(directory: str, found: CalibratedExperiment) -> ComparedBed:
    result = found["result"]
    return {
        "directory": directory,
        "testbed": result["testbed"],
        "metric": result["metric"],
        "exact": result["exact"],
        "fixed": result["fixed"],
        "points": result["points"],
        "model": model_text(found),
    }


# --- text -----------------------------------------------------------------------------------------

_COLUMNS = ("test bed", "from", "to", "first", "last", "unit", "model")
_RIGHT = ("from", "to", "first", "last")


def text_report(document: Comparison) -> Iterator[Line | str]:
    """Yield a table for each experiment, with a line for each test bed."""
    for number, one in enumerate(document["results"]):
        if number:
            yield ""
        yield Line(f"{one['name']}: {one['description']} (by {one['parameter']})", "bold")
        yield from grid(_COLUMNS, [_row(bed) for bed in one["testbeds"]], right=_RIGHT)
        others = _differences(one)
        if others:
            yield f"  The runs differ in other parameters: {others}."


def _row(bed: ComparedBed) -> list[str]:
    ends = bed["points"][0], bed["points"][-1]
    values, costs = [f"{one['value']:,}" for one in ends], [cost_text(one) for one in ends]
    return [_label(bed), *values, *costs, bed["metric"], bed["model"]]


def _label(bed: ComparedBed) -> str:
    """Return the name of a run's test bed, with the run's directory if that has another name."""
    name, directory = bed["testbed"], bed["directory"]
    usual = directory.rstrip("/").rpartition("/")[2] in (name, f"calibration-{name}")
    return name if usual else f"{name} ({directory})"


def _differences(one: ComparedExperiment) -> str:
    """Return a text with the fixed parameters that have different values in the runs."""
    names = dict.fromkeys(name for bed in one["testbeds"] for name in bed["fixed"])
    by_name = {name: [bed["fixed"].get(name) for bed in one["testbeds"]] for name in names}
    return "; ".join(
        f"{name} {', '.join(map(str, values))}"
        for name, values in by_name.items()
        if len({*values}) > 1
    )


_POINT = ("value", "cost", "low", "high", "program", "baseline", "observations")


def comparison_csv(document: Comparison) -> Iterator[str]:
    """Yield the lines of a CSV report, one for each parameter value, experiment and test bed."""
    yield csv_line(("experiment", "directory", "testbed", "parameter", "unit", *_POINT))
    for one in document["results"]:
        for bed in one["testbeds"]:
            place = bed["directory"], bed["testbed"]
            head = one["name"], *place, one["parameter"], bed["metric"]
            for point in bed["points"]:
                values = (point[key] for key in _POINT)  # type: ignore[literal-required]
                yield csv_line((*head, *values))


# --- page -----------------------------------------------------------------------------------------


def comparison_page(document: Comparison) -> str:
    """Return an HTML page with a table and figures for each experiment."""
    title = "Calibrations side by side"
    runs = facts(("runs", ", ".join(document["directories"])))
    head = element("header", element("h1", title), runs)
    return page(title, head, *map(_section, document["results"]))


def _section(one: ComparedExperiment) -> Html:
    columns = [
        Column("test bed"),
        *(Column(name, number=True) for name in _RIGHT),
        Column("unit"),
        Column("model", wide=True),
    ]
    rows: list[list[Content]] = [[*_row(bed)] for bed in one["testbeds"]]
    units = dict.fromkeys(bed["metric"] for bed in one["testbeds"])
    others = _differences(one)
    return element(
        "section",
        element("h2", one["name"]),
        element("p", one["description"], class_="soft"),
        table(columns, rows, stack=True),
        element("p", f"The runs differ in other parameters: {others}.") if others else None,
        element("div", *(_figure(one, unit) for unit in units), class_="figures"),
    )


def _figure(one: ComparedExperiment, unit: str) -> Html:
    """Draw the measured costs over the parameter, with a curve for each test bed.

    Only test beds whose costs have the given unit are drawn.
    """
    beds = [bed for bed in one["testbeds"] if bed["metric"] == unit]
    curves = [_curve(bed["points"], number) for number, bed in enumerate(beds)]
    keys = [
        join(element("span", "", class_="key", style=f"background: {colour(at)}"), _label(bed))
        for at, bed in enumerate(beds)
    ]
    words = f"{unit} per packet by {one['parameter']}, for {len(beds)} test beds"
    chart = Chart(
        axis_name(one["kind"], one["parameter"]),
        f"{unit} per packet",
        Points([], [], [], [], []),
        curves,
        words=words,
    )
    says: list[Content] = ["Cost per packet beyond the baseline, measured: "]
    for key in keys:
        says += [key, ", "]
    return element("figure", element("figcaption", *says[:-1]), draw(chart))


def _curve(points: Sequence[Point], number: int) -> Curve:
    costs = [one["cost"] for one in points]
    low = [one["cost"] if one["low"] is None else one["low"] for one in points]
    high = [one["cost"] if one["high"] is None else one["high"] for one in points]
    return Curve([float(one["value"]) for one in points], costs, low, high, number)
