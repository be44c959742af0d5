"""Computes predictions at held-out points, and intervals of parameters and predictions.

Errors at held-out points are an honest estimate of a model's error, and determine the width of
intervals. Residuals at fitted points are smaller, because these points determined functions and
segments.

A bootstrap of residuals yields the intervals of parameters. The residuals of all segments, each
divided by the spread of its segment, form a pool. For every point of a segment, a residual is drawn
from the pool, and the parameters are fitted again to first order. The bootstrap draws residuals,
not points, since the experimenter chooses x. A wild bootstrap would keep the residual of each
point; the few residuals of a short segment do not represent the noise.

Residuals do not show disturbances that move all points at once. If the joint deviations of points
are known from several observations, intervals of parameters are at least as wide as these imply.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from slowpath.core.arrays import Floats
from slowpath.models.costs import FINEST
from slowpath.models.documents import Errors, FittedModel
from slowpath.models.options import METRICS, Options, error
from slowpath.models.parts import FittedSegment, Prediction, at_points, evaluate
from slowpath.models.points import Points, Series, usual_in

Derive: TypeAlias = Callable[[Points], FittedModel]
FOLDS = 5
"""Number of folds of points; the points of each fold are held out from the derivation of one model.
"""
_SURE = 1.64
"""Number of standard errors that a difference exceeds by chance in only 1 of 20 cases."""
_WORTH = 0.05
"""Minimum relative reduction of errors that justifies more segments."""
_WIDEST = 1e6
"""Maximum factor by which an interval is widened; without it, an interval of width zero would have
no limit.
"""
_FEWEST = 10
"""Minimum number of different x values for holding out points."""


class HeldOut(NamedTuple):
    """Measured values at held-out points, and their predictions by models of the other points."""

    measured: Floats
    found: Prediction

    def errors(self) -> Errors:
        """Return the errors of the predictions at the held-out points, by each metric."""
        return errors(self.measured, self.found.y)

    def clearly_better(self, other: "HeldOut") -> bool:
        """Return true if the errors are smaller than those of `other` by more than chance explains.

        Both must have predictions for the same points.
        """
        metric = METRICS["smape"]
        own, others = (metric.each(one.measured, one.found.y) for one in (self, other))
        gain = others - own
        chance = float(gain.std()) / math.sqrt(len(gain))
        return bool(gain.mean() > max(_SURE * chance, _WORTH * float(others.mean())))

    def widening(self, confidence: float) -> float:
        """Return the factor by which intervals widen to contain a share `confidence` of points.

        This is a split conformal interval (Papadopoulos et al. 2002) by cross-validation. The
        factor is a quantile of the points' deviations, in units of their intervals; a further point
        would exceed it with probability 1 - `confidence`.
        """
        errors = self.measured - self.found.y
        width = np.where(errors > 0, self.found.high - self.found.y, self.found.y - self.found.low)
        least = np.maximum(np.abs(errors) / _WIDEST, np.finfo(float).tiny)
        share = np.sort(np.abs(errors) / np.maximum(width, least))
        at = min(math.ceil(confidence * (len(share) + 1)), len(share)) - 1
        return float(share[at])


def errors(measured: Floats, fitted: Floats) -> Errors:
    """Return the errors of fitted values, compared with measured ones, by all metrics."""
    mape = error("mape", measured, fitted)
    return {
        "smape": error("smape", measured, fitted),
        "mape": mape if np.isfinite(mape) else None,
        "rmse": error("rmse", measured, fitted),
    }


class Fold(NamedTuple):
    """A model, and the points that were held out from its derivation."""

    model: FittedModel
    x: Floats
    y: Floats

    def without_residuals(self) -> "Fold":
        """Return a copy whose model has no residuals (deviations from its functions)."""
        return self._replace(model=self.model | {"residuals": None})


def left_out(points: Points, derive: Derive) -> list[Fold] | None:
    """Derive several models, each from about four fifths of the points; return them as folds.

    `derive` derives a model from points. All models use the points with the first and the last x.
    The result is None if there are too few points.
    """
    column = points.x[:, 0]
    different = np.unique(column)
    row = np.unique(points.x, axis=0, return_inverse=True)[1].ravel()
    if len(different) < _FEWEST:
        return None
    # With several columns, a fold must not contain all points of a value of the last column.
    fold = (row if len(points.names) == 1 else row + row // FOLDS) % FOLDS
    inner = (column > different[0]) & (column < different[-1])
    outs = [out for number in range(FOLDS) if (out := inner & (fold == number)).any()]
    return [Fold(derive(points.rows(~out)), points.x[out], points.y[out]) for out in outs]


def judged(folds: Sequence[Fold]) -> HeldOut:
    """Predict y at the held-out points of all folds, by the model of each fold."""
    found = [evaluate(fold.model, fold.x) for fold in folds]
    together = Prediction(*(np.concatenate(side) for side in zip(*found, strict=True)))
    return HeldOut(np.concatenate([fold.y for fold in folds]), together)


def held_out(points: Points, derive: Derive) -> HeldOut | None:
    """Predict each point by a model of other points; return None if there are too few points.

    `derive` derives a model from points.
    """
    folds = left_out(points, derive)
    return None if folds is None else judged(folds)


_DRAWS = 1000
_PRIOR = 4.0
"""Weight of the whole curve's spread in the spread of a segment, as a number of points."""
_FAR = 5.0 * 1.4826
"""Multiple of the median deviation above which a point is an outlier, as in the module `points`."""
_LEVERAGE = 0.99
_SAME = 1e-10
"""Relative difference between the effects of two parameters below which they cannot be
distinguished.
"""


