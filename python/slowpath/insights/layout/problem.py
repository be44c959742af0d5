"""Layout problems, and the accesses that an order of variables costs.

A struct begins at a multiple of the width. Members are where C puts them: each at the next multiple
of its alignment. A block takes one access for each window of the width, from multiple to multiple,
in which it touches anything, whatever it does there; sums are by how often blocks run, in whole
numbers, so that equal costs are equal.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
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


Order = Sequence[int]
"""Places of variables in the element, each once."""


class Weighted(NamedTuple):
    """An element for one width of accesses."""

    sizes: Sequence[int]
    aligns: Sequence[int]
    masks: Sequence[int]
    """Of each variable, a bit for each kind of block that touches it."""
    weights: Sequence[int]
    """Of each kind of block, how often it runs, in `1 / unit`."""
    unit: int
    width: int

    known: dict[int, int]
    """Weights that were added up already."""

    def weight(self, mask: int) -> int:
        """How often all of these blocks run together."""
        found = self.known.get(mask)
        if found is None:
            found = sum(one for at, one in enumerate(self.weights) if mask >> at & 1)
            self.known[mask] = found
        return found


def weighted(element: Element, width: int) -> Weighted:
    """Blocks that touch the same variables become one; those that never run, none."""
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
    return Weighted(
        [one.size for one in element.variables],
        [one.align for one in element.variables],
        masks,
        [int(one * unit) for one in kinds.values()],
        unit,
        width,
        {},
    )


def accesses(of: Weighted, order: Order) -> int:
    """What an order takes, in `1 / of.unit` accesses for each packet."""
    total, end, fetched, window = 0, 0, 0, 0
    sizes, aligns, masks, width, weight = of.sizes, of.aligns, of.masks, of.width, of.weight
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
    """Where C puts these members of a struct."""
    found, end = list[int](), 0
    for one in variables:
        found.append(-(-end // one.align) * one.align)
        end = found[-1] + one.size
    return found


def size_of(variables: Sequence[Variable]) -> int:
    """Bytes of the struct, with what is left empty behind its last member."""
    if not variables:
        return 0
    align = max(one.align for one in variables)
    return -(-(offsets(variables)[-1] + variables[-1].size) // align) * align


def windows(variables: Sequence[Variable], width: int) -> list[range]:
    """Of each member, the windows that it is in."""
    return [
        range(at // width, (at + one.size - 1) // width + 1)
        for at, one in zip(offsets(variables), variables, strict=True)
    ]
