"""Reads the memory layout of global variables and types from debug information.

Source: LLVM's language reference, Specialized Metadata Nodes; DWARF 5, section 5.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from slowpath.insights.source.metadata import Line, Metadata, Node
from slowpath.insights.source.sources import is_ours

_DEEPEST = 32
_BITS = "bits"
"""Name that the type of merged adjacent bit-fields gets."""
_RECORDS = ("DW_TAG_structure_type", "DW_TAG_class_type")
_FRAGMENT = re.compile(r"DW_OP_LLVM_fragment, (\d+), (\d+)\)")
"""Pattern for the offset and size, in bits, of a part of a variable that LLVM has split off."""
_GLOBAL = re.compile(r'^@("(?:[^"\\]|\\.)*"|[\w.$-]+) = .*!dbg !(\d+)', re.MULTILINE)


class Field(NamedTuple):
    """A member of a structure, with its offset and type."""

    name: str
    offset: int  # bytes
    type: "Type"
    line: Line | None


class Type(NamedTuple):
    """A type of the source with its layout in memory, without typedefs and qualifiers."""

    name: str  # name in the source: the outermost typedef
    size: int  # bytes
    fields: tuple[Field, ...] = ()  # of a structure and its base classes
    element: "Type | None" = None  # of an array
    length: int = 0  # elements of an array
    ours: bool = False  # a type of slowpath's headers
    flat: bool = False  # members overlap or are unknown, so the type counts as one member
    line: Line | None = None

    @property
    def align(self) -> int:
        """Alignment of the type in bytes, by the rules of C."""
        if self.element is not None:
            return self.element.align
        if self.fields:
            return max(one.type.align for one in self.fields)
        return min(self.size & -self.size, 8) or 1


class Variable(NamedTuple):
    """A global variable of the source, with its type and the line of its declaration."""

    name: str  # name in the source
    type: Type
    line: Line | None


class Spot(NamedTuple):
    """A structure member or array element that a memory access touches.

    It is given by its path within a variable.
    """

    path: tuple[str, ...]
    """Names of nested members from the outside, `[]` for an element of an array."""
    entry: tuple[int, ...]
    """Indices of the elements in `path`, except for arrays of numbers inside other arrays."""


_OUTSIDE = re.compile(
    r'^@("[^"]*"|[\w.$-]+) = external (?:\w+ )*global ((?:\[\d+ x )*)%struct\.([\w.]+?)\]*(?:,|$)',
    re.MULTILINE,
)
"""Pattern for a structure, or an array of structures, that another file defines."""


class Layouts:
    """The memory layouts of a module's global variables and types.

    Types and variables are identified by the numbers of their metadata nodes.
    """

    def __init__(self, text: str, metadata: Metadata) -> None:
        self._metadata = metadata
        self._known = dict[int, Type]()
        self._outside = {
            _bare(one[1]): (one[3], [int(count) for count in re.findall(r"\d+", one[2])])
            for one in _OUTSIDE.finditer(text)
        }
        self._globals = {_bare(one[1]): int(one[2]) for one in _GLOBAL.finditer(text)}

    def symbols(self) -> list[str]:
        """Return the symbols of all global variables that debug information describes."""
        return list(self._globals)

    def node(self, symbol: str) -> int | None:
        """Return the metadata node number of a global variable's type.

        Return None if LLVM split the variable and `symbol` names only a part of it.
        """
        number = self._globals.get(symbol)
        node, found = self._metadata.node(number), self._metadata.follow(number, "var")
        if node is None or found is None or _FRAGMENT.search(node.fields.get("expr", "")):
            return None
        return found.reference("type")

    def variable(self, symbol: str) -> Variable | None:
        """Return the global variable with this symbol; None without debug information.

        If LLVM split a variable into parts, `symbol` is one part. The name of the part is an
        expression in C, such as `a.b`.
        """
        number = self._globals.get(symbol)
        node, found = self._metadata.node(number), self._metadata.follow(number, "var")
        kind = None if found is None else self.type_of(found.reference("type"))
        if node is None or found is None or kind is None:
            return None
        name = found.text("name")
        fragment = _FRAGMENT.search(node.fields.get("expr", ""))
        if fragment is not None:
            part = _part(kind, int(fragment[1]) // 8, int(fragment[2]) // 8)
            if part is not None:
                name, kind = name + part[0], part[1]
        return Variable(name, kind, self._line(found))

    def outside_of(self, name: str) -> list[str]:
        """Return the symbols of variables of the structure type `name` that other files define.

        Arrays of the structure count, too.
        """
        return [symbol for symbol, (kind, _) in self._outside.items() if kind == name]

    def outside(self, symbol: str) -> Variable | None:
        """Return a variable that another file defines, by its symbol.

        Return None if debug information lacks its type.
        """
        name, counts = self._outside.get(symbol, ("", []))
        node = self._metadata.structure(name) if name else None
        if node is None:
            return None
        made = self._record(node, name, node.number("size") // 8, 0)
        for count in reversed(counts):
            made = Type(name, made.size * count, element=made, length=count)
        return Variable(symbol, made, None)

    def place(self, symbol: str) -> Line | None:
        """Return the source line that declares a global variable; None if unknown."""
        found = self._metadata.follow(self._globals.get(symbol), "var")
        return None if found is None else self._line(found)

    def _line(self, node: Node) -> Line | None:
        file = node.reference("file")
        if file is None or not node.number("line"):
            return None
        return Line(self._metadata.file(file), node.number("line"))

    def type_of(self, number: int | None, depth: int = 0) -> Type | None:
        """Return the type with this metadata node number.

        Return None if it is unknown or nested too deeply. `depth` is the present nesting.
        """
        if number is None or depth > _DEEPEST:
            return None
        if number not in self._known:
            made = self._made(number, depth)
            if made is None:
                return None
            self._known[number] = made
        return self._known[number]

    def _made(self, number: int, depth: int) -> Type | None:
        name, at = "", number
        for _ in range(_DEEPEST):
            node = self._metadata.node(at)
            if node is None:
                return None
            name = name or node.text("name")
            if node.text("tag") not in (
                *("DW_TAG_typedef", "DW_TAG_const_type"),
                *("DW_TAG_volatile_type", "DW_TAG_atomic_type"),
            ):
                break
            further = node.reference("baseType")
            if further is None:
                return None
            at = further
        else:
            return None
        size, tag = node.number("size") // 8, node.text("tag")
        if tag == "DW_TAG_array_type":
            return self._array(node, name, size, depth)
        if tag in _RECORDS:
            return self._record(node, name, size, depth)
        return Type(name or "pointer", size, flat=tag == "DW_TAG_union_type")

    def _array(self, node: Node, name: str, size: int, depth: int) -> Type | None:
        element = self.type_of(node.reference("baseType"), depth + 1)
        ranges = self._metadata.node(node.reference("elements"))
        if element is None or ranges is None or not element.size:
            return None
        counts = [
            0 if one is None else one.number("count")
            for one in map(self._metadata.node, ranges.items)
        ]
        made = element
        for count in reversed(counts):
            made = Type(name, made.size * count, element=made, length=count)
        return made if made.size == size else Type(name, size)

    def _record(self, node: Node, name: str, size: int, depth: int) -> Type:
        file = node.reference("file")
        ours = file is not None and is_ours(self._metadata.file(file))
        fields, flat = list[Field](), False
        inside = self._metadata.node(node.reference("elements"))
        for number in () if inside is None else inside.items:
            member = self._metadata.node(number)
            if member is None or member.text("tag") not in ("DW_TAG_member", "DW_TAG_inheritance"):
                continue
            if "DIFlagStaticMember" in member.flags():
                continue
            if "DIFlagBitField" in member.flags():
                fields.append(self._bits(member, fields))
                continue
            kind = self.type_of(member.reference("baseType"), depth + 1)
            flat |= kind is None
            if kind is None or not kind.size:
                continue
            offset = member.number("offset") // 8
            if member.text("tag") == "DW_TAG_inheritance":  # members of a base class
                fields += [one._replace(offset=one.offset + offset) for one in kind.fields]
            else:
                fields.append(Field(member.text("name"), offset, kind, self._line(member)))
        line = self._line(node)
        if flat:
            return Type(name, size, ours=ours, flat=True, line=line)
        return Type(name, size, tuple(fields), ours=ours, line=line)

    def _bits(self, member: Node, before: list[Field]) -> Field:
        """Return the field of a structure for a bit-field.

        It is merged with bit-fields directly before it: they are accessed together, so they become
        one field. `before` are the fields so far; a bit-field at its end is removed.
        """
        first, size = member.number("offset"), member.number("size")
        start, end = first // 8, -(-(first + size) // 8)
        name, line = f"{member.text('name')}:{size}", self._line(member)
        if before and before[-1].type.name == _BITS:
            last = before.pop()
            name, start, line = f"{last.name}+{name}", last.offset, last.line
        return Field(name, start, Type(_BITS, end - start), line)


def locate(kind: Type, offset: int, size: int) -> list[Spot]:
    """Return the members of a type that a memory access touches, in order.

    `offset` and `size` of the access are in bytes. If the type has no members, or the access
    touches none of them, the result is the whole type.
    """
    return _within(kind, offset, max(1, size), (), ())[:_MAX_SPOTS]


_MAX_SPOTS = 1 << 16
"""Limit on the members and elements of one access; the rest of a longer copy is ignored."""


def _within(
    kind: Type,
    offset: int,
    size: int,
    path: tuple[str, ...],
    entry: tuple[int, ...],
) -> list[Spot]:
    if kind.element is not None:
        inner, found = kind.element, list[Spot]()
        first = offset // inner.size
        last = min((offset + size - 1) // inner.size, kind.length - 1)
        if entry and not inner.fields and inner.element is None:
            return [Spot((*path, "[]"), entry)]
        for at in range(first, min(last, first + _MAX_SPOTS) + 1):
            begin = max(offset - at * inner.size, 0)
            end = min(offset + size - at * inner.size, inner.size)
            found += _within(inner, begin, end - begin, (*path, "[]"), (*entry, at))
        return found or [Spot(path, entry)]
    found = []
    for one in kind.fields:
        begin, end = max(offset, one.offset), min(offset + size, one.offset + one.type.size)
        if begin < end:
            inner_path = (*path, one.name)
            found += _within(one.type, begin - one.offset, end - begin, inner_path, entry)
    return found or [Spot(path, entry)]


def _part(kind: Type, offset: int, size: int) -> tuple[str, Type] | None:
    """Return the member or array element at an offset in a type, and its type.

    It is given as a C expression, such as `.a[1]`. `offset` and `size` are in bytes; the result is
    None if no member or element has that size.
    """
    written = ""
    while offset or kind.size != size:
        if kind.element is not None and offset // kind.element.size < kind.length:
            at, offset = divmod(offset, kind.element.size)
            written, kind = f"{written}[{at}]", kind.element
            continue
        inside = [one for one in kind.fields if 0 <= offset - one.offset < one.type.size]
        if not inside:
            return None
        offset -= inside[0].offset
        written, kind = f"{written}.{inside[0].name}", inside[0].type
    return written, kind


def descend(kind: Type, path: Sequence[str]) -> Type | None:
    """Return the type of the nested member that a `Spot.path` names.

    Return None if the path does not exist in the type `kind`.
    """
    for name in path:
        if name == "[]":
            kind = kind.element if kind.element is not None else kind
            continue
        found = next((one.type for one in kind.fields if one.name == name), None)
        if found is None:
            return None
        kind = found
    return kind


def _bare(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name
