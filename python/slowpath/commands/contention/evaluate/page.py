"""How well models do on held-out rows, as a page: a table, and predicted against measured."""

from slowpath.cli.printable import csv_line
from slowpath.commands.contention.evaluate.report import (
    COLUMNS,
    ROW,
    Evaluation,
    choices,
    explained,
    figures,
)
from slowpath.contention.memory.evaluation import Evaluated
from slowpath.engine import identity
from slowpath.html.chart import Chart, Curve, Points, draw
from slowpath.html.elements import Html, element
from slowpath.html.page import download, page
from slowpath.html.tables import Column, table

_NEAR = 0.1
"""The band around what is right: as many as *within 10 %* are in it."""


def evaluation_page(report: Evaluation) -> str:
    """The text of the file."""
    origin = report.memory.origin
    name = origin.function or "A function"
    device = f" on {origin.device}" if origin.device else ""
    columns = [Column(COLUMNS[0]), *(Column(one, number=True) for one in COLUMNS[1:])]
    about = f"Throughput in {origin.unit or 'the unit of the profile'}; "
    about += f"slowpath {identity.version()}."
    return page(
        f"{name}: predicted against measured",
        element("h1", f"{name}{device}: predicted against measured"),
        element("p", f"{len(report.memory.rows)} rows of {', '.join(origin.files)}."),
        element("section", table(columns, figures(report)), element("p", explained(report))),
        *(_section(report, one) for one in report.shown()),
        element("footer", about),
    )


def _section(report: Evaluation, one: Evaluated) -> Html:
    rows = [*report.rows(one)]
    names, measured, predicted, low, high = zip(*rows, strict=True)
    says = [
        f"{row}: measured {at:.4g}, predicted {y:.4g} ({start:.4g} to {end:.4g})"
        for row, at, y, start, end in rows
    ]
    ends = (min(measured), max(measured))
    right = Curve(
        ends, ends, [at * (1 - _NEAR) for at in ends], [at * (1 + _NEAR) for at in ends], 0
    )
    unit = report.memory.origin.unit or "throughput"
    words = f"{one.name}: predicted against measured throughput of {len(names)} held-out rows"
    points = Points(measured, predicted, low, high, says)
    chart = Chart(f"measured, {unit}", f"predicted, {unit}", points, [right], (), words)
    lines = [csv_line(ROW), *map(csv_line, rows)]
    data = download("\n".join(lines) + "\n", "held-out.csv", "rows")
    about = (
        f"Each row as it was predicted when it was held out, with {100 * report.confidence:g} % "
    )
    about += "interval; line and band: right, and within 10 %. CSV: "
    figure = element("figure", element("figcaption", about, data), draw(chart))
    chosen = None if one.chosen is None else element("p", choices(one.chosen))
    return element("section", element("h2", one.name), chosen, figure)
