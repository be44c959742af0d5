"""Placement problems: structures and memories.

Costs are in the unit of the card's prices, mostly cycles. Counts are accesses for each packet; for
the objective cost, they can be for any other number of packets.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

COPY = "memcpy"
"""Operation with a structure at both ends."""


class Access(NamedTuple):
    """An operation of a function on a structure, and its number."""

    operation: str
    times: float
    to: str | None = None
    """For a copy, the structure that is written; the structure with this access is read."""


class Structure(NamedTuple):
    """A data structure of a function."""

    name: str
    size: int
    """Size in bytes."""
    accesses: Sequence[Access]
    parts: int = 1
    """Number of parts, equal in size and accesses, that may be on different levels, such as groups
    of a hash table's buckets; 1: undivided."""

    @property
    def part_size(self) -> int:
        """Size of a part in bytes."""
        return -(-self.size // self.parts)


class Card(NamedTuple):
    """The memories of a card."""

    levels: Sequence[str]
    capacity: Mapping[str, int]
    """Capacity in bytes, by level."""
    access_cost: Mapping[str, Mapping[str, float]]
    """Price of an access by operation and level; entries without a price are missing."""
    copy_cost: Mapping[str, Mapping[str, float]]
    """Price of a copy by the levels of the structures that are read and written."""


class ThroughputLimits(NamedTuple):
    """Data for the throughput of a card, besides its prices."""

    clock: float
    """Units of cost per second."""
    contexts: int
    """Number of packets in progress at a time: cores times threads."""
    busy: Mapping[str, Mapping[str, float]]
    """Seconds for which one access occupies a memory, by level and operation."""
    compute: float = 0.0
    """Cost of a packet besides its accesses."""
    cores: int | None = None
    """Number of cores, each of which computes for one packet at a time; None: no limit."""
    wanted: float | None = None
    """Requested packets per second, beyond which more have no value; None: as many as possible."""


class Case(NamedTuple):
    """A function to place on a card."""

    name: str
    card: Card
    structures: Sequence[Structure]
    rates: ThroughputLimits | None = None
    """Data for throughput; None if the objective is cost."""


PartCounts = Sequence[Sequence[int]]
"""Placement: the number of each structure's parts on each level of the card."""


class StatedPlacement(NamedTuple):
    """A placement from the file, for comparison."""

    title: str
    placement: Mapping[str, str]
    """Level by structure."""
    cost: float | None
    """Cost as the file states it; None if the file does not."""


class Described(NamedTuple):
    """A case of a file, with placements for comparison."""

    case: Case
    scope: str
    before: Sequence[StatedPlacement]
