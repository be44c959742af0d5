"""Folds of rows for cross-validation, and relative errors of predictions.

The same competitor configuration is often measured more than once; a model that has seen one of
them knows more of the others than it will of a query.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Errors(NamedTuple):
    """Absolute relative errors of rows."""

    mape: float  # their mean
    standard_error: float  # of that mean, rows taken as drawn from many
    median: float
    largest: float
    within_5: float  # share of rows that are off by no more than 5 %
    within_10: float


def relative(predicted: Floats, measured: Floats) -> Floats:
    """|predicted - measured| / measured."""
    return np.asarray(np.abs(predicted / measured - 1))


def errors_of(off: Floats | Sequence[Floats]) -> Errors:
    """From relative errors `[repetition, row]` or `[row]`; repetitions of a row are no new rows."""
    by_row = np.atleast_2d(np.asarray(off))
    means = by_row.mean(axis=0)
    spread = float(means.std(ddof=1)) if len(means) > 1 else 0.0
    return Errors(
        float(means.mean()),
        spread / math.sqrt(len(means)),
        float(np.median(by_row)),
        float(by_row.max()),
        float((by_row <= 0.05).mean()),  # noqa: PLR2004 - as the name says
        float((by_row <= 0.10).mean()),  # noqa: PLR2004
    )


Mask = NDArray[np.bool_]
_TRAFFIC = {"flow_count", "packet_size_bytes"}
_FEWEST = 5
"""Groups; as many folds as a selection has."""


def groups(columns: Mapping[str, Floats]) -> NDArray[np.intp]:
    """A number for each row, the same where all columns of contention are equal.

    With too few different ones to hold any out, the question is about traffic: rows are on their
    own.
    """
    contention = [values for name, values in columns.items() if name not in _TRAFFIC]
    _, group = np.unique(np.column_stack(contention), axis=0, return_inverse=True)
    if group.max(initial=0) + 1 < _FEWEST:
        return np.arange(len(group))
    return np.asarray(group.ravel())


def grouped_folds(group: NDArray[np.intp], count: int, seed: int) -> Iterator[Mask]:
    """Which rows are held out, fold by fold; groups stay together, each is held out once.

    Folds have about equally many groups, drawn by `seed`. Fewer groups than `count` make so many
    folds.
    """
    known, group = np.unique(group, return_inverse=True)
    number = len(known)
    drawn = np.random.default_rng(seed).permutation(number)
    for fold in range(min(count, number)):
        yield drawn[group] % count == fold
