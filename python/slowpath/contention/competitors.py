"""Several competitors as one: what they do together to the caches and memory that all share."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.tables.profiles import OwnContention

Floats = NDArray[np.float64]
Columns = Mapping[str, Floats]

_ADDED = ("irt", "l2crd", "l2cwr", "memrd", "memwr", "wss_mb", "dma_mb", "score")


def contention_at(own: OwnContention, flows: float, size: float) -> dict[str, float]:
    """A function's own contention under traffic: that of the nearest traffic it was measured with.

    Near is meant of logarithms; nothing is made up between or beyond what was measured.
    """
    names = ("flow_count", "packet_size_bytes")
    wanted = np.log([flows, size])
    known = np.log(np.column_stack([own.columns[name] for name in names]))
    nearest = int(np.abs(known - wanted).sum(axis=1).argmin())
    return {name: float(v[nearest]) for name, v in own.columns.items() if name not in names}


def together(parts: Sequence[Mapping[str, float]], names: Sequence[str]) -> dict[str, float]:
    """Contention of all; nobody is none at all.

    Rates, working sets and scores add up; instructions per cycle are those of all cycles together.
    """
    found = {name: sum(part[name] for part in parts) for name in names if name in _ADDED}
    if "ipc" in names:
        cycles = sum(part["irt"] / part["ipc"] for part in parts if part["ipc"] > 0)
        found["ipc"] = found["irt"] / cycles if cycles else 0.0
    return {name: found[name] for name in names}


def together_by_row(counts: Floats, own: Columns, names: Sequence[str]) -> dict[str, Floats]:
    """The same of many rows at once.

    Args:
        counts: how many of each competitor a row has, `[row, competitor]`.
        own: by column, what each competitor does by itself.
        names: the columns that are wanted.
    """
    found = {name: counts @ own[name] for name in names if name in _ADDED}
    if "ipc" in names:
        known = own["ipc"] > 0
        each = np.divide(own["irt"], own["ipc"], out=np.zeros_like(own["irt"]), where=known)
        cycles = counts @ each
        found["ipc"] = np.divide(found["irt"], cycles, out=np.zeros_like(cycles), where=cycles > 0)
    return {name: found[name] for name in names}
