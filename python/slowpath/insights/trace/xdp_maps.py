"""Finds the BPF maps of a source, chooses their layout in memory, and provides memory for a run.

Sources: libbpf's definitions of maps, by types and by `struct bpf_map_def`;
kernel/bpf/bloom_filter.c. In definitions by types, `__uint(type, ...)` is a pointer to an array
whose length is the number, `__type(key, ...)` a pointer to the type, and `__array(values, ...)` an
array of pointers to the inner maps of a map of maps.
"""

import ctypes
import mmap
import re
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.engine.objects import MAP_KINDS
from slowpath.core.errors import InputError
from slowpath.insights.native import protect_page
from slowpath.insights.source.layouts import Field, Layouts, Type, Variable
from slowpath.insights.source.metadata import (
    MAP_DEFINITION,
    OLD_MAP_DEFINITION,
    Line,
    Metadata,
    Node,
    array_length,
    map_members,
    parts_of,
)

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
    """A BPF map as the source defines it: its type, and the sizes of keys and values."""

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
    """The memory layout of a BPF map on a SmartNIC: an array of equal slots.

    All offsets and sizes are in bytes.
    """

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
        """The kind of table: a value of `KINDS`, or the BPF map type if it is not in `KINDS`."""
        return KINDS.get(self.map.kind, self.map.kind)

    @property
    def size(self) -> int:
        """Size of the table in bytes."""
        return self.layout.size

    @property
    def variable(self) -> Variable:
        """The table in the form of a global variable, so that accesses to it are counted."""
        return Variable(self.map.name, self.layout, self.map.line)


class LookupCounts(NamedTuple):
    """The numbers of lookups in a map that found an entry, and that found none."""

    found: int
    """Lookups that found an entry, counted only for program arrays."""
    missed: int
    """Lookups that found no entry."""
    chance: float = 0.0
    """False positive rate of a bloom filter."""


def kinds_of(text: str) -> dict[str, int]:
    """Return the type of each BPF map in the LLVM IR `text`, by name of the map.

    The type is a number of `enum bpf_map_type`.
    """
    if not _ALL.search(text):
        return {}
    metadata = Metadata(text)
    return {one.name: one.kind for one in maps_of(text, metadata, Layouts(text, metadata))}


def maps_of(text: str, metadata: Metadata, layouts: Layouts) -> list[Map]:
    """Return the BPF maps that a module defines; `text` is its LLVM IR."""
    found = dict[str, Map]()
    for one in OLD_MAP_DEFINITION.finditer(text):
        words = [int(number) for number in re.findall(r"i32 (\d+)", one[0])]
        line = _line(layouts, one[2])
        sizes = (words[3], words[1], None, words[2])
        found[one[2]] = Map(one[2], words[0], *sizes, None, line, flags=words[4])
    for name, _, expression in MAP_DEFINITION.findall(text):
        if name in found:
            continue
        parts = map_members(metadata, int(expression))
        found[name] = _defined(name, parts, metadata, layouts)._replace(line=_line(layouts, name))
    return list(found.values())


def _defined(name: str, parts: list[tuple[int, Node]], metadata: Metadata, layouts: Layouts) -> Map:
    """Return the BPF map with a definition in the style `__uint(...)`.

    `parts` are the members of the definition.
    """
    values, types, inner = dict[str, int](), dict[str, Type | None](), None
    for number, node in parts:
        length = array_length(metadata, number)
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
    """Choose the memory layout (table) of each BPF map that a module defines.

    `file` is the source, and `text` the LLVM IR of the module.

    Raises:
        InputError: when a table is larger than 4 GiB.
    """
    return [table_of(file, one) for one in maps_of(text, metadata, layouts)]


def table_of(file: str, one: Map) -> Table:
    """Choose the memory layout (table) of a BPF map on a SmartNIC.

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
    """Return the size in bits, a power of two, that the kernel gives a bloom filter."""
    bits = one.entries * (one.extra or _HASHES) // 5 * 7
    return 1 << 32 if bits > _ROUNDED_BITS else 1 << max(8 * _WORD - 1, bits - 1).bit_length()


def _slotted(one: Map, content: Type, buckets: int, slots: int) -> Table:
    """Return the memory layout of a BPF map that has slots with keys, such as a hash map.

    Each slot has a tag, a key and a value of type `content`.
    """
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


# --- memory of programs ---------------------------------------------------------------------------

PACKETS = 1 << 17
"""Size of the packet region in bytes."""
CONTEXT = 64
_PAGE = mmap.PAGESIZE
_READ_WRITE = 3
_PRIVATE, _ANONYMOUS, _NOT_REPLACING = 2, 0x20, 0x100000  # of mmap(2), on Linux
_FIRST, _LAST, _STEP = 0x1000_0000, 0x7000_0000, 0x0100_0000
_HEADROOM, _HEADER = 256, 40
"""Bytes in front of a packet, and the part that the kernel uses (`struct xdp_frame`)."""
_TAILROOM = 4096 - _HEADROOM - 320
"""Maximum size of a packet with data that a program appends, in bytes, as in kernel test runs."""
_DEVICE = 1
_FRAME, _MAP = struct.Struct("<8I"), struct.Struct("<10IQQQQQ")
_PIECE = 1 << 20
_LOOKED = struct.Struct("<QQ")
"""The last part of a map's description, in which helpers count lookups (found, missed)."""


