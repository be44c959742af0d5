"""Points that are measured: traffic and competitors, and what came of them."""

from typing import NamedTuple


class Traffic(NamedTuple):
    """Traffic of the function."""

    flows: int
    size: int  # of packets, bytes
    mtbr: float  # matches per MB


class MemBench(NamedTuple):
    """A competitor for caches and memory."""

    working_set: int  # bytes
    touch: str
    rate: float | None  # accesses per second; None: as many as it can


class Client(NamedTuple):
    """A competitor at the accelerator."""

    size: int  # of packets, bytes
    mtbr: float
    rate: float | None  # requests per second; None: there is one at any time
    queues: int


class Point(NamedTuple):
    """What runs together."""

    traffic: Traffic
    memory: MemBench | None
    client: Client | None


class Rate(NamedTuple):
    """A rate of several blocks."""

    value: float  # median, per second
    low: float
    high: float
    blocks: int
    disturbed: int  # blocks that were left out, or, where all were, that were not


class Measured(NamedTuple):
    """What came of a point; without competitors, both rates are of the function alone."""

    point: Point
    alone: Rate  # packets per second
    beside: Rate
    competitor: float | None  # accesses per second of mem-bench
    client: Rate | None = None  # requests per second of the client when nobody else sends any
