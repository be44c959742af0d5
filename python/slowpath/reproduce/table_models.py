"""Compares models of an exact-match table with Figure 2 of Scholz et al., ANCS 2021.

The figure shows cycles per packet for t4p4s on DPDK, by the number of table entries. The text of
section 3 states the ends of the segments, the error of the model, and the numbers of entries that
fill the caches by equation 5. Our models are fitted to points of `slowpath calibrate`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from slowpath.core.extras import need_models
from slowpath.core.jobs.pool import StopRequested
from slowpath.models.api import fit
from slowpath.reproduce.comparison import NOT_COMPUTED, Plan, Quantity, compared
from slowpath.reproduce.documents import ComparedValue
from slowpath.reproduce.registry import Source

_ENTRIES, _COST = "entries", "cost"
_ENDS = (100.0, 1000.0, 100_000.0)
"""Approximate numbers of entries at which the function of the published model changes."""
_ERROR = 0.730
"""Error of the published model in percent (equation 1)."""
_SEGMENTS = 4
_KEY_BYTES, _ACTION_BYTES = 16, 64
_CACHES = {"L2, 256 kB": (256e3, 1.68e3), "L3, 20 MB": (20e6, 1.32e5)}
"""Caches of the published machine: size in bytes, and the published number of entries that fill it.
"""
_CHANGE = Quantity("entries at the end of a segment", "entries")
_FILLED = Quantity("entries that fill a cache, by equation 5", "entries")
_MODEL = Quantity("error of the model (sMAPE)", "%")


class Fitted(NamedTuple):
    """A model with four segments that was fitted to measured points."""

    ends: list[float]  # last measured number of entries of each segment but the last
    error: float  # percent


def table_entries(source: Source) -> Plan:
    """Return the work that recomputes Figure 2.

    Raises:
        InputError: if the points are missing.
        UnavailableError: if a package is missing.
    """
    need_models(["numpy", "scipy"])
    [file, *_] = source.needed(
        "table-exact-entries/points.csv", "points.csv", "table_exact_entries.csv"
    )
    conditions = [
        "Published: cycles per packet of the P4 switch t4p4s on a Xeon E5-2640 v2; ours: one "
        "lookup in rte_hash, or the test bed of the points, on the machine that measured them.",
        "Published ends of segments are approximate, and the caches of the machines differ.",
        "slowpath calibrate --testbed dpdk --component table-exact-entries measures the points.",
    ]
    return Plan(["model"], [str(file)], fitted, None, _rows, conditions)


def fitted(_common: None, file: str, stop_requested: StopRequested) -> Fitted | None:
    """Fit a model with four segments to the measured points in `file`.

    Return None if a stop was requested.

    Raises:
        InputError: if the points cannot be read.
    """
    if stop_requested():
        return None
    model = fit(Path(file), x=_ENTRIES, y=_COST, segments=_SEGMENTS)
    ends = [segment["to"] for segment in model.segments[:-1]]
    return Fitted(ends, 100 * model.errors["smape"])


def _rows(pairs: Sequence[tuple[str, Fitted | None]]) -> list[ComparedValue]:
    [(_, found)] = pairs
    note = NOT_COMPUTED if found is None else None
    ends: list[float | None] = [None] * len(_ENDS)
    if found is not None:
        ends[: len(found.ends)] = found.ends[: len(_ENDS)]
    rows = [
        compared(f"segment {number}", _CHANGE, theirs, ours, note)
        for number, (theirs, ours) in enumerate(zip(_ENDS, ends, strict=True), 1)
    ]
    error = None if found is None else found.error
    rows.append(compared("model", _MODEL, _ERROR, error, note))
    for cache, (size, theirs) in _CACHES.items():
        rows.append(compared(cache, _FILLED, theirs, entries_in(size)))
    return rows


def entries_in(size: float) -> float:
    """Return the number of table entries that fill `size` bytes, by equation 5 of the paper."""
    return (size - 128) / (_KEY_BYTES + _ACTION_BYTES + 72)
