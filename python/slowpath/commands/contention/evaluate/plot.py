"""Rows that were held out as a picture: predicted against measured, with intervals."""

from typing import TYPE_CHECKING

from slowpath.commands.contention.evaluate.report import Evaluation
from slowpath.contention.memory.evaluation import Evaluated
from slowpath.report.picture import picture, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIDE = 4.2  # inches, of each panel
_IN_A_ROW = 3
_WIDE = 20.0
"""Values that span more than this factor are drawn on logarithmic axes."""


def draw(file: str, report: Evaluation) -> None:
    """Writes the picture, a panel for each model; SVG or PNG, by the end of the name.

    The same data give the same file.

    Raises:
        OSError: when the file cannot be written.
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
    said = f"{100 * report.confidence:g} % interval"
    for those, words, colour in ((hit, "has it", "C0"), (miss, "misses it", "C3")):
        if not those:
            continue
        _, measured, predicted, low, high = zip(*those, strict=True)
        # Ends of CV+ intervals need not have the prediction between them.
        below = [max(y - end, 0.0) for y, end in zip(predicted, low, strict=True)]
        above = [max(end - y, 0.0) for y, end in zip(predicted, high, strict=True)]
        axes.errorbar(
            measured,
            predicted,
            (below, above),
            fmt=".",
            color=colour,
            ecolor=(colour, 0.35),
            label=f"{said} {words}: {len(those)}",
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
    mean = f"{100 * one.errors.mape:.2f} % off in the mean"
    axes.set_title(plain(f"{one.name}: {mean}"), fontsize="small")
    axes.legend(fontsize="small")
    axes.grid(visible=True, alpha=0.3)