class Spread(NamedTuple):
    """Uncertainty of a model's parameters, and noise of measurements around the model."""

    covariances: list[Floats]  # covariance of the parameters of each part
    noise: list[float]  # relative noise of single measurements, by part
    noise_quantiles: tuple[float, float]  # of single measurements, in units of noise
    quantile: float  # half width of the interval of a parameter, in standard deviations


def _clipped(residuals: Sequence["_Residuals"]) -> list["_Residuals"]:
    """Reduce the residuals of outliers to the largest deviation that is not an outlier."""
    lengths = [len(one.of_points) for one in residuals]
    deviations = np.concatenate([one.of_points for one in residuals])
    limit = _FAR * usual_in(np.abs(deviations), lengths)
    clipped = np.where(limit > 0, np.clip(deviations, -limit, limit), deviations)
    parts = np.split(clipped, np.cumsum(lengths)[:-1])
    return [one._replace(of_points=part) for one, part in zip(residuals, parts, strict=True)]


class _Residuals(NamedTuple):
    """Residuals of a segment, both for its fitted points and for single measurements."""

    slopes: Floats  # derivatives of values by parameters, scaled like residuals; by fitted point
    of_series: Floats  # residuals of fitted points
    of_points: Floats  # residuals of measurements
    leverage: Floats  # 1/sqrt(1 - h) of the fitted point, by measurement


def spread_of(
    parts: Sequence[FittedSegment], series: Series, points: Points, options: Options
) -> Spread:
    """Return the uncertainty of a model's parameters, and the noise of single measurements.

    `series` are the points that the segments `parts` were fitted to, `points` the measurements.
    """
    residuals = _clipped([_residuals(part, series, points) for part in parts])
    ranks = [part.template.rank for part in parts]
    freedom_used = sum(ranks) + len(parts) - 1
    together = _deviation([r.of_series for r in residuals], freedom_used, 0.0, 0.0)
    single = _deviation([r.of_points for r in residuals], freedom_used, 0.0, 0.0)
    of_series, noise = [], []
    for found, rank in zip(residuals, ranks, strict=True):
        of_series.append(_deviation([found.of_series], rank, together, _PRIOR))
        noise.append(_deviation([found.of_points], rank, single, _PRIOR))
    pool = np.concatenate(
        [r.of_points * r.leverage / sd for r, sd in zip(residuals, noise, strict=True)]
    )
    freedom = max(len(series.x) - freedom_used, 1)
    draw = np.random.default_rng(options.seed)
    unit = pool - pool.mean()
    unit = unit / (float(np.sqrt(np.mean(unit**2))) or 1.0)
    covariances = []
    for part, found, deviation in zip(parts, residuals, of_series, strict=True):
        drawn = draw.choice(unit, (_DRAWS, len(found.of_series))) * deviation
        solution = _solution(found.slopes)
        changes = drawn @ solution.T
        covariance = changes.T @ changes / _DRAWS
        if points.shared is not None:
            observations = points.shared.shape[1]
            factor = student(options.confidence, max(observations - 1, 1))
            factor /= student(options.confidence, freedom)
            joint = solution @ _shared(part, series, points.shared) * factor
            covariance = _at_least_both(covariance, joint @ joint.T)
        covariances.append(covariance)
    return Spread(
        covariances,
        noise,
        _noise_quantiles(pool, options.confidence, freedom),
        student(options.confidence, freedom),
    )


