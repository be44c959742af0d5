"""Rows that models learn from."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Columns = Mapping[str, Floats]
Which = NDArray[np.bool_] | NDArray[np.intp]


def columns_of(columns: Columns, which: Which) -> dict[str, Floats]:
    """Some of the rows of columns."""
    return {name: values[which] for name, values in columns.items()}


class Rows(NamedTuple):
    """What was measured, and the size of the cache in MB that it was measured on."""

    columns: Columns
    throughput: Floats
    cache_mb: float

    def where(self, which: Which) -> "Rows":
        """Some of them."""
        return self._replace(
            columns=columns_of(self.columns, which), throughput=self.throughput[which]
        )
