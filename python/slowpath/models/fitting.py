"""Derives a complete model from measured points: segments, functions, errors and intervals."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats
from slowpath.models.derivation import Derived, derive
from slowpath.models.documents import Errors, FittedModel, Parameter, Residuals, Segment
from slowpath.models.intervals import (
    FOLDS,
    HeldOut,
    Spread,
    errors,
    held_out,
    judged,
    left_out,
    spread_of,
)
from slowpath.models.options import Options
from slowpath.models.parts import FittedSegment, evaluate
from slowpath.models.points import (
    Points,
    PointsError,
    Series,
    check,
    noise_is_known,
    noise_of,
    ordered,
    series_of,
)
from slowpath.models.polynomial import Terms
from slowpath.models.residuals import shares

_NEAR_BEST = 1.1
"""Errors up to this multiple of the smallest error count as about as small."""


ProgressCallback = Callable[[int, int], None]
"""Function that is called between steps of a fit, with the number of the model being derived, and
the total number of models.
"""


class _Steps:
    """Counter of the models that are derived during a fit, for reports of progress."""

    def __init__(self, watch: ProgressCallback | None, options: Options) -> None:
        self._watch = watch
        self._done = 0
        each = FOLDS if options.hold_out else 0
        self._most = 2 * (each + 1)
        if options.select == "held-out" and options.segments is None:
            self._most += options.most_segments * each

    def begin(self) -> None:
        """Count a model whose derivation begins now."""
        self._done += 1

    def report(self) -> None:
        """Report the progress to the callback, if any."""
        if self._watch is not None:
            self._watch(self._done, self._most)


def fit(
    points: Points, options: Options | None = None, watch: ProgressCallback | None = None
) -> FittedModel:
    """Derive a model from measured points.

    `watch` is called with the progress.

    Raises:
        PointsError: when there are too few points, or options do not suit them.
    """
    chosen = options or Options()
    check(points)
    if chosen.monotone is not None and len(points.names) > 1:
        raise PointsError("--monotone needs a model of one x column")
    if chosen.least_parameter and len(points.names) > 1:
        raise PointsError("--least-parameter needs a model of one x column")
    table = ordered(points)
    steps = _Steps(watch, chosen)
    if chosen.select == "held-out" and chosen.segments is None:
        chosen = chosen._replace(segments=_segments_by_held_out(table, chosen, steps))
    model, others = _judged(_model(table, chosen, steps), table, chosen, steps)
    if others is not None and _may_be_detailed(chosen, table):
        more_segments = chosen._replace(detailed=True)
        detailed = _model(table, more_segments, steps)
        if _shape(detailed) != _shape(model):
            detailed, predictions = _judged(detailed, table, more_segments, steps)
            if predictions is not None and _is_preferred(predictions, others, model):
                model, others = detailed, predictions
    if others is not None:
        model["held_out"] = others.errors()
        model["widening"] = others.widening(chosen.confidence)
    return model


def _is_preferred(detailed: HeldOut, plain: HeldOut, model: FittedModel) -> bool:
    """Return true if the model with more segments (`detailed`) should be used, by held-out points.

    Normally, it must predict the held-out points clearly better than `plain`. If neighbouring
    points have deviations in common, the criterion mistakes these for noise and selects too few
    segments. It is then enough if the detailed model's predictions are not clearly worse.
    """
    if model["residuals"] is not None:
        return not plain.clearly_better(detailed)
    return detailed.clearly_better(plain)


def _judged(
    model: FittedModel, points: Points, options: Options, steps: _Steps
) -> tuple[FittedModel, HeldOut | None]:
    """Return the model, and predictions at held-out points (None if there are too few points).

    The model keeps its residuals (deviations that neighbouring points share) if the noise is known,
    or if they clearly improve the predictions.
    """
    derive_again = partial(_model, options=options, steps=steps)
    folds = left_out(points, derive_again) if options.hold_out else None
    others = None if folds is None else judged(folds)
    if noise_is_known(points):
        return model, others
    plain = None if folds is None else judged([fold.without_residuals() for fold in folds])
    if model["residuals"] is None:
        return model, plain
    if others is not None and plain is not None and others.clearly_better(plain):
        return model, others
    return _with_errors(model | {"residuals": None}, points), plain


def _may_be_detailed(options: Options, points: Points) -> bool:
    by_rule = options.select == "criterion" and options.segments is None and not options.detailed
    return by_rule and len(points.names) == 1


def _shape(model: FittedModel) -> list[tuple[str, float]]:
    return [(one["template"], one["to"]) for one in model["segments"]]


def _model(points: Points, options: Options, steps: _Steps) -> FittedModel:
    series = series_of(points)
    steps.begin()
    derived = derive(series, options, steps.report)
    spread = spread_of(derived.parts, derived.series, points, options)
    model = _document(points, options, derived, spread)
    found = evaluate(model, points.x).y
    for part, segment in zip(derived.parts, model["segments"], strict=True):
        rows = (series.row >= part.piece.begin) & (series.row < part.piece.end)
        segment["errors"] = errors(points.y[rows], found[rows])
    if _may_have_residuals(options, points):
        model["residuals"] = _residuals(model, derived.series, points)
    return _with_errors(model, points)


def _may_have_residuals(options: Options, points: Points) -> bool:
    """Return true if a model may store residuals: deviations that neighbouring points share.

    This holds if no option restricts its shape or its segments.
    """
    free = options.monotone is None and options.segments is None
    return free and options.select == "criterion" and len(points.names) == 1


def _residuals(model: FittedModel, series: Series, points: Points) -> Residuals | None:
    found = shares(series.y, evaluate(model, series.x).y, noise_of(series, points))
    return None if found is None else {"x": series.x.tolist(), "share": found.tolist()}


def _with_errors(model: FittedModel, points: Points) -> FittedModel:
    model["errors"] = errors(points.y, evaluate(model, points.x).y)
    return model


class Limits(NamedTuple):
    """Smallest and largest value that a segment of a model may have; None without a limit."""

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
        "residuals": None,
        "metric": options.metric,
        "select": options.select,
        "least_parameter": options.least_parameter,
        "rank": ranks / size,
        "errors": _UNKNOWN,
        "held_out": None,
        "floor": derived.series.floor,
        "confidence": options.confidence,
        "quantile": spread.quantile,
        "widening": 1.0,
        "noise_quantiles": spread.noise_quantiles,
    }


def _limits(parts: Sequence[FittedSegment], options: Options) -> list[Limits]:
    """Return limits on the values of each segment that keep a monotone model monotone."""
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
    part: FittedSegment, covariance: Floats, noise: float, quantile: float, limits: Limits
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


def _segments_by_held_out(points: Points, options: Options, steps: _Steps) -> int | None:
    """Return the number of segments with which held-out points are predicted best.

    A smaller number is preferred if its error is nearly as small. The result is None if there are
    too few points.
    """
    found: list[float] = []
    for number in range(1, options.most_segments + 1):
        fixed = options._replace(segments=number)
        others = held_out(points, partial(_model, options=fixed, steps=steps))
        if others is None:
            return None
        one = others.errors()
        known = {"smape": one["smape"], "mape": one["mape"], "rmse": one["rmse"]}
        chosen = known[options.metric]
        found.append(one["smape"] if chosen is None else chosen)
    limit = _NEAR_BEST * min(found)
    return next(number for number, one in enumerate(found, 1) if one <= limit)
