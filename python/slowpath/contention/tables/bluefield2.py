"""The published tables of BlueField-2, which say nothing of themselves but by their columns.

Source: repository NetX-lab/Yala, `profile/flowmon`, in the form of our validation data. FlowMonitor
runs on two cores, competitors (`mem-bench`) on others; the last-level cache that they share has
6 MB (paper, 7.1).
"""

from slowpath.contention.tables.cells import Table
from slowpath.contention.tables.columns import COUNTERS, MTBR, REQUEST_TIME, THROUGHPUT, TRAFFIC
from slowpath.contention.tables.profiles import Origin

_MEMORY = {"row", *(one.name for one in (*TRAFFIC, *COUNTERS, THROUGHPUT))}
_REGEX = {"row", MTBR.name, REQUEST_TIME.name}


def recognised(table: Table) -> bool:
    """Whether a table has the columns of the published ones, and no remarks of its own."""
    return not table.remarks and set(table.header) in (_MEMORY, _REGEX)


def origin(table: Table) -> Origin:
    """What is known of them; the unit of throughput is not stated there."""
    return Origin(
        files=(table.file,),
        function="FlowMonitor",
        device="bluefield-2",
        source="NetX-lab/Yala, profile/flowmon",
        cache_mb=6.0,
    )
