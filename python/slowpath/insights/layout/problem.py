"""Defines layout problems, and counts the accesses that an order of variables needs.

A struct begins at a multiple of the access width. Members have the offsets of C: each is at the
next multiple of its alignment. A window is a range as long as the access width, and aligned to it.
A block of code needs one access for each window that it touches, even if it touches the window
repeatedly. Accesses are weighted by the runs of blocks, in integers, so that equal costs compare as
equal.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import NamedTuple

NATURAL = 8
"""Largest alignment in bytes that is derived from the size of a variable."""


class Variable(NamedTuple):
    """A variable that becomes a member of a struct."""

    name: str
    size: int
    """Size in bytes."""
    align: int
    """Alignment in bytes, a power of two."""
    type: str | None = None
    """Type in C; None if it is unknown."""


class Block(NamedTuple):
    """A block of code that reads and writes variables."""

    name: str
    weight: float
    """Runs of the block per packet."""
    touches: Sequence[str]
    """Names of variables that the block reads or writes, repeated for each access."""


class Element(NamedTuple):
    """A network function with its variables and blocks of code."""

    name: str
    variables: Sequence[Variable]
    """Variables in the order of the source."""
    blocks: Sequence[Block]


def natural_alignment(size: int) -> int:
    """Return the largest power of two that divides a size, at most `NATURAL`."""
    return min(size & -size, NATURAL)


Order = Sequence[int]
"""A permutation of the indices of an element's variables."""


class MergedElement(NamedTuple):
    """An element's variables and code blocks, prepared for one access width.

    Blocks that touch the same variables are merged.
    """

    sizes: Sequence[int]
    aligns: Sequence[int]
    masks: Sequence[int]
    """For each variable, a bit mask of the merged blocks that touch it."""
    weights: Sequence[int]
    """For each merged block, its runs per packet, times `unit`."""
    unit: int
    width: int

    known: dict[int, int]
    """Cached results of `weight`, by mask."""

    def weight(self, mask: int) -> int:
        """Return the total weight of the blocks in a bit mask: their executions, times `unit`."""
        found = self.known.get(mask)
        if found is None:
            found = sum(one for at, one in enumerate(self.weights) if mask >> at & 1)
            self.known[mask] = found
        return found


def weighted(element: Element, width: int) -> MergedElement:
    """Merge blocks of code that touch the same variables, and drop blocks that never run."""
    kinds = dict[frozenset[str], Fraction]()
    for block in element.blocks:
        touched = frozenset(block.touches)
        if touched and block.weight:
            kinds[touched] = kinds.get(touched, Fraction(0)) + Fraction(repr(block.weight))
    unit = lcm(*(one.denominator for one in kinds.values()))
    masks = [
        sum(1 << at for at, touched in enumerate(kinds) if one.name in touched)
        for one in element.variables
    ]
    return MergedElement(
        [one.size for one in element.variables],
        [one.align for one in element.variables],
        masks,
        [int(one * unit) for one in kinds.values()],
        unit,
        width,
        {},
    )


def accesses(element: MergedElement, order: Order) -> int:
    """Return the accesses per packet that an order of variables needs, times `element.unit`."""
    total, end, fetched, window = 0, 0, 0, 0
    sizes, aligns, masks, width, weight = (
        element.sizes,
        element.aligns,
        element.masks,
        element.width,
        element.weight,
    )
    for at in order:
        begin = -(-end // aligns[at]) * aligns[at]
        end = begin + sizes[at]
        first, last = begin // width, (end - 1) // width
        mask = masks[at]
        if first != window:
            fetched = 0
        total += weight(mask & ~fetched)
        if last == first:
            fetched |= mask
        else:
            total += weight(mask) * (last - first)
            fetched = mask
        window = last
    return total


def offsets(variables: Sequence[Variable]) -> list[int]:
    """Return the offsets in bytes of the members of a C struct."""
    found, end = list[int](), 0
    for one in variables:
        found.append(-(-end // one.align) * one.align)
        end = found[-1] + one.size
    return found


def size_of(variables: Sequence[Variable]) -> int:
    """Return the size of a C struct in bytes, with the padding after its last member."""
    if not variables:
        return 0
    align = max(one.align for one in variables)
    return -(-(offsets(variables)[-1] + variables[-1].size) // align) * align


def windows(variables: Sequence[Variable], width: int) -> list[range]:
    """Return, for each member of a struct, the range of indices of the windows that it overlaps."""
    return [
        range(at // width, (at + one.size - 1) // width + 1)
        for at, one in zip(offsets(variables), variables, strict=True)
    ]
