"""A diagnosis as text and CSV."""

from collections.abc import Iterator
from itertools import pairwise

from slowpath.cli.printable import csv_line, one_line
from slowpath.cli.terminal import Line
from slowpath.contention.diagnosis.documents import (
    Diagnosed,
    DiagnosedSweep,
    DiagnosisReport,
    SweptPoint,
)
from slowpath.report.grid import grid

COLUMNS = (
    "about",
    "value",
    "throughput",
    "low",
    "high",
    "bottleneck",
    "sure",
    "next",
    "margin",
    "memory",
    "accelerator",
    "outside",
)
ATTRIBUTES = {"flows": "flows", "size": "bytes of a packet", "mtbr": "matches per MB"}
"""What is swept, in words."""
CHANGE = ("throughput", "gain", "low", "high", "bottleneck", "margin")
"""What is told of a change."""


def diagnosis_csv(report: DiagnosisReport) -> Iterator[str]:
    """A line for the setting (`now`), for each change (`what-if`) and each value (`sweep`)."""
    yield csv_line(COLUMNS)
    yield _csv("now", None, report["now"])
    for change in report["what_if"]:
        yield _csv("what-if", change["change"], change["diagnosis"])
    if report["sweep"] is not None:
        for point in report["sweep"]["points"]:
            yield _csv("sweep", point["value"], point["diagnosis"])


def _csv(about: str, value: str | float | None, one: Diagnosed) -> str:
    parts = {part["resource"]: part["throughput"] for part in one["resources"]}
    memory, accelerator = parts["memory"], parts.get("regex")
    sure = "yes" if one["sure"] else "no"
    numbers = (one["throughput"], one["low"], one["high"])
    limits = (one["bottleneck"], sure, one["next"], one["margin"], memory, accelerator)
    return csv_line((about, value, *numbers, *limits, " ".join(one["outside"])))


def diagnosis_text(report: DiagnosisReport) -> Iterator[Line]:
    """What holds the function back, in a sentence and tables."""
    yield Line(one_line(heading(report)), "bold")
    yield Line(one_line(sentence(report)))
    yield Line("")
    rows = [
        (part["resource"], *numbers(part["throughput"], part["low"], part["high"]))
        for part in report["now"]["resources"]
    ]
    columns = ("resource alone", "throughput", "low", "high")
    yield from grid(columns, rows, right=columns[1:])
    if report["what_if"]:
        yield Line("")
        yield from _changes(report)
    if report["sweep"] is not None:
        yield Line("")
        yield from _sweep(report["sweep"])
    unit = report["unit"]
    yield Line("")
    said = f"in {unit}" if unit else "in the unit of the profile, which it does not state"
    yield Line(one_line(f"Throughput {said}; {100 * report['confidence']:g} % intervals."))


def heading(report: DiagnosisReport) -> str:
    """What the diagnosis is of."""
    device = f" on {report['device']}" if report["device"] else ""
    traffic = report["traffic"]
    matches = "" if traffic["mtbr"] is None else f", {traffic['mtbr']:g} matches/MB"
    beside = f", beside {', '.join(report['beside'])}" if report["beside"] else ", alone"
    name = report["function"] or "the function"
    asked = f"{traffic['flows']:,g} flows, {traffic['size']:g} bytes{matches}"
    return f"{name}{device}, {report['pattern']}{beside}: {asked}"


def sentence(report: DiagnosisReport) -> str:
    """What holds it back."""
    now = report["now"]
    throughput = f"{now['throughput']:.4g} ({now['low']:.4g} to {now['high']:.4g})"
    said = f"{now['bottleneck']} is the bottleneck, at {throughput}"
    if now["next"] is None or now["margin"] is None:
        return f"{said}; it is the only resource that is known."
    sure = "" if now["sure"] else "; intervals of both overlap, so it may be the other way round"
    return f"{said}; {now['next']} would allow {100 * now['margin']:.3g} % more{sure}."


def numbers(*values: float) -> tuple[str, ...]:
    """Values in four digits."""
    return tuple(f"{value:.4g}" for value in values)


def _changes(report: DiagnosisReport) -> Iterator[Line]:
    yield from grid(("what if", *CHANGE), changes(report), right=(*CHANGE[:4], "margin"))


def changes(report: DiagnosisReport) -> list[tuple[str, ...]]:
    """By change, its text and then what `CHANGE` names."""
    return [
        (
            one["change"],
            f"{one['diagnosis']['throughput']:.4g}",
            f"{100 * one['gain']:+.1f} %",
            *numbers(one["diagnosis"]["low"], one["diagnosis"]["high"]),
            one["diagnosis"]["bottleneck"],
            margin(one["diagnosis"]),
        )
        for one in report["what_if"]
    ]


def margin(one: Diagnosed) -> str:
    """The margin in percent."""
    return "" if one["margin"] is None else f"{100 * one['margin']:.1f} %"


def pieces(sweep: DiagnosedSweep) -> list[list[SweptPoint]]:
    """Neighbouring points with one bottleneck, and the first point of the next piece."""
    points = sweep["points"]
    names = [one["diagnosis"]["bottleneck"] for one in points]
    starts = [at for at in range(len(points)) if at == 0 or names[at] != names[at - 1]]
    return [points[at : end + 1] for at, end in pairwise([*starts, len(points)])]


def stretches(sweep: DiagnosedSweep) -> list[tuple[str, str, str, str, str]]:
    """Pieces in words: from, to, which bottleneck, throughput from, to."""
    return [
        (
            f"{piece[0]['value']:.7g}",
            f"{piece[-1]['value']:.7g}",
            piece[0]["diagnosis"]["bottleneck"],
            f"{piece[0]['diagnosis']['throughput']:.4g}",
            f"{piece[-1]['diagnosis']['throughput']:.4g}",
        )
        for piece in pieces(sweep)
    ]


def _sweep(sweep: DiagnosedSweep) -> Iterator[Line]:
    columns = (sweep["attribute"], "up to", "bottleneck", "throughput", "to")
    yield from grid(columns, stretches(sweep), right=(*columns[:2], *columns[3:]))
