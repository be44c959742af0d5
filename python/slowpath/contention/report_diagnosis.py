"""Formats diagnoses of bottlenecks as text and CSV, as an HTML page, and as a picture."""

from collections.abc import Iterator
from itertools import pairwise
from textwrap import fill

from slowpath.contention.documents import (
    Diagnosed,
    DiagnosedSweep,
    DiagnosisReport,
    ResourcePart,
    SweptPoint,
    WhatIf,
)
from slowpath.contention.report import SHARE, interval_lines, throughput_unit
from slowpath.core.html import (
    Column,
    Html,
    download,
    element,
    join,
    page,
    table,
    warning_boxes,
)
from slowpath.core.html.chart import Chart, Curve, Points, colour, draw
from slowpath.core.pictures import picture, plain
from slowpath.core.printable import csv_line, one_line
from slowpath.core.quantities import about_percent, significant, with_interval
from slowpath.core.terminal import Line, grid

COLUMNS = (
    "about",
    "value",
    "throughput",
    "low",
    "high",
    SHARE,
    "bottleneck",
    "sure",
    "next",
    "margin",
    "memory",
    "accelerator",
    "outside",
)
ATTRIBUTES = {"flows": "flows", "size": "packet size in bytes", "mtbr": "matches per MB"}
"""Axis labels of traffic attributes."""
_TRAFFIC = 4
"""Number of digits of a traffic value at which the bottleneck changes; JSON has all digits."""
CHANGE = ("throughput", "gain", "low", "high", "bottleneck", "margin")
"""Columns of the table of hypothetical changes (`--what-if`), after the change itself."""


def diagnosis_csv(report: DiagnosisReport) -> Iterator[str]:
    """Yield the lines of a CSV report: given setting (`now`), changes (`what-if`) and sweep."""
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
    numbers = (one["throughput"], one["low"], one["high"], one["share_of_solo"])
    limits = (one["bottleneck"], one["sure"], one["next"], one["margin"], memory, accelerator)
    return csv_line((about, value, *numbers, *limits, " ".join(one["outside"])))


def diagnosis_text(report: DiagnosisReport) -> Iterator[Line]:
    """Yield the lines of a text report on a bottleneck: a sentence and tables."""
    yield Line(one_line(heading(report)), "bold")
    yield Line(one_line(sentence(report)))
    yield Line("")
    columns = ("limit by resource", "throughput", "low", "high")
    yield from grid(columns, resources(report), right=columns[1:])
    if report["what_if"]:
        yield Line("")
        yield from grid(
            ("hypothetical change", *CHANGE), changes(report), right=(*CHANGE[:4], "margin")
        )
    if report["sweep"] is not None:
        yield Line("")
        names = (report["sweep"]["attribute"], "up to", "bottleneck", "throughput", "to")
        yield from grid(names, stretches(report["sweep"]), right=(*names[:2], *names[3:]))
    yield Line("")
    yield from (Line(one_line(text)) for text in remarks(report))


def remarks(report: DiagnosisReport) -> Iterator[str]:
    """Yield sentences that explain the unit of throughput and the intervals."""
    yield throughput_unit(report["unit"])
    now = report["now"]
    unknown = sum(one["low"] is None for one in (now, *now["resources"]))
    known = 1 + len(now["resources"]) - unknown
    yield from (one.text for one in interval_lines(100 * report["confidence"], known, unknown))


def heading(report: DiagnosisReport) -> str:
    """Return the heading: function, device, pattern, co-located functions and traffic."""
    device = f" on {report['device']}" if report["device"] else ""
    traffic = report["traffic"]
    matches = "" if traffic["mtbr"] is None else f", {traffic['mtbr']:g} matches/MB"
    beside = f", beside {', '.join(report['beside'])}" if report["beside"] else ", alone"
    name = report["function"] or "the function"
    packets = f"{traffic['flows']:,g} flows, {traffic['size']:g} bytes{matches}"
    return f"{name}{device}, {report['pattern']}{beside}: {packets}"


