"""Finds the BPF maps of a source, and describes their layout as tables on a SmartNIC.

Sources: libbpf's definitions of maps, by types and by `struct bpf_map_def`;
kernel/bpf/bloom_filter.c. In definitions by types, `__uint(type, ...)` is a pointer to an array
whose length is the number, `__type(key, ...)` a pointer to the type, and `__array(values, ...)` an
array of pointers to the inner maps of a map of maps.
"""

import re
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.engine.objects import MAP_KINDS
from slowpath.core.errors import InputError
from slowpath.insights.source.layouts import Field, Layouts, Type, Variable
from slowpath.insights.source.map_types import DEFINED, OLD, members, parts_of, value
from slowpath.insights.source.metadata import Line, Metadata, Node

DESCRIPTOR_BYTES = 80
"""Bytes of `struct map`, the description of a map (`source/headers/nic/xdp.c`)."""
HASH, ARRAY, PROGRAMS = (MAP_KINDS[name] for name in ("hash", "array", "prog_array"))
LRU, LPM, PORTS = (MAP_KINDS[name] for name in ("lru_hash", "lpm_trie", "devmap"))
QUEUE, STACK, RING = (MAP_KINDS[name] for name in ("queue", "stack", "ringbuf"))
OF_MAPS = ARRAY_OF_MAPS, HASH_OF_MAPS = MAP_KINDS["array_of_maps"], MAP_KINDS["hash_of_maps"]
BLOOM = MAP_KINDS["bloom_filter"]
KINDS = {
    **{one: one for one in (HASH, ARRAY, LRU, LPM, PROGRAMS, PORTS, QUEUE, STACK, BLOOM, *OF_MAPS)},
    **{MAP_KINDS[name]: HASH for name in ("percpu_hash", "devmap_hash")},
    MAP_KINDS["percpu_array"]: ARRAY,
    MAP_KINDS["lru_percpu_hash"]: LRU,
    **{MAP_KINDS[name]: PORTS for name in ("cpumap", "xskmap")},
}
"""Kind of table by map type, both numbers of `enum bpf_map_type`.

A per-CPU map has the table of one CPU. Maps of devices, CPUs and sockets by number are `PORTS`.
"""
SLOTS = 4
"""Slots per bucket."""
_WORD, _TAG = 8, 4
_LARGEST = 1 << 32
_HASHES, _ROUNDED_BITS = 5, 1 << 31
"""For bloom filters: default number of hashes, and bits above which the kernel uses 2^32 bits."""
_ALL = re.compile(r'^@(\S+) = [^\n]*section "\.?maps"', re.MULTILINE)


class Map(NamedTuple):
    """A BPF map, as the source defines it."""

    name: str
    kind: int
    """Map type, a number of `enum bpf_map_type`."""
    entries: int
    """Largest number of entries (`max_entries`)."""
    key: int
    """Size of a key in bytes."""
    value: Type | None
    """Type of a value; None if the map has no values, or their type is unknown."""
    value_size: int
    """Size of a value in bytes."""
    key_type: Type | None
    line: Line | None
    extra: int = 0
    """Number of hashes of a bloom filter; 0: the kernel's default."""
    flags: int = 0
    """Flags `BPF_F_*` (`map_flags`)."""
    inner: "Map | None" = None
    """Definition of the inner maps of a map of maps."""


class Table(NamedTuple):
    """Layout of a BPF map on a SmartNIC: an array of slots, with offsets and sizes in bytes."""

    map: Map
    buckets: int
    """Number of buckets; for a bloom filter, the number of hashes."""
    slots: int
    """Slots per bucket."""
    stride: int
    """Size of a slot."""
    key_at: int
    """Offset of the key in a slot."""
    value_at: int
    """Offset of the value in a slot."""
    layout: Type
    """Type of the whole table."""

    @property
    def kind(self) -> int:
        """Kind of the table: a value of `KINDS`, or the BPF map type if this has none."""
        return KINDS.get(self.map.kind, self.map.kind)

    @property
    def size(self) -> int:
        """Size of the table in bytes."""
        return self.layout.size

    @property
    def variable(self) -> Variable:
        """The table as a variable of the source."""
        return Variable(self.map.name, self.layout, self.map.line)


class LookupCounts(NamedTuple):
    """Numbers of lookups in a map that found an entry, and that found none."""

    found: int
    """Lookups that found an entry, counted only for program arrays."""
    missed: int
    """Lookups that found no entry."""
    chance: float = 0.0
    """False positive rate of a bloom filter."""


def kinds_of(text: str) -> dict[str, int]:
    """Return the map type (`enum bpf_map_type`) of each map by name."""
    if not _ALL.search(text):
        return {}
    metadata = Metadata(text)
    return {one.name: one.kind for one in maps_of(text, metadata, Layouts(text, metadata))}


def maps_of(text: str, metadata: Metadata, layouts: Layouts) -> list[Map]:
    """Return the maps that a module defines."""
    found = dict[str, Map]()
    for one in OLD.finditer(text):
        words = [int(number) for number in re.findall(r"i32 (\d+)", one[0])]
        line = _line(layouts, one[2])
        sizes = (words[3], words[1], None, words[2])
        found[one[2]] = Map(one[2], words[0], *sizes, None, line, flags=words[4])
    for name, _, expression in DEFINED.findall(text):
        if name in found:
            continue
        parts = members(metadata, int(expression))
        found[name] = _defined(name, parts, metadata, layouts)._replace(line=_line(layouts, name))
    return list(found.values())


