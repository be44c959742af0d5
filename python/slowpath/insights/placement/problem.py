"""Placement problems: structures and memories.

Costs are in the unit of the card's prices, mostly cycles; counts are accesses for each packet, or
for any other number of packets where no throughput is asked for.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

COPY = "memcpy"
"""The operation that has a structure at either end."""


class Access(NamedTuple):
    """What a function does with a structure, and how often."""

    operation: str
    times: float
    to: str | None = None
    """Of a copy, the structure that is written; this one is read."""


class Structure(NamedTuple):
    """A data structure of a function."""

    name: str
    size: int
    """Bytes."""
    accesses: Sequence[Access]
    parts: int = 1
    """Pieces that may be on different levels, alike in size and accesses, as of a hash table whose
    buckets are divided; 1: it is in one place."""

    @property
    def part_size(self) -> int:
        """Bytes that a part takes."""
        return -(-self.size // self.parts)


class Card(NamedTuple):
    """The memories of a card."""

    levels: Sequence[str]
    capacity: Mapping[str, int]
    """Bytes, by level."""
    access_cost: Mapping[str, Mapping[str, float]]
    """By operation and level; what has no price is not in there."""
    copy_cost: Mapping[str, Mapping[str, float]]
    """By level of the structure that is read, and of the one that is written."""


class Rates(NamedTuple):
    """What else limits how many packets a card lets through."""

    clock: float
    """Units of cost in a second."""
    contexts: int
    """Packets that are worked on at a time: cores times threads."""
    busy: Mapping[str, Mapping[str, float]]
    """By level and operation, for how many seconds one access keeps that memory from others."""
    compute: float = 0.0
    """What a packet costs beside its accesses."""
    cores: int | None = None
    """Cores that compute, each for one packet at a time; None where that limits nothing."""
    wanted: float | None = None
    """Packets in a second beyond which more are worth nothing; None: as many as possible."""


class Case(NamedTuple):
    """A function and a card."""

    name: str
    card: Card
    structures: Sequence[Structure]
    rates: Rates | None = None
    """None where accesses have to cost little, and nobody asks for throughput."""


Spread = Sequence[Sequence[int]]
"""Of each structure, how many of its parts are on each level of the card."""


class Before(NamedTuple):
    """A placement that a file has."""

    title: str
    placement: Mapping[str, str]
    """Level by structure."""
    cost: float | None
    """What the file says that it costs."""


class Described(NamedTuple):
    """A case of a file."""

    case: Case
    scope: str
    before: Sequence[Before]
