"""Predictions by cores as text, CSV and JSON."""

from collections.abc import Iterator

from slowpath.cli.printable import csv_line, one_line
from slowpath.cli.terminal import Line
from slowpath.insights.cores.documents import CoresReport
from slowpath.insights.numbers import percent
from slowpath.report.grid import grid

COLUMNS = ("function", "cores", "throughput_pps", "latency_cycles", "knee_cores")
_MEGA = 1e6


def cores_csv(report: CoresReport) -> Iterator[Line | str]:
    """A line for each row of the query."""
    knees = {one["function"]: one["knee_cores"] for one in report["functions"]}
    yield csv_line(COLUMNS)
    for one in report["points"]:
        numbers = (one["cores"], one["throughput_pps"], one["latency_cycles"])
        yield csv_line((one["function"], *numbers, knees[one["function"]]))


def cores_text(report: CoresReport) -> Iterator[Line | str]:
    """The advice for each function; single numbers of cores are in CSV and JSON."""
    yield Line(one_line(f"{report['query']}: {_learnt(report)}"), "bold")
    yield Line("")
    columns = ("function", "cores", "interval", "Mpps there", "of the most", "latency", "unusual")
    rows = [
        (
            one["function"],
            str(one["knee_cores"]),
            f"{one['knee_low']} to {one['knee_high']}",
            f"{one['throughput_pps'] / _MEGA:.2f}",
            percent(one["share"]),
            f"{one['latency_cycles']:.0f}",
            ", ".join(one["unusual"]),
        )
        for one in report["functions"]
    ]
    yield from grid(columns, rows, right=("cores", "interval", "Mpps there", *columns[4:6]))
    yield Line("")
    confidence = f"{100 * report['confidence']:g} % intervals"
    yield Line(
        f"Predicted. Cores are where the curve bends, with {confidence}; latency in cycles of a "
        "core."
    )


def _learnt(report: CoresReport) -> str:
    count = report["learnt_from"]
    if report["train"] is not None:
        return f"learnt from {count} functions of {report['train']}"
    return f"model of {count} published functions, traffic {report['traffic']}"
