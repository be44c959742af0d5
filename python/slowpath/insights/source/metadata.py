"""Reads debug information of an LLVM module, and replaces BPF map types in its definitions.

Debug information has source lines, types and definitions of BPF maps. Map types that the SmartNIC
lacks are replaced: a lookup becomes a call of the SmartNIC's framework, whatever the type of the
map, and code that uses the element found stays unchanged.

Sources: libbpf's definitions of maps by types (`__uint(type, N)` is a pointer to an array of N
elements) and by `struct bpf_map_def`.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from slowpath.core.engine.objects import MAP_KIND_NAMES, MAP_KINDS

_NODE = re.compile(r"(?:distinct )?!(\w*)([({].*[)}])")
_FIELD = re.compile(r'(\w+): ("(?:[^"\\]|\\.)*"|!\w+\([^()]*\)|[^,()]+)')
_REFERENCE = re.compile(r"!(\d+)|null")
_ESCAPED = re.compile(rb"\\([0-9A-Fa-f]{2})")
_DEEPEST = 64
"""Limit on typedefs and qualifiers of a type, and on scopes and inlined calls around an
instruction."""


class Node(NamedTuple):
    """A node of debug information (metadata) of an LLVM module, parsed from its text."""

    kind: str  # such as DILocation; empty: a list
    fields: Mapping[str, str]
    items: tuple[int | None, ...]  # node numbers of a list

    def text(self, name: str) -> str:
        """Return the text field `name` of the node, without quotation marks."""
        found = self.fields.get(name, "").strip('"')
        if "\\" not in found:
            return found
        bare = _ESCAPED.sub(lambda code: bytes([int(code[1], 16)]), found.encode())
        return bare.decode(errors="replace")

    def flags(self) -> frozenset[str]:
        """The flags of the node, such as `DIFlagArtificial`."""
        return frozenset(self.fields.get("flags", "").split(" | "))

    def number(self, name: str) -> int:
        """Return the numeric field `name` of the node; 0 if it is missing or not a number."""
        value = self.fields.get(name, "0")
        return int(value) if value.lstrip("-").isdigit() else 0

    def reference(self, name: str) -> int | None:
        """Return the number of the node to which the field `name` refers.

        Return None without such a reference.
        """
        value = self.fields.get(name, "")
        return int(value[1:]) if re.fullmatch(r"!\d+", value) else None


class Line(NamedTuple):
    """A line of a source file, given by the file's path and the line number."""

    file: str
    line: int


class Member(NamedTuple):
    """A member of a structure that a parameter points to, with its offset and size in bytes."""

    name: str
    offset: int  # bytes
    size: int  # bytes
    element: int  # size of an element in bytes; equals `size` if the member is not an array


class DeclaredParameter(NamedTuple):
    """A parameter of a function as the source declares it, with the type it points to."""

    name: str
    pointee: str
    """Name of the type that a pointer points to, such as `char *` for `char **`.

    It is empty if the parameter is no pointer, or is a `void *`.
    """
    size: int  # bytes of the pointee; 0: unknown
    constant: bool  # the pointee is const
    members: tuple[Member, ...]  # of the pointee, if it is a structure
    signed: bool
    artificial: bool = False  # the object (`this`) of a method
    points: int | None = None
    """Node number of the type that a pointer points to; None if it is no pointer, or a `void *`."""


