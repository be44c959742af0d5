"""Computes the input features of memory models from the columns of a table of measurements.

Counters span nine decades, so models use logarithms. A floor far below the counters of any
competitor is added to avoid the logarithm of zero. The counter `irt` (instructions per second) is
`ipc` (instructions per cycle) times the clock rate. Reads and writes change together. So a feature
set contains only one counter of each pair. Reasons for the other features:

- Competitors evict the function's lines from the shared cache at the rate of their own misses.
  Their miss ratio is the part of their working set beyond their share of that cache (half of it,
  with two users). Low rates have no visible effect; hence a square root.
- Network and accelerators move lines to and from memory (`dma_mb`), invisible to the counters of
  cores. These lines use no cache, but occupy the memory bus as misses do.
- Flows are in hash tables with sizes that are powers of two: when a table doubles, so does its
  memory. Features are the table's size and load, or the flows and the parity of the exponent,
  which distinguishes neighbouring sizes.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats, Indices, Mask

Columns = Mapping[str, Floats]
Selected = Mask | Indices


def columns_of(columns: Columns, selected: Selected) -> dict[str, Floats]:
    """Return the given columns with only the rows that `selected` (a mask or indices) selects."""
    return {name: values[selected] for name, values in columns.items()}


class Rows(NamedTuple):
    """Measured rows: their columns, their throughput, and the size of the shared cache in MB."""

    columns: Columns
    throughput: Floats
    cache_mb: float

    def where(self, selected: Selected) -> "Rows":
        """Return only the rows that a mask or indices select."""
        columns = columns_of(self.columns, selected)
        return self._replace(columns=columns, throughput=self.throughput[selected])


CACHE_MB = 6.0
"""Default size of the shared cache in MB, as on BlueField-2."""
_SHARE = 0.5
_LINE = 64
_COUNTER = "l2crd"
"""Name of a column that is present if the table has counters of competitors."""
_FLOORS = {
    "flow_count": 1.0,
    "packet_size_bytes": 1.0,
    "ipc": 1e-2,
    "irt": 1e7,
    "l2crd": 1e5,
    "l2cwr": 1e5,
    "memrd": 1e6,
    "memwr": 1e6,
    "wss_mb": 1e-2,
    "dma_mb": 1.0,
    "score": 1e-3,
}
_COUNTERS = ("ipc", "irt", "l2crd", "l2cwr", "memrd", "memwr", "wss_mb")


class Feature(NamedTuple):
    """An input of a memory model, computed from measured columns: one value for each row."""

    name: str
    values: Floats
    falls: bool = False  # true if a higher value never makes the function faster


def logarithm(columns: Columns, name: str) -> Floats:
    """Return the logarithm of a column, plus a small constant that avoids the logarithm of zero."""
    return np.asarray(np.log(columns[name] + _FLOORS[name]))


def _flows(columns: Columns) -> list[Feature]:
    return [
        Feature("flow_count", logarithm(columns, "flow_count")),
        Feature("packet_size_bytes", logarithm(columns, "packet_size_bytes")),
    ]


def _doublings(columns: Columns) -> Floats:
    """Return how often a flow table has to double its size to hold the flows, by row."""
    return np.floor(np.log2(np.maximum(columns["flow_count"], 1.0)))


def _flows_and_table(columns: Columns) -> list[Feature]:
    return [*_flows(columns), Feature("table", np.mod(_doublings(columns), 2))]


def _table_and_load(columns: Columns) -> list[Feature]:
    doublings = _doublings(columns)
    load = np.log2(np.maximum(columns["flow_count"], 1.0)) - doublings
    return [Feature("size", doublings), Feature("load", load), _flows(columns)[1]]


TRAFFIC: Mapping[str, Callable[[Columns], list[Feature]]] = {
    "none": lambda _columns: [],
    "flows": _flows,
    "flows, table": _flows_and_table,
    "table, load": _table_and_load,
}
"""Sets of features of the function's traffic: for each name, the function that computes them."""


