"""Formats the errors of memory models on held-out rows as text, CSV, JSON, page or picture."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from slowpath.contention.columns import MemoryProfile
from slowpath.contention.documents import EvaluatedErrors, EvaluationDocument
from slowpath.contention.memory.evaluation import Evaluated
from slowpath.contention.memory.selection import Errors
from slowpath.core import engine
from slowpath.core.formats import Lines, json_report
from slowpath.core.html import Column, Html, download, element, page, table
from slowpath.core.html.chart import Chart, Curve, Points, draw
from slowpath.core.pictures import picture, plain
from slowpath.core.printable import csv_line
from slowpath.core.quantities import significant, with_interval
from slowpath.core.terminal import Line, grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_KEYS = ("mape", "standard_error", "median", "largest", "within_5", "within_10")
COLUMNS = (
    "model",
    "MAPE",
    "+-",
    "median",
    "largest",
    "within 10 %",
    "covered",
    "width",
    "ends",
)
"""Columns of the table with the errors of models."""
ROW = ("row", "measured", "predicted", "low", "high")
"""Columns of the table with the predictions for held-out rows."""


class Evaluation(NamedTuple):
    """Errors of memory models on held-out rows of a profile."""

    memory: MemoryProfile
    models: Sequence[Evaluated]
    repetitions: int
    confidence: float  # coverage of intervals, as a share

    def shown(self) -> list[Evaluated]:
        """The models to draw: the one chosen among all, or those that `--recipe` names."""
        return [one for one in self.models if one.chosen is not None] or [*self.models]

    def rows(self, one: Evaluated) -> Iterator[tuple[str, float, float, float, float]]:
        """Yield each row's name, measured and predicted throughput, and ends of the interval."""
        values = (self.memory.throughput, one.predicted[0], one.low[0], one.high[0])
        for name, *numbers in zip(self.memory.rows, *values, strict=True):
            measured, predicted, low, high = map(float, numbers)
            yield name, measured, predicted, low, high


def evaluation_json(report: Evaluation) -> Lines:
    """Return the evaluation as a JSON document."""
    document: EvaluationDocument = {
        **engine.head("contention evaluate", "evaluation"),
        "files": [*report.memory.origin.files],
        "rows": len(report.memory.rows),
        "repetitions": report.repetitions,
        "confidence": report.confidence,
        "results": [
            {
                "recipe": one.name,
                "errors": _errors(one.errors),
                "coverage": one.coverage,
                "width": one.width,
                "ends": None if one.ends is None else _errors(one.ends),
                "chosen": one.chosen,
                "predictions": [
                    {"row": row, "measured": measured, "predicted": own, "low": low, "high": high}
                    for row, measured, own, low, high in report.rows(one)
                ],
            }
            for one in report.models
        ],
    }
    return json_report(document)


def _errors(found: Errors) -> EvaluatedErrors:
    return {
        "mape": found.mape,
        "standard_error": found.standard_error,
        "median": found.median,
        "largest": found.largest,
        "within_5": found.within_5,
        "within_10": found.within_10,
    }


def evaluation_csv(report: Evaluation) -> Iterator[str]:
    """Yield the lines of a CSV report: a header, and the errors of each model."""
    yield csv_line(("recipe", *_KEYS, "coverage", "width", "ends_mape"))
    for one in report.models:
        numbers = (getattr(one.errors, key) for key in _KEYS)
        ends = None if one.ends is None else one.ends.mape
        yield csv_line((one.name, *numbers, one.coverage, one.width, ends))


def evaluation_text(report: Evaluation) -> Iterator[Line]:
    """Yield the lines of a text report: a table of models' errors, and its explanation."""
    yield from grid(COLUMNS, figures(report), right=COLUMNS[1:])
    yield Line("")
    yield Line(explanation(report))
    for one in report.models:
        if one.chosen:
            yield Line(choices(one.chosen))


def figures(report: Evaluation) -> list[tuple[str, ...]]:
    """Return a table row for each model, with the columns in `COLUMNS`."""
    return [
        (
            one.name,
            f"{100 * one.errors.mape:.2f} %",
            f"{100 * one.errors.standard_error:.2f}",
            f"{100 * one.errors.median:.1f} %",
            f"{100 * one.errors.largest:.0f} %",
            f"{100 * one.errors.within_10:.0f} %",
            f"{100 * one.coverage:.0f} %",
            f"{100 * one.width:.0f} %",
            "" if one.ends is None else f"{100 * one.ends.mape:.1f} %",
        )
        for one in report.models
    ]


def explanation(report: Evaluation) -> str:
    """Return a text that explains the columns of the table of errors."""
    return (
        "All rows are held out from training. +- is the standard error of the mean error "
        f"(MAPE). covered and width are those of {100 * report.confidence:g} % intervals. ends "
        "is the error beyond the measured range."
    )


def choices(chosen: dict[str, int]) -> str:
    """Return a sentence with the number of cross-validation folds that chose each model."""
    names = ", ".join(f"{name} {count}" for name, count in sorted(chosen.items()))
    return f"Models that were chosen, with their number of folds: {names}."