class Arena:
    """Memory for the context and the packet of an XDP program.

    Accesses beyond the packet's end crash.
    """

    def __init__(self) -> None:
        """Allocate the memory at addresses below 4 GiB, because the context has 32-bit pointers.

        Raises:
            MemoryError: when no such memory is free.
        """
        whole = 3 * _PAGE + PACKETS  # a context, a guard, packets, a guard
        start = _low(whole)
        for guard in (start + _PAGE, start + whole - _PAGE):
            protect_page(guard)
        self.context, self.packets = start, start + 2 * _PAGE

    def place(self, data: bytes) -> int:
        """Copy a packet to the end of the memory for packets, and fill in the context.

        Return the address of the context.
        """
        end = self.packets + PACKETS
        start = end - len(data)
        ctypes.memset(start - _HEADROOM, 0, _HEADROOM)
        ctypes.memmove(start, data, len(data))
        room = max(0, _TAILROOM - len(data))
        low = start - _HEADROOM + _HEADER
        frame = _FRAME.pack(start, end, start, _DEVICE, 0, 0, low, room)
        ctypes.memmove(self.context, frame, len(frame))
        return self.context

    def packet(self) -> bytes:
        """Return the packet as the XDP program left it, without metadata, as the kernel does."""
        _, end, start = struct.unpack("<3I", ctypes.string_at(self.context, 12))
        return ctypes.string_at(start, end - start)


def _low(size: int) -> int:
    """Allocate `size` bytes of memory below 4 GiB, and return their address."""
    libc = ctypes.CDLL(None, use_errno=True)
    take = libc.mmap
    take.restype = ctypes.c_void_p
    kinds = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int)
    take.argtypes = [*kinds, ctypes.c_long]
    flags = _PRIVATE | _ANONYMOUS | _NOT_REPLACING
    for hint in range(_FIRST, _LAST, _STEP):
        found = take(hint, size, _READ_WRITE, flags, -1, 0)
        if found == hint:
            return hint
        if found not in (None, ctypes.c_void_p(-1).value):  # an old kernel ignores the flag
            libc.munmap(ctypes.c_void_p(found), ctypes.c_size_t(size))
    raise MemoryError("no free memory with 32-bit addresses")


class Store:
    """The memory of all BPF maps of a program, initially zero.

    The system allocates pages at their first use.
    """

    def __init__(self, tables: Sequence[Table], added: Sequence[Table] = ()) -> None:
        """Allocate memory for maps with these layouts.

        `added` are the layouts of inner maps that only the file of `--maps` defines.
        """
        self._own = {one.map.name: ctypes.create_string_buffer(DESCRIPTOR_BYTES) for one in added}
        self.at = dict[str, int]()
        """Addresses of the maps' descriptions, by name; unused maps have none."""
        tables = self.tables = [*tables, *added]
        self._memory = [mmap.mmap(-1, max(1, one.size)) for one in tables]
        self.addresses = [ctypes.addressof(ctypes.c_char.from_buffer(one)) for one in self._memory]

    @property
    def names(self) -> list[str]:
        """The names of the maps."""
        return [one.map.name for one in self.tables]

    def describe(self, address: Callable[[str], int]) -> None:
        """Write the description of each map, which the kernel helpers of slowpath's headers read.

        `address` returns the address of a symbol.
        """
        for one, data in zip(self.tables, self.addresses, strict=True):
            own = self._own.get(one.map.name)
            at = address(one.map.name) if own is None else ctypes.addressof(own)
            if not at:  # no function uses it
                continue
            self.at[one.map.name] = at
            kinds = (one.kind, one.map.key, one.map.value_size, one.map.entries)
            shape = (one.buckets, one.slots, one.stride, one.key_at, one.value_at, 0)
            description = _MAP.pack(*kinds, *shape, data, one.size, 0, 0, 0)
            ctypes.memmove(at, description, min(len(description), DESCRIPTOR_BYTES))

    def looked(self) -> dict[str, LookupCounts]:
        """Return the counts of successful and failed lookups in each map, by name of the map.

        The helpers have counted them during the run.
        """
        end = DESCRIPTOR_BYTES - _LOOKED.size
        counts = {
            name: LookupCounts(*_LOOKED.unpack(ctypes.string_at(start + end, _LOOKED.size)))
            for name, start in self.at.items()
        }
        for table, bits in zip(self.tables, self._memory, strict=True):
            if table.kind == BLOOM and table.map.name in counts:
                chance = (_ones(bits) / (8 * table.size)) ** table.buckets
                counts[table.map.name] = counts[table.map.name]._replace(chance=chance)
        return counts

    def write(self, table: Table, at: int, data: bytes) -> None:
        """Write `data` into the memory of a map, starting at offset `at`."""
        self._memory[self.tables.index(table)][at : at + len(data)] = data

    def entries(self, name: str) -> dict[bytes, bytes]:
        """Return the entries of a hash map or an array, as values by key.

        `name` is the name of the map.
        """
        number = next(at for at, one in enumerate(self.tables) if one.map.name == name)
        one, found = self.tables[number], dict[bytes, bytes]()
        data = self._memory[number]
        for slot in range(one.buckets * one.slots):
            at = slot * one.stride
            if not one.value_at:  # an array
                found[struct.pack("<I", slot)] = data[at : at + one.map.value_size]
                continue
            if struct.unpack_from("<I", data, at)[0]:
                key = data[at + one.key_at : at + one.key_at + one.map.key]
                found[key] = data[at + one.value_at : at + one.value_at + one.map.value_size]
        return found


def _ones(bits: mmap.mmap) -> int:
    """Count the set bits in a memory area.

    It is read in pieces, so that no large copy is in memory.
    """
    pieces = (bits[at : at + _PIECE] for at in range(0, len(bits), _PIECE))
    return sum(int.from_bytes(piece, "little").bit_count() for piece in pieces)
