"""Provides the memory of XDP programs: packets, context and tables."""

import ctypes
import mmap
import struct
from collections.abc import Callable, Sequence

from slowpath.insights.sandbox.native import protect_page
from slowpath.insights.trace.xdp_maps import BLOOM, DESCRIPTOR_BYTES, LookupCounts, Table

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
    """Memory for a context and a packet; accesses beyond the packet's end crash."""

    def __init__(self) -> None:
        """Allocate memory with addresses below 4 GiB, as the context has 32-bit pointers.

        Raises:
            MemoryError: when no such memory is free.
        """
        whole = 3 * _PAGE + PACKETS  # a context, a guard, packets, a guard
        start = _low(whole)
        for guard in (start + _PAGE, start + whole - _PAGE):
            protect_page(guard)
        self.context, self.packets = start, start + 2 * _PAGE

    def place(self, data: bytes) -> int:
        """Place a packet at the end of the packet region; return the address of its context."""
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
        """Return the packet after a program ran, without metadata, as the kernel does."""
        _, end, start = struct.unpack("<3I", ctypes.string_at(self.context, 12))
        return ctypes.string_at(start, end - start)


def _low(size: int) -> int:
    """Allocate `size` bytes at an address below 4 GiB."""
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
    """Memory of all maps' tables, initially zero; the system allocates pages at their first use."""

    def __init__(self, tables: Sequence[Table], added: Sequence[Table] = ()) -> None:
        """Allocate memory for the tables.

        `added` are the tables of inner maps that only the file of `--maps` defines.
        """
        self._own = {one.map.name: ctypes.create_string_buffer(DESCRIPTOR_BYTES) for one in added}
        self.at = dict[str, int]()
        """Addresses of the maps' descriptions, by name; unused maps have none."""
        tables = self.tables = [*tables, *added]
        self._memory = [mmap.mmap(-1, max(1, one.size)) for one in tables]
        self.addresses = [ctypes.addressof(ctypes.c_char.from_buffer(one)) for one in self._memory]

    @property
    def names(self) -> list[str]:
        """Symbols of the maps."""
        return [one.map.name for one in self.tables]

    def describe(self, address: Callable[[str], int]) -> None:
        """Write the description of each map for helpers; `address` returns a symbol's address."""
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
        """Return the numbers of successful and failed lookups in each map, by the map's name."""
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
        """Write bytes into a map's table at an offset."""
        self._memory[self.tables.index(table)][at : at + len(data)] = data

    def entries(self, name: str) -> dict[bytes, bytes]:
        """Return the entries of a hash table or an array: values by key."""
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
    """Return the number of set bits; count in pieces, so that no large copy is in memory."""
    pieces = (bits[at : at + _PIECE] for at in range(0, len(bits), _PIECE))
    return sum(int.from_bytes(piece, "little").bit_count() for piece in pieces)
