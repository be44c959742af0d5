"""Profiles and queries from files; an error names file, row and column."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from slowpath.cli.errors import InputError
from slowpath.contention.tables import bluefield2, own
from slowpath.contention.tables.cells import Table, read_cells
from slowpath.contention.tables.columns import (
    COUNTERS,
    DEVICES,
    MTBR,
    QUEUED,
    REQUEST_TIME,
    SCORE,
    SIZE,
    THROUGHPUT,
    TRAFFIC,
    Column,
)
from slowpath.contention.tables.profiles import (
    AcceleratorProfile,
    MemoryProfile,
    Origin,
    OwnContention,
    Query,
)
from slowpath.contention.tables.values import column_of, columns_of

FEWEST = 10
"""Rows that a memory model takes at least."""
FEWEST_REQUESTS = 2
"""Rows that a line through request times takes."""


Kind = Literal["memory", "accelerator", "contention"]


def kind_of(file: str) -> Kind:
    """Which profile a file is, by its columns; the others say what is missing."""
    header = read_cells(file).header
    if THROUGHPUT.name in header:
        return "memory"
    if REQUEST_TIME.name in header:
        return "accelerator"
    if {one.name for one in (*COUNTERS, *SCORE)} & set(header):
        return "contention"
    wanted = f"{THROUGHPUT.name!r}, {REQUEST_TIME.name!r} or counters"
    raise InputError(file, f"is no profile: it has no column {wanted}")


def read_memory(files: Sequence[str]) -> MemoryProfile:
    """Memory profiles of one function on one device, one below the other.

    Raises:
        InputError: when a file cannot be used, is of another function or device than the first, or
            there are too few rows in all.
    """
    first, *others = [_memory(file) for file in files]
    for other in others:
        _same(first.origin, other.origin)
        if other.columns.keys() != first.columns.keys():
            reason = f"has other columns of contention than {first.origin.files[0]}"
            raise InputError(other.origin.files[0], reason)
    parts = (first, *others)
    joined = MemoryProfile(
        first.origin._replace(files=tuple(files)),
        tuple(row for part in parts for row in part.rows),
        {name: np.concatenate([part.columns[name] for part in parts]) for name in first.columns},
        np.concatenate([part.throughput for part in parts]),
    )
    if len(joined.rows) < FEWEST:
        reason = f"has {len(joined.rows)} rows; a memory model takes at least {FEWEST}"
        raise InputError(files[-1], reason)
    return joined


def _memory(file: str) -> MemoryProfile:
    table = read_cells(file)
    columns = columns_of(table, (*TRAFFIC, *_contention(table)))
    return MemoryProfile(_origin(table), table.names(), columns, column_of(table, THROUGHPUT))


def read_accelerator(file: str, beside: Origin | None = None) -> AcceleratorProfile:
    """The request times of a function on an accelerator.

    Raises:
        InputError: when the file cannot be used, is of another function or device than `beside`,
            or has fewer than two match ratios.
    """
    table = read_cells(file)
    mtbr, request_time = column_of(table, MTBR), column_of(table, REQUEST_TIME)
    origin = _origin(table)
    if beside is not None:
        _same(beside, origin)
    if len(np.unique(mtbr)) < FEWEST_REQUESTS:
        reason = f"has {len(np.unique(mtbr))} different values of {MTBR.name}; a line takes two"
        raise InputError(file, reason)
    size = column_of(table, SIZE) if SIZE.name in table.header else None
    return AcceleratorProfile(origin, table.names(), mtbr, request_time, size)


def read_own_contention(file: str, beside: Origin | None = None) -> OwnContention:
    """What a function does to others, by its traffic.

    Raises:
        InputError: when the file cannot be used, has no rows, or is of another function or device.
    """
    table = read_cells(file)
    if not table.rows:
        raise InputError(file, "has no rows")
    origin = _origin(table)
    if beside is not None:
        _same(beside, origin)
    columns = columns_of(table, (*TRAFFIC, *_contention(table)))
    return OwnContention(origin, table.names(), columns)


def read_query(file: str, like: MemoryProfile, *, accelerator: bool) -> Query:
    """What predictions are asked for, with the columns of a profile.

    Raises:
        InputError: when the file cannot be used.
    """
    table = read_cells(file)
    wanted = [one for one in (*TRAFFIC, *COUNTERS, DEVICES, *SCORE) if one.name in like.columns]
    device = own.origin(table).device
    if None not in (device, like.origin.device) and device != like.origin.device:
        raise _another(file, "device", device, like.origin.device, like.origin.files[0])
    return Query(
        file,
        table.names(),
        columns_of(table, wanted),
        column_of(table, MTBR) if accelerator else None,
        column_of(table, QUEUED) if accelerator else None,
    )


def _contention(table: Table) -> Sequence[Column]:
    if SCORE[0].name in table.header:
        return SCORE
    return (*COUNTERS, DEVICES) if DEVICES.name in table.header else COUNTERS


def _origin(table: Table) -> Origin:
    return bluefield2.origin(table) if bluefield2.recognised(table) else own.origin(table)


def _same(one: Origin, other: Origin) -> None:
    """Finds out whether two profiles are of the same function on the same device."""
    for name in ("function", "device", "unit"):
        first, second = getattr(one, name), getattr(other, name)
        if first != second and None not in (first, second):
            raise _another(other.files[0], name, second, first, one.files[0])


def _another(
    file: str, what: str, found: str | None, wanted: str | None, beside: str
) -> InputError:
    return InputError(file, f"is of {what} {found!r}; {beside} is of {wanted!r}")
