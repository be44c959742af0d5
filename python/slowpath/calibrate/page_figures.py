"""Draws costs and residuals of experiments for the HTML report of a calibration."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from slowpath.calibrate.experiments.components import COMPONENTS, SIZE
from slowpath.calibrate.experiments.documents import ModelDocument, Point
from slowpath.calibrate.experiments.folder import points_csv
from slowpath.core.html import Content, Html, download, element
from slowpath.core.html.chart import Chart, Curve, Points, draw, scale_of, spark
from slowpath.core.printable import csv_line
from slowpath.models.documents import FittedModel
from slowpath.models.parts import Prediction, bends, evaluate

_PLACES = 60
"""Number of straight lines by which the curve of a segment is drawn."""


class Piece(NamedTuple):
    """Points of the model's curve in one segment, with an interval for single measurements."""

    x: list[float]
    y: list[float]
    low: list[float]
    high: list[float]


class Residual(NamedTuple):
    """Deviation of a measured point from the model, as a share of the model's value."""

    point: Point
    model: float  # value of the model
    low: float  # lower end of the interval in which single measurements are expected
    high: float  # upper end of that interval
    share: float  # deviation, as a share of the model
    share_low: float | None  # deviation of the lower end of the point's interval
    share_high: float | None  # deviation of the upper end of the point's interval


def pieces(model: FittedModel) -> list[Piece]:
    """Compute points of the model's curve in each of its segments.

    A segment extends from its first to its last measured point.
    """
    return [_piece(model, one["from"], one["to"]) for one in model["segments"]]


def _piece(model: FittedModel, low: float, high: float) -> Piece:
    scale = scale_of(model["range"][0])
    even = [low] if low == high else _places(low, high, logarithmic=scale.logarithmic)
    x = sorted({*even, *bends(model, low, high)})
    found = evaluate(model, x)
    return Piece(x, *(list(map(float, one)) for one in (found.y, found.low, found.high)))


def _places(low: float, high: float, *, logarithmic: bool) -> Iterator[float]:
    for step in range(_PLACES + 1):
        share = step / _PLACES
        between = low * (high / low) ** share if logarithmic else low + (high - low) * share
        yield min(max(between, low), high)


def residuals(result: ModelDocument) -> list[Residual]:
    """Return the relative deviation of each measured point from the model."""
    model, points = result["model"], result["points"]
    if model is None or not points:
        return []
    found = evaluate(model, [float(one["value"]) for one in points])
    known = (_residual(one, found, at, model["floor"]) for at, one in enumerate(points))
    return [one for one in known if one is not None]


def _residual(point: Point, found: Prediction, at: int, floor: float) -> Residual | None:
    model, low, high = (float(one[at]) for one in (found.y, found.low, found.high))
    size = max(abs(model), floor)
    if size == 0 or not math.isfinite(size):
        return None

    def share(value: float | None) -> float | None:
        return None if value is None else (value - model) / size

    ends = share(point["low"]), share(point["high"])
    return Residual(point, model, low, high, (point["cost"] - model) / size, *ends)


def band(found: Sequence[Residual], floor: float) -> tuple[list[float], list[float]]:
    """Return the lower and upper ends of the intervals in which single measurements are expected.

    `found` has the residuals. The ends are deviations from the model, as shares of the model's
    absolute value, or of `floor` if this is larger.
    """
    sizes = [max(abs(one.model), floor) for one in found]
    low = [(one.low - one.model) / size for one, size in zip(found, sizes, strict=True)]
    high = [(one.high - one.model) / size for one, size in zip(found, sizes, strict=True)]
    return low, high


def residuals_csv(parameter: str, found: Sequence[Residual]) -> str:
    """Format residuals as CSV; `parameter` is the name of the swept parameter."""
    head = (parameter, "cost", "model", "low", "high", "residual")
    rows = (
        (one.point["value"], one.point["cost"], one.model, one.low, one.high, one.share)
        for one in found
    )
    return "\n".join([csv_line(head), *map(csv_line, rows), ""])


def model_csv(parameter: str, metric: str, found: Sequence[Piece]) -> str:
    """Format the curves of a model's segments as CSV."""
    head = (parameter, metric, "low", "high", "segment")
    rows = (
        (*values, number)
        for number, piece in enumerate(found, 1)
        for values in zip(piece.x, piece.y, piece.low, piece.high, strict=True)
    )
    return "\n".join([csv_line(head), *map(csv_line, rows), ""])