def sentence(report: DiagnosisReport) -> str:
    """Return a sentence with the bottleneck, and the margin to the next bottleneck."""
    now = report["now"]
    value, low, high = numbers(now)
    unit = f" {report['unit']}" if report["unit"] else ""
    interval = f" ({low} to {high})" if low else ""
    start = (
        f"{now['bottleneck']} is the bottleneck. The throughput is {value}{unit}{interval}, "
        f"{now['share_of_solo']:.2f} of solo throughput."
    )
    if now["next"] is None or now["margin"] is None:
        return f"{start} The model has no other resource."
    more = f"{now['next']} alone would allow {about_percent(now['margin'])} more."
    if now["sure"]:
        return f"{start} {more}"
    return f"{start} {more} {_DOUBT if low else _UNKNOWN}"


_DOUBT = "The intervals of both resources overlap, so the bottleneck is uncertain."
_UNKNOWN = "The error is unknown, so the bottleneck is uncertain."


def numbers(one: Diagnosed | ResourcePart) -> tuple[str, str, str]:
    """Format a throughput and its interval, with as many digits as are known.

    The ends are empty if the error is unknown.
    """
    if one["low"] is None or one["high"] is None:
        return significant(one["throughput"]), "", ""
    return with_interval(one["throughput"], one["low"], one["high"])


def resources(report: DiagnosisReport) -> list[tuple[str, ...]]:
    """Return a table row for each resource: its name, and the throughput that it allows."""
    return [(part["resource"], *numbers(part)) for part in report["now"]["resources"]]


def changes(report: DiagnosisReport) -> list[tuple[str, ...]]:
    """Return a table row for each hypothetical change: the change, then the columns in `CHANGE`."""
    return [_change(one) for one in report["what_if"]]


def _change(one: WhatIf) -> tuple[str, ...]:
    value, *ends = numbers(one["diagnosis"])
    sign = "+" if one["gain"] >= 0 else ""
    gain = f"{sign}{about_percent(one['gain'])}"
    bottleneck = one["diagnosis"]["bottleneck"]
    return (one["change"], value, gain, *ends, bottleneck, margin(one["diagnosis"]))


def margin(one: Diagnosed) -> str:
    """Format the margin to the next bottleneck in percent; the text is empty without a margin."""
    return "" if one["margin"] is None else about_percent(one["margin"])


def pieces(sweep: DiagnosedSweep) -> list[list[SweptPoint]]:
    """Split the points of a sweep into pieces with the same bottleneck.

    The last point of each piece is also the first point of the next one.
    """
    points = sweep["points"]
    names = [one["diagnosis"]["bottleneck"] for one in points]
    starts = [at for at in range(len(points)) if at == 0 or names[at] != names[at - 1]]
    return [points[at : end + 1] for at, end in pairwise([*starts, len(points)])]


def stretches(sweep: DiagnosedSweep) -> list[tuple[str, str, str, str, str]]:
    """Return a table row for each piece of a sweep in which the bottleneck stays the same.

    Its columns are first and last value, bottleneck, and throughput at both values.
    """
    return [
        (
            significant(piece[0]["value"], _TRAFFIC),
            significant(piece[-1]["value"], _TRAFFIC),
            piece[0]["diagnosis"]["bottleneck"],
            numbers(piece[0]["diagnosis"])[0],
            numbers(piece[-1]["diagnosis"])[0],
        )
        for piece in pieces(sweep)
    ]


_COLOURS = {"memory": 0, "regex": 1}


def diagnosis_page(report: DiagnosisReport) -> str:
    """Return the report on a bottleneck as an HTML page."""
    name = report["function"] or "the function"
    parts = [
        element("h1", f"Bottleneck of {name}"),
        element("p", heading(report)),
        warning_boxes(report["warnings"]),
        diagnosis_view(report),
    ]
    if report["sweep"] is not None:
        parts.append(_swept(report, report["sweep"]))
    about = " ".join((*remarks(report), f"Written by slowpath {report['slowpath']}."))
    return page(f"Bottleneck of {name}", *parts, element("footer", about))


