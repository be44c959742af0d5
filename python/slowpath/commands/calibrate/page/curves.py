"""A model next to its points, as numbers: what figures draw and tables have."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slowpath.cli.printable import csv_line
from slowpath.experiments.results.documents import ModelDocument, Point
from slowpath.html.scale import scale_of
from slowpath.models.documents import FittedModel
from slowpath.models.evaluation import Prediction, bends, evaluate

_PLACES = 60
"""So many places of each segment make a smooth curve."""


class Piece(NamedTuple):
    """A segment of a model, evaluated."""

    x: list[float]
    y: list[float]
    low: list[float]
    high: list[float]


class Residual(NamedTuple):
    """How far a point is from the model, as a share of the model."""

    point: Point
    model: float
    low: float  # of the interval in which single measurements are expected
    high: float
    share: float
    share_low: float | None  # of the interval of the point
    share_high: float | None


def pieces(model: FittedModel) -> list[Piece]:
    """The segments, each from its first point to its last."""
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
    """Of each point, how far it is from the model."""
    model, points = result["model"], result["points"]
    if model is None or not points:
        return []
    found = evaluate(model, [float(one["value"]) for one in points])
    known = (_residual(one, found, at, model["floor"]) for at, one in enumerate(points))
    return [one for one in known if one is not None]


def _residual(point: Point, found: Prediction, at: int, floor: float) -> Residual | None:
    said, low, high = (float(one[at]) for one in (found.y, found.low, found.high))
    size = max(abs(said), floor)
    if size == 0 or not math.isfinite(size):
        return None

    def share(value: float | None) -> float | None:
        return None if value is None else (value - said) / size

    ends = share(point["low"]), share(point["high"])
    return Residual(point, said, low, high, (point["cost"] - said) / size, *ends)


def band(found: Sequence[Residual], floor: float) -> tuple[list[float], list[float]]:
    """The interval in which single measurements are expected, as shares of the model."""
    sizes = [max(abs(one.model), floor) for one in found]
    low = [(one.low - one.model) / size for one, size in zip(found, sizes, strict=True)]
    high = [(one.high - one.model) / size for one, size in zip(found, sizes, strict=True)]
    return low, high


def residuals_csv(parameter: str, found: Sequence[Residual]) -> str:
    """The residuals as a table."""
    head = (parameter, "cost", "model", "low", "high", "residual")
    rows = (
        (one.point["value"], one.point["cost"], one.model, one.low, one.high, one.share)
        for one in found
    )
    return "\n".join([csv_line(head), *map(csv_line, rows), ""])


def model_csv(parameter: str, metric: str, found: Sequence[Piece]) -> str:
    """The curve of the model as a table."""
    head = (parameter, metric, "low", "high", "segment")
    rows = (
        (*values, number)
        for number, piece in enumerate(found, 1)
        for values in zip(piece.x, piece.y, piece.low, piece.high, strict=True)
    )
    return "\n".join([csv_line(head), *map(csv_line, rows), ""])
