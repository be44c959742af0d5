"""Formats models of `slowpath fit` as text and CSV, and plots them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from slowpath.core.arrays import Floats
from slowpath.core.pictures import picture
from slowpath.core.printable import csv_line, one_line
from slowpath.core.terminal import Line, grid
from slowpath.models.documents import Errors, FitDocument, FittedModel, Predicted, Segment
from slowpath.models.parts import EXACT, Prediction, bends, error_known, evaluate
from slowpath.models.points import Points

_DIGITS = 4
_WORDS = {"smape": "sMAPE", "mape": "MAPE", "rmse": "RMSE"}


def text_report(document: FitDocument) -> Iterator[Line]:
    """Yield the lines of a text report: segments and a summary.

    If there are predictions, yield only these, as CSV.
    """
    if document["predictions"] is None:
        return _model(document["file"], document["model"])
    return _predictions(document["model"], document["predictions"])


def csv_report(document: FitDocument) -> Iterator[Line | str]:
    """Yield the lines of a CSV report: predictions if there are any, else the segments."""
    if document["predictions"] is None:
        return _segments(document["model"])
    return _predictions(document["model"], document["predictions"])


def _predictions(model: FittedModel, rows: Sequence[Predicted]) -> Iterator[Line]:
    yield Line(csv_line([*model["x"], "y_pred", "low", "high"]))
    for row in rows:
        yield Line(csv_line([*row["x"], row["y_pred"], row["low"], row["high"]]))


def _model(file: str | None, model: FittedModel) -> Iterator[Line]:
    x, y = model["x"][0], model["y"]
    over = " and ".join(
        f"{name} from {_n(low)} to {_n(high)}"
        for name, (low, high) in zip(model["x"], model["range"], strict=True)
    )
    begin = "" if file is None else f"{file}: "
    yield Line(f"{begin}{model['points']:,} points, {y} over {over}")
    yield Line("")
    shown, known = _shown(model["metric"]), error_known(model)
    rows = [
        [
            _n(segment["from"]),
            _n(segment["to"]),
            str(segment["points"]),
            written(segment, model["x"]),
            *(_error(segment["errors"], metric) if known else "unknown" for metric in shown),
        ]
        for segment in model["segments"]
    ]
    errors = [_WORDS[metric] for metric in shown]
    head = (f"{x} from", "to", "points", f"{y} =", *errors)
    yield from grid(head, rows, right={f"{x} from", "to", "points", *errors})
    yield Line("")
    for sentence in sentences(model):
        yield Line(sentence)


def _shown(metric: str) -> tuple[str, ...]:
    """Return the error metrics to report: `metric`, sMAPE, and MAPE, which most people know."""
    return ("smape", "mape") if metric in {"smape", "mape"} else (metric, "smape", "mape")


def written(segment: Segment, names: Sequence[str]) -> str:
    """Format the formula of a segment with the values of its parameters.

    `names` are the names of the x columns.
    """
    columns = {f"x{number}": name for number, name in enumerate(names, 1)} | {"x": names[0]}
    values = {one["name"]: one["value"] for one in segment["parameters"]}
    origin = segment["origin"]
    if origin != 0:
        columns["x"] = f"({names[0]} - {_n(origin)})"

    def put(match: re.Match[str]) -> str:
        word = match[0]
        if word in columns:
            return columns[word]
        return f"{values[word]:.{_DIGITS}g}" if word in values else word

    text = re.sub(r"\b[a-z]\w*\b", put, segment["formula"])
    return one_line(re.sub(r"\+ -", "- ", text))


def sentences(model: FittedModel) -> Iterator[str]:
    """Yield sentences about a model: changes between segments, errors and intervals."""
    x, y = model["x"][0], model["y"]
    for left, right in pairwise(model["segments"]):
        yield (
            f"The function changes where {x} is between {_n(left['to'])} and {_n(right['from'])}; "
            "a straight line joins both parts there."
        )
    yield from _residuals(model)
    yield from _accuracy(model) if error_known(model) else _no_accuracy(model)
    if model["outliers"]:
        values = "value is" if model["outliers"] == 1 else "values are"
        yield f"{model['outliers']} {values} far from the curve and have less weight in the fit."
    yield _beyond(model, x, y)


def _no_accuracy(model: FittedModel) -> Iterator[str]:
    """Yield sentences about a model whose error is unknown: why, and what to do."""
    count = sum(segment["rank"] for segment in model["segments"])
    yield (
        f"The error is unknown, because all {model['points']} points lie exactly on the model, "
        f"which has {count} parameters."
    )
    yield "Measure more points to learn the error and intervals."


def _accuracy(model: FittedModel) -> Iterator[str]:
    """Yield sentences about the errors of a model, and about its intervals."""
    shown = _shown(model["metric"])
    fitted = _errors(model["errors"], shown)
    held = model["held_out"]
    left_out = (
        "The error on held-out points is unknown, because the table has too few points."
        if held is None
        else f"The error on held-out points is {_errors(held, shown)}."
    )
    yield f"The error on the fitted points is {fitted}. {left_out}"
    if model["errors"]["smape"] <= EXACT:
        yield "All points lie exactly on the model, so the noise of measurements is unknown."
        return
    share = model["confidence"]
    below, above = (
        max(abs(q) * segment["noise"] for segment in model["segments"]) * model["widening"]
        for q in model["noise_quantiles"]
    )
    yield (
        f"{100 * share:g} % of single measurements are expected between {_percent(below)} below "
        f"and {_percent(above)} above the model."
    )


def _residuals(model: FittedModel) -> Iterator[str]:
    if model["residuals"] is not None:
        low, high = min(model["residuals"]["share"]), max(model["residuals"]["share"])
        yield (
            "Neighbouring points deviate from the functions in the same direction. The model adds "
            f"this deviation, {_signed(low)} to {_signed(high)}, to the functions."
        )


def _beyond(model: FittedModel, x: str, y: str) -> str:
    first, last = model["segments"][0], model["segments"][-1]
    low, high = model["range"][0]
    continued, constant = "the model continues the function", f"the model keeps {y} constant"
    ends = [
        f"where {x} is {side} {_n(end)}, {continued if segment['extrapolates'] else constant}"
        for side, end, segment in (("below", low, first), ("above", high, last))
    ]
    return f"Values beyond the measured range are guesses: {'; '.join(ends)}."


def _errors(errors: Errors, metrics: Sequence[str]) -> str:
    """Format errors by several metrics, such as `sMAPE 1.2 %, MAPE 2.4 %`."""
    return ", ".join(f"{_WORDS[metric]} {_error(errors, metric)}" for metric in metrics)


def _error(errors: Errors, metric: str) -> str:
    known = {"smape": errors["smape"], "mape": errors["mape"], "rmse": errors["rmse"]}
    value = known[metric]
    if value is None:
        return "-"
    return _n(value) if metric == "rmse" else _percent(value)


def _percent(share: float) -> str:
    if share <= EXACT:
        return "0 %"
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"  # noqa: PLR2004


def _signed(share: float) -> str:
    return f"{'-' if share < 0 else '+'}{_percent(abs(share))}"


def _n(value: float) -> str:
    """Format a number with four significant digits; whole numbers have all digits."""
    if value == int(value) and abs(value) < 1e12:  # noqa: PLR2004 - maximum number of readable digits
        return f"{int(value):,}"
    return f"{value:.{_DIGITS}g}"


_CSV = ("from", "to", "points", "template", "rank", "formula", "origin", "smape", "mape", "rmse")


def prediction_rows(
    model: FittedModel, values: Mapping[str, Sequence[float]], found: Prediction
) -> Iterator[Predicted]:
    """Yield the predictions as entries of the JSON document, one for each row of x values.

    `values` has the x columns by name, and `found` the predicted y.
    """
    known, columns = error_known(model), model["x"]
    for at, row in enumerate(zip(*(values[name] for name in columns), strict=True)):
        yield {
            "x": list(row),
            "y_pred": float(found.y[at]),
            "low": float(found.low[at]) if known else None,
            "high": float(found.high[at]) if known else None,
            "outside": bool(found.outside[at]),
        }


def _segments(model: FittedModel) -> Iterator[str]:
    """Yield the lines of a CSV report: one for each segment, with parameters and intervals."""
    most = max(len(segment["parameters"]) for segment in model["segments"])
    numbers = range(1, most + 1)
    names = [f"{part}{at}" for at in numbers for part in ("parameter", "low", "high")]
    yield csv_line([*_CSV, *names])
    certain = error_known(model)
    for segment in model["segments"]:
        known = [segment["from"], segment["to"], segment["points"], segment["template"]]
        error = segment["errors"]
        cells = [segment["rank"], segment["formula"], segment["origin"]]
        errors = [error["smape"], error["mape"], error["rmse"]] if certain else [None] * 3
        values = [
            v for one in segment["parameters"] for v in (one["value"], one["low"], one["high"])
        ]
        blank = [None] * (len(names) - len(values))
        yield csv_line([*known, *cells, *errors, *values, *blank])


_WIDTH, _HEIGHT = 7.0, 4.0  # inches
_PLACES = 400
_WIDE = 50.0
"""Ratio of the largest to the smallest value above which the axis is logarithmic."""


def draw(file: str, model: FittedModel, points: Points) -> None:
    """Plot a model and its points to a file.

    The format is SVG or PNG, by the ending of the file. The same data always gives the same file.

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
            if error_known(model):
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