def _score(columns: Columns) -> list[Feature]:
    return [Feature("score", logarithm(columns, "score"), falls=True)]


def accesses(columns: Columns) -> Floats:
    """Return the competitors' cache accesses (reads and writes) per second, by row."""
    return columns["l2crd"] + columns["l2cwr"]


def cache_misses(columns: Columns, cache_mb: float) -> Floats:
    """Estimate the competitors' cache misses per second from their working sets, by row.

    `cache_mb` is the size of the shared cache.
    """
    working_set = np.maximum(columns["wss_mb"], _FLOORS["wss_mb"])
    missing = np.clip(1 - _SHARE * cache_mb / working_set, 0, 1)
    return np.asarray(accesses(columns) * missing)


def _all_counters(columns: Columns, _cache_mb: float) -> list[Feature]:
    return [Feature(name, logarithm(columns, name)) for name in _COUNTERS]


def _raw_counters(columns: Columns, _cache_mb: float) -> list[Feature]:
    return [Feature(name, columns[name]) for name in _COUNTERS]


def _access(columns: Columns, _cache_mb: float) -> list[Feature]:
    return [
        Feature("accesses", np.log(accesses(columns) + _FLOORS["l2crd"]), falls=True),
        Feature("wss_mb", logarithm(columns, "wss_mb"), falls=True),
    ]


def _access_kind(columns: Columns, cache_mb: float) -> list[Feature]:
    return [*_access(columns, cache_mb), Feature("ipc", logarithm(columns, "ipc"))]


def _pressure(columns: Columns, cache_mb: float) -> list[Feature]:
    return [Feature("pressure", np.sqrt(cache_misses(columns, cache_mb)), falls=True)]


def lines_moved(columns: Columns) -> Floats:
    """Return the cache lines per second that devices move for competitors (DMA), by row.

    The result is zero if this was not measured.
    """
    moved = columns.get("dma_mb")
    return np.zeros_like(columns["l2crd"]) if moved is None else moved * 1e6 / _LINE


def _bus(columns: Columns, cache_mb: float) -> list[Feature]:
    together = cache_misses(columns, cache_mb) + lines_moved(columns)
    return [*_pressure(columns, cache_mb), Feature("bus", together, falls=True)]


def _access_moved(columns: Columns, cache_mb: float) -> list[Feature]:
    return [*_access(columns, cache_mb), Feature("moved", lines_moved(columns), falls=True)]


def _roots_moved(columns: Columns, _cache_mb: float) -> list[Feature]:
    return [
        Feature("accesses", np.sqrt(accesses(columns)), falls=True),
        Feature("wss_mb", columns["wss_mb"], falls=True),
        Feature("moved", lines_moved(columns), falls=True),
    ]


SETS: Mapping[str, Callable[[Columns, float], list[Feature]]] = {
    "raw": _raw_counters,
    "counters": _all_counters,
    "accesses": _access,
    "accesses, kind": _access_kind,
    "pressure": _pressure,
    "pressure, bus": _bus,
    "accesses, moved": _access_moved,
    "roots, moved": _roots_moved,
    "none": lambda _columns, _cache_mb: [],
}
"""Sets of features of the competitors: for each name, the function that computes them."""
DEVICE_SETS = ("pressure, bus", "accesses, moved", "roots, moved")
"""Names of the feature sets that include DMA traffic."""


def features(columns: Columns, traffic: str, contention: str, cache_mb: float) -> list[Feature]:
    """Return the input features of a memory model for the rows of a table.

    `traffic` and `contention` are the names of feature sets, in `TRAFFIC` and `SETS`. If the table
    has no counters, a score describes the competitors. If it has both, both are used. No real table
    has both, but a benchmark on the simulated NIC measures the value of this combination.
    """
    own = TRAFFIC[traffic](columns)
    if contention == "none":
        return own
    counters = SETS[contention](columns, cache_mb) if _COUNTER in columns else []
    return [*own, *counters, *(_score(columns) if "score" in columns else [])]