def _defined(name: str, parts: list[tuple[int, Node]], metadata: Metadata, layouts: Layouts) -> Map:
    """Return the map that a definition by types describes; `parts` are the definition's members."""
    values, types, inner = dict[str, int](), dict[str, Type | None](), None
    for number, node in parts:
        length = value(metadata, number)
        if length is not None:
            values[node.text("name")] = length
        pointer = metadata.node(node.reference("baseType"))
        if node.text("name") in ("key", "value") and pointer is not None:
            types[node.text("name")] = layouts.type_of(pointer.reference("baseType"))
        if node.text("name") == "values" and pointer is not None:
            element = metadata.node(pointer.reference("baseType"))
            inner_map = None if element is None else element.reference("baseType")
            inner_parts = parts_of(metadata, inner_map)
            inner = _defined(name, inner_parts, metadata, layouts) if inner_parts else None
    key, content = types.get("key"), types.get("value")
    return Map(
        name,
        values.get("type", 0),
        values.get("max_entries", 0),
        values.get("key_size", 0) if key is None else key.size,
        content,
        values.get("value_size", 0) if content is None else content.size,
        key,
        None,
        values.get("map_extra", 0),
        values.get("map_flags", 0),
        inner,
    )


def tables_of(file: str, text: str, metadata: Metadata, layouts: Layouts) -> list[Table]:
    """Return the tables (layouts on a SmartNIC) of the maps that a module defines.

    Raises:
        InputError: when a table is larger than 4 GiB.
    """
    return [table_of(file, one) for one in maps_of(text, metadata, layouts)]


def table_of(file: str, one: Map) -> Table:
    """Return the table (layout on a SmartNIC) of a map.

    Raises:
        InputError: when the table is larger than 4 GiB.
    """
    table = _table(one)
    if table.size > _LARGEST:
        where = f"{one.line.file}:{one.line.line}: " if one.line else ""
        reason = f"{where}map {one.name} has {table.size:,} bytes"
        raise InputError(codes.MAP_CONTENT_UNUSABLE, file, f"{reason}; at most 4 GiB are supported")
    return table


def _table(one: Map) -> Table:
    kind = KINDS.get(one.kind, one.kind)
    if kind in OF_MAPS:
        one = one._replace(value=Type("map", _WORD), value_size=_WORD)
    content = one.value or Type("bytes", one.value_size)
    if kind in (HASH, LRU, LPM, HASH_OF_MAPS):
        slots = 1 if kind == LPM else SLOTS
        buckets = -(-max(1, one.entries) // slots)
        return _slotted(one, content, buckets, slots)
    if kind == PORTS:
        return _slotted(one, content, one.entries, 1)
    if kind == PROGRAMS:
        content = Type("program", _WORD)
    if kind == BLOOM:
        return Table(one, one.extra or _HASHES, 0, 0, 0, 0, Type("bits", _bits(one) // 8))
    if kind in (ARRAY, PROGRAMS, QUEUE, STACK, ARRAY_OF_MAPS):
        stride = _up(max(1, content.size), _WORD)
        element = content
        if stride != content.size:
            element = Type("", stride, (Field("value", 0, content, None),), ours=True)
        whole = Type(content.name, stride * one.entries, element=element, length=one.entries)
        return Table(one, one.entries, 1, stride, 0, 0, whole)
    size = one.entries if kind == RING else 0
    return Table(one, 0, 0, 0, 0, 0, Type("bytes", size))


def _bits(one: Map) -> int:
    """Return the number of bits that the kernel gives a bloom filter: a power of two."""
    bits = one.entries * (one.extra or _HASHES) // 5 * 7
    return 1 << 32 if bits > _ROUNDED_BITS else 1 << max(8 * _WORD - 1, bits - 1).bit_length()


def _slotted(one: Map, content: Type, buckets: int, slots: int) -> Table:
    """Return a table whose slots have a tag, a key and a value of type `content`."""
    key = one.key_type or Type("bytes", one.key)
    key_at = _up(_TAG, max(_TAG, key.align))
    value_at = _up(key_at + one.key, _WORD if one.value_size >= _WORD else _TAG)
    stride = _up(value_at + one.value_size, _WORD)
    fields = [
        Field("tag", 0, Type("__u32", _TAG), None),
        Field("key", key_at, key, None),
        Field("value", value_at, content, None),
    ]
    slot = Type("slot", stride, tuple(each for each in fields if each.type.size), ours=True)
    count = buckets * slots
    whole = Type("table", stride * count, element=slot, length=count, ours=True)
    return Table(one, buckets, slots, stride, key_at, value_at, whole)


def _line(layouts: Layouts, name: str) -> Line | None:
    found = layouts.variable(name)
    return None if found is None else found.line


def _up(number: int, step: int) -> int:
    """Round a number up to a multiple of `step`."""
    return -(-number // step) * step