_PERCENT = 100
_REACH = 1.0
"""Minimum extent of the axis of residuals in percent, so that negligible residuals look small."""
_UNITS = {"ns": "nanoseconds", "cycles": "cycles", "instructions": "instructions"}


def figures(name: str, result: ModelDocument) -> Html:
    """Return the figures of costs and of residuals for the experiment `name`.

    They are side by side if the page is wide enough.
    """
    both = [_costs(name, result)]
    if result["model"] is not None:
        both.append(_distances(name, result, result["model"]))
    return element("div", *both, class_="figures")


def small(result: ModelDocument) -> Html | None:
    """Draw points and model as a small chart without axes (sparkline).

    None if there are no points.
    """
    if not result["points"]:
        return None
    return spark(_curves(result["model"]), _points(result))


def axis_name(kind: str, parameter: str) -> str:
    """Return the label of an axis: parameter and unit, such as `key (bytes of a key)`.

    `kind` is the kind of component that has the parameter.
    """
    if parameter == SIZE:
        return f"{parameter} (bytes of a packet)"
    component = COMPONENTS.get(kind)
    swept = None if component is None else component.parameters.get(parameter)
    return parameter if swept is None else f"{parameter} ({swept.description})"


def _costs(name: str, result: ModelDocument) -> Html:
    parameter, metric, model = result["parameter"], result["metric"], result["model"]
    unit = _UNITS[metric]
    words = f"{unit} per packet by {parameter}"
    axis, cost_axis = axis_name(result["kind"], parameter), f"{unit} per packet"
    chart = Chart(axis, cost_axis, _points(result), _curves(model), _changes(model), words)
    links = [download(points_csv(result["points"], parameter), f"{name}.csv", "points")]
    if model is not None:
        text = model_csv(parameter, metric, pieces(model))
        links.append(download(text, f"{name}.model.csv", "model"))
    what = "Cost per packet beyond the baseline"
    if not result["exact"]:
        what += ", with 95 % intervals"
    return _figure(chart, what, *links)


def _distances(name: str, result: ModelDocument, model: FittedModel) -> Html:
    found, parameter = residuals(result), result["parameter"]
    x = [float(one.point["value"]) for one in found]
    y = [_PERCENT * one.share for one in found]
    low = [None if one.share_low is None else _PERCENT * one.share_low for one in found]
    high = [None if one.share_high is None else _PERCENT * one.share_high for one in found]
    says = [
        f"{parameter} = {at:,g}: {off:+.2g} % off {one.model:.4g}"
        for at, off, one in zip(x, y, found, strict=True)
    ]
    below, above = ([_PERCENT * one for one in ends] for ends in band(found, model["floor"]))
    zero = Curve(x, [0.0] * len(x), below, above, 0)
    points = Points(x, y, low, high, says)
    words = f"distance of measured costs from the model, by {parameter}"
    unit = "% distance from the model"
    axis = axis_name(result["kind"], parameter)
    chart = Chart(axis, unit, points, [zero], _changes(model), words, reach=_REACH)
    link = download(residuals_csv(parameter, found), f"{name}.residuals.csv", "residuals")
    expected = f"{_PERCENT * model['confidence']:g} % of single measurements in the band"
    return _figure(chart, f"Relative distance of points from the model; expected: {expected}", link)


def _figure(chart: Chart, what: str, *links: Html) -> Html:
    data: list[Content] = [" · CSV: "]
    for link in links:
        data += [link, ", "]
    return element("figure", element("figcaption", what, *data[:-1]), draw(chart))


def _points(result: ModelDocument) -> Points:
    points = result["points"]
    return Points(
        [float(one["value"]) for one in points],
        [one["cost"] for one in points],
        [one["low"] for one in points],
        [one["high"] for one in points],
        [_says(one, result) for one in points],
    )


def _says(point: Point, result: ModelDocument) -> str:
    low, high = point["low"], point["high"]
    known = f"{result['parameter']} = {point['value']:,}: {point['cost']:,.4g} {result['metric']}"
    if result["exact"] or low is None or high is None:
        return known
    return f"{known} ({low:,.4g} to {high:,.4g}; {point['observations']} observations)"


def _curves(model: FittedModel | None) -> list[Curve]:
    if model is None:
        return []
    return [Curve(*piece, number) for number, piece in enumerate(pieces(model))]


def _changes(model: FittedModel | None) -> list[float]:
    """Return the values of the parameter at which two segments of the model meet.

    Each is the geometric mean of the closest measured points of both segments.
    """
    if model is None:
        return []
    return [(left["to"] * right["from"]) ** 0.5 for left, right in pairwise(model["segments"])]
