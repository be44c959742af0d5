"""Rows and features that models learn from.

Counters span nine decades, so models see logarithms; what is zero counts as little as a floor that
is far below what any competitor does. `irt` is `ipc` times the clock rate, reads and writes go
together: sets take one of each. Physics behind the others:

- Competitors take the function's lines out of the shared cache as fast as they miss in it
  themselves, and they miss as far as their working set exceeds their share of that cache (half of
  it, between two) - whatever they are. Where that is slow it does not show; hence a root.
- Network and accelerators move lines to and from memory that no counter of a core sees (`dma_mb`).
  They take no cache from anybody, but slots of the memory bus, as misses do.
- Flows are kept in hash tables, whose sizes are powers of two: where a table doubles, so does the
  memory that it takes. Models see the flows as the table's size and how full it is, or beside the
  flows whether that power is odd, which tells neighbouring sizes apart.
"""

from collections.abc import Callable, Mapping
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


CACHE_MB = 6.0
"""Where a profile does not say how large the shared cache is: that of BlueField-2."""
_SHARE = 0.5
_LINE = 64
_COUNTED = "l2crd"
"""A counter that rows have where they have any."""
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


class Feature(NamedTuple):
    """A column of what a model sees."""

    name: str
    values: Floats
    falls: bool = False  # whether more of it cannot make the function faster


def logarithm(columns: Columns, name: str) -> Floats:
    """The logarithm of a column."""
    return np.asarray(np.log(columns[name] + _FLOORS[name]))


def _flows(columns: Columns) -> list[Feature]:
    return [
        Feature("flow_count", logarithm(columns, "flow_count")),
        Feature("packet_size_bytes", logarithm(columns, "packet_size_bytes")),
    ]


def _doublings(columns: Columns) -> Floats:
    """How often a table has doubled that has room for the flows."""
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
"""Features of the function's own traffic, by the name of the set."""


def _score(columns: Columns) -> list[Feature]:
    return [Feature("score", logarithm(columns, "score"), falls=True)]


def accesses(columns: Columns) -> Floats:
    """Competing cache access rate, as the paper has it: reads and writes, per second."""
    return columns["l2crd"] + columns["l2cwr"]


def pressure(columns: Columns, cache_mb: float) -> Floats:
    """Accesses per second that miss the competitors' share of the cache."""
    working_set = np.maximum(columns["wss_mb"], _FLOORS["wss_mb"])
    beyond = np.clip(1 - _SHARE * cache_mb / working_set, 0, 1)
    return np.asarray(accesses(columns) * beyond)


def _all_counters(columns: Columns, _cache_mb: float) -> list[Feature]:
    return [
        Feature(name, logarithm(columns, name))
        for name in ("ipc", "irt", "l2crd", "l2cwr", "memrd", "memwr", "wss_mb")
    ]


def _raw_counters(columns: Columns, _cache_mb: float) -> list[Feature]:
    names = ("ipc", "irt", "l2crd", "l2cwr", "memrd", "memwr", "wss_mb")
    return [Feature(name, columns[name]) for name in names]


def _access(columns: Columns, _cache_mb: float) -> list[Feature]:
    return [
        Feature("accesses", np.log(accesses(columns) + _FLOORS["l2crd"]), falls=True),
        Feature("wss_mb", logarithm(columns, "wss_mb"), falls=True),
    ]


def _access_kind(columns: Columns, cache_mb: float) -> list[Feature]:
    return [*_access(columns, cache_mb), Feature("ipc", logarithm(columns, "ipc"))]


def _pressure(columns: Columns, cache_mb: float) -> list[Feature]:
    return [Feature("pressure", np.sqrt(pressure(columns, cache_mb)), falls=True)]


def lines_moved(columns: Columns) -> Floats:
    """Lines per second that devices move for the competitors; none where rows do not tell."""
    moved = columns.get("dma_mb")
    return np.zeros_like(columns["l2crd"]) if moved is None else moved * 1e6 / _LINE


def _bus(columns: Columns, cache_mb: float) -> list[Feature]:
    together = pressure(columns, cache_mb) + lines_moved(columns)
    return [*_pressure(columns, cache_mb), Feature("bus", together, falls=True)]


def _access_moved(columns: Columns, cache_mb: float) -> list[Feature]:
    moved = Feature("moved", lines_moved(columns), falls=True)
    return [*_access(columns, cache_mb), moved]


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
"""Features of contention, by the name of the set."""
DEVICE_SETS = ("pressure, bus", "accesses, moved", "roots, moved")
"""Those that have what devices move in memory."""


def features(columns: Columns, traffic: str, contention: str, cache_mb: float) -> list[Feature]:
    """What a model sees of rows; a score stands for all counters where there are none.

    Where there are counters, too, models see both. No table has both; the bench of the simulated
    NIC asks what that would be worth.
    """
    seen = TRAFFIC[traffic](columns)
    if contention == "none":
        return seen
    counted = SETS[contention](columns, cache_mb) if _COUNTED in columns else []
    return [*seen, *counted, *(_score(columns) if "score" in columns else [])]
