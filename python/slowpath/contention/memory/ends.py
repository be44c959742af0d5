"""How models do beyond their rows: the ends of each axis are held out, and predicted by the rest.

Cross-validation says how models do among their rows; queries may be beyond them, with competitors
of other kinds, or several at once.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.memory.learning.features import accesses

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_SHARE = 0.2
_FEWEST = 2
_LEFT = 5


def held_out_ends(columns: Mapping[str, Floats]) -> Iterator[tuple[str, Mask]]:
    """The lowest and the highest fifth of rows by each axis: the name, and which rows."""
    for name, values in _axes(columns):
        for end, held_out in (
            ("low", values < np.quantile(values, _SHARE)),
            ("high", values > np.quantile(values, 1 - _SHARE)),
        ):
            if held_out.sum() >= _FEWEST and (~held_out).sum() >= _LEFT:
                yield f"{end} {name}", held_out


def _axes(columns: Mapping[str, Floats]) -> Iterator[tuple[str, Floats]]:
    for name in ("flow_count", "packet_size_bytes", "score", "ipc", "wss_mb"):
        if name in columns:
            yield name, columns[name]
    if "l2crd" in columns:
        yield "accesses", accesses(columns)