def diagnosis_view(report: DiagnosisReport) -> Html:
    """Return the tables of the report as HTML, for the page and for notebooks."""
    now = element("section", element("h2", "Now"), element("p", sentence(report)), _now(report))
    if not report["what_if"]:
        return now
    heading = element("h2", "Hypothetical changes")
    return join(now, element("section", heading, _changes_table(report)))


def _now(report: DiagnosisReport) -> Html:
    names = ("throughput", "low", "high")
    columns = [Column("limit by resource"), *(Column(one, number=True) for one in names)]
    return table(columns, resources(report))


def _changes_table(report: DiagnosisReport) -> Html:
    columns = [Column(one, number=one != "bottleneck") for one in CHANGE]
    return table([Column("change"), *columns], changes(report))


def _swept(report: DiagnosisReport, sweep: DiagnosedSweep) -> Html:
    name = ATTRIBUTES[sweep["attribute"]]
    found = pieces(sweep)
    changes = [one["at"] for one in sweep["crossings"]]
    words = f"throughput by {name}, coloured by bottleneck"
    unit, no_points = report["unit"] or "throughput", Points([], [], [], [], [])
    chart = Chart(name, unit, no_points, [_curve(one) for one in found], changes, words)
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


def _curve(points: list[SweptPoint]) -> Curve:
    found = [one["diagnosis"] for one in points]
    return Curve(
        [one["value"] for one in points],
        [one["throughput"] for one in found],
        *_band(found),
        _COLOURS[found[0]["bottleneck"]],
    )


def _band(found: list[Diagnosed]) -> tuple[list[float], list[float]]:
    """Return the lower and the upper ends of intervals, between which a band is drawn.

    Both ends are the throughput itself if the error is unknown.
    """
    low = [one["throughput"] if one["low"] is None else one["low"] for one in found]
    high = [one["throughput"] if one["high"] is None else one["high"] for one in found]
    return low, high


def _key(kind: str) -> Html:
    swatch = element("i", class_="key", style=f"background: {colour(_COLOURS[kind])}")
    return join(swatch, f"{kind} ")


_WIDTH, _HEIGHT = 7.0, 4.0  # inches
_LETTERS = 90  # maximum line length of the title
COLOURS = {"memory": "C0", "regex": "C1"}
"""Colours in pictures, by the name of the bottleneck."""
_WIDE = 20.0
"""Ratio of the last to the first value from which on the axis is logarithmic."""


def draw_diagnosis(file: str, report: DiagnosisReport, sweep: DiagnosedSweep) -> None:
    """Draw the throughput over a sweep to a file, in a colour for each bottleneck.

    The format is SVG or PNG, by the file name. The same data always gives the same file.

    Raises:
        OSError: if the file cannot be written.
    """
    with picture(file, _WIDTH, _HEIGHT) as figure:
        axes = figure.add_subplot()
        labelled = set[str]()
        for piece in pieces(sweep):
            kind = piece[0]["diagnosis"]["bottleneck"]
            x = [one["value"] for one in piece]
            found = [one["diagnosis"] for one in piece]
            label = f"{kind} is the bottleneck" if kind not in labelled else None
            labelled.add(kind)
            axes.plot(x, [one["throughput"] for one in found], color=COLOURS[kind], label=label)
            axes.fill_between(x, *_band(found), color=COLOURS[kind], alpha=0.2, linewidth=0)
        for one in sweep["crossings"]:
            axes.axvline(one["at"], color="0.5", linestyle="--", linewidth=0.8)
        values = [one["value"] for one in sweep["points"]]
        if values[0] > 0 and values[-1] > _WIDE * values[0]:
            axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set_xlabel(ATTRIBUTES[sweep["attribute"]])
        confidence = f"{100 * report['confidence']:g} % intervals"
        axes.set_ylabel(plain(f"{report['unit'] or 'throughput'}, {confidence}"))
        axes.set_title(fill(plain(heading(report)), _LETTERS), fontsize="small")
        axes.legend()
        axes.grid(visible=True, alpha=0.3)