_NEAR = 0.1
"""Half width of the band that pictures show, relative to the measured throughput. Rows *within 10
%* are in the band.
"""


def evaluation_page(report: Evaluation) -> str:
    """Return an HTML page with the errors of models, and their predictions for held-out rows."""
    origin = report.memory.origin
    name = origin.function or "A function"
    device = f" on {origin.device}" if origin.device else ""
    columns = [Column(COLUMNS[0]), *(Column(one, number=True) for one in COLUMNS[1:])]
    about = f"Throughput in {origin.unit or 'the unit of the profile'}; "
    about += f"slowpath {engine.version()}."
    return page(
        f"{name}: predicted and measured throughput",
        element("h1", f"{name}{device}: predicted and measured throughput"),
        element("p", f"{len(report.memory.rows)} rows of {', '.join(origin.files)}."),
        element("section", table(columns, figures(report)), element("p", explanation(report))),
        *(_section(report, one) for one in report.shown()),
        element("footer", about),
    )


def _label(row: str, measured: float, predicted: float, low: float, high: float) -> str:
    value, *ends = with_interval(predicted, low, high)
    return f"{row}: measured {significant(measured, 4)}, predicted {value} ({' to '.join(ends)})"


def _section(report: Evaluation, one: Evaluated) -> Html:
    rows = [*report.rows(one)]
    names, measured, predicted, low, high = zip(*rows, strict=True)
    labels = [_label(*row) for row in rows]
    ends = (min(measured), max(measured))
    exact = Curve(
        ends, ends, [at * (1 - _NEAR) for at in ends], [at * (1 + _NEAR) for at in ends], 0
    )
    unit = report.memory.origin.unit or "throughput"
    words = f"{one.name}: predicted against measured throughput of {len(names)} held-out rows"
    points = Points(measured, predicted, low, high, labels)
    chart = Chart(f"measured, {unit}", f"predicted, {unit}", points, [exact], (), words)
    lines = [csv_line(ROW), *map(csv_line, rows)]
    data = download("\n".join(lines) + "\n", "held-out.csv", "rows")
    about = (
        "Each row is predicted by a model trained without it, with a "
        f"{100 * report.confidence:g} % interval. "
    )
    about += "The line is the exact prediction, and the band is within 10 % of it. CSV: "
    figure = element("figure", element("figcaption", about, data), draw(chart))
    chosen = None if one.chosen is None else element("p", choices(one.chosen))
    return element("section", element("h2", one.name), chosen, figure)


_SIDE = 4.2  # inches, of each panel
_IN_A_ROW = 3
_WIDE = 20.0
"""Ratio of the largest to the smallest value from which on axes are logarithmic."""


def draw_evaluation(file: str, report: Evaluation) -> None:
    """Draw predicted over measured throughput to a file, with a panel for each model.

    The format is SVG or PNG, by the file name. The same data always gives the same file.

    Raises:
        OSError: if the file cannot be written.
    """
    models = report.shown()
    across = min(len(models), _IN_A_ROW)
    down = -(-len(models) // across)
    with picture(file, _SIDE * across, _SIDE * down) as figure:
        panels = figure.subplots(down, across, squeeze=False).ravel()
        for axes, one in zip(panels, models, strict=False):
            _panel(axes, report, one)
        for axes in panels[len(models) :]:
            axes.set_axis_off()


def _panel(axes: "Axes", report: Evaluation, one: Evaluated) -> None:
    rows = [*report.rows(one)]
    hit = [row for row in rows if row[3] <= row[1] <= row[4]]
    miss = [row for row in rows if row not in hit]
    interval = f"{100 * report.confidence:g} % interval"
    for group, words, colour in ((hit, "has it", "C0"), (miss, "misses it", "C3")):
        if not group:
            continue
        _, measured, predicted, low, high = zip(*group, strict=True)
        # A prediction can be outside its CV+ interval.
        below = [max(y - end, 0.0) for y, end in zip(predicted, low, strict=True)]
        above = [max(end - y, 0.0) for y, end in zip(predicted, high, strict=True)]
        axes.errorbar(
            measured,
            predicted,
            (below, above),
            fmt=".",
            color=colour,
            ecolor=(colour, 0.35),
            label=f"{interval} {words}: {len(group)}",
        )
    values = [value for row in rows for value in row[1:3]]
    if min(values) * _WIDE < max(values):
        axes.set_xscale("log")
        axes.set_yscale("log")
    ends = (min(values), max(values))
    axes.plot(ends, ends, color="0.5", linewidth=0.8)
    unit = report.memory.origin.unit
    inside = f", {unit}" if unit else ""
    axes.set_xlabel(plain(f"measured{inside}"))
    axes.set_ylabel(plain(f"predicted when held out{inside}"))
    mean = f"{100 * one.errors.mape:.2f} % mean error"
    axes.set_title(plain(f"{one.name}: {mean}"), fontsize="small")
    axes.legend(fontsize="small")
    axes.grid(visible=True, alpha=0.3)
