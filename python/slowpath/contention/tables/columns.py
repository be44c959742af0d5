"""Columns of profiles and queries: meaning, unit, limits, checked values.

The seven counters are those of the paper (appendix D, Table 13), of the competitors; `dma_mb` is
ours; a score stands for all of them on machines without counters. Limits are far beyond what any
device does: what is outside of them is wrong, most often because it is in another unit.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.tables.cells import Table
from slowpath.core.errors import InputError


class Column(NamedTuple):
    """A column of numbers."""

    name: str
    unit: str
    meaning: str
    most: float
    zero: bool = False  # whether zero is possible; negative values never are
    least: float = 0.0  # smallest value above zero
    other_units: tuple[str, ...] = ()  # names of columns that have the same in another unit


FLOWS = Column(
    "flow_count", "flows", "flows in the traffic", 1e12, least=1, other_units=("flow_count_k",)
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
    "matches of regular expressions in payloads",
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
    Column("irt", "1/s", "instructions retired", 1e14, zero=True),
    Column("l2crd", "1/s", "reads from the level-2 data cache", 1e14, zero=True),
    Column("l2cwr", "1/s", "writes to the level-2 data cache", 1e14, zero=True),
    Column("memrd", "1/s", "reads of data memory", 1e14, zero=True),
    Column("memwr", "1/s", "writes to data memory", 1e14, zero=True),
    WORKING_SET,
)
DEVICES = Column(
    "dma_mb",
    "MB/s",
    "what network and accelerators move to and from memory for the competitors",
    1e9,
    zero=True,
    other_units=("dma", "dma_kb", "dma_bytes", "dma_gb", "dma_gbit"),
)
"""No counter of a core sees it. Tables can be without."""
SCORE = (Column("score", "1", "contention of the competitors, by a probe", 1e9, zero=True),)

THROUGHPUT = Column("throughput", "", "throughput of the function", 1e13, least=1e-13)
ALONE = THROUGHPUT._replace(name="alone", meaning="throughput of the function alone")
"""Of the same traffic, nobody beside it; queries and mixes can have it."""
REQUEST_TIME = Column(
    "inverse_throughput", "", "1 / throughput of the accelerator's stage alone", 1e13, least=1e-13
)
QUEUED = Column(
    "inverse_throughput_sum",
    "",
    "sum over competitors of 1 / throughput of their requests alone",
    1e13,
    zero=True,
)
CLIENT_QUEUES = Column("client_queues", "", "queues of a client of the accelerator", 1e6, least=1)
CLIENT_TIME = Column(
    "client_request_time", "", "time of the client's requests alone", 1e13, least=1e-13
)
CLIENT_RATE = Column("client_rate", "", "requests that the client sends", 1e13, zero=True)
"""Of mixes; empty where there is no client, the last one also where it always has requests."""

ATTRIBUTES = {"flows": FLOWS, "size": SIZE, "mtbr": MTBR}
"""Columns of traffic by the names that options have for them."""
CLIENTS = (CLIENT_QUEUES, CLIENT_TIME, CLIENT_RATE)
ALL = (
    *(*TRAFFIC, MTBR, *COUNTERS, DEVICES, *SCORE),
    *(THROUGHPUT, ALONE, REQUEST_TIME, QUEUED, *CLIENTS),
)
"""All of them."""


Floats = NDArray[np.float64]


def column_of(table: Table, column: Column) -> Floats:
    """The values of a column, one for each row, in the unit of the column.

    Raises:
        InputError: when the column is missing or in another unit, or has a value that none can be.
    """
    _check(table, column)
    return np.array([_number(table, at, column) for at in range(len(table.rows))], dtype=float)


def optional_column(table: Table, column: Column) -> Floats:
    """The same of a column with empty cells, which are not numbers."""
    _check(table, column)
    found = np.full(len(table.rows), np.nan)
    for at, row in enumerate(table.rows):
        cell = row.get(column.name)
        if cell is not None and str(cell).strip():
            found[at] = _number(table, at, column)
    return found


def _check(table: Table, column: Column) -> None:
    """Finds out whether the column is there, in its unit."""
    if column.name not in table.header:
        raise missing(table, column)
    unit = table.remarks.get(f"unit {column.name}")
    if column.unit and unit is not None and unit != column.unit:
        reason = f"is in {unit[:40]}; profiles have it in {column.unit}"
        raise table.remark_error(f"unit {column.name}", reason)


def _number(table: Table, at: int, column: Column) -> float:
    value = table.number(at, column.name)
    why = wrong(column, value)
    if why is not None:
        raise table.error(at, column.name, why)
    return value


def columns_of(table: Table, columns: Sequence[Column]) -> dict[str, Floats]:
    """The same of several columns, by their names."""
    return {column.name: column_of(table, column) for column in columns}


def has(table: Table, column: Column) -> bool:
    """Whether a table has a column that it can be without.

    Raises:
        InputError: when it has it in another unit, or written otherwise.
    """
    if column.name in table.header:
        return True
    if _meant(table, column) is not None:
        raise missing(table, column)
    return False


def missing(table: Table, column: Column) -> InputError:
    """What to say where a column is missing: what it is, and what the table has instead."""
    unit = f" ({column.meaning}, in {column.unit})" if column.unit else f" ({column.meaning})"
    meant = _meant(table, column)
    if meant is not None:
        inside = f", in {column.unit}" if column.unit else ""
        reason = f"has a column {meant!r} where {column.name!r} is needed{inside}"
        return InputError(table.file, reason)
    have = ", ".join(name for name in table.header if name) or "no names"
    return InputError(table.file, f"has no column {column.name!r}{unit}; it has {have}")


def _meant(table: Table, column: Column) -> str | None:
    """A column of the table that is the same in another unit, or written otherwise."""
    for name in table.header:
        plain = name.lower().replace(" ", "_").replace("-", "_")
        if plain in (column.name, *column.other_units):
            return name
    return None


def wrong(column: Column, value: float) -> str | None:
    """Why a number cannot be in a column; None where it can."""
    if value < 0:
        return f"{value:g} is negative; {column.meaning} cannot be"
    if value == 0:
        return None if column.zero else f"is zero; {column.meaning} cannot be"
    unit = f" {column.unit}" if column.unit not in ("", "1") else ""
    if value > column.most:
        return f"{value:g} is more than {column.most:g}{unit}; is it in another unit?"
    if value < column.least:
        return f"{value:g} is less than {column.least:g}{unit}; is it in another unit?"
    return None
