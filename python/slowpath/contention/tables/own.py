"""Tables that say what they are of: `# device: ...` above the columns of CSV, or keys of JSON.

Keys: `function`, `device`, `source` (how it was measured), `unit throughput`, `cache mb` (size of
the last-level cache in MB), `mtbr` (match ratio of the traffic, in matches per MB), and `unit
COLUMN`, which then has to be the one that profiles have. All can be left out.
"""

import math

from slowpath.contention.tables.cells import Table
from slowpath.contention.tables.columns import (
    ALL,
    CLIENT_TIME,
    MTBR,
    QUEUED,
    REQUEST_TIME,
    THROUGHPUT,
    WORKING_SET,
)
from slowpath.contention.tables.profiles import Origin

CACHE = "cache mb"
UNIT = "unit"
_ONE = ("packet", "pkt")
"""What is counted, and can be left out."""
_OTHER_CACHES = ("cache", "cache b", "cache bytes", "cache kb", "cache kib", "cache gb")


def origin(table: Table) -> Origin:
    """What a table says of itself.

    Raises:
        InputError: when a number is none, or something is in another unit.
    """
    said = table.remarks
    for other in _OTHER_CACHES:
        if other in said:
            raise table.remark_error(other, f"has to be in MB, as `{CACHE}: N`")
    known = {one.name for one in ALL} | {*table.header}
    for key in said:
        of, _, name = key.partition(" ")
        if of == UNIT and name not in known:
            raise table.remark_error(key, "there is no such column")
    unit = said.get(f"{UNIT} {THROUGHPUT.name}")
    check_times(table, unit)
    return Origin(
        files=(table.file,),
        function=said.get("function"),
        device=said.get("device"),
        unit=unit,
        source=said.get("source"),
        cache_mb=_number(table, CACHE, 1e-3, WORKING_SET.most),
        mtbr=_number(table, MTBR.name, 0, MTBR.most),
    )


def check_times(table: Table, unit: str | None) -> None:
    """Finds out whether times are in the reciprocal of a unit of throughput, as far as is known.

    Raises:
        InputError: when they are in another one.
    """
    for column in (REQUEST_TIME, QUEUED, CLIENT_TIME):
        key = f"{UNIT} {column.name}"
        time = table.remarks.get(key)
        if unit is not None and time is not None and not reciprocal(unit, time):
            reason = f"is in {time[:40]}; it is 1 / throughput, which is in {unit[:40]}"
            raise table.remark_error(key, reason)


def reciprocal(unit: str, other: str) -> bool:
    """Whether a unit is that of 1 / another, as people write it: packets/s and s/packet, or s."""
    above, _, below = (_plain(one) for one in unit.partition("/"))
    known = {f"{below}/{above}", f"1/{_plain(unit)}", below if above in _ONE else ""}
    return _plain(other) in known - {""}


def _plain(unit: str) -> str:
    """Without spaces, brackets, and what tells one from several."""
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
        raise table.remark_error(key, f"{text[:40]!r} is no number from {least:g} to {most:g}")
    return number
