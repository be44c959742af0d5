"""Meaning of addresses, and the heap of a run.

Blocks of one size for one purpose stand in chunks of their own. A block that is freed is given to
the same purpose again, so an address never changes its meaning.
"""

import ctypes
import mmap
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from slowpath.insights.source.framework import ELEMENT, SUPPORT
from slowpath.insights.source.layouts import Type, Variable
from slowpath.insights.source.metadata import Line
from slowpath.insights.trace.allocations import Allocation

Sort = Literal["state", "packet", "metadata", "local", "constant", "other"]
"""`metadata` is what a card keeps beside a packet (where its headers begin, annotations), and what
the run counts; `constant` is what compilers make (texts, tables of jumps); `other` is what was
allocated, or is unknown."""

_PACKETS = ("slowpath_click_bytes", "slowpath_dpdk_bytes")
_BESIDE = (*SUPPORT, "_ZN7Element", "slowpath.")
_MADE = ("_ZTV", "_ZTT", "_ZTI", "_ZTS", ".str", "switch.table", ".crctable", "__const.", "llvm.")


class Structure(NamedTuple):
    """Something that a card keeps from packet to packet."""

    name: str
    type: Type | None  # None: nothing says what is in it
    size: int  # bytes
    line: Line | None
    owner: str  # the element that it is a member of; empty: it is a variable of its own


class Area(NamedTuple):
    """A stretch of memory that is one thing."""

    start: int
    size: int
    sort: Sort
    structure: int  # of state, its number; else -1


class Memory(NamedTuple):
    """Everything that has a name, in the order of addresses."""

    areas: list[Area]
    structures: list[Structure]


def survey(
    symbols: Sequence[tuple[str, int, int, Variable | None]], others: Sequence[Area]
) -> Memory:
    """What there is: of each variable its symbol, address, bytes and layout; and other areas.

    Each member of an element is a structure, since each may be in another memory.
    """
    areas, structures = list(others), list[Structure]()

    def add(structure: Structure, start: int) -> None:
        areas.append(Area(start, structure.size, "state", len(structures)))
        structures.append(structure)

    for symbol, start, size, variable in symbols:
        if symbol in _PACKETS:
            areas.append(Area(start, size, "packet", -1))
        elif symbol.startswith(_BESIDE):
            areas.append(Area(start, size, "metadata", -1))
        elif symbol.startswith(_MADE):
            areas.append(Area(start, size, "constant", -1))
        elif symbol.startswith(ELEMENT) and variable is not None:
            owner = symbol.removeprefix(ELEMENT)
            for field in variable.type.fields:
                at = start + field.offset
                if field.name.startswith("_vptr"):
                    areas.append(Area(at, field.type.size, "metadata", -1))
                    continue
                named = f"{owner}::{field.name}"
                add(Structure(named, field.type, field.type.size, field.line, owner), at)
        elif variable is None:
            add(Structure(symbol, None, size, None, ""), start)
        else:
            whole = variable.type.size == size  # else LLVM has split it: this is a part
            name = variable.name if whole else f"{variable.name} ({symbol})"
            kind = variable.type if whole else None
            add(Structure(name, kind, size, variable.line, ""), start)
    shared, seen = Counter(one.name for one in structures), Counter[str]()
    for at, one in enumerate(structures):
        if shared[one.name] > 1:  # as static variables of two functions
            seen[one.name] += 1
            structures[at] = one._replace(name=f"{one.name} #{seen[one.name]}")
    areas.sort()
    return Memory(areas, structures)


_ALIGNED = 16
"""Bytes that addresses are multiples of, as those of malloc are."""
_CHUNK = 1 << 16
_MOST = 256 << 20
"""Bytes of all chunks; no more is allocated."""
_SIZE = ctypes.c_size_t
_LIBRARY = ctypes.CDLL(None)
_LIBRARY.malloc.restype = _LIBRARY.realloc.restype = ctypes.c_void_p
_LIBRARY.malloc.argtypes = (_SIZE,)
_LIBRARY.realloc.argtypes = (ctypes.c_void_p, _SIZE)
_LIBRARY.free.argtypes = (ctypes.c_void_p,)
_LIBRARY.free.restype = None


class Chunk(NamedTuple):
    """A stretch of memory with blocks for one purpose."""

    start: int
    size: int
    purpose: int
    type: Type | None


class _Block(NamedTuple):
    purpose: int
    size: int  # that was asked for
    room: int


