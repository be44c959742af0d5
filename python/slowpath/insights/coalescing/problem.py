"""Variables of a function, and the blocks of code that touch them, as data."""

from collections.abc import Sequence
from typing import NamedTuple

NATURAL = 8
"""The largest alignment that a variable has by its size alone, in bytes."""


class Variable(NamedTuple):
    """A variable that is to be a member of a struct."""

    name: str
    size: int
    """Bytes."""
    align: int
    """Its address is a multiple of so many bytes, a power of two."""
    type: str | None = None
    """Its type in C; None where that is not known."""


class Block(NamedTuple):
    """A block of code."""

    name: str
    weight: float
    """How often it runs, for each packet."""
    touches: Sequence[str]
    """Variables that it reads or writes, one as often as it does."""


class Element(NamedTuple):
    """A function with its variables."""

    name: str
    variables: Sequence[Variable]
    """In the order of the source."""
    blocks: Sequence[Block]


def natural_alignment(size: int) -> int:
    """The largest power of two that divides a size, up to that of a 64-bit word."""
    return min(size & -size, NATURAL)
