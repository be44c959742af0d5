"""The columns that profiles and queries can have: what they mean, their units and their limits.

The seven counters are those of the paper (appendix D, Table 13), of the competitors; `dma_mb` is
ours; a score stands for all of them on machines without counters. Limits are far beyond what any
device does: what is outside of them is wrong, most often because it is in another unit.
"""

from typing import NamedTuple


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
