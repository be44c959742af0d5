"""Defines placement problems, which consist of data structures and memories.

Costs are in the unit of the SmartNIC's prices, mostly cycles. Accesses are counted per packet; if
the objective is cost, they may be counted for any number of packets.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

COPY = "memcpy"
"""Operation that reads one data structure and writes another."""


class Access(NamedTuple):
    """An operation of a function on a data structure, with the number of its executions."""

    operation: str
    times: float
    to: str | None = None
    """Name of the structure that a copy writes; the copy reads the structure that has this access.
    None for other operations."""


class Structure(NamedTuple):
    """A data structure of a network function, with the accesses to it."""

    name: str
    size: int
    """Size in bytes."""
    accesses: Sequence[Access]
    parts: int = 1
    """Number of equal parts that may be on different memory levels, such as groups of a hash
    table's buckets; 1 if the structure is undivided."""

    @property
    def part_size(self) -> int:
        """Size of a part in bytes, rounded up."""
        return -(-self.size // self.parts)


class Card(NamedTuple):
    """The memory levels of a SmartNIC, with capacities and prices of accesses."""

    levels: Sequence[str]
    capacity: Mapping[str, int]
    """Capacity in bytes, by level."""
    access_cost: Mapping[str, Mapping[str, float]]
    """Price of an access by operation and level; unknown prices are missing."""
    copy_cost: Mapping[str, Mapping[str, float]]
    """Price of a copy by the levels of the structures that are read and written."""


class ThroughputLimits(NamedTuple):
    """Properties of the SmartNIC, besides access prices, that limit the throughput."""

    clock: float
    """Units of cost per second, such as cycles per second."""
    contexts: int
    """Number of packets in progress at a time: cores times threads."""
    busy: Mapping[str, Mapping[str, float]]
    """Seconds for which one access occupies a memory, by level and operation."""
    compute: float = 0.0
    """Cost of a packet without its accesses."""
    cores: int | None = None
    """Number of cores, each computing for one packet at a time; None if cores do not limit the
    throughput."""
    wanted: float | None = None
    """Requested packets per second, a maximum of the throughput; None for as many as possible."""


class Case(NamedTuple):
    """A function whose data structures are to be placed on a SmartNIC."""

    name: str
    card: Card
    structures: Sequence[Structure]
    rates: ThroughputLimits | None = None
    """Data for throughput; None if the objective is cost."""


PartCounts = Sequence[Sequence[int]]
"""For each structure and level, the number of the structure's parts on the level."""


class StatedPlacement(NamedTuple):
    """A placement that a file states, for comparison with the advised one."""

    title: str
    placement: Mapping[str, str]
    """Name of the memory level of each structure, by name of the structure."""
    cost: float | None
    """Cost that the file states; None if it states none."""


class Described(NamedTuple):
    """A placement problem from a file, with placements that the file states for comparison."""

    case: Case
    scope: str
    before: Sequence[StatedPlacement]
