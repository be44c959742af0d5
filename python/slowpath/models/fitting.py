"""The way from points to a model as a document."""

import numpy as np
from numpy.typing import NDArray

from slowpath.models.derivation import Derived, derive
from slowpath.models.documents import Errors, FittedModel, Parameter, Segment
from slowpath.models.evaluation import evaluate
from slowpath.models.intervals import Spread, spread_of
from slowpath.models.metrics import error
from slowpath.models.options import Options
from slowpath.models.parts import Part
from slowpath.models.points import Points, check, ordered, series_of
from slowpath.models.templates.batch import Floats

_FOLDS = 5
_FEWEST_HELD_OUT = 10
"""Values of x without which nothing is held out."""


def fit(points: Points, options: Options | None = None) -> FittedModel:
    """The model of the points.

    Raises:
        PointsError: when there are too few.
    """
    chosen = options or Options()
    check(points)
    table = ordered(points)
    model = _model(table, chosen)
    if chosen.hold_out:
        model["held_out"] = _held_out(table, chosen)
    return model


def _model(points: Points, options: Options) -> FittedModel:
    series = series_of(points)
    derived = derive(series, options)
    spread = spread_of(derived.parts, derived.series, points, options)
    model = _document(points, options, derived, spread)
    x = points.x if len(points.names) > 1 else points.x[:, 0]
    found = evaluate(model, x).y
    model["errors"] = errors(points.y, found)
    for part, segment in zip(derived.parts, model["segments"], strict=True):
        mine = (series.row >= part.piece.begin) & (series.row < part.piece.end)
        segment["errors"] = errors(points.y[mine], found[mine])
    return model


def errors(measured: Floats, fitted: Floats) -> Errors:
    """How far fitted values are from measured ones."""
    mape = error("mape", measured, fitted)
    return {
        "smape": error("smape", measured, fitted),
        "mape": mape if np.isfinite(mape) else None,
        "rmse": error("rmse", measured, fitted),
    }


_UNKNOWN: Errors = {"smape": 0.0, "mape": None, "rmse": 0.0}


def _document(points: Points, options: Options, derived: Derived, spread: Spread) -> FittedModel:
    size = len(derived.series.x)
    ranks = sum(p.template.rank * (p.piece.end - p.piece.begin) for p in derived.parts)
    return {
        "x": list(points.names),
        "y": points.y_name,
        "points": len(points.y),
        "outliers": derived.outliers,
        "range": [(float(column.min()), float(column.max())) for column in points.x.T],
        "segments": [
            _segment(part, covariance, noise, spread.quantile)
            for part, covariance, noise in zip(
                derived.parts, spread.covariances, spread.noise, strict=True
            )
        ],
        "metric": options.metric,
        "select": options.select,
        "rank": ranks / size,
        "errors": _UNKNOWN,
        "held_out": None,
        "floor": derived.series.floor,
        "confidence": options.confidence,
        "quantile": spread.quantile,
        "noise_quantiles": spread.noise_quantiles,
    }


def _segment(part: Part, covariance: Floats, noise: float, quantile: float) -> Segment:
    certain = part.piece.end - part.piece.begin > part.template.rank
    widths = quantile * np.sqrt(np.maximum(np.diag(covariance), 0))
    parameters: list[Parameter] = [
        {
            "name": name,
            "value": float(value),
            "low": float(value - width) if certain else None,
            "high": float(value + width) if certain else None,
        }
        for name, value, width in zip(
            part.template.parameters, part.parameters, widths, strict=True
        )
    ]
    return {
        "from": part.first,
        "to": part.last,
        "points": part.piece.end - part.piece.begin,
        "template": part.template.name,
        "rank": part.template.rank,
        "formula": part.template.formula(),
        "origin": part.origin,
        "parameters": parameters,
        "covariance": [[float(one) for one in row] for row in covariance],
        "noise": noise,
        "at_least": None,
        "at_most": None,
        "extrapolates": part.template.simple,
        "errors": _UNKNOWN,
    }


def _held_out(points: Points, options: Options) -> Errors | None:
    """The error at points that were left out, a fifth at a time."""
    column = points.x[:, 0]
    different = np.unique(column)
    if len(different) < _FEWEST_HELD_OUT:
        return None
    fold = np.searchsorted(different, column) % _FOLDS
    inner = (column > different[0]) & (column < different[-1])
    measured, found = [], []
    for number in range(_FOLDS):
        out = inner & (fold == number)
        if not out.any():
            continue
        model = _model(_rows(points, ~out), options)
        rest = points.x[out] if len(points.names) > 1 else points.x[out, 0]
        measured.append(points.y[out])
        found.append(evaluate(model, rest).y)
    return errors(np.concatenate(measured), np.concatenate(found))


def _rows(points: Points, rows: NDArray[np.bool_]) -> Points:
    return points._replace(
        x=points.x[rows],
        y=points.y[rows],
        weight=None if points.weight is None else points.weight[rows],
        spread=None if points.spread is None else points.spread[rows],
    )
