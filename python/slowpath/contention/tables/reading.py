"""Profiles and queries from files; an error names file, row and column."""

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import numpy as np

from slowpath.cli.errors import InputError
from slowpath.contention.tables import bluefield2, own
from slowpath.contention.tables.cells import Table, read_cells
from slowpath.contention.tables.columns import (
    ALL,
    ALONE,
    CLIENT_TIME,
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
from slowpath.contention.tables.values import column_of, columns_of, has

FEWEST = 10
"""Rows that a memory model takes at least."""
FEWEST_REQUESTS = 2
"""Rows that a line through request times takes."""

SAME = ("function", "device", "unit")
"""What profiles that go together have in common, as far as they say it."""
Kind = Literal["memory", "accelerator", "contention", "mixes"]


def kind_of(file: str) -> Kind:
    """Which profile a file is, by its columns; the others say what is missing."""
    table = read_cells(file)
    if has(table, CLIENT_TIME):
        return "mixes"
    if has(table, THROUGHPUT):
        return "memory"
    if has(table, REQUEST_TIME):
        return "accelerator"
    if any(has(table, one) for one in (*COUNTERS, *SCORE)):
        return "contention"
    wanted = f"{THROUGHPUT.name!r}, {REQUEST_TIME.name!r} or counters"
    have = ", ".join(name for name in table.header if name) or "no names"
    raise InputError(file, f"is no profile: it has no column {wanted}; it has {have}")


def read_memory(files: Sequence[str]) -> MemoryProfile:
    """Memory profiles of one function on one device, one below the other.

    Raises:
        InputError: when a file cannot be used, is of another function or device than the first, or
            there are too few rows in all.
    """
    twice = next((file for at, file in enumerate(files) if file in files[:at]), None)
    if twice is not None:
        raise InputError(twice, "is named twice; its rows would count twice")
    parts = [_memory(file) for file in files]
    first = parts[0]
    for earlier, later in combinations(parts, 2):
        check_same(earlier.origin, later.origin, (*SAME, "cache_mb", "mtbr"))
        if differ := later.columns.keys() ^ earlier.columns.keys():
            reason = f"has other columns of contention than {earlier.origin.files[0]}"
            raise InputError(later.origin.files[0], f"{reason}: {', '.join(sorted(differ))}")
    joined = MemoryProfile(
        _joined([one.origin for one in parts])._replace(files=tuple(files)),
        tuple(row for part in parts for row in part.rows),
        {name: np.concatenate([part.columns[name] for part in parts]) for name in first.columns},
        np.concatenate([part.throughput for part in parts]),
    )
    if len(joined.rows) < FEWEST:
        together = "" if len(files) == 1 else f" together with {', '.join(files[:-1])}"
        reason = f"has {len(joined.rows)} rows{together}; a memory model takes at least {FEWEST}"
        raise InputError(files[-1], reason)
    return joined


def _joined(origins: Sequence[Origin]) -> Origin:
    """What one of several tables says is so of all."""
    first, *others = origins
    for other in others:
        said = {name: one for name, one in other._asdict().items() if getattr(first, name) is None}
        first = first._replace(**said)
    return first


def _memory(file: str) -> MemoryProfile:
    table = read_cells(file)
    columns = columns_of(table, (*TRAFFIC, *_contention(table)))
    origin, throughput = origin_of(table), column_of(table, THROUGHPUT)
    if has(table, QUEUED):
        for at in np.flatnonzero(column_of(table, QUEUED)):
            reason = "is above zero; memory rows are without competitors at an accelerator"
            raise table.error(int(at), QUEUED.name, reason)
    return MemoryProfile(origin, table.names(), columns, throughput)


def read_accelerator(file: str, beside: Origin | None = None) -> AcceleratorProfile:
    """The request times of a function on an accelerator.

    Raises:
        InputError: when the file cannot be used, is of another function or device than `beside`,
            or has fewer than two match ratios.
    """
    table = read_cells(file)
    mtbr, request_time = column_of(table, MTBR), column_of(table, REQUEST_TIME)
    origin = origin_of(table)
    if beside is not None:
        check_same(beside, origin)
        own.check_times(table, beside.unit)
    different = len(np.unique(mtbr))
    if different < FEWEST_REQUESTS:
        reason = f"column {MTBR.name}: has {different} different values; a line takes two"
        raise InputError(file, reason)
    size = column_of(table, SIZE) if has(table, SIZE) else None
    return AcceleratorProfile(origin, table.names(), mtbr, request_time, size)


def read_own_contention(file: str, beside: Origin | None = None) -> OwnContention:
    """What a function does to others, by its traffic.

    Raises:
        InputError: when the file cannot be used, has no rows, or is of another function or device.
    """
    table = read_cells(file)
    if not table.rows:
        raise InputError(file, "has no rows")
    origin = origin_of(table)
    if beside is not None:
        check_same(beside, origin)
    columns = columns_of(table, (*TRAFFIC, *_contention(table)))
    return OwnContention(origin, table.names(), columns)


def check_columns(own_contention: OwnContention, memory: MemoryProfile) -> None:
    """Finds out whether what a function does to others is told in the columns of memory rows.

    Raises:
        InputError: when a column is missing.
    """
    if lacking := memory.columns.keys() - own_contention.columns.keys():
        names = ", ".join(one.name for one in ALL if one.name in lacking)
        reason = f"has no columns {names}, by which {memory.origin.files[0]} tells contention"
        raise InputError(own_contention.origin.files[0], reason)


def read_query(file: str, like: MemoryProfile, *, accelerator: bool) -> Query:
    """What predictions are asked for, with the columns of a profile.

    Tables of a profile are queries, too: memory rows have their match ratio above the columns, and
    no competitor at an accelerator.

    Args:
        file: the table.
        like: has the columns.
        accelerator: whether an accelerator is asked about.

    Raises:
        InputError: when the file cannot be used.
    """
    table = read_cells(file)
    wanted = [one for one in (*TRAFFIC, *COUNTERS, DEVICES, *SCORE) if one.name in like.columns]
    check_same(like.origin, own.origin(table))
    own.check_times(table, like.origin.unit)
    columns = columns_of(table, wanted)
    solo = column_of(table, ALONE) if has(table, ALONE) else None
    if accelerator:
        said = origin_of(table).mtbr
        ones = np.ones(len(table.rows))
        mtbr = ones * said if said is not None and not has(table, MTBR) else column_of(table, MTBR)
        nobody = has(table, THROUGHPUT) and not has(table, QUEUED)
        queued = ones * 0.0 if nobody else column_of(table, QUEUED)
        return Query(file, table.names(), columns, mtbr, queued, (), solo)
    busy = has(table, QUEUED) and column_of(table, QUEUED).any()
    left_out = (QUEUED.name,) if busy else ()
    return Query(file, table.names(), columns, None, None, left_out, solo)


def _contention(table: Table) -> Sequence[Column]:
    if not has(table, SCORE[0]):
        return (*COUNTERS, DEVICES) if has(table, DEVICES) else COUNTERS
    counters = [one.name for one in COUNTERS if one.name in table.header]
    if counters:
        reason = f"has a column {SCORE[0].name!r}, which stands for counters, beside counters"
        raise InputError(table.file, f"{reason}: {', '.join(counters)}")
    return SCORE


def origin_of(table: Table) -> Origin:
    """What a table says of itself, or what is known of the published ones."""
    return bluefield2.origin(table) if bluefield2.recognised(table) else own.origin(table)


def check_same(one: Origin, other: Origin, names: Sequence[str] = SAME) -> None:
    """Finds out whether two profiles are of the same function on the same device.

    Raises:
        InputError: when they are not, naming the second one.
    """
    for name in names:
        first, second = getattr(one, name), getattr(other, name)
        if first != second and None not in (first, second):
            what = name.replace("_", " ")
            reason = f"is of {what} {second!r}; {one.files[0]} is of {first!r}"
            raise InputError(other.files[0], reason)
