"""The way from points to a model as a document."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.models.derivation import Derived, derive
from slowpath.models.documents import Errors, FittedModel, Parameter, Segment
from slowpath.models.evaluation import evaluate
from slowpath.models.intervals import Spread, spread_of
from slowpath.models.metrics import error
from slowpath.models.options import Options
from slowpath.models.parts import Part
from slowpath.models.points import Points, PointsError, check, ordered, series_of
from slowpath.models.templates.batch import Floats
from slowpath.models.templates.terms import Terms

_FOLDS = 5
_AS_WELL = 1.1
"""An error so many times the least is nearly as small."""
_FEWEST_HELD_OUT = 10
"""Values of x without which nothing is held out."""


def fit(points: Points, options: Options | None = None) -> FittedModel:
    """The model of the points.

    Raises:
        PointsError: when there are too few.
    """
    chosen = options or Options()
    check(points)
    if chosen.monotone is not None and len(points.names) > 1:
        raise PointsError("a model of several x columns cannot be asked to rise or fall")
    if chosen.least_parameter and len(points.names) > 1:
        raise PointsError("parameters of a model of several x columns cannot have a least size")
    table = ordered(points)
    if chosen.select == "held-out" and chosen.segments is None:
        chosen = chosen._replace(segments=_segments_by_held_out(table, chosen))
    model = _model(table, chosen)
    if chosen.hold_out:
        model["held_out"] = _held_out(table, chosen)
    return model


def _model(points: Points, options: Options) -> FittedModel:
    series = series_of(points)
    derived = derive(series, options)
    spread = spread_of(derived.parts, derived.series, points, options)
    model = _document(points, options, derived, spread)
    found = evaluate(model, points.x).y
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


class Limits(NamedTuple):
    """Between which values a segment stays."""

    least: float | None
    most: float | None


_UNKNOWN: Errors = {"smape": 0.0, "mape": None, "rmse": 0.0}


def _document(points: Points, options: Options, derived: Derived, spread: Spread) -> FittedModel:
    limits = _limits(derived.parts, options)
    size = len(derived.series.x)
    ranks = sum(p.template.rank * (p.piece.end - p.piece.begin) for p in derived.parts)
    return {
        "x": list(points.names),
        "y": points.y_name,
        "points": len(points.y),
        "outliers": derived.outliers,
        "range": [(float(column.min()), float(column.max())) for column in points.x.T],
        "segments": [
            _segment(part, covariance, noise, spread.quantile, limit)
            for part, covariance, noise, limit in zip(
                derived.parts, spread.covariances, spread.noise, limits, strict=True
            )
        ],
        "metric": options.metric,
        "select": options.select,
        "least_parameter": options.least_parameter,
        "rank": ranks / size,
        "errors": _UNKNOWN,
        "held_out": None,
        "floor": derived.series.floor,
        "confidence": options.confidence,
        "quantile": spread.quantile,
        "noise_quantiles": spread.noise_quantiles,
    }


def _limits(parts: Sequence[Part], options: Options) -> list[Limits]:
    """Between which values each segment stays: none steps back behind the ones before."""
    found: list[Limits] = []
    least = 0.0 if options.non_negative else -math.inf
    most = math.inf
    for part in parts:
        found.append(Limits(_known(least), _known(most)))
        if options.monotone is None:
            continue
        end = float(part.value(np.array([part.last]))[0])
        if options.monotone == "increasing":
            least = max(least, end)
        else:
            most = max(min(most, end), least)
    return found


def _known(limit: float) -> float | None:
    return limit if math.isfinite(limit) else None


def _segment(
    part: Part, covariance: Floats, noise: float, quantile: float, limits: Limits
) -> Segment:
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
        "terms": [list(term) for term in part.template.terms]
        if isinstance(part.template, Terms)
        else None,
        "parameters": parameters,
        "covariance": [[float(one) for one in row] for row in covariance],
        "noise": noise,
        "at_least": limits.least,
        "at_most": limits.most,
        "extrapolates": part.template.simple,
        "errors": _UNKNOWN,
    }


def _segments_by_held_out(points: Points, options: Options) -> int | None:
    """The number of segments that predicts points best that were left out; None: too few points.

    A smaller one is taken where it does so nearly as well.
    """
    found: list[float] = []
    for number in range(1, options.most_segments + 1):
        one = _held_out(points, options._replace(segments=number))
        if one is None:
            return None
        known = {"smape": one["smape"], "mape": one["mape"], "rmse": one["rmse"]}
        told = known[options.metric]
        found.append(one["smape"] if told is None else told)
    limit = _AS_WELL * min(found)
    return next(number for number, one in enumerate(found, 1) if one <= limit)


def _held_out(points: Points, options: Options) -> Errors | None:
    """The error at points that were left out, a fifth at a time."""
    column = points.x[:, 0]
    different = np.unique(column)
    row = np.unique(points.x, axis=0, return_inverse=True)[1].ravel()
    if len(different) < _FEWEST_HELD_OUT:
        return None
    # With several columns, a fold must not have all points of one value of the last.
    fold = (row if len(points.names) == 1 else row + row // _FOLDS) % _FOLDS
    inner = (column > different[0]) & (column < different[-1])
    measured, found = [], []
    for number in range(_FOLDS):
        out = inner & (fold == number)
        if not out.any():
            continue
        model = _model(_rows(points, ~out), options)
        measured.append(points.y[out])
        found.append(evaluate(model, points.x[out]).y)
    return errors(np.concatenate(measured), np.concatenate(found))


def _rows(points: Points, rows: NDArray[np.bool_]) -> Points:
    return points._replace(
        x=points.x[rows],
        y=points.y[rows],
        weight=None if points.weight is None else points.weight[rows],
        spread=None if points.spread is None else points.spread[rows],
    )
