"""The figures of an experiment: costs with the model, and how far they are from it."""

from itertools import pairwise

from slowpath.commands.calibrate.page.curves import (
    band,
    model_csv,
    pieces,
    residuals,
    residuals_csv,
)
from slowpath.experiments.results.documents import ModelDocument, Point
from slowpath.experiments.results.samples import points_csv
from slowpath.html.chart import Chart, Curve, Points, draw, spark
from slowpath.html.elements import Content, Html, element
from slowpath.html.page import download
from slowpath.models.documents import FittedModel

_PERCENT = 100
_REACH = 1.0
"""Percent that are always on the axis, so that what is no difference looks like none."""
_UNITS = {"ns": "nanoseconds", "cycles": "cycles", "instructions": "instructions"}


def figures(name: str, result: ModelDocument) -> Html:
    """Both, side by side where there is room."""
    both = [_costs(name, result)]
    if result["model"] is not None:
        both.append(_distances(name, result, result["model"]))
    return element("div", *both, class_="figures")


def small(result: ModelDocument) -> Html | None:
    """The curve as small as a word."""
    if not result["points"]:
        return None
    return spark(_curves(result["model"]), _points(result))


def _costs(name: str, result: ModelDocument) -> Html:
    parameter, metric, model = result["parameter"], result["metric"], result["model"]
    unit = _UNITS[metric]
    words = f"{unit} of a packet by {parameter}"
    chart = Chart(parameter, unit, _points(result), _curves(model), _changes(model), words)
    links = [download(points_csv(result["points"], parameter), f"{name}.csv", "points")]
    if model is not None:
        text = model_csv(parameter, metric, pieces(model))
        links.append(download(text, f"{name}.model.csv", "model"))
    what = "What it costs a packet, beyond the baseline"
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
    words = f"how far measured costs are from the model, by {parameter}"
    unit = "% off the model"
    chart = Chart(parameter, unit, points, [zero], _changes(model), words, reach=_REACH)
    link = download(residuals_csv(parameter, found), f"{name}.residuals.csv", "residuals")
    expected = f"{_PERCENT * model['confidence']:g} % of single measurements in the band"
    return _figure(chart, f"How far that is from the model; expected: {expected}", link)


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
    """Where one function ends and the next begins: somewhere between two points."""
    if model is None:
        return []
    return [(left["to"] * right["from"]) ** 0.5 for left, right in pairwise(model["segments"])]
