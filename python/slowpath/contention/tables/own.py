"""Tables that say what they are of: `# device: ...` above the columns of CSV, or keys of JSON.

Keys: `function`, `device`, `source` (how it was measured), `unit throughput`, `cache mb` (size of
the last-level cache in MB), `mtbr` (match ratio of the traffic, in matches per MB), and `unit
COLUMN`, which then has to be the one that profiles have. All can be left out.
"""

import math

from slowpath.cli.errors import InputError
from slowpath.contention.tables.cells import Table
from slowpath.contention.tables.profiles import Origin


def origin(table: Table) -> Origin:
    """What a table says of itself.

    Raises:
        InputError: when a number is none.
    """
    said = table.remarks
    return Origin(
        files=(table.file,),
        function=said.get("function"),
        device=said.get("device"),
        unit=said.get("unit throughput"),
        source=said.get("source"),
        cache_mb=_number(table, "cache mb", least=1e-3),
        mtbr=_number(table, "mtbr", least=0),
    )


def _number(table: Table, key: str, least: float) -> float | None:
    text = table.remarks.get(key)
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number < math.inf:
        raise InputError(table.file, f"{key}: {text[:40]!r} is no number from {least:g} up")
    return number
