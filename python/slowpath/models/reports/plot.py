"""A picture of a model: measurements, functions, interval; further x columns at their medians."""

import numpy as np

from slowpath.models.documents import FittedModel
from slowpath.models.evaluation import bends, evaluate
from slowpath.models.points import Points
from slowpath.models.templates.batch import Floats
from slowpath.report.picture import picture

_WIDTH, _HEIGHT = 7.0, 4.0  # inches
_PLACES = 400
_WIDE = 50.0
"""Values that span more than this factor are drawn on a logarithmic axis."""


def draw(file: str, model: FittedModel, points: Points) -> None:
    """Writes the picture; it is SVG or PNG, by the end of the name. The same data, the same file.

    Raises:
        OSError: when the file cannot be written.
    """
    x, y = points.x[:, 0], points.y
    rest = np.median(points.x[:, 1:], axis=0)
    with picture(file, _WIDTH, _HEIGHT) as figure:
        axes = figure.add_subplot()
        axes.plot(x, y, ".", color="0.4", markersize=4, label="measured")
        for number, segment in enumerate(model["segments"]):
            ends = segment["from"], segment["to"]
            inside = np.sort(np.append(_places(*ends), bends(model, *ends)))
            rows = np.column_stack([inside, *(one * np.ones_like(inside) for one in rest)])
            band = evaluate(model, rows)
            (line,) = axes.plot(inside, band.y, label=segment["template"])
            if number:
                axes.axvline(segment["from"], color="0.8", linewidth=0.8)
            axes.fill_between(inside, band.low, band.high, color=line.get_color(), alpha=0.2)
        if _wide(x):
            axes.set_xscale("log")
        if _wide(y):
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=min(0.0, float(y.min())))
        held = [f"{name} = {one:g}" for name, one in zip(model["x"][1:], rest, strict=True)]
        axes.set_xlabel(", ".join([model["x"][0], *held]))
        axes.set_ylabel(model["y"])
        axes.legend()
        axes.grid(visible=True, alpha=0.3)


def _places(low: float, high: float) -> Floats:
    if low > 0 and high > _WIDE * low:
        return np.geomspace(low, high, _PLACES).clip(low, high)
    return np.linspace(low, high, _PLACES)


def _wide(values: Floats) -> bool:
    return bool(values.min() > 0 and values.max() > _WIDE * values.min())
