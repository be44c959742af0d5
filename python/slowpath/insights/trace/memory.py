"""Maps addresses to data structures of the source, and manages the heap of a run.

It also finds the calls that allocate memory.

A chunk of the heap has blocks of one size for one purpose. A purpose is all allocations with the
same name; freed blocks are reused only for it, so an address always belongs to one structure.
"""

import ctypes
import mmap
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from slowpath.insights.source.layouts import Type, Variable
from slowpath.insights.source.metadata import Line
from slowpath.insights.source.modules import callee_of
from slowpath.insights.source.sources import ELEMENT, SUPPORT
from slowpath.insights.source.unit import CompiledUnit

ALLOCATORS = frozenset(
    ["malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "_Znwm", "_Znam"]
)
"""Names of the functions of the C and C++ libraries that allocate memory."""
_DEFINE = re.compile(r'^define .*?@("(?:[^"\\]|\\.)*"|[\w.$-]+)\(.*!dbg !(\d+)')
_BOUND = re.compile(r"#dbg_value\(ptr (%[\w.$-]+), !(\d+),")
_MADE = re.compile(r"\s+(%[\w.$-]+) = .*\b(?:call|invoke)\b[^@]*\bptr @")


class Allocation(NamedTuple):
    """A call that allocates memory, with the type of the allocated object."""

    name: str  # name of the allocated memory in reports
    type: Type | None
    line: Line | None


class Allocations:
    """Finds the calls of a module that allocate memory, and the types of the objects."""

    def __init__(self, unit: CompiledUnit) -> None:
        self._functions, self._metadata, self._layouts = unit.functions, unit.metadata, unit.layouts
        self._nodes, self._bound = dict[str, int](), dict[tuple[str, str], int]()
        self._read(unit.text)
        self.wrappers = self._wrapping()
        """Functions that return allocated memory as `void *`; their callers choose its type."""

    def allocates(self, caller: str, callee: str) -> bool:
        """Return true if a call of `callee` in `caller` allocates memory for an object.

        The result is false inside wrappers of allocators: there, the caller of the wrapper
        determines the type of the object.
        """
        return caller not in self.wrappers and (callee in ALLOCATORS or callee in self.wrappers)

    def at(self, caller: str, result: str, place: int | None) -> Allocation:
        """Describe the allocation that a call in the function `caller` makes.

        `result` is the LLVM variable that holds the result of the call, and `place` is the number
        of the debug location.
        """
        function = self._functions[caller]
        kind = self._pointee(self._bound.get((caller, result)))
        kind = kind or (self._pointee(self._result(caller)) if result else None)
        line = None if place is None else self._metadata.line(place)
        name = kind.name if kind is not None else f"by {function.shown}"
        return Allocation(f"allocated {name}", kind, line or function.line)

    def all(self) -> Iterator[Allocation]:
        """Yield a description of each call in the source that allocates memory."""
        for name, function in self._functions.items():
            if function.supports:
                continue
            for block in function.blocks:
                for one in block.instructions:
                    callee = callee_of(one.text) if one.opcode in ("call", "invoke") else None
                    if callee is not None and self.allocates(name, callee):
                        yield self.at(name, result_of(one.text), one.place)

    def _read(self, text: str) -> None:
        """Read the debug information of functions and of call results from the LLVM IR `text`."""
        now, made = "", set[str]()
        for line in text.splitlines():
            if line.startswith("define "):
                head = _DEFINE.match(line)
                now, made = (head[1].strip('"'), set()) if head else ("", set())
                if head:
                    self._nodes[now] = int(head[2])
            elif found := _MADE.match(line):
                made.add(found[1])
            elif (bound := _BOUND.search(line)) and bound[1] in made:
                variable = self._metadata.node(int(bound[2]))
                kind = None if variable is None else variable.reference("type")
                if kind is not None:
                    self._bound.setdefault((now, bound[1]), kind)

    def _result(self, symbol: str) -> int | None:
        """Return a function's return type as a metadata node number.

        Return None if the type is unknown or void.
        """
        types = self._metadata.follow(self._nodes.get(symbol), "type", "types")
        return types.items[0] if types is not None and types.items else None

    def _pointee(self, number: int | None) -> Type | None:
        """Return the named structure to which a pointer type points; None for other types.

        `number` is the metadata node number of the pointer type.
        """
        node = self._metadata.bare(number)
        if node is None or node.text("tag") != "DW_TAG_pointer_type":
            return None
        kind = self._layouts.type_of(node.reference("baseType"))
        return kind if kind is not None and (kind.fields or kind.flat) and kind.name else None

    def _wrapping(self) -> frozenset[str]:
        """Return the symbols of wrappers of allocators.

        These are functions that return `void *` and call an allocator, directly or through other
        such functions.
        """
        found = set[str]()
        while True:
            new = {
                name
                for name, one in self._functions.items()
                if name not in found and one.result == "pointer" and self._is_untyped(name)
                if one.calls & (ALLOCATORS | found)
            }
            if not new:
                return frozenset(found)
            found |= new

    def _is_untyped(self, symbol: str) -> bool:
        """Return true if a function returns `void *`."""
        node = self._metadata.bare(self._result(symbol))
        if node is None or node.text("tag") != "DW_TAG_pointer_type":
            return False
        return self._metadata.bare(node.reference("baseType")) is None


def result_of(text: str) -> str:
    """Return the LLVM variable that holds the result of an instruction.

    Return an empty text if there is none.
    """
    return text.partition(" = ")[0].strip() if " = " in text else ""


# --- areas and heap -------------------------------------------------------------------------------

MemoryKind = Literal["state", "packet", "metadata", "local", "constant", "other"]
"""Kinds of memory.

`metadata` is data about a packet that a card keeps outside of it (offsets of headers, annotations),
and counters of the run; `constant` comes from compilers (texts, jump tables); `other` is unknown.
"""

_PACKETS = ("slowpath_click_bytes", "slowpath_dpdk_bytes")
_METADATA = (*SUPPORT, "_ZN7Element", "slowpath.")
_CONSTANTS = (
    "_ZTV",
    "_ZTT",
    "_ZTI",
    "_ZTS",
    ".str",
    "switch.table",
    ".crctable",
    "__const.",
    "llvm.",
)


class Structure(NamedTuple):
    """A data structure of the source that the SmartNIC keeps between packets."""

    name: str
    type: Type | None  # None: unknown
    size: int  # bytes
    line: Line | None
    owner: str  # the element whose member it is; empty for a variable


class Area(NamedTuple):
    """A range of memory that contains data of one kind, such as a variable or a packet."""

    start: int
    size: int
    sort: MemoryKind
    structure: int  # number of the structure if `sort` is `state`, else -1


class MemoryMap(NamedTuple):
    """The known memory areas, in the order of their addresses, and the data structures in them."""

    areas: list[Area]
    structures: list[Structure]


def memory_map(
    symbols: Sequence[tuple[str, int, int, Variable | None]], others: Sequence[Area]
) -> MemoryMap:
    """Describe memory: the areas and data structures of variables, and the areas `others`.

    `symbols` has the symbol, address, size in bytes and layout of each variable. Each member of a
    Click element becomes a separate structure, because a SmartNIC can place each in another memory.
    """
    areas, structures = list(others), list[Structure]()

    def add(structure: Structure, start: int) -> None:
        areas.append(Area(start, structure.size, "state", len(structures)))
        structures.append(structure)

    for symbol, start, size, variable in symbols:
        if symbol in _PACKETS:
            areas.append(Area(start, size, "packet", -1))
        elif symbol.startswith(_METADATA):
            areas.append(Area(start, size, "metadata", -1))
        elif symbol.startswith(_CONSTANTS):
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
            whole = variable.type.size == size  # else LLVM has split it into parts
            name = variable.name if whole else f"{variable.name} ({symbol})"
            kind = variable.type if whole else None
            add(Structure(name, kind, size, variable.line, ""), start)
    shared, seen = Counter(one.name for one in structures), Counter[str]()
    for at, one in enumerate(structures):
        if shared[one.name] > 1:  # such as static variables of two functions
            seen[one.name] += 1
            structures[at] = one._replace(name=f"{one.name} #{seen[one.name]}")
    areas.sort()
    return MemoryMap(areas, structures)


_ALIGNED = 16
"""Alignment of blocks in bytes, as for malloc."""
_CHUNK = 1 << 16
_MAX_HEAP = 256 << 20
"""Limit on the total size of chunks in bytes."""
_SIZE = ctypes.c_size_t
_LIBRARY = ctypes.CDLL(None)
for _function in (_LIBRARY.malloc, _LIBRARY.aligned_alloc, _LIBRARY.realloc):
    _function.restype = ctypes.c_void_p
_LIBRARY.malloc.argtypes = (_SIZE,)
_LIBRARY.aligned_alloc.argtypes = (_SIZE, _SIZE)
_LIBRARY.realloc.argtypes = (ctypes.c_void_p, _SIZE)
_LIBRARY.free.argtypes = (ctypes.c_void_p,)
_LIBRARY.free.restype = None


class Chunk(NamedTuple):
    """A memory range of the heap that is divided into equal blocks for one purpose.

    A purpose is all allocations with the same name.
    """

    start: int
    size: int
    purpose: int
    type: Type | None


class _Class(NamedTuple):
    """A class of equal heap blocks for one purpose (allocations with the same name).

    Freed blocks are reused within the class.
    """

    purpose: int
    room: int  # allocated bytes, a multiple of the alignment
    alignment: int  # bytes


class _Block(NamedTuple):
    of: _Class
    size: int  # requested bytes


class Heap:
    """A heap for the program that runs, so that each address belongs to one data structure.

    It replaces C's allocation functions, and keeps blocks of different purposes apart. A purpose is
    all allocations with the same name.
    """

    def __init__(self, allocations: Sequence[Allocation], site: int) -> None:
        """Create an empty heap for these allocations.

        `site` is the address of a 32-bit integer. The instrumented code stores there the number of
        the current allocation, from 1; 0 means that the allocation is not tracked.
        """
        self._site = ctypes.c_int32.from_address(site)
        names = list(dict.fromkeys(one.name for one in allocations))
        self._purposes = [names.index(one.name) for one in allocations]
        firsts = [next(one for one in allocations if one.name == name) for name in names]
        self._types = [one.type for one in firsts]
        self.structures = [
            Structure(one.name, _listed(one.type), 0, one.line, "") for one in firsts
        ]
        """For each purpose, a structure that stands for all its blocks; `sizes` has the
        structure's size.
        """
        self.sizes = [0] * len(names)
        """For each purpose, the largest number of bytes that were allocated at the same time."""
        self._live = [0] * len(names)
        self._blocks = dict[int, _Block]()
        self._free = dict[_Class, list[int]]()
        self._next = dict[_Class, tuple[int, int]]()
        self._chunks, self._taken, self._kept = list[Chunk](), 0, list[object]()
        void = ctypes.c_void_p
        self._functions = {
            "malloc": ctypes.CFUNCTYPE(void, _SIZE)(self._malloc),
            "calloc": ctypes.CFUNCTYPE(void, _SIZE, _SIZE)(self._calloc),
            "realloc": ctypes.CFUNCTYPE(void, void, _SIZE)(self._realloc),
            "free": ctypes.CFUNCTYPE(None, void)(self._drop),
            "aligned_alloc": ctypes.CFUNCTYPE(void, _SIZE, _SIZE)(self._aligned),
        }

    def functions(self) -> dict[str, int]:
        """Return the addresses of the replacements of C's allocation functions, by name."""
        return {
            name: ctypes.cast(one, ctypes.c_void_p).value or 0
            for name, one in self._functions.items()
        }

    def chunks(self) -> list[Chunk]:
        """Return the chunks of memory that the heap has created since the last call."""
        found, self._chunks = self._chunks, []
        return found

    def _malloc(self, size: int) -> int:
        number = self._site.value - 1
        return self._block(number, size, _ALIGNED) if number >= 0 else _LIBRARY.malloc(size) or 0

    def _aligned(self, alignment: int, size: int) -> int:
        if alignment < 1 or alignment & (alignment - 1):
            return 0  # C11, section 7.22.3.1: an alignment that is not a power of two fails
        number = self._site.value - 1
        if number < 0:
            return _LIBRARY.aligned_alloc(alignment, size) or 0
        return self._block(number, size, max(alignment, _ALIGNED))

    def _block(self, number: int, size: int, alignment: int) -> int:
        """Allocate `size` bytes, and return their address; 0 if no memory is left.

        `number` is the index of the allocation, from 0.
        """
        if max(size, alignment) > _MAX_HEAP:
            return 0
        purpose = self._purposes[number]
        of = _Class(purpose, -(-max(size, 1) // alignment) * alignment, alignment)
        free = self._free.get(of)
        address = free.pop() if free else self._fresh(of)
        if address:
            self._blocks[address] = _Block(of, size)
            self._live[purpose] += size
            self.sizes[purpose] = max(self.sizes[purpose], self._live[purpose])
        return address

    def _fresh(self, of: _Class) -> int:
        """Return the address of an unused block of this class; 0 if no memory is left."""
        purpose, room, alignment = of
        at, end = self._next.get(of, (0, 0))
        if at == end:
            size = max(room, _CHUNK // room * room)
            # Pages are aligned to their size only.
            extra = alignment if alignment > mmap.PAGESIZE else 0
            if self._taken + size + extra > _MAX_HEAP:
                return 0
            memory = mmap.mmap(-1, size + extra)
            self._kept.append(memory)
            self._taken += size + extra
            at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            at = -(-at // alignment) * alignment
            end = at + size
            self._chunks.append(Chunk(at, size, purpose, _row(self._types[purpose], room, size)))
        self._next[of] = at + room, end
        return at

    def _calloc(self, count: int, size: int) -> int:
        # A larger product could overflow the size_t of the C library.
        address = self._malloc(count * size) if count * size <= _MAX_HEAP else 0
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
            self._live[block.of.purpose] -= block.size
            self._free.setdefault(block.of, []).append(address)


def _listed(kind: Type | None) -> Type | None:
    """Return the type of an array with one element of type `kind`; None if `kind` is None."""
    return None if kind is None else Type(kind.name, kind.size, element=kind, length=1)


def _row(kind: Type | None, room: int, size: int) -> Type | None:
    """Return the type of a chunk of the heap: an array of blocks, each with one or more objects.

    `kind` is the type of the objects, and `room` and `size` are the bytes of a block and of the
    chunk. The result is None if the type is unknown or does not fit into a block.
    """
    if kind is None or not kind.size or kind.size > room:
        return None
    objects = room // kind.size
    block = kind._replace(size=room)
    if objects > 1:
        block = Type(kind.name, room, element=kind, length=objects)
    return Type(kind.name, size, element=block, length=size // room)
