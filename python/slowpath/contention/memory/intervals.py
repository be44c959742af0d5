"""Prediction intervals by CV+, and rows outside of the learnt range.

Barber, Candes, Ramdas and Tibshirani, "Predictive inference with the jackknife+" (Annals of
Statistics 2021), section 3: with models of K folds and residuals of held-out rows, the ends are
quantiles of `model of the row's fold + residual`. Residuals are of logarithms, so that ends are
shares of the prediction. Rows with equal contention are in one fold.

Where a recipe says how sure it is of a row, a residual counts in units of that, and an interval is
as wide as its own row asks for (Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, "Distribution-free
predictive inference for regression", JASA 2018, section 5.2). So rows alone, which are easy, do not
make intervals of rows beside others too narrow.

A row is outside where a column is beyond its smallest or largest training value, or where each is
within but no training row is near: further than training rows are from their own nearest ones.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.memory.features import Columns, Rows, columns_of, logarithm
from slowpath.contention.memory.folds import grouped_folds, groups
from slowpath.contention.memory.recipes import Kernels, Stage, fit_stage

Floats = NDArray[np.float64]

_FOLDS = 10


class Conformal(NamedTuple):
    """What intervals are made of."""

    whole: Stage  # of all training rows
    stages: tuple[Stage, ...]  # one for each fold
    fold: NDArray[np.intp]  # of each training row
    residuals: Floats  # |log measured - log predicted| when it was held out, by its spread then

    def interval(self, columns: Columns, confidence: float) -> tuple[Floats, Floats]:
        """Logarithms of both ends, row by row."""
        by_fold = np.array([stage.log_throughput(columns) for stage in self.stages])
        predicted = by_fold[self.fold]
        off = np.outer(self.residuals, self.whole.spread(columns))
        return -_upper(off - predicted, confidence), _upper(predicted + off, confidence)


def conformal(whole: Stage, rows: Rows, known: Sequence[Kernels] | None = None) -> Conformal:
    """Models of folds, and how far off they are on the rows that each has not seen.

    Args:
        whole: what has learnt from all of the rows.
        rows: these.
        known: kernel parameters of each fold's stage that were learnt before.

    Raises:
        ValueError: when `known` does not fit the recipe or the folds.
    """
    stages, fold = [], np.zeros(len(rows.throughput), dtype=np.intp)
    residuals = np.zeros(len(rows.throughput))
    folds = list(grouped_folds(groups(rows.columns), _FOLDS, 0))
    kernels = [None] * len(folds) if known is None else known
    for number, (held_out, kernel) in enumerate(zip(folds, kernels, strict=True)):
        stage = fit_stage(whole.recipe, rows.where(~held_out), kernel)
        stages.append(stage)
        fold[held_out] = number
        columns = columns_of(rows.columns, held_out)
        off = np.abs(stage.log_throughput(columns) - np.log(rows.throughput[held_out]))
        residuals[held_out] = off / stage.spread(columns)
    return Conformal(whole, tuple(stages), fold, residuals)


def _upper(values: Floats, confidence: float) -> Floats:
    """The end above which no more than a share of values may be, with one more for the new row."""
    rank = min(math.ceil(confidence * (len(values) + 1)), len(values))
    return np.asarray(np.partition(values, rank - 1, axis=0)[rank - 1])


def residual_quantile(residuals: Sequence[float] | Floats, confidence: float) -> float:
    """How far off a row is at most, with a confidence."""
    return float(_upper(np.asarray(residuals)[:, None], confidence)[0])


TOGETHER = "combination"
"""Where no column by itself is outside."""
_SAME = 1e-9
_BATCH = 4096


class Range(NamedTuple):
    """What training rows are like."""

    least: Mapping[str, float]
    most: Mapping[str, float]
    names: tuple[str, ...]  # columns that vary
    centre: Floats  # of their logarithms
    scale: Floats
    rows: Floats  # scaled logarithms of the training rows
    reach: float  # largest distance of a training row from its nearest other one

    def outside(self, columns: Columns) -> list[list[str]]:
        """For each row, the columns that are outside; none where the row is like others."""
        beyond = {
            name: (values < self.least[name] * (1 - _SAME))
            | (values > self.most[name] * (1 + _SAME))
            for name, values in columns.items()
        }
        far = self._far(columns)
        found = []
        for row in range(len(far)):
            named = [name for name, out in beyond.items() if out[row]]
            found.append(named or ([TOGETHER] if far[row] else []))
        return found

    def _far(self, columns: Columns) -> NDArray[np.bool_]:
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
    """The range of training rows, two at least."""
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
