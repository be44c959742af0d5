"""Reads tables of measurements: profiles, queries and mixes. Errors name file, row and column.

Comment lines above a table (remarks) have the keys `function`, `device`, `source` (method of
measurement), `unit throughput`, `cache mb` (size of the last-level cache in MB), `mtbr` (match
ratio of the traffic, in matches per MB), and `unit COLUMN`, which has to be the unit of profiles.
All are optional.

Published tables are from the repository NetX-lab/Yala, `profile/flowmon`, in the form of our
validation data. FlowMonitor runs on two cores, competitors (`mem-bench`) on others; their shared
last-level cache has 6 MB (Tomur paper, 7.1).

`slowpath contention profile` writes mixes (`mixes.csv`). Its memory profile repeats the rows with
competitors for memory only. The other rows show the execution pattern of the function, and its
waiting time at the accelerator.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import numpy as np

from slowpath.contention.cells import Table, read_cells
from slowpath.contention.columns import (
    ALL,
    ALONE,
    CLIENT_QUEUES,
    CLIENT_TIME,
    CLIENTS,
    COUNTERS,
    DMA,
    MTBR,
    QUEUED,
    REQUEST_TIME,
    SCORE,
    SIZE,
    THROUGHPUT,
    TRAFFIC,
    WORKING_SET,
    AcceleratorProfile,
    Column,
    MemoryProfile,
    Mixes,
    Origin,
    OwnContention,
    Query,
    column_of,
    columns_of,
    has,
    optional_column,
)
from slowpath.core import codes
from slowpath.core.errors import InputError

CACHE = "cache mb"
UNIT = "unit"
_ONE = ("packet", "pkt")
"""Names of items that a unit can omit in a time per item: `s` stands for `s/packet`."""
_OTHER_CACHES = ("cache", "cache b", "cache bytes", "cache kb", "cache kib", "cache gb")


def stated_origin(table: Table) -> Origin:
    """Return the origin (function, device, units) that the comment lines above a table state.

    Raises:
        InputError: if a number is invalid, or a unit is wrong.
    """
    remarks = table.remarks
    for other in _OTHER_CACHES:
        if other in remarks:
            raise table.remark_error(
                other, f"the size of the cache must be in MB; write `{CACHE}: N`"
            )
    known = {one.name for one in ALL} | {*table.header}
    for key in remarks:
        of, _, name = key.partition(" ")
        if of == UNIT and name not in known:
            raise table.remark_error(key, "the table lacks this column")
    unit = remarks.get(f"{UNIT} {THROUGHPUT.name}")
    check_times(table, unit)
    return Origin(
        files=(table.file,),
        function=remarks.get("function"),
        device=remarks.get("device"),
        unit=unit,
        source=remarks.get("source"),
        cache_mb=_number(table, CACHE, 1e-3, WORKING_SET.most),
        mtbr=_number(table, MTBR.name, 0, MTBR.most),
    )


def check_times(table: Table, unit: str | None) -> None:
    """Check that the unit of times is the reciprocal of the unit of throughput, if both are stated.

    Raises:
        InputError: if a time has another unit.
    """
    for column in (REQUEST_TIME, QUEUED, CLIENT_TIME):
        key = f"{UNIT} {column.name}"
        time = table.remarks.get(key)
        if unit is not None and time is not None and not reciprocal(unit, time):
            reason = (
                f"the unit of request times is {time[:40]}, but it must be the reciprocal "
                f"of the unit of throughput ({unit[:40]})"
            )
            raise table.remark_error(key, reason)


def reciprocal(unit: str, other: str) -> bool:
    """Return true if a unit is the reciprocal of another unit, in any common spelling.

    For example, the reciprocals of packets/s are s/packet and s.
    """
    above, _, below = (_plain(one) for one in unit.partition("/"))
    known = {f"{below}/{above}", f"1/{_plain(unit)}", below if above in _ONE else ""}
    return _plain(other) in known - {""}


def _plain(unit: str) -> str:
    """Return a unit without spaces, brackets and plural endings, to compare spellings."""
    parts = unit.translate({ord(one): "" for one in " ()"}).split("/")
    return "/".join(part if len(part) == 1 else part.removesuffix("s") for part in parts)


def _number(table: Table, key: str, least: float, most: float) -> float | None:
    text = table.remarks.get(key)
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        raise table.remark_error(key, f"{text[:40]!r} is not a number from {least:g} to {most:g}")
    return number


_MEMORY = {"row", *(one.name for one in (*TRAFFIC, *COUNTERS, THROUGHPUT))}
_REGEX = {"row", MTBR.name, REQUEST_TIME.name}


def is_published(table: Table) -> bool:
    """Return true if a table has the columns of those published in the repository NetX-lab/Yala.

    Published tables have no comment lines.
    """
    return not table.remarks and set(table.header) in (_MEMORY, _REGEX)


def published_origin(table: Table) -> Origin:
    """Return the origin of a table published in the repository NetX-lab/Yala.

    The unit of throughput in such tables is unknown.
    """
    return Origin(
        files=(table.file,),
        function="FlowMonitor",
        device="bluefield-2",
        source="NetX-lab/Yala, profile/flowmon",
        cache_mb=6.0,
    )


FEWEST = 10
"""Minimum number of rows for training a memory model."""
FEWEST_REQUESTS = 2
"""Minimum number of different match ratios for fitting a line through request times."""

SAME = ("function", "device", "unit")
"""Fields of an origin that must agree, if stated, in all profiles of a function."""
Kind = Literal["memory", "accelerator", "contention", "mixes"]


def kind_of(file: str) -> Kind:
    """Return the kind of table that a file contains, by its columns.

    Raises:
        InputError: if the columns belong to no kind of table.
    """
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
    raise InputError(
        codes.NOT_A_PROFILE,
        file,
        f"the table is not a profile: it needs a column {wanted}; it has {have}",
    )


def read_memory(files: Sequence[str]) -> MemoryProfile:
    """Read one or more memory profiles of a function on a device, and join them.

    Raises:
        InputError: if a file cannot be used, is of another function or device than the first, or
            all files together have too few rows.
    """
    repeated = next((file for at, file in enumerate(files) if file in files[:at]), None)
    if repeated is not None:
        raise InputError(codes.FILE_NAMED_TWICE, repeated, "the file is named twice; remove one")
    parts = [_memory(file) for file in files]
    first = parts[0]
    for earlier, later in combinations(parts, 2):
        check_same(earlier.origin, later.origin, (*SAME, "cache_mb", "mtbr"))
        if differ := later.columns.keys() ^ earlier.columns.keys():
            reason = f"this table and {earlier.origin.files[0]} have different contention columns"
            raise InputError(
                codes.PROFILES_CONTRADICT,
                later.origin.files[0],
                f"{reason}: {', '.join(sorted(differ))}",
            )
    joined = MemoryProfile(
        _joined([one.origin for one in parts])._replace(files=tuple(files)),
        tuple(row for part in parts for row in part.rows),
        {name: np.concatenate([part.columns[name] for part in parts]) for name in first.columns},
        np.concatenate([part.throughput for part in parts]),
    )
    if len(joined.rows) < FEWEST:
        together = "" if len(files) == 1 else f" together with {', '.join(files[:-1])}"
        reason = (
            f"the table has {len(joined.rows)} rows{together}; a memory model needs at "
            f"least {FEWEST}"
        )
        raise InputError(codes.TOO_FEW_ROWS, files[-1], reason)
    return joined


def _joined(origins: Sequence[Origin]) -> Origin:
    """Merge the origins of several tables; for each field, the first stated value counts."""
    first, *others = origins
    for other in others:
        missing = {
            name: value for name, value in other._asdict().items() if getattr(first, name) is None
        }
        first = first._replace(**missing)
    return first


def _memory(file: str) -> MemoryProfile:
    table = read_cells(file)
    columns = columns_of(table, (*TRAFFIC, *_contention(table)))
    origin, throughput = origin_of(table), column_of(table, THROUGHPUT)
    if has(table, QUEUED):
        for at in np.flatnonzero(column_of(table, QUEUED)):
            reason = (
                "the value is above zero, but rows of a memory table must not have competitors "
                "at an accelerator"
            )
            raise table.error(int(at), QUEUED.name, reason)
    return MemoryProfile(origin, table.names(), columns, throughput)


def read_accelerator(file: str, reference: Origin | None = None) -> AcceleratorProfile:
    """Read a function's request times at an accelerator, by match ratio.

    `reference` is the origin of the memory profile, which must agree.

    Raises:
        InputError: if the file cannot be used, is of another function or device than `reference`,
            or has fewer than two match ratios.
    """
    table = read_cells(file)
    mtbr, request_time = column_of(table, MTBR), column_of(table, REQUEST_TIME)
    origin = origin_of(table)
    if reference is not None:
        check_same(reference, origin)
        check_times(table, reference.unit)
    different = len(np.unique(mtbr))
    if different < FEWEST_REQUESTS:
        reason = (
            f"column {MTBR.name}: the column has {different} different values; a line "
            "needs at least two"
        )
        raise InputError(codes.PROFILE_INSUFFICIENT, file, reason)
    size = column_of(table, SIZE) if has(table, SIZE) else None
    return AcceleratorProfile(origin, table.names(), mtbr, request_time, size)


def read_own_contention(file: str, reference: Origin | None = None) -> OwnContention:
    """Read the contention that a function causes for other functions, by its traffic.

    `reference` is the origin of the memory profile, which must agree.

    Raises:
        InputError: if the file cannot be used, has no rows, or is of another function or device
            than `reference`.
    """
    table = read_cells(file)
    if not table.rows:
        raise InputError(codes.TOO_FEW_ROWS, file, "the table has no rows")
    origin = origin_of(table)
    if reference is not None:
        check_same(reference, origin)
    columns = columns_of(table, (*TRAFFIC, *_contention(table)))
    return OwnContention(origin, table.names(), columns)


def check_columns(own_contention: OwnContention, memory: MemoryProfile) -> None:
    """Check that a function's own contention has the same contention columns as its memory profile.

    Raises:
        InputError: if a column is missing.
    """
    if lacking := memory.columns.keys() - own_contention.columns.keys():
        names = ", ".join(one.name for one in ALL if one.name in lacking)
        reason = f"the table lacks columns of {memory.origin.files[0]}: {names}"
        raise InputError(codes.MISSING_COLUMN, own_contention.origin.files[0], reason)


def read_query(file: str, profile: MemoryProfile, *, accelerator: bool) -> Query:
    """Read a query: rows of traffic and competitors for which throughput is to be predicted.

    Tables of a profile are valid queries, too. For tables measured with competitors for memory
    only, a remark states the match ratio, and no other client uses the accelerator.

    Args:
        file: the table.
        profile: the memory profile, whose columns the query must have.
        accelerator: true if the function uses an accelerator.

    Raises:
        InputError: if the file cannot be used.
    """
    table = read_cells(file)
    wanted = [one for one in (*TRAFFIC, *COUNTERS, DMA, *SCORE) if one.name in profile.columns]
    check_same(profile.origin, stated_origin(table))
    check_times(table, profile.origin.unit)
    columns = columns_of(table, wanted)
    solo = column_of(table, ALONE) if has(table, ALONE) else None
    if accelerator:
        stated = None if has(table, MTBR) else origin_of(table).mtbr
        ones = np.ones(len(table.rows))
        mtbr = column_of(table, MTBR) if stated is None else ones * stated
        no_clients = has(table, THROUGHPUT) and not has(table, QUEUED)
        queued = ones * 0.0 if no_clients else column_of(table, QUEUED)
        return Query(file, table.names(), columns, mtbr, queued, (), solo)
    busy = has(table, QUEUED) and column_of(table, QUEUED).any()
    left_out = (QUEUED.name,) if busy else ()
    return Query(file, table.names(), columns, None, None, left_out, solo)


def _contention(table: Table) -> Sequence[Column]:
    if not has(table, SCORE[0]):
        return (*COUNTERS, DMA) if has(table, DMA) else COUNTERS
    counters = [one.name for one in COUNTERS if one.name in table.header]
    if counters:
        reason = (
            f"the table has the column {SCORE[0].name!r} and the counters that it replaces; "
            "remove the counters"
        )
        raise InputError(
            codes.DUPLICATE_ROW_OR_COLUMN, table.file, f"{reason}: {', '.join(counters)}"
        )
    return SCORE


def origin_of(table: Table) -> Origin:
    """Return the origin of a table from its comment lines; that of published tables is known."""
    return published_origin(table) if is_published(table) else stated_origin(table)


def check_same(one: Origin, other: Origin, fields: Sequence[str] = SAME) -> None:
    """Check that two tables are of the same function on the same device.

    `fields` are the fields of the origins that must agree if both tables state them.

    Raises:
        InputError: if they differ; the error names the second table.
    """
    for name in fields:
        first, second = getattr(one, name), getattr(other, name)
        if first != second and None not in (first, second):
            field = name.replace("_", " ")
            reason = f"the table is for the {field} {second!r}, but {one.files[0]} is for {first!r}"
            raise InputError(codes.PROFILES_CONTRADICT, other.files[0], reason)


def read_mixes(file: str, memory: MemoryProfile) -> Mixes:
    """Read the measured mixes of a function.

    They have the columns of its memory profile, and others.

    Raises:
        InputError: if the file cannot be used, or is of another function or device.
    """
    table = read_cells(file)
    origin = origin_of(table)
    check_same(memory.origin, origin)
    check_times(table, memory.origin.unit)
    queues, request_time, rate = (optional_column(table, one) for one in CLIENTS)
    present = np.isfinite(queues)
    for at in np.flatnonzero(present != np.isfinite(request_time)):
        filled, empty = (
            (CLIENT_QUEUES, CLIENT_TIME) if present[at] else (CLIENT_TIME, CLIENT_QUEUES)
        )
        reason = f"the cell is empty, but {filled.name} has a value; a client needs both"
        raise table.error(int(at), empty.name, reason)
    return Mixes(
        origin,
        table.names(),
        columns_of(table, [one for one in ALL if one.name in memory.columns]),
        column_of(table, MTBR),
        np.where(present, queues, 0.0),
        np.where(present, request_time, 0.0),
        np.where(present, np.where(np.isfinite(rate), rate, np.inf), 0.0),
        column_of(table, QUEUED),
        column_of(table, ALONE),
        column_of(table, THROUGHPUT),
    )