class Metadata:
    """The debug information (metadata nodes) of a module.

    A node is parsed on its first use, because most are never used.
    """

    def __init__(self, text: str) -> None:
        self._written = dict(_written(text))
        self._nodes = dict[int, Node | None]()
        self._arguments = dict[int, dict[int, Node]]()
        self._paths = dict[int | None, Path | None]()
        units = self._of_kind("DICompileUnit")
        files = (self.node(one.reference("file")) for one in units)
        self._folder = next((one.text("directory") for one in files if one is not None), "")
        for node in self._of_kind("DILocalVariable", "arg: "):
            scope = node.reference("scope")
            if node.number("arg") and scope is not None:
                self._arguments.setdefault(scope, {})[node.number("arg")] = node

    def node(self, number: int | None) -> Node | None:
        """Return the node with this number; None if it is missing or its text is not understood."""
        if number is None:
            return None
        if number not in self._nodes:
            self._nodes[number] = _node(self._written.get(number, ""))
        return self._nodes[number]

    def follow(self, number: int | None, *fields: str) -> Node | None:
        """Follow references from the node `number` through `fields`, and return the last node.

        Return None if a reference is missing.
        """
        node = self.node(number)
        for name in fields:
            node = None if node is None else self.node(node.reference(name))
        return node

    def _of_kind(self, kind: str, having: str = "") -> Iterator[Node]:
        """Yield the nodes of a kind, such as `DICompileUnit`, whose text contains `having`."""
        head = f"!{kind}("
        for number, written in self._written.items():
            if head in written and having in written:
                node = self.node(number)
                if node is not None and node.kind == kind:
                    yield node

    def structure(self, name: str) -> Node | None:
        """Return the first structure type with this name that has members; None without one."""
        found = self._of_kind("DICompositeType", f'name: "{name}"')
        return next((one for one in found if one.reference("elements") is not None), None)

    def line(self, location: int) -> Line | None:
        """Return the source line of the debug location with this node number; None if unknown.

        For inlined code, this is a line of the inlined function.
        """
        node = self.node(location)
        if node is None or node.kind != "DILocation" or not node.number("line"):
            return None
        return Line(self.file(node.reference("scope")), node.number("line"))

    def outer_line(self, location: int) -> Line | None:
        """Return the source line of the debug location with this node number; None if unknown.

        For inlined code, this is the line of the outermost call.
        """
        for _ in range(_DEEPEST):
            node = self.node(location)
            further = None if node is None else node.reference("inlinedAt")
            if further is None:
                break
            location = further
        return self.line(location)

    def around(self, location: int) -> set[str]:
        """Return the symbols of the function to which a debug location belongs, and of its callers.

        Callers count if the function is inlined into them. `location` is the number of the
        location's node.
        """
        found, at = set[str](), self.node(location)
        for _ in range(_DEEPEST):
            if at is None:
                break
            scope = self.node(at.reference("scope"))
            for _ in range(_DEEPEST):
                if scope is None or scope.kind == "DISubprogram":
                    break
                scope = self.node(scope.reference("scope"))
            if scope is not None:
                found.add(scope.text("linkageName") or scope.text("name"))
            at = self.node(at.reference("inlinedAt"))
        return found - {""}

    def qualified(self, function: int) -> str:
        """Return the qualified name of a function, such as `namespace::Class::method`.

        `function` is the number of the function's metadata node.
        """
        node = self.node(function)
        if node is None:
            return ""
        parts = [node.text("name")]
        for _ in range(_DEEPEST):
            node = self.node(node.reference("scope"))
            if node is None or node.kind not in ("DICompositeType", "DINamespace"):
                break
            parts += [node.text("name")] if node.text("name") else []
        return "::".join(reversed(parts))

    def file(self, scope: int | None) -> str:
        """Return the path of the file that contains a scope; empty if unknown.

        `scope` is the number of the scope's node, such as a function or a block.
        """
        for _ in range(_DEEPEST):
            node = self.node(scope)
            if node is None:
                return ""
            if node.kind == "DIFile":
                return self._named(node)
            scope = node.reference("file") or node.reference("scope")
        return ""

    def _named(self, file: Node) -> str:
        """Return the path of a file as seen from the compilation folder.

        `file` is the file's node. For a file below the compilation folder, clang records this
        folder as the file's folder.
        """
        name, folder = file.text("filename"), file.text("directory")
        return name if folder in ("", self._folder) else str(Path(folder, name))

    def is_own(self, function: int) -> bool:
        """Return true if a function is defined in the compiled file, not in an included file.

        `function` is the number of its node. Without debug information, the result is true.
        """
        node, unit = self.node(function), self.follow(function, "unit")
        if node is None or unit is None:
            return True
        return self._path(node.reference("file")) == self._path(unit.reference("file"))

    def _path(self, file: int | None) -> Path | None:
        if file not in self._paths:
            node = self.node(file)
            known = None if node is None else Path(node.text("directory"), node.text("filename"))
            self._paths[file] = known
        return self._paths[file]

    def parameters(self, function: int) -> list[DeclaredParameter]:
        """Return the parameters of a function as the source declares them.

        `function` is the number of its node. The list is empty if debug information lacks them.
        """
        types = self.follow(function, "type", "types")
        if types is None:
            return []
        named = self._arguments.get(function, {})
        names = {at: one.text("name") for at, one in named.items()}
        return [
            self._described(one, names.get(at, "")) for at, one in enumerate(types.items[1:], 1)
        ]

    def _described(self, number: int | None, name: str) -> DeclaredParameter:
        _, _, node = self._bare(number)
        signed = node is not None and "signed" in node.text("encoding").split("_")
        if node is None or node.text("tag") != "DW_TAG_pointer_type":
            return DeclaredParameter(name, "", 0, constant=False, members=(), signed=signed)
        kind, constant, to = self._bare(node.reference("baseType"))
        if to is not None and to.text("tag") == "DW_TAG_pointer_type":
            kind = f"{self._bare(to.reference('baseType'))[0]} *"
        size = 0 if to is None else to.number("size") // 8
        members = () if to is None else tuple(self._members(to))
        artificial = "DIFlagArtificial" in node.flags()
        points = None if to is None else node.reference("baseType")
        return DeclaredParameter(name, kind, size, constant, members, signed, artificial, points)

    def bare(self, number: int | None) -> Node | None:
        """Return the node of a type without typedefs and qualifiers; None for void.

        `number` is the number of the type's node.
        """
        return self._bare(number)[2]

    def _bare(self, number: int | None) -> tuple[str, bool, Node | None]:
        """Return the name, constness and node of a type without typedefs and qualifiers.

        The name is that of the outermost typedef.
        """
        name, constant = "", False
        for _ in range(_DEEPEST):
            node = self.node(number)
            if node is None:
                return name or "", constant, None
            tag = node.text("tag")
            name = name or node.text("name")
            if tag not in ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type"):
                return name, constant, node
            constant |= tag == "DW_TAG_const_type"
            number = node.reference("baseType")
        return name, constant, None

    def _members(self, node: Node) -> Iterator[Member]:
        elements = self.node(node.reference("elements"))
        if node.text("tag") != "DW_TAG_structure_type" or elements is None:
            return
        for number in elements.items:
            member = self.node(number)
            if member is None or member.text("tag") != "DW_TAG_member":
                continue
            _, _, kind = self._bare(member.reference("baseType"))
            size = (0 if kind is None else kind.number("size")) // 8
            element = size
            if kind is not None and kind.text("tag") == "DW_TAG_array_type":
                _, _, inner = self._bare(kind.reference("baseType"))
                element = (0 if inner is None else inner.number("size")) // 8
            yield Member(member.text("name"), member.number("offset") // 8, size, element)


def _written(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each metadata node in the LLVM IR `text`."""
    for line in text.splitlines():
        if line.startswith("!"):
            number, _, written = line[1:].partition(" = ")
            if number.isdecimal():
                yield int(number), written


def _node(written: str) -> Node | None:
    """Parse the text of a metadata node; return None if it is not understood."""
    read = _NODE.fullmatch(written)
    if read is None:
        return None
    kind, rest = read[1], read[2]
    if not kind:
        items = (int(one[1]) if one[1] else None for one in _REFERENCE.finditer(rest))
        return Node("", {}, tuple(items))
    fields = {one[1]: one[2].strip() for one in _FIELD.finditer(rest[1:-1])}
    return Node(kind, fields, ())


# --- definitions of BPF maps ----------------------------------------------------------------------

_REPLACEMENTS = {
    MAP_KINDS[name]: MAP_KINDS[replacement]
    for replacement, names in {
        "hash": ("hash", "percpu_hash", "lru_hash", "lru_percpu_hash", "lpm_trie"),
        "array": ("array", "percpu_array"),
    }.items()
    for name in names
}
"""The map type that replaces each map type. Other types stay, because programs access them by
helpers other than lookups.
"""
MAP_DEFINITION = re.compile(r'^@(\S+) = .*?section "(\.maps|maps)".*?!dbg !(\d+)', re.MULTILINE)
OLD_MAP_DEFINITION = re.compile(
    r'^(@(\S+) = [^\n]*?\{ i32 )(\d+)((?:, i32 \d+){3}, i32 )(\d+)(\b[^\n]*section "maps")',
    re.MULTILINE,
)


class ReplacedMaps(NamedTuple):
    """LLVM IR in which map types that the SmartNIC lacks are replaced, with notes on them."""

    text: str
    reasons: dict[str, str]  # by map name, a note on the original type or flags


def with_known_maps(text: str) -> ReplacedMaps:
    """Replace map types that the SmartNIC lacks by hash maps or arrays in the LLVM IR `text`.

    Map flags are removed.
    """
    reasons = dict[str, str]()

    def old(one: re.Match[str]) -> str:
        kind, flags = int(one[3]), int(one[5])
        if kind not in _REPLACEMENTS or (_REPLACEMENTS[kind], 0) == (kind, flags):
            return one[0]
        reasons[one[2]] = _reason(one[2], kind, flags)
        return f"{one[1]}{_REPLACEMENTS[kind]}{one[4]}0{one[6]}"

    text = OLD_MAP_DEFINITION.sub(old, text)
    metadata = Metadata(text)
    numbers = [int(one) for one in re.findall(r"^!(\d+) = ", text, re.MULTILINE)]
    new = _Nodes(max(numbers, default=0) + 1, metadata)
    changed = dict[int, int]()  # node number of a member: node number of its new type
    for map_, _, expression in MAP_DEFINITION.findall(text):
        parts = {one.text("name"): number for number, one in map_members(metadata, int(expression))}
        values = {name: array_length(metadata, number) for name, number in parts.items()}
        kind = values.get("type")
        if kind is None or kind not in _REPLACEMENTS:
            continue
        for name, required in (("type", _REPLACEMENTS[kind]), ("map_flags", 0)):
            if values.get(name, required) not in (required, None):
                changed[parts[name]] = new.pointer(required)
                reasons[map_] = _reason(map_, kind, values.get("map_flags") or 0)
    for number, pointer in changed.items():
        place = re.compile(rf"^(!{number} = .*?baseType: )!\d+", re.MULTILINE)
        text = place.sub(rf"\g<1>!{pointer}", text, count=1)
    return ReplacedMaps(text + "".join(f"{line}\n" for line in new.lines), reasons)


def _reason(name: str, kind: int, flags: int) -> str:
    if _REPLACEMENTS[kind] != kind:
        names = MAP_KIND_NAMES[kind], MAP_KIND_NAMES[_REPLACEMENTS[kind]]
        return f"the map {name} of type {names[0]} is counted as {names[1]}"
    return f"the map {name} is counted without its flags {flags:#x}"


def map_members(metadata: Metadata, expression: int) -> list[tuple[int, Node]]:
    """Return the members of a BPF map's definition, each as (node number, node).

    `expression` is the number of the debug-information node (`!dbg`) of the map's variable.
    """
    variable = metadata.follow(expression, "var")
    return [] if variable is None else parts_of(metadata, variable.reference("type"))


def parts_of(metadata: Metadata, structure: int | None) -> list[tuple[int, Node]]:
    """Return the members of a structure type, each as (node number, node).

    `structure` is the number of the structure's own node.
    """
    elements = metadata.follow(structure, "elements")
    if elements is None:
        return []
    found = [(number, metadata.node(number)) for number in elements.items if number is not None]
    return [(number, one) for number, one in found if one is not None]


def array_length(metadata: Metadata, number: int) -> int | None:
    """Return the length of the array to which a member of a map definition points.

    Such lengths encode numbers, such as the map's type. Return None if the member points to no
    array. `number` is the number of the member's node.
    """
    array = metadata.follow(number, "baseType", "baseType")
    if array is None or array.text("tag") != "DW_TAG_array_type":
        return None
    elements = metadata.node(array.reference("elements"))
    range_ = None if elements is None or not elements.items else metadata.node(elements.items[0])
    return None if range_ is None else range_.number("count")


class _Nodes:
    """Creates metadata nodes that encode numbers in definitions of BPF maps.

    A number is encoded as a pointer to an array: it is the length of the array.
    """

    def __init__(self, first: int, metadata: Metadata) -> None:
        self._next = first
        self._known = dict[int, int]()
        self.lines = list[str]()
        self._metadata = metadata

    def pointer(self, count: int) -> int:
        """Return the number of a metadata node for a pointer to an array of `count` integers.

        Nodes for each count are created once; `lines` has their text.
        """
        if count not in self._known:
            pointer = self._next
            array, ranges, range_, number = (pointer + more for more in range(1, 5))
            self.lines += [
                f"!{pointer} = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !{array}, "
                "size: 64)",
                f"!{array} = !DICompositeType(tag: DW_TAG_array_type, baseType: !{number}, "
                f"size: {32 * count}, elements: !{ranges})",
                f"!{ranges} = !{{!{range_}}}",
                f"!{range_} = !DISubrange(count: {count})",
                f'!{number} = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)',
            ]
            self._next, self._known[count] = pointer + 5, pointer
        return self._known[count]
