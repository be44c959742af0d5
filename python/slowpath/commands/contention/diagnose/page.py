"""A diagnosis as a page: the curve of the sweep, coloured by bottleneck."""

from slowpath.commands.contention.diagnose.report import (
    ATTRIBUTES,
    CHANGE,
    changes,
    diagnosis_csv,
    heading,
    numbers,
    pieces,
    sentence,
    stretches,
)
from slowpath.contention.diagnosis.documents import DiagnosedSweep, DiagnosisReport, SweptPoint
from slowpath.html.chart import Chart, Curve, Points, colour, draw
from slowpath.html.elements import Html, element, join
from slowpath.html.page import download, page
from slowpath.html.tables import Column, table

_COLOURS = {"memory": 0, "regex": 1}


def diagnosis_page(report: DiagnosisReport) -> str:
    """The text of the file."""
    name = report["function"] or "A function"
    parts = [
        element("h1", f"{name}: what holds it back"),
        element("p", heading(report)),
        element("section", element("h2", "Now"), element("p", sentence(report)), _now(report)),
    ]
    if report["what_if"]:
        parts.append(element("section", element("h2", "What if"), _changes(report)))
    if report["sweep"] is not None:
        parts.append(_swept(report, report["sweep"]))
    about = f"Throughput in {report['unit'] or 'the unit of the profile'}; "
    about += f"{100 * report['confidence']:g} % intervals; slowpath {report['slowpath']}."
    return page(f"{name}: bottleneck", *parts, element("footer", about))


def _now(report: DiagnosisReport) -> Html:
    names = ("throughput", "low", "high")
    columns = [Column("resource alone"), *(Column(one, number=True) for one in names)]
    rows = [
        (part["resource"], *numbers(part["throughput"], part["low"], part["high"]))
        for part in report["now"]["resources"]
    ]
    return table(columns, rows)


def _changes(report: DiagnosisReport) -> Html:
    columns = [Column(one, number=one != "bottleneck") for one in CHANGE]
    return table([Column("change"), *columns], changes(report))


def _swept(report: DiagnosisReport, sweep: DiagnosedSweep) -> Html:
    name = ATTRIBUTES[sweep["attribute"]]
    found = pieces(sweep)
    changes = [one["at"] for one in sweep["crossings"]]
    words = f"throughput by {name}, coloured by bottleneck"
    unit, nobody = report["unit"] or "throughput", Points([], [], [], [], [])
    chart = Chart(name, unit, nobody, [_curve(one) for one in found], changes, words)
    used = dict.fromkeys(one[0]["diagnosis"]["bottleneck"] for one in found)
    data = download("\n".join(diagnosis_csv(report)) + "\n", "diagnosis.csv", "points")
    caption = element("figcaption", *(_key(kind) for kind in used), " CSV: ", data)
    columns = [
        Column(f"{name}, from", number=True),
        Column("to", number=True),
        Column("bottleneck"),
        Column("throughput, from", number=True),
        Column("to", number=True),
    ]
    figure = element("figure", caption, draw(chart))
    return element(
        "section",
        element("h2", f"Along {name}"),
        figure,
        table(columns, stretches(sweep)),
    )


def _curve(drawn: list[SweptPoint]) -> Curve:
    found = [one["diagnosis"] for one in drawn]
    return Curve(
        [one["value"] for one in drawn],
        [one["throughput"] for one in found],
        [one["low"] for one in found],
        [one["high"] for one in found],
        _COLOURS[found[0]["bottleneck"]],
    )


def _key(kind: str) -> Html:
    swatch = element("i", class_="key", style=f"background: {colour(_COLOURS[kind])}")
    return join(swatch, f"{kind} ")
