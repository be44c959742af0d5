"""Defines the columns of tables with measurements and queries, and array classes for them.

Arrays have one entry per row. Each column has a meaning, a unit and limits; values are checked
against them. The seven counters of competitors are those of the paper (appendix D, Table 13).
`dma_mb` is our addition. On machines without counters, a score replaces them. Limits are far beyond
any real device, so a value outside them is wrong, most often because of another unit.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.cells import Table
from slowpath.core import codes
from slowpath.core.arrays import Floats, Mask
from slowpath.core.errors import InputError


class Column(NamedTuple):
    """A column of numbers in tables of measurements, with its unit and valid range."""

    name: str
    unit: str
    meaning: str
    most: float  # largest valid value
    zero: bool = False  # true if zero is valid; negative values never are
    least: float = 0.0  # smallest valid value above zero
    other_units: tuple[str, ...] = ()  # names of columns with this content in other units


FLOWS = Column(
    "flow_count",
    "flows",
    "number of flows in the traffic",
    1e12,
    least=1,
    other_units=("flow_count_k",),
)
SIZE = Column(
    "packet_size_bytes",
    "bytes",
    "size of packets",
    65536,
    least=1,
    other_units=("packet_size_bits", "packet_size_kb", "packet_size"),
)
TRAFFIC = (FLOWS, SIZE)
TRAFFIC_NAMES = tuple(one.name for one in TRAFFIC)

MTBR = Column(
    "mtbr",
    "matches/MB",
    "matches of regular expressions in payloads, per MB",
    1e6,
    zero=True,
    other_units=("mtbr_per_byte", "mtbr_per_kb"),
)
WORKING_SET = Column(
    "wss_mb",
    "MB",
    "working set of the competitors",
    1e5,
    zero=True,
    other_units=("wss", "wss_kb", "wss_bytes", "wss_gb"),
)
COUNTERS = (
    Column(
        "ipc", "instructions/cycle", "instructions per cycle of the competitors", 1e4, zero=True
    ),
    Column("irt", "1/s", "instructions that the competitors retire per second", 1e14, zero=True),
    Column(
        "l2crd",
        "1/s",
        "reads of the competitors from the level-2 data cache, per second",
        1e14,
        zero=True,
    ),
    Column(
        "l2cwr",
        "1/s",
        "writes of the competitors to the level-2 data cache, per second",
        1e14,
        zero=True,
    ),
    Column("memrd", "1/s", "reads of the competitors from memory, per second", 1e14, zero=True),
    Column("memwr", "1/s", "writes of the competitors to memory, per second", 1e14, zero=True),
    WORKING_SET,
)
DMA = Column(
    "dma_mb",
    "MB/s",
    "traffic between memory and devices (network, accelerators) of the competitors",
    1e9,
    zero=True,
    other_units=("dma", "dma_kb", "dma_bytes", "dma_gb", "dma_gbit"),
)
"""Traffic between memory and devices, which the counters of cores do not include. Tables may lack
this column.
"""
SCORE = (
    Column(
        "score", "1", "contention that the competitors cause, measured by a probe", 1e9, zero=True
    ),
)

THROUGHPUT = Column("throughput", "", "throughput of the function", 1e13, least=1e-13)
ALONE = THROUGHPUT._replace(name="alone", meaning="throughput of the function alone")
"""Solo throughput of the function under the same traffic; optional in queries, required in mixes.
"""
REQUEST_TIME = Column(
    "inverse_throughput",
    "",
    "time of an accelerator request of the function alone: 1 / throughput of this stage",
    1e13,
    least=1e-13,
)
QUEUED = Column(
    "inverse_throughput_sum",
    "",
    "sum of the request times of all competitors at the accelerator",
    1e13,
    zero=True,
)
CLIENT_QUEUES = Column(
    "client_queues", "", "number of queues of a client of the accelerator", 1e6, least=1
)
CLIENT_TIME = Column(
    "client_request_time", "", "time of a request of the client alone", 1e13, least=1e-13
)
CLIENT_RATE = Column("client_rate", "", "rate of requests that the client sends", 1e13, zero=True)
"""Request rate of the accelerator client in a mix. If no client is present, all client columns are
empty. If the client always has a request, only the rate is empty.
"""

ATTRIBUTES = {"flows": FLOWS, "size": SIZE, "mtbr": MTBR}
"""Columns that describe traffic, by the names that command-line options use for them."""
CLIENTS = (CLIENT_QUEUES, CLIENT_TIME, CLIENT_RATE)
ALL = (
    *(*TRAFFIC, MTBR, *COUNTERS, DMA, *SCORE),
    *(THROUGHPUT, ALONE, REQUEST_TIME, QUEUED, *CLIENTS),
)
"""All columns that tables can have."""


def column_of(table: Table, column: Column) -> Floats:
    """Return the values of a required column, one per row, in the unit of the column.

    Raises:
        InputError: if the column is missing or in another unit, or a value is invalid.
    """
    _check(table, column)
    return np.array([_number(table, at, column) for at in range(len(table.rows))], dtype=float)


def optional_column(table: Table, column: Column) -> Floats:
    """Return the values of a column whose cells may be empty; empty cells become NaN.

    Raises:
        InputError: if the column is missing or in another unit, or a value is invalid.
    """
    _check(table, column)
    found = np.full(len(table.rows), np.nan)
    for at, row in enumerate(table.rows):
        cell = row.get(column.name)
        if cell is not None and str(cell).strip():
            found[at] = _number(table, at, column)
    return found


def _check(table: Table, column: Column) -> None:
    """Check that a table has a column in the right unit.

    Raises:
        InputError: if the column is missing or in another unit.
    """
    if column.name not in table.header:
        raise missing_column_error(table, column)
    unit = table.remarks.get(f"unit {column.name}")
    if column.unit and unit is not None and unit != column.unit:
        reason = (
            f"the unit is {unit[:40]}, but this column must be in {column.unit}; convert the values"
        )
        raise table.remark_error(f"unit {column.name}", reason)


def _number(table: Table, at: int, column: Column) -> float:
    value = table.number(at, column.name)
    reason = invalid_reason(column, value)
    if reason is not None:
        raise table.error(at, column.name, reason)
    return value


def columns_of(table: Table, columns: Sequence[Column]) -> dict[str, Floats]:
    """Return the values of several required columns, by the names of the columns."""
    return {column.name: column_of(table, column) for column in columns}


def has(table: Table, column: Column) -> bool:
    """Return true if the table has this optional column, with the correct name.

    Raises:
        InputError: if the table has it in another unit or spelling.
    """
    if column.name in table.header:
        return True
    if _misnamed(table, column) is not None:
        raise missing_column_error(table, column)
    return False


def missing_column_error(table: Table, column: Column) -> InputError:
    """Return the error for a missing column.

    It explains the column and lists those of the table.
    """
    unit = f" ({column.meaning}, in {column.unit})" if column.unit else f" ({column.meaning})"
    misnamed = _misnamed(table, column)
    if misnamed is not None:
        inside = f", in {column.unit}" if column.unit else ""
        reason = (
            f"the table has a column {misnamed!r}; convert and rename it to {column.name!r}{inside}"
        )
        return InputError(codes.MISSING_COLUMN, table.file, reason)
    have = ", ".join(name for name in table.header if name) or "no names"
    return InputError(
        codes.MISSING_COLUMN,
        table.file,
        f"the table lacks the column {column.name!r}{unit}; it has {have}",
    )


def _misnamed(table: Table, column: Column) -> str | None:
    """Return the name of a table column that is `column` in another unit or spelling; else None.

    For example, `Flow-Count` is another spelling of `flow_count`.
    """
    for name in table.header:
        plain = name.lower().replace(" ", "_").replace("-", "_")
        if plain in (column.name, *column.other_units):
            return name
    return None


def invalid_reason(column: Column, value: float) -> str | None:
    """Return the reason why a value is not allowed in a column; None if it is allowed."""
    if value < 0:
        return f"{value:g} is negative ({column.meaning})"
    if value == 0:
        return None if column.zero else f"the value must not be zero ({column.meaning})"
    unit = f" {column.unit}" if column.unit not in ("", "1") else ""
    if value > column.most:
        limit = f"{value:g} is above {column.most:g}{unit}, the largest valid value"
        return f"{limit} ({column.meaning}); check the unit"
    if value < column.least:
        limit = f"{value:g} is below {column.least:g}{unit}, the smallest valid value"
        return f"{limit} ({column.meaning}); check the unit"
    return None


class Origin(NamedTuple):
    """Origin of measurements, such as files and device; fields are None if the files lack them."""

    files: tuple[str, ...]
    function: str | None = None
    device: str | None = None
    unit: str | None = None  # unit of throughput
    source: str | None = None
    cache_mb: float | None = None  # size of the shared last-level cache
    mtbr: float | None = None  # match ratio of the traffic, if it is the same in all rows


class MemoryProfile(NamedTuple):
    """Measured throughputs of a function beside competitors for caches and memory, one per row.

    `columns` has the function's own traffic (`columns.TRAFFIC`) and the memory accesses of the
    competitors: their counters (`columns.COUNTERS`, and possibly `columns.DMA`) or one score
    (`columns.SCORE`).
    """

    origin: Origin
    rows: tuple[str, ...]
    columns: Mapping[str, Floats]
    throughput: Floats


class AcceleratorProfile(NamedTuple):
    """Accelerator time per packet of a function that runs alone, at several match ratios."""

    origin: Origin
    rows: tuple[str, ...]
    mtbr: Floats  # matches per MB
    request_time: Floats  # 1 / throughput, in the reciprocal of its unit
    size: Floats | None = None  # packet size, bytes; None if the table has no sizes


class CoRuns(NamedTuple):
    """Measured throughputs of a function beside one client that keeps an accelerator busy."""

    origin: Origin
    rows: tuple[str, ...]
    queues: Floats  # queues of the client
    request_time: Floats  # request time of the client
    alone: Floats  # solo throughput under the same traffic
    throughput: Floats


class Clients(NamedTuple):
    """Other clients of an accelerator.

    The axes of each array are the row of the table and the client.
    """

    queues: Floats
    request_time: Floats
    rate: Floats  # requests per unit of time; infinite if always pending, 0 for no client


class Query(NamedTuple):
    """Inputs of predictions, by row: the traffic, and the total contention by all competitors.

    `mtbr` is the match ratio of the traffic, and `queued` the sum of the competitors' 1 /
    throughput at the accelerator. Both are None without an accelerator. `clients` describes these
    competitors one by one. Without `clients`, they count as one client that always has a request of
    length `queued`.
    """

    file: str
    rows: tuple[str, ...]
    columns: Mapping[str, Floats]
    mtbr: Floats | None
    queued: Floats | None
    left_out: tuple[str, ...] = ()  # ignored columns: the model has no part for their resource
    alone: Floats | None = None  # measured solo throughput, if known
    clients: Clients | None = None

    def without_clients(self) -> "Query":
        """Return a copy of the query in which no other function uses the accelerator."""
        queued = None if self.queued is None else np.zeros_like(self.queued)
        return self._replace(queued=queued, clients=None)


class Mixes(NamedTuple):
    """Measurements of a function beside competitors for memory, for the accelerator, or for both.

    `columns` are those of a memory profile: the function's traffic, and the contention of the
    competitors for memory. Without such competitors, all columns of contention are zero. `queues`
    is 0 if no client uses the accelerator.
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
        """The other client of the accelerator in each mix; rate 0 means that there is none."""
        queues, time, rate = (one[:, None] for one in (self.queues, self.request_time, self.rate))
        return Clients(np.maximum(queues, 1), np.where(queues > 0, time, 1.0), rate)

    @property
    def query(self) -> Query:
        """A query with the same traffic and competitors, to predict what was measured."""
        return Query(
            self.origin.files[0],
            self.rows,
            self.columns,
            self.mtbr,
            self.queued,
            clients=self.clients,
        )

    def where(self, rows: Mask) -> "Mixes":
        """Return the mixes that the mask `rows` selects."""
        return Mixes(
            self.origin,
            tuple(name for name, kept in zip(self.rows, rows, strict=True) if kept),
            {name: values[rows] for name, values in self.columns.items()},
            *(values[rows] for values in self[3:]),
        )


class OwnContention(NamedTuple):
    """Counters or score of a function that runs alone, to describe it as a competitor."""

    origin: Origin
    rows: tuple[str, ...]
    columns: Mapping[str, Floats]  # same columns as in a memory profile