def student(confidence: float, freedom: int) -> float:
    """Return the half width of a confidence interval of Student's distribution.

    It is in standard deviations; `freedom` is the number of degrees of freedom.
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + confidence) / 2))


def _noise_quantiles(pool: Floats, confidence: float, freedom: int) -> tuple[float, float]:
    """Return two quantiles of noise between which a share `confidence` of measurements lies.

    They are from the pool of residuals. If the pool is small, they are from Student's distribution
    with `freedom` degrees of freedom.
    """
    tail = (1 - confidence) / 2
    if len(pool) * tail < 1:
        return -student(confidence, freedom), student(confidence, freedom)
    low, high = np.quantile(pool, [tail, 1 - tail])
    return min(float(low), 0.0), max(float(high), 0.0)


def _shared(part: FittedSegment, series: Series, shared: Floats) -> Floats:
    """Return the deviations that a segment's measurements have in common, scaled like residuals.

    `shared` has the joint deviations of all measurements. The rows of the result are the segment's
    points.
    """
    rows = range(part.piece.begin, part.piece.end)
    moved = np.array([shared[series.row == row].mean(axis=0) for row in rows])
    return np.asarray(moved / series.scale[rows.start : rows.stop, None])


def _at_least_both(one: Floats, other: Floats) -> Floats:
    """Return a covariance matrix that is at least as large as two others in every direction.

    In coordinates in which the first is the identity, the result has the eigenvectors of the
    second, and the larger of its eigenvalues and one.
    """
    size = np.sqrt(np.diag(one) + np.diag(other))
    size = np.where(size > 0, size, 1.0)
    unit = one / np.outer(size, size) + _SAME * np.eye(len(one))
    root = np.linalg.cholesky(unit)
    back = np.linalg.inv(root)
    values, vectors = np.linalg.eigh(back @ (other / np.outer(size, size)) @ back.T)
    wide = root @ (vectors * np.sqrt(np.maximum(values, 1.0)))
    return np.asarray((wide @ wide.T) * np.outer(size, size))


def _solution(slopes: Floats) -> Floats:
    """Return the matrix that maps residuals to changes of the fitted parameters.

    `slopes` has the derivatives of the values by each parameter.
    """
    norms = np.abs(slopes).max(axis=0)
    norms = np.where(norms > 0, norms, 1.0)
    return np.asarray(np.linalg.pinv(slopes / norms, rcond=_SAME) / norms[:, None])


def _residuals(part: FittedSegment, series: Series, points: Points) -> _Residuals:
    inside = slice(part.piece.begin, part.piece.end)
    x, others = at_points(part, series)
    scale = series.scale[inside]
    values = part.value(x, others)
    slopes = part.slopes(x, others) / scale[:, None]
    share = np.clip((slopes * _solution(slopes).T).sum(axis=1), 0, _LEVERAGE)
    rows = (series.row >= part.piece.begin) & (series.row < part.piece.end)
    row = series.row[rows] - part.piece.begin
    of_points = (points.y[rows] - values[row]) / series.level[inside][row]
    count = np.bincount(row, minlength=len(x))
    leverage = 1 / np.sqrt(1 - share / np.maximum(count, 1))
    return _Residuals(slopes, (series.y[inside] - values) / scale, of_points, leverage[row])


def _deviation(residuals: Sequence[Floats], rank: int, usual: float, prior: float) -> float:
    """Return the standard deviation of residuals around a function with `rank` fitted parameters.

    `prior` additional residuals of the size `usual` are included.
    """
    values = np.concatenate(residuals)
    freedom = max(len(values) - rank, 0) + prior or 1.0
    found = (float((values**2).sum()) + prior * usual**2) / freedom
    return max(float(np.sqrt(found)), FINEST)
