"""Replaces types of BPF maps that the SmartNIC lacks.

A lookup in a map becomes a call of the SmartNIC's framework, whatever the type of the map. Code
that uses the element found stays unchanged. Sources: libbpf's definitions of maps by types
(`__uint(type, N)` is a pointer to an array of N elements) and by `struct bpf_map_def`.
"""

import re
from typing import NamedTuple

from slowpath.core.engine.objects import MAP_KIND_NAMES, MAP_KINDS
from slowpath.insights.source.metadata import Metadata, Node

_REPLACEMENTS = {
    MAP_KINDS[name]: MAP_KINDS[replacement]
    for replacement, names in {
        "hash": ("hash", "percpu_hash", "lru_hash", "lru_percpu_hash", "lpm_trie"),
        "array": ("array", "percpu_array"),
    }.items()
    for name in names
}
"""The map type that replaces each map type. Other types stay; programs use them by other helpers.
"""
DEFINED = re.compile(r'^@(\S+) = .*?section "(\.maps|maps)".*?!dbg !(\d+)', re.MULTILINE)
OLD = re.compile(
    r'^(@(\S+) = [^\n]*?\{ i32 )(\d+)((?:, i32 \d+){3}, i32 )(\d+)(\b[^\n]*section "maps")',
    re.MULTILINE,
)


class ReplacedMaps(NamedTuple):
    """A module after the map types that the SmartNIC lacks were replaced."""

    text: str
    reasons: dict[str, str]  # by map name, a note on the original type or flags


def with_known_maps(text: str) -> ReplacedMaps:
    """Replace map types that the SmartNIC lacks by hash maps or arrays, and remove map flags."""
    reasons = dict[str, str]()

    def old(one: re.Match[str]) -> str:
        kind, flags = int(one[3]), int(one[5])
        if kind not in _REPLACEMENTS or (_REPLACEMENTS[kind], 0) == (kind, flags):
            return one[0]
        reasons[one[2]] = _reason(one[2], kind, flags)
        return f"{one[1]}{_REPLACEMENTS[kind]}{one[4]}0{one[6]}"

    text = OLD.sub(old, text)
    metadata = Metadata(text)
    numbers = [int(one) for one in re.findall(r"^!(\d+) = ", text, re.MULTILINE)]
    new = _Nodes(max(numbers, default=0) + 1, metadata)
    changed = dict[int, int]()  # node number of a member: node number of its new type
    for map_, _, expression in DEFINED.findall(text):
        parts = {one.text("name"): number for number, one in members(metadata, int(expression))}
        values = {name: value(metadata, number) for name, number in parts.items()}
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


def members(metadata: Metadata, expression: int) -> list[tuple[int, Node]]:
    """Return the members of a map's definition, each with the number of its metadata node.

    `expression` is the number of the debug-information node (`!dbg`) of the map's variable.
    """
    variable = metadata.follow(expression, "var")
    return [] if variable is None else parts_of(metadata, variable.reference("type"))


def parts_of(metadata: Metadata, structure: int | None) -> list[tuple[int, Node]]:
    """Return the members of a structure, each with the number of its metadata node.

    `structure` is the number of the structure's own node.
    """
    elements = metadata.follow(structure, "elements")
    if elements is None:
        return []
    found = [(number, metadata.node(number)) for number in elements.items if number is not None]
    return [(number, one) for number, one in found if one is not None]


def value(metadata: Metadata, number: int) -> int | None:
    """Return the length of the array that a member points to; None if it points to no array."""
    array = metadata.follow(number, "baseType", "baseType")
    if array is None or array.text("tag") != "DW_TAG_array_type":
        return None
    elements = metadata.node(array.reference("elements"))
    range_ = None if elements is None or not elements.items else metadata.node(elements.items[0])
    return None if range_ is None else range_.number("count")


class _Nodes:
    """Creates metadata nodes for pointers to arrays.

    Map definitions encode a number as such a pointer: the number is the length of the array.
    """

    def __init__(self, first: int, metadata: Metadata) -> None:
        self._next = first
        self._known = dict[int, int]()
        self.lines = list[str]()
        self._metadata = metadata

    def pointer(self, count: int) -> int:
        """Return the node number of a pointer to an array of `count` integers.

        Create the nodes if they do not exist yet.
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
