"""How far predictions are off, as shares of what was measured."""

import math
from collections.abc import Sequence
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
