"""Predictions at points that were left out.

How far off they are is the honest error of a model, and tells how wide intervals have to be:
residuals of points that a model was fitted to are smaller than those of others, since functions and
segments were chosen by them.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from slowpath.models.documents import Errors, FittedModel
from slowpath.models.evaluation import Prediction, evaluate
from slowpath.models.metrics import METRICS, error
from slowpath.models.points import Points
from slowpath.models.templates.template import Floats

Derive: TypeAlias = Callable[[Points], FittedModel]
FOLDS = 5
"""Each point is left out in one of so many models."""
_SURE = 1.64
"""Standard errors that chance exceeds once in twenty times."""
_WORTH = 0.05
"""What makes errors smaller by less is not worth more segments."""
_WIDEST = 1e6
"""No interval is made wider than so many times: what has no width does not get one."""
_FEWEST = 10
"""Values of x without which nothing is held out."""


class HeldOut(NamedTuple):
    """What was measured at points that were left out, and what was expected there."""

    measured: Floats
    found: Prediction

    def errors(self) -> Errors:
        """How far the models are off."""
        return errors(self.measured, self.found.y)

    def clearly_better(self, other: "HeldOut") -> bool:
        """Whether the same points are nearer than to other models, and not by chance."""
        metric = METRICS["smape"]
        mine, others = (metric.each(one.measured, one.found.y) for one in (self, other))
        gain = others - mine
        chance = float(gain.std()) / math.sqrt(len(gain))
        return bool(gain.mean() > max(_SURE * chance, _WORTH * float(others.mean())))

    def widening(self, confidence: float) -> float:
        """So many times as wide, intervals have this share of the points.

        That is a split conformal interval (Papadopoulos et al. 2002) by cross-validation: how far
        each point is off, in units of its interval, of which the quantile is taken that a further
        one would not exceed.
        """
        apart = self.measured - self.found.y
        width = np.where(apart > 0, self.found.high - self.found.y, self.found.y - self.found.low)
        least = np.maximum(np.abs(apart) / _WIDEST, np.finfo(float).tiny)
        share = np.sort(np.abs(apart) / np.maximum(width, least))
        at = min(math.ceil(confidence * (len(share) + 1)), len(share)) - 1
        return float(share[at])


def errors(measured: Floats, fitted: Floats) -> Errors:
    """How far fitted values are from measured ones."""
    mape = error("mape", measured, fitted)
    return {
        "smape": error("smape", measured, fitted),
        "mape": mape if np.isfinite(mape) else None,
        "rmse": error("rmse", measured, fitted),
    }


class Fold(NamedTuple):
    """A model, and points that were left out when it was derived."""

    model: FittedModel
    x: Floats
    y: Floats

    def without_residuals(self) -> "Fold":
        """With its functions alone."""
        return self._replace(model=self.model | {"residuals": None})


def left_out(points: Points, derive: Derive) -> list[Fold] | None:
    """All points but the first and the last, a fifth at a time; None where there are too few."""
    column = points.x[:, 0]
    different = np.unique(column)
    row = np.unique(points.x, axis=0, return_inverse=True)[1].ravel()
    if len(different) < _FEWEST:
        return None
    # With several columns, a fold must not have all points of one value of the last.
    fold = (row if len(points.names) == 1 else row + row // FOLDS) % FOLDS
    inner = (column > different[0]) & (column < different[-1])
    outs = [out for number in range(FOLDS) if (out := inner & (fold == number)).any()]
    return [Fold(derive(points.rows(~out)), points.x[out], points.y[out]) for out in outs]


def judged(folds: Sequence[Fold]) -> HeldOut:
    """What the models say of the points that were left out."""
    found = [evaluate(fold.model, fold.x) for fold in folds]
    together = Prediction(*(np.concatenate(side) for side in zip(*found, strict=True)))
    return HeldOut(np.concatenate([fold.y for fold in folds]), together)


def held_out(points: Points, derive: Derive) -> HeldOut | None:
    """Both; None where there are too few points."""
    folds = left_out(points, derive)
    return None if folds is None else judged(folds)
