"""Which rows are held out together: rows with equal contention are never on both sides.

The same competitor configuration is often measured more than once; a model that has seen one of
them knows more of the others than it will of a query.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
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
