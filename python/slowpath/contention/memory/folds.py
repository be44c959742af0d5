"""Folds of rows for cross-validation, and relative errors of predictions.

A competitor configuration is often measured several times. A model trained on one of these rows
knows more about the others than about a new query, so they stay in one fold.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Errors(NamedTuple):
    """Absolute relative errors of rows."""

    mape: float  # mean absolute relative error
    standard_error: float  # standard error of the mean, with rows as random samples
    median: float
    largest: float
    within_5: float  # share of rows with an error of at most 5 %
    within_10: float  # share of rows with an error of at most 10 %


def relative(predicted: Floats, measured: Floats) -> Floats:
    """Return |predicted - measured| / measured."""
    return np.asarray(np.abs(predicted / measured - 1))


def errors_of(off: Floats | Sequence[Floats]) -> Errors:
    """Summarise relative errors `[repetition, row]` or `[row]`.

    Repetitions of a row do not count as independent rows.
    """
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
"""Least number of groups, equal to the number of folds in a selection."""


def groups(columns: Mapping[str, Floats]) -> NDArray[np.intp]:
    """Return a group number for each row, the same for equal contention.

    With too few different values of contention to hold any out, each row is its own group: such a
    table is about traffic.
    """
    contention = [values for name, values in columns.items() if name not in _TRAFFIC]
    _, group = np.unique(np.column_stack(contention), axis=0, return_inverse=True)
    if group.max(initial=0) + 1 < _FEWEST:
        return np.arange(len(group))
    return np.asarray(group.ravel())


def grouped_folds(group: NDArray[np.intp], count: int, seed: int) -> Iterator[Mask]:
    """Yield masks of held-out rows, fold by fold; each group is held out once, as a whole.

    Folds have about the same number of groups, drawn by `seed`. With fewer than `count` groups,
    each group is a fold.
    """
    known, group = np.unique(group, return_inverse=True)
    number = len(known)
    drawn = np.random.default_rng(seed).permutation(number)
    for fold in range(min(count, number)):
        yield drawn[group] % count == fold
