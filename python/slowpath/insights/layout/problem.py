"""Reads structs to lay out from JSON files, and counts the memory accesses of an order.

A struct begins at a multiple of the access width. Members have the offsets of C: each is at the
next multiple of its alignment. A window is a range as long as the access width, and aligned to it.
A block of code needs one access for each window that it touches, even if it touches the window
repeatedly. Accesses are weighted by the runs of blocks, in integers, so that equal costs compare as
equal.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from slowpath.core.inputs import read_text
from slowpath.core.spanned import Spanned, decimal, items, read_marked_json, table, text
from slowpath.insights.rows import named_tables

NATURAL = 8
"""Largest alignment in bytes that is derived from the size of a variable."""


class Variable(NamedTuple):
    """A variable of the program that becomes a member of the struct."""

    name: str
    size: int
    """Size in bytes."""
    align: int
    """Alignment in bytes, a power of two."""
    type: str | None = None
    """Type in C; None if it is unknown."""


class Block(NamedTuple):
    """A block of code, with the variables that it reads and writes."""

    name: str
    weight: float
    """Runs of the block per packet."""
    touches: Sequence[str]
    """Names of variables that the block reads or writes, repeated for each access."""


class Element(NamedTuple):
    """A network function (element), with its variables and blocks of code."""

    name: str
    variables: Sequence[Variable]
    """Variables in the order of the source."""
    blocks: Sequence[Block]


def natural_alignment(size: int) -> int:
    """Return the alignment of a variable of `size` bytes: the largest power of two that divides it.

    The result is at most `NATURAL`.
    """
    return min(size & -size, NATURAL)


Order = Sequence[int]
"""A permutation of the indices of an element's variables."""


