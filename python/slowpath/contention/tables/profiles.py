"""Profiles of a function on a device, and queries, as arrays with one entry per row."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Origin(NamedTuple):
    """What a profile is of, and where it comes from; None where the file does not say."""

    files: tuple[str, ...]
    function: str | None = None
    device: str | None = None
    unit: str | None = None  # of throughput
    source: str | None = None
    cache_mb: float | None = None  # of the last-level cache that functions share
    mtbr: float | None = None  # of the traffic that the rows were measured with


class MemoryProfile(NamedTuple):
    """A function's throughput beside competitors for caches and memory.

    `columns` has the attributes of the function's own traffic and the contention of its
    competitors: `columns.TRAFFIC`, and `columns.COUNTERS`, these with `columns.DEVICES`, or
    `columns.SCORE`.
    """

    origin: Origin
    rows: tuple[str, ...]
    columns: Mapping[str, Floats]
    throughput: Floats


class AcceleratorProfile(NamedTuple):
    """Time per packet that a function alone takes of an accelerator, by its match ratio."""

    origin: Origin
    rows: tuple[str, ...]
    mtbr: Floats  # matches per MB
    request_time: Floats  # 1 / throughput, in the reciprocal of its unit
    size: Floats | None = None  # of packets, bytes; None where the table does not say


class CoRuns(NamedTuple):
    """A function beside one client of its accelerator that always has requests, and nobody else."""

    origin: Origin
    rows: tuple[str, ...]
    queues: Floats  # of the client
    request_time: Floats  # of the client
    alone: Floats  # throughput without it, under the same traffic
    throughput: Floats


class Clients(NamedTuple):
    """Other clients of an accelerator, `[row, client]`."""

    queues: Floats
    request_time: Floats
    rate: Floats  # requests that arrive; infinite where there always are some, 0 where nobody is


class Query(NamedTuple):
    """What predictions are asked for: traffic, and the contention of all competitors together.

    `mtbr` and `queued` (sum of the competitors' 1 / throughput on the accelerator) are None where
    no accelerator is asked about. `clients` are these competitors, where more is known of them than
    that; else they are one that always has a request, which takes `queued`.
    """

    file: str
    rows: tuple[str, ...]
    columns: Mapping[str, Floats]
    mtbr: Floats | None
    queued: Floats | None
    left_out: tuple[str, ...] = ()  # columns that say something of what the model does not know
    alone: Floats | None = None  # throughput without competitors, where it was measured
    clients: Clients | None = None

    def without_clients(self) -> "Query":
        """The same with nobody else at the accelerator."""
        queued = None if self.queued is None else np.zeros_like(self.queued)
        return self._replace(queued=queued, clients=None)


class Mixes(NamedTuple):
    """A function beside competitors of several kinds, as it ran.

    `columns` are those of a memory profile: the function's traffic, and the contention of the
    competitors for memory, none of which is zero in all columns. `queues` is 0 where there is no
    client of the accelerator.
    """

    origin: Origin
    rows: tuple[str, ...]
    columns: Mapping[str, Floats]
    mtbr: Floats  # matches per MB, of the function
    queues: Floats  # of the client
    request_time: Floats  # of the client
    rate: Floats  # requests that it sends; infinite where it always has some
    queued: Floats  # what the client takes of the accelerator, as in a query
    alone: Floats  # throughput without competitors, under the same traffic
    throughput: Floats

    @property
    def clients(self) -> Clients:
        """The clients of the accelerator."""
        queues, time, rate = (one[:, None] for one in (self.queues, self.request_time, self.rate))
        return Clients(np.maximum(queues, 1), np.where(queues > 0, time, 1.0), rate)

    @property
    def query(self) -> Query:
        """What predictions of these mixes are asked with."""
        return Query(
            self.origin.files[0],
            self.rows,
            self.columns,
            self.mtbr,
            self.queued,
            clients=self.clients,
        )

    def where(self, rows: NDArray[np.bool_]) -> "Mixes":
        """Some of them."""
        return Mixes(
            self.origin,
            tuple(name for name, kept in zip(self.rows, rows, strict=True) if kept),
            {name: values[rows] for name, values in self.columns.items()},
            *(values[rows] for values in self[3:]),
        )


class OwnContention(NamedTuple):
    """What a function does to others: its own counters, or score, while it runs alone."""

    origin: Origin
    rows: tuple[str, ...]
    columns: Mapping[str, Floats]  # as of a memory profile
