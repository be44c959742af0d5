"""Tables that say what they are of: `# device: ...` above the columns of CSV, or keys of JSON.

Keys: `function`, `device`, `source` (how it was measured), `unit throughput`, `cache mb` (size of
the last-level cache in MB), and `unit COLUMN`, which then has to be the one that profiles have. All
can be left out.
"""

import math

from slowpath.cli.errors import InputError
from slowpath.contention.tables.cells import Table
from slowpath.contention.tables.profiles import Origin


def origin(table: Table) -> Origin:
    """What a table says of itself.

    Raises:
        InputError: when the size of the cache is none.
    """
    said = table.remarks
    return Origin(
        files=(table.file,),
        function=said.get("function"),
        device=said.get("device"),
        unit=said.get("unit throughput"),
        source=said.get("source"),
        cache_mb=_size(table, said.get("cache mb")),
    )


def _size(table: Table, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        size = float(text)
    except ValueError:
        size = math.nan
    if not 0 < size < math.inf:
        raise InputError(table.file, f"cache mb: {text[:40]!r} is no size in MB")
    return size
