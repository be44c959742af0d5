"""Computes prediction intervals (CV+), and detects rows outside the range of the training rows.

Source: Barber, Candes, Ramdas and Tibshirani, "Predictive inference with the jackknife+" (Annals of
Statistics 2021), section 3. With models of K folds and residuals of held-out rows, the ends are
quantiles of `prediction of the row's fold + residual`. Residuals are differences of logarithms, so
intervals are proportional to the prediction. Rows with equal contention are in one fold.

If a recipe (kind of model) predicts standard deviations, each residual is divided by that of its
row, and each interval is multiplied by that of the predicted row (Lei, G'Sell, Rinaldo, Tibshirani
and Wasserman, "Distribution-free predictive inference for regression", JASA 2018, section 5.2).
Otherwise, the small residuals of solo rows would make the intervals of rows with competitors too
narrow.

A row is outside the training range if a column is below its smallest or above its largest training
value. A row with all columns in range is also outside if it is too far from its nearest training
row. The limit is the largest such distance between training rows.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.memory.features import Columns, columns_of, logarithm
from slowpath.contention.memory.recipes import Kernels, MemoryStage
from slowpath.contention.memory.selection import FOLDS, Trainings, training_folds
from slowpath.core.arrays import Floats, Indices, Mask


class Conformal(NamedTuple):
    """A memory model and the models of all folds, from whose residuals intervals are computed."""

    stage: MemoryStage  # trained on all rows
    stages: tuple[MemoryStage, ...]  # for each fold, trained on the rows of the other folds
    fold: Indices  # index of the fold of each training row
    residuals: Floats  # |log measured - log predicted| when held out, divided by the row's spread

    def interval(self, columns: Columns, confidence: float) -> tuple[Floats, Floats]:
        """Return the lower and the upper ends of prediction intervals, as logarithms, by row.

        `confidence` is the probability that an interval contains the measured throughput.
        """
        by_fold = np.array([stage.log_throughput(columns) for stage in self.stages])
        predicted = by_fold[self.fold]
        margins = np.outer(self.residuals, self.stage.spread(columns))
        return -_upper(margins - predicted, confidence), _upper(predicted + margins, confidence)


def conformal(
    stage: MemoryStage,
    trainings: Trainings,
    known: Sequence[Kernels] | None = None,
    count: int = FOLDS,
) -> Conformal:
    """Train a memory model for each fold, and compute its residuals on the held-out rows.

    Args:
        stage: memory model trained on all rows.
        trainings: cache of trainings on these rows.
        known: kernel parameters of each fold's model from an earlier training.
        count: number of folds.

    Raises:
        ValueError: if `known` does not fit the recipe or the folds.
    """
    rows = trainings.rows
    folds = training_folds(rows, count)
    stages = trainings.stages(stage.recipe, folds, known)
    fold = np.zeros(len(rows.throughput), dtype=np.intp)
    residuals = np.zeros(len(rows.throughput))
    for number, (held_out, one) in enumerate(zip(folds, stages, strict=True)):
        fold[held_out] = number
        columns = columns_of(rows.columns, held_out)
        errors = np.abs(one.log_throughput(columns) - np.log(rows.throughput[held_out]))
        residuals[held_out] = errors / one.spread(columns)
    return Conformal(stage, tuple(stages), fold, residuals)


def _upper(values: Floats, confidence: float) -> Floats:
    """Return the quantile at `confidence` along axis 0, corrected for few values as in CV+."""
    rank = min(math.ceil(confidence * (len(values) + 1)), len(values))
    return np.asarray(np.partition(values, rank - 1, axis=0)[rank - 1])


def residual_quantile(residuals: Sequence[float] | Floats, confidence: float) -> float:
    """Return the bound that a new row's residual does not exceed with probability `confidence`."""
    return float(_upper(np.asarray(residuals)[:, None], confidence)[0])


TOGETHER = "combination"
"""Name that stands for all columns of a row whose combination of values is unusual, although each
value is in range.
"""
_SAME = 1e-9
_BATCH = 4096


class Range(NamedTuple):
    """Range and density of the training rows, to detect rows that resemble none of them."""

    least: Mapping[str, float]  # smallest value of each column
    most: Mapping[str, float]  # largest value of each column
    names: tuple[str, ...]  # columns with several values
    centre: Floats  # mean of the logarithms of these columns
    scale: Floats  # standard deviation of the logarithms of these columns
    rows: Floats  # logarithms of the training rows, scaled by `centre` and `scale`
    reach: float  # largest distance between a training row and its nearest neighbour

    def outside(self, columns: Columns) -> list[list[str]]:
        """Return, for each row, the columns outside the training range; an empty list if none is.

        If only the combination of values is unusual, the list contains only `TOGETHER`.
        """
        beyond = {
            name: (values < self.least[name] * (1 - _SAME))
            | (values > self.most[name] * (1 + _SAME))
            for name, values in columns.items()
        }
        far = self._far(columns)
        found = []
        for row in range(len(far)):
            names = [name for name, out in beyond.items() if out[row]]
            found.append(names or ([TOGETHER] if far[row] else []))
        return found

    def _far(self, columns: Columns) -> Mask:
        x = (_logarithms(columns, self.names) - self.centre) / self.scale
        far = np.zeros(len(x), dtype=bool)
        for start in range(0, len(x), _BATCH):
            part = x[start : start + _BATCH]
            distance = (
                np.abs(part[:, None, :] - self.rows[None]).max(axis=2, initial=0.0).min(axis=1)
            )
            far[start : start + _BATCH] = distance > self.reach
        return far


def range_of(columns: Columns) -> Range:
    """Compute the range and density of the training rows, of which there are at least two."""
    names = tuple(name for name, values in columns.items() if np.ptp(values) > 0)
    logs = _logarithms(columns, names)
    centre, scale = logs.mean(axis=0), logs.std(axis=0)
    rows = (logs - centre) / scale
    between = np.abs(rows[:, None, :] - rows[None]).max(axis=2, initial=0.0)
    np.fill_diagonal(between, np.inf)
    return Range(
        {name: float(values.min()) for name, values in columns.items()},
        {name: float(values.max()) for name, values in columns.items()},
        names,
        centre,
        scale,
        rows,
        float(between.min(axis=1).max()),
    )


def _logarithms(columns: Columns, names: tuple[str, ...]) -> Floats:
    rows = len(next(iter(columns.values())))
    return np.column_stack([logarithm(columns, name) for name in names] or [np.zeros((rows, 0))])
