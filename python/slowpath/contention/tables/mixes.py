"""Mixes: a function beside competitors for memory, for an accelerator, or for both, as it ran.

`slowpath contention profile` writes such a table (`mixes.csv`). Memory profiles have the rows with
competitors for memory alone; what the others tell is which execution pattern the function has, and
how long it waits at the accelerator.
"""

import numpy as np

from slowpath.contention.tables.cells import read_cells
from slowpath.contention.tables.columns import (
    ALL,
    ALONE,
    CLIENT_QUEUES,
    CLIENT_TIME,
    CLIENTS,
    MTBR,
    QUEUED,
    THROUGHPUT,
)
from slowpath.contention.tables.own import check_times
from slowpath.contention.tables.profiles import MemoryProfile, Mixes
from slowpath.contention.tables.reading import check_same, origin_of
from slowpath.contention.tables.values import column_of, columns_of, optional_column


def read_mixes(file: str, like: MemoryProfile) -> Mixes:
    """The mixes of a function, with the columns of its memory profile.

    Raises:
        InputError: when the file cannot be used, or is of another function or device.
    """
    table = read_cells(file)
    origin = origin_of(table)
    check_same(like.origin, origin)
    check_times(table, like.origin.unit)
    queues, request_time, rate = (optional_column(table, one) for one in CLIENTS)
    there = np.isfinite(queues)
    for at in np.flatnonzero(there != np.isfinite(request_time)):
        lacks, has = CLIENT_TIME, CLIENT_QUEUES
        if not there[at]:
            lacks, has = has, lacks
        reason = f"there is no value, and one of {has.name}; a client has both"
        raise table.error(int(at), lacks.name, reason)
    return Mixes(
        origin,
        table.names(),
        columns_of(table, [one for one in ALL if one.name in like.columns]),
        column_of(table, MTBR),
        np.where(there, queues, 0.0),
        np.where(there, request_time, 0.0),
        np.where(there, np.where(np.isfinite(rate), rate, np.inf), 0.0),
        column_of(table, QUEUED),
        column_of(table, ALONE),
        column_of(table, THROUGHPUT),
    )