class Heap:
    """Functions that allocate, and what they have allocated."""

    def __init__(self, allocations: Sequence[Allocation], site: int) -> None:
        """`site` is the address of the number of the allocation that runs (i32, from 1 on)."""
        self._site = ctypes.c_int32.from_address(site)
        names = list(dict.fromkeys(one.name for one in allocations))
        self._purposes = [names.index(one.name) for one in allocations]
        firsts = [next(one for one in allocations if one.name == name) for name in names]
        self._types = [one.type for one in firsts]
        self.structures = [
            Structure(one.name, _listed(one.type), 0, one.line, "") for one in firsts
        ]
        """Of each purpose, all that is allocated for it; its size is in `sizes`."""
        self.sizes = [0] * len(names)
        """By purpose, the most bytes that were there at once."""
        self._live = [0] * len(names)
        self._blocks = dict[int, _Block]()
        self._free = dict[tuple[int, int], list[int]]()
        self._next = dict[tuple[int, int], tuple[int, int]]()
        self._chunks, self._taken, self._kept = list[Chunk](), 0, list[object]()
        void = ctypes.c_void_p
        self._functions = {
            "malloc": ctypes.CFUNCTYPE(void, _SIZE)(self._malloc),
            "calloc": ctypes.CFUNCTYPE(void, _SIZE, _SIZE)(self._calloc),
            "realloc": ctypes.CFUNCTYPE(void, void, _SIZE)(self._realloc),
            "free": ctypes.CFUNCTYPE(None, void)(self._drop),
            "aligned_alloc": ctypes.CFUNCTYPE(void, _SIZE, _SIZE)(
                lambda _, size: self._malloc(size)
            ),
        }

    def functions(self) -> dict[str, int]:
        """Return the addresses of the functions of C that this heap stands for."""
        return {
            name: ctypes.cast(one, ctypes.c_void_p).value or 0
            for name, one in self._functions.items()
        }

    def chunks(self) -> list[Chunk]:
        """Return the chunks since the last call."""
        found, self._chunks = self._chunks, []
        return found

    def _malloc(self, size: int) -> int:
        number = self._site.value - 1
        if number < 0:
            return _LIBRARY.malloc(size) or 0
        if size > _MOST:
            return 0
        purpose = self._purposes[number]
        room = -(-max(size, 1) // _ALIGNED) * _ALIGNED
        free = self._free.get((purpose, room))
        address = free.pop() if free else self._fresh(purpose, room)
        if address:
            self._blocks[address] = _Block(purpose, size, room)
            self._live[purpose] += size
            self.sizes[purpose] = max(self.sizes[purpose], self._live[purpose])
        return address

    def _fresh(self, purpose: int, room: int) -> int:
        """Return a block that was never used; 0 where there is no memory."""
        at, end = self._next.get((purpose, room), (0, 0))
        if at == end:
            size = max(room, _CHUNK // room * room)
            if self._taken + size > _MOST:
                return 0
            memory = mmap.mmap(-1, size)
            self._kept.append(memory)
            self._taken += size
            at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            end = at + size
            self._chunks.append(Chunk(at, size, purpose, _row(self._types[purpose], room, size)))
        self._next[purpose, room] = at + room, end
        return at

    def _calloc(self, count: int, size: int) -> int:
        # More would wrap around in the C library.
        address = self._malloc(count * size) if count * size <= _MOST else 0
        if address:
            ctypes.memset(address, 0, count * size)
        return address

    def _realloc(self, address: int | None, size: int) -> int:
        old = self._blocks.get(address or 0)
        if address and old is None:
            return _LIBRARY.realloc(address, size) or 0
        new = self._malloc(size)
        if new and old is not None and address is not None:
            ctypes.memmove(new, address, min(old.size, size))
            self._drop(address)
        return new

    def _drop(self, address: int | None) -> None:
        block = self._blocks.pop(address or 0, None)
        if address is not None and block is None:
            _LIBRARY.free(address)
        elif address is not None and block is not None:
            self._live[block.purpose] -= block.size
            self._free.setdefault((block.purpose, block.room), []).append(address)


def _listed(kind: Type | None) -> Type | None:
    """Return the type of several objects of a type in a row."""
    return None if kind is None else Type(kind.name, kind.size, element=kind, length=1)


def _row(kind: Type | None, room: int, size: int) -> Type | None:
    """Return the type of a chunk of blocks; each has one object, or several in a row."""
    if kind is None or not kind.size or kind.size > room:
        return None
    many = room // kind.size
    block = kind._replace(size=room)
    if many > 1:
        block = Type(kind.name, room, element=kind, length=many)
    return Type(kind.name, size, element=block, length=size // room)