class MergedElement(NamedTuple):
    """An element's variables and code blocks, prepared to count the accesses of an order.

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
        """Return the total weight of the merged blocks whose bits are set in `mask`.

        A weight is the runs per packet, times `unit`. This factor makes weights integers.
        """
        found = self.known.get(mask)
        if found is None:
            found = sum(one for at, one in enumerate(self.weights) if mask >> at & 1)
            self.known[mask] = found
        return found


def weighted(element: Element, width: int) -> MergedElement:
    """Merge blocks of code that touch the same variables, and drop blocks that never run.

    `width` is the number of bytes that one access fetches.
    """
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
    """Return the memory accesses per packet if the variables are in this order.

    The number is multiplied by `element.unit`, so that it is an integer.
    """
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
    """Return the offset in bytes of each variable as a member of a C struct, in this order."""
    found, end = list[int](), 0
    for one in variables:
        found.append(-(-end // one.align) * one.align)
        end = found[-1] + one.size
    return found


def size_of(variables: Sequence[Variable]) -> int:
    """Return the size in bytes of a C struct with these members, including padding at the end."""
    if not variables:
        return 0
    align = max(one.align for one in variables)
    return -(-(offsets(variables)[-1] + variables[-1].size) // align) * align


def windows(variables: Sequence[Variable], width: int) -> list[range]:
    """Return the windows that each member of a struct overlaps, as a range of indices.

    A window is an aligned range of `width` bytes, which one access fetches.
    """
    return [
        range(at // width, (at + one.size - 1) // width + 1)
        for at, one in zip(offsets(variables), variables, strict=True)
    ]


_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_TYPE = re.compile(r"[A-Za-z_][\w ]*[ *]*", re.ASCII)
_MAX_BYTES = 2**20
_MAX_ALIGN = 4096
_MAX_WEIGHT = 1e15


class Described(NamedTuple):
    """An element (network function) read from a file, with a published order to compare with."""

    element: Element
    clusters: int | None
    """Number of clusters for the published method; None to search for the best number."""
    published: Order | None
    """Published order of the variables; None if the file has none."""


class DescribedFile(NamedTuple):
    """The content of a file that describes elements, whose variables are to be ordered."""

    width: int | None
    """Access width in bytes; None if the file does not state it."""
    elements: Sequence[Described]


def read_elements(file: str) -> DescribedFile:
    """Read a JSON file with elements (network functions) whose variables are to be ordered.

    Raises:
        InputError: when the file cannot be read or is invalid.
    """
    return elements_of(file, read_text(file))


def elements_of(file: str, content: str) -> DescribedFile:
    """Read elements (network functions) from the JSON text `content` of a file.

    Error messages name `file`.

    Raises:
        InputError: when the text is invalid.
    """
    document = table(read_marked_json(file, content), ("elements",), ("about", "access_bytes"))
    width = _power(document["access_bytes"]) if "access_bytes" in document else None
    elements = [_element(one) for one in named_tables(document["elements"], "element")]
    if not elements:
        document["elements"].place.refuse("the list is empty; add at least one entry")
    return DescribedFile(width, elements)


def _power(found: Spanned) -> int:
    value = decimal(found, 1, _MAX_ALIGN)
    if not value.is_integer() or int(value) & (int(value) - 1):
        found.place.refuse(f"{value:g} is not a power of two")
    return int(value)


def _whole(found: Spanned, most: float) -> int:
    value = decimal(found, 1, most)
    if not value.is_integer():
        found.place.refuse(f"{value:g} is not a whole number")
    return int(value)


def _element(found: Spanned) -> Described:
    keys = ("about", "field_bytes", "clusters", "published_field_order")
    one = table(found, ("name", "variables", "blocks"), keys)
    size = _whole(one["field_bytes"], _MAX_BYTES) if "field_bytes" in one else None
    variables = list[Variable]()
    for each in items(one["variables"]):
        variable = _variable(each, size)
        if variable.name in {other.name for other in variables}:
            each.place.refuse(f"the variable {variable.name!r} is already defined; rename one")
        variables.append(variable)
    if not variables:
        one["variables"].place.refuse("the list is empty; add at least one entry")
    names = [each.name for each in variables]
    blocks = _blocks(one["blocks"], names)
    clusters = _whole(one["clusters"], len(variables)) if "clusters" in one else None
    order = one.get("published_field_order")
    published = None if order is None else _order(order, names)
    return Described(Element(text(one["name"]), variables, blocks), clusters, published)


def _variable(found: Spanned, size: int | None) -> Variable:
    """Read a variable of an element from JSON; `size` is the default size in bytes, if any."""
    if not isinstance(found.value, dict):
        if size is None:
            found.place.refuse(
                "the variable has no size; write {name, bytes}, or field_bytes for all variables"
            )
        return Variable(_name(found), size, natural_alignment(size))
    one = table(found, ("name",), ("about", "bytes", "align", "type"))
    if "bytes" in one:
        size = _whole(one["bytes"], _MAX_BYTES)
    if size is None:
        found.place.refuse(
            "the variable lacks its size; add bytes, or field_bytes for all variables"
        )
    align = _power(one["align"]) if "align" in one else natural_alignment(size)
    kind = text(one["type"]) if "type" in one else None
    if kind is not None and not _TYPE.fullmatch(kind):
        one["type"].place.refuse(f"{kind[:40]!r} is not the name of a type in C")
    return Variable(_name(one["name"]), size, align, kind)


def _name(found: Spanned) -> str:
    name = text(found)
    if not _NAME.fullmatch(name):
        found.place.refuse(f"{name[:40]!r} is not the name of a variable in C")
    return name


def _blocks(found: Spanned, names: Sequence[str]) -> list[Block]:
    blocks = dict[str, Block]()
    for at, each in enumerate(items(found), 1):
        block = _block(each, at, names)
        if block.name in blocks:
            each.place.refuse(f"the block {block.name!r} is already defined; rename one")
        blocks[block.name] = block
    return [*blocks.values()]


def _block(found: Spanned, number: int, names: Sequence[str]) -> Block:
    one = table(found, ("weight", "variables"), ("about", "name"))
    name = text(one["name"]) if "name" in one else f"block {number}"
    weight = decimal(one["weight"], 0, _MAX_WEIGHT)
    return Block(name, weight, [_known(each, names) for each in items(one["variables"])])


def _known(found: Spanned, names: Sequence[str]) -> str:
    name = text(found)
    if name not in names:
        found.place.refuse(f"{name[:40]!r} is not a variable of this element")
    return name


def _order(found: Spanned, names: Sequence[str]) -> Order:
    order = list[int]()
    for each in items(found):
        at = names.index(_known(each, names))
        if at in order:
            each.place.refuse(f"the variable {names[at]!r} is in the order twice")
        order.append(at)
    if len(order) < len(names):
        lacking = next(name for at, name in enumerate(names) if at not in order)
        found.place.refuse(f"the order lacks {lacking}, but must list every variable")
    return order
