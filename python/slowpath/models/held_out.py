"""Predictions at held-out points.

Their errors are an honest estimate of a model's error, and determine the width of intervals.
Residuals at fitted points are smaller, because these points determined functions and segments.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from slowpath.models.documents import Errors, FittedModel
from slowpath.models.evaluation import Prediction, evaluate
from slowpath.models.metrics import METRICS, error
from slowpath.models.points import Points
from slowpath.models.template import Floats

Derive: TypeAlias = Callable[[Points], FittedModel]
FOLDS = 5
"""Number of folds: each point is held out from one of as many models."""
_SURE = 1.64
"""Standard errors that chance exceeds with a probability of 1 in 20."""
_WORTH = 0.05
"""Least relative reduction of errors that justifies more segments."""
_WIDEST = 1e6
"""Maximum factor that widens an interval; it is finite even for intervals without width."""
_FEWEST = 10
"""Minimum number of x values to hold points out."""


class HeldOut(NamedTuple):
    """Measured and predicted values at held-out points."""

    measured: Floats
    found: Prediction

    def errors(self) -> Errors:
        """Return the errors of the predictions."""
        return errors(self.measured, self.found.y)

    def clearly_better(self, other: "HeldOut") -> bool:
        """Return true if errors at the same points are smaller than `other`'s, not by chance."""
        metric = METRICS["smape"]
        mine, others = (metric.each(one.measured, one.found.y) for one in (self, other))
        gain = others - mine
        chance = float(gain.std()) / math.sqrt(len(gain))
        return bool(gain.mean() > max(_SURE * chance, _WORTH * float(others.mean())))

    def widening(self, confidence: float) -> float:
        """Return the factor that widens intervals such that they contain this share of the points.

        This is a split conformal interval (Papadopoulos et al. 2002) by cross-validation. The
        factor is a quantile of the points' deviations, in units of their intervals; a further point
        would exceed it with probability 1 - `confidence`.
        """
        apart = self.measured - self.found.y
        width = np.where(apart > 0, self.found.high - self.found.y, self.found.y - self.found.low)
        least = np.maximum(np.abs(apart) / _WIDEST, np.finfo(float).tiny)
        share = np.sort(np.abs(apart) / np.maximum(width, least))
        at = min(math.ceil(confidence * (len(share) + 1)), len(share)) - 1
        return float(share[at])


def errors(measured: Floats, fitted: Floats) -> Errors:
    """Return the errors of fitted values."""
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
        """Return the fold with the functions of its model alone."""
        return self._replace(model=self.model | {"residuals": None})


def left_out(points: Points, derive: Derive) -> list[Fold] | None:
    """Hold out all points except the first and the last x, a fifth at a time, and derive models.

    Return None if there are too few points.
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
    """Predict the held-out points of all folds."""
    found = [evaluate(fold.model, fold.x) for fold in folds]
    together = Prediction(*(np.concatenate(side) for side in zip(*found, strict=True)))
    return HeldOut(np.concatenate([fold.y for fold in folds]), together)


def held_out(points: Points, derive: Derive) -> HeldOut | None:
    """Derive models on folds and predict the held-out points; None if there are too few points."""
    folds = left_out(points, derive)
    return None if folds is None else judged(folds)
