"""Profiles of a function on a device, and queries, as arrays with one entry per row."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from slowpath.core.arrays import Floats, Mask


class Origin(NamedTuple):
    """Origin of a profile; fields are None if the file does not state them."""

    files: tuple[str, ...]
    function: str | None = None
    device: str | None = None
    unit: str | None = None  # unit of throughput
    source: str | None = None
    cache_mb: float | None = None  # size of the shared last-level cache
    mtbr: float | None = None  # match ratio of the traffic of all rows


class MemoryProfile(NamedTuple):
    """A function's throughput beside competitors for caches and memory.

    `columns` has the attributes of the function's own traffic and the contention of its
    competitors: `columns.TRAFFIC`, and one of `columns.COUNTERS`, `columns.COUNTERS` with
    `columns.DEVICES`, or `columns.SCORE`.
    """

    origin: Origin
    rows: tuple[str, ...]
    columns: Mapping[str, Floats]
    throughput: Floats


class AcceleratorProfile(NamedTuple):
    """Accelerator time per packet of a function that runs alone, by match ratio."""

    origin: Origin
    rows: tuple[str, ...]
    mtbr: Floats  # matches per MB
    request_time: Floats  # 1 / throughput, in the reciprocal of its unit
    size: Floats | None = None  # packet size, bytes; None if the table has no sizes


class CoRuns(NamedTuple):
    """A function beside a single client that always has a request at the accelerator."""

    origin: Origin
    rows: tuple[str, ...]
    queues: Floats  # queues of the client
    request_time: Floats  # request time of the client
    alone: Floats  # solo throughput under the same traffic
    throughput: Floats


class Clients(NamedTuple):
    """Other clients of an accelerator, `[row, client]`."""

    queues: Floats
    request_time: Floats
    rate: Floats  # requests per unit of time; infinite if always pending, 0 for no client


class Query(NamedTuple):
    """Inputs of predictions: traffic, and the contention of all competitors together.

    `mtbr` and `queued` (sum of the competitors' 1 / throughput at the accelerator) are None without
    an accelerator. `clients` describes these competitors in detail. Without `clients`, they count
    as one client that always has a request of length `queued`.
    """

    file: str
    rows: tuple[str, ...]
    columns: Mapping[str, Floats]
    mtbr: Floats | None
    queued: Floats | None
    left_out: tuple[str, ...] = ()  # ignored columns, about resources unknown to the model
    alone: Floats | None = None  # measured solo throughput, if known
    clients: Clients | None = None

    def without_clients(self) -> "Query":
        """Return the query without other clients at the accelerator."""
        queued = None if self.queued is None else np.zeros_like(self.queued)
        return self._replace(queued=queued, clients=None)


class Mixes(NamedTuple):
    """Measurements of a function beside competitors of several kinds.

    `columns` are those of a memory profile: the function's traffic, and the contention of the
    competitors for memory. Without such competitors, all columns of contention are zero. `queues`
    is 0 without a client of the accelerator.
    """

    origin: Origin
    rows: tuple[str, ...]
    columns: Mapping[str, Floats]
    mtbr: Floats  # match ratio of the function's traffic, matches per MB
    queues: Floats  # queues of the client
    request_time: Floats  # request time of the client
    rate: Floats  # requests of the client; infinite if it always has one
    queued: Floats  # accelerator time of the client, as in a query
    alone: Floats  # solo throughput under the same traffic
    throughput: Floats

    @property
    def clients(self) -> Clients:
        """The clients of the accelerator."""
        queues, time, rate = (one[:, None] for one in (self.queues, self.request_time, self.rate))
        return Clients(np.maximum(queues, 1), np.where(queues > 0, time, 1.0), rate)

    @property
    def query(self) -> Query:
        """The query that predicts these mixes."""
        return Query(
            self.origin.files[0],
            self.rows,
            self.columns,
            self.mtbr,
            self.queued,
            clients=self.clients,
        )

    def where(self, rows: Mask) -> "Mixes":
        """Return the mixes in the given rows."""
        return Mixes(
            self.origin,
            tuple(name for name, kept in zip(self.rows, rows, strict=True) if kept),
            {name: values[rows] for name, values in self.columns.items()},
            *(values[rows] for values in self[3:]),
        )


class OwnContention(NamedTuple):
    """Contention that a function causes: its counters, or score, while it runs alone."""

    origin: Origin
    rows: tuple[str, ...]
    columns: Mapping[str, Floats]  # same columns as in a memory profile
