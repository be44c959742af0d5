"""Which rows are unlike those that a model has learnt from: there it guesses.

A row is outside where a column is beyond its smallest or largest training value, or where each is
within but no training row is near: further than training rows are from their own nearest ones.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.memory.learning.features import logarithm

Floats = NDArray[np.float64]
Columns = Mapping[str, Floats]

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
