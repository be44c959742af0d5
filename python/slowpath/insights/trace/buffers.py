"""Packet buffers of DPDK, and memory behind pointer parameters."""

import ctypes
import mmap
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from slowpath.core.errors import InputError
from slowpath.core.terminal import first_few
from slowpath.insights.source.entry import Entry
from slowpath.insights.source.layouts import Layouts, Variable
from slowpath.insights.source.pointer_parameters import PointerTarget
from slowpath.insights.trace.memory import MemoryMap

if TYPE_CHECKING:
    import numpy.typing as npt


_WORD = 8
_DESCRIBED, _COUNTED, _NEXT = 128, 18, 64
"""Size of `struct rte_mbuf`, and offsets of its reference count and its next segment, in bytes."""
_OF_NOBODY, _HELD, _BEHIND = 0, 1, 2
"""Results of `slowpath_dpdk_seek` for a buffer (slowpath_arriving.h).

They mean: unreferenced, referenced, or a later segment of an unreferenced packet.
"""


class Buffers:
    """Array of `rte_mbuf` in the headers.

    The first ones are for arriving packets, the others for packets that the function makes.
    """

    def __init__(self, memory: MemoryMap, address: Callable[[str], int]) -> None:
        """Read the size of the array; `address` returns the address of a variable."""
        sizes = (ctypes.c_uint32 * 2).from_address(address("slowpath_dpdk_sizes"))
        self.turns, made = map(int, sizes)
        """Number of buffers for arriving packets."""
        self._first, self._count = address("slowpath_dpdk_mbufs"), self.turns + made
        self._areas = [one for one in memory.areas if one.structure >= 0]

    def heads(self) -> set[int]:
        """Return the buffers in use that are the first segment of their packet."""
        words = self._described()
        halves = words.view(np.uint16)
        used = halves[:, _COUNTED // 2] != 0
        behind = self._numbers(words[used, _NEXT // _WORD], exact=True)
        used[behind[behind >= 0]] = False
        return set(np.flatnonzero(used).tolist())

    def by_structure(self) -> list[tuple[int, set[int]]]:
        """Return each structure's number with the buffers whose addresses it contains."""
        return [
            (one.structure, set(self._pointed(one.start, one.size, exact=True).tolist()))
            for one in self._areas
        ]

    def seek(self, to: int) -> int:
        """Write `_OF_NOBODY`, `_HELD` or `_BEHIND` for each buffer to the address `to`. Return 1.

        A buffer is referenced if a structure, or the `rte_mbuf` of a referenced buffer, contains an
        address in its own `rte_mbuf`.
        """
        words = self._described()
        there = np.zeros(self._count, bool)
        for one in self._areas:
            there[self._pointed(one.start, one.size, exact=False)] = True
        targets = self._numbers(words, exact=False)
        new = there
        while new.any():
            reached = targets[new]
            before = there.copy()
            there[reached[reached >= 0]] = True
            new = there & ~before
        said = np.where(there, _HELD, _OF_NOBODY).astype(np.uint8)
        behind = self._numbers(words[~there, _NEXT // _WORD], exact=True)
        behind = behind[behind >= 0]
        said[behind[~there[behind]]] = _BEHIND
        ctypes.memmove(to, said.tobytes(), self._count)
        return 1

    def _described(self) -> "npt.NDArray[np.uint64]":
        """Return the array of `rte_mbuf` as 64-bit words (buffers x 16)."""
        return _words(self._first, self._count * _DESCRIBED // _WORD).reshape(self._count, -1)

    def _pointed(self, start: int, size: int, *, exact: bool) -> "npt.NDArray[np.int64]":
        """Return the buffers that the words of a memory area point to."""
        begin = -(-start // _WORD) * _WORD
        count = (start + size - begin) // _WORD
        if count <= 0:
            return np.zeros(0, np.int64)
        found = self._numbers(_words(begin, count), exact=exact)
        return found[found >= 0]

    def _numbers(self, words: "npt.NDArray[np.uint64]", *, exact: bool) -> "npt.NDArray[np.int64]":
        """Return the buffer that each word points into (`exact`: to its start), or -1."""
        # Addresses before the first buffer wrap around, to offsets far behind the last one.
        offsets = words - np.uint64(self._first)
        inside = offsets < self._count * _DESCRIBED
        if exact:
            inside &= offsets % np.uint64(_DESCRIBED) == 0
        found = np.full(words.shape, -1, np.int64)
        found[inside] = offsets[inside] // np.uint64(_DESCRIBED)
        return found


def _words(start: int, count: int) -> "npt.NDArray[np.uint64]":
    memory = (ctypes.c_uint64 * count).from_address(start)
    return np.frombuffer(memoryview(memory), np.uint64)


Symbol = tuple[str, int, int, Variable | None]
"""A variable: its symbol, address, size in bytes and layout."""
_PAGE = mmap.PAGESIZE
_LINE = 64
"""Largest alignment in bytes."""
_SEVERAL = 3
"""Largest number of variables that a note names."""


class ParameterMemory:
    """Memory that the pointer parameters of a function point to."""

    def __init__(
        self, file: str, entry: Entry, layouts: Layouts, address: Callable[[str], int]
    ) -> None:
        """Allocate memory for parameters without a variable; `address` resolves symbols."""
        self._file, self._entry, self._layouts, self._address = file, entry, layouts, address
        self._rooms = {
            one.place: _Zeros(one.type.size)
            for one in entry.given
            if one.type is not None and not one.variables and not one.maker
        }

    @property
    def symbols(self) -> list[Symbol]:
        """Allocated memory, described like variables of the source."""
        found = list[Symbol]()
        for one in self._entry.given:
            if one.type is not None and one.place in self._rooms:
                name = f"*{self._name(one)}"
                variable = Variable(name, one.type, one.type.line or self._entry.function.line)
                found.append((name, self._rooms[one.place].address, one.type.size, variable))
        return found

    @property
    def zeros(self) -> list[str]:
        """Descriptions of parameters whose memory is zero until code of the source runs."""
        return [
            self._is(one, _of_zeros(one))
            for one in self._entry.given
            if one.place in self._rooms and not one.pointers
        ] + [
            self._is(one, f"{one.variables[0]}, which another file defines: zeros before --setup")
            for one in self._entry.given
            if self._is_outside(one)
        ]

    def addresses(self) -> tuple[dict[int, int], list[str]]:
        """Return the value of each parameter, by its index, and notes on these values.

        Call it after constructors have run.

        Raises:
            InputError: when a parameter needs an object that no code has created.
        """
        found, notes = dict[int, int](), list[str]()
        for one in self._entry.given:
            found[one.place], said = self._lent(one)
            if said:
                notes.append(self._is(one, said))
        return found, notes

    def _is(self, one: PointerTarget, said: str) -> str:
        return f"{self._name(one)} of {self._entry.function.shown} is {said}"

    def _name(self, one: PointerTarget) -> str:
        return one.name or f"parameter {one.place + 1}"

    def _lent(self, one: PointerTarget) -> tuple[int, str]:
        """Return the value of a parameter, and a description of the memory that it points to."""
        if one.type is None:
            return 0, ""
        pointed = [(symbol, self._value(symbol)) for symbol in one.pointers]
        pointed = [(symbol, value) for symbol, value in pointed if value]
        there = list(one.variables)
        if one.maker:
            there = [] if pointed else [name for name in there if self._is_made(name, one)]
        if there:
            several = [self._shown(symbol, one) for symbol in there]
            besides = f" (as {first_few(several[1:], _SEVERAL)} might be)" if several[1:] else ""
            left = ", as constructors leave it"
            if self._is_outside(one):
                left = ", which another file defines: zeros but for what --setup writes"
            return self._address(there[0]), f"{several[0]}{left}{besides}"
        if pointed:
            symbol, value = pointed[0]
            return value, f"what {self._shown(symbol, None)} points to when constructors have run"
        if one.maker:
            raise self._unmade(one)
        return self._rooms[one.place].address, _of_zeros(one)

    def _is_outside(self, one: PointerTarget) -> bool:
        """Return true if another file defines the variable of a parameter."""
        return bool(one.variables) and self._layouts.variable(one.variables[0]) is None

    def _unmade(self, one: PointerTarget) -> InputError:
        function = self._entry.function
        kind = "" if one.type is None else one.type.name
        reason = f"no {kind} is there when packets come"
        remedy = f"have a function of RTE_INIT call {one.maker}, and keep what that gives"
        what = f"{self._name(one)} of {function.shown}"
        return InputError(self._file, f"{function.place}: {what}: {reason}; {remedy}")

    def _is_made(self, symbol: str, one: PointerTarget) -> bool:
        size = 0 if one.type is None else one.type.size
        return any(ctypes.string_at(self._address(symbol), size))

    def _value(self, symbol: str) -> int:
        """Return the pointer in a variable, or in the first element of an array."""
        return int(ctypes.c_uint64.from_address(self._address(symbol)).value)

    def _shown(self, symbol: str, one: PointerTarget | None) -> str:
        """Return a variable's name in the source, with `[0]` if it is an array."""
        found = self._layouts.variable(symbol)
        if found is None:
            return symbol
        size = 8 if one is None or one.type is None else one.type.size
        return f"{found.name}[0]" if found.type.size != size else found.name


def _of_zeros(one: PointerTarget) -> str:
    kind = "" if one.type is None else one.type.name
    return f"memory of zeros, as there is no variable of {f'type {kind}' if kind else 'its type'}"


class _Zeros:
    """Zeros that end at a page boundary; an access behind it crashes the process."""

    def __init__(self, size: int) -> None:
        room = -(-size // _PAGE) * _PAGE
        self._map = mmap.mmap(-1, room + _PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        if protect(start + room, _PAGE, 0):
            raise MemoryError("pages cannot be protected")
        aligned = min(size & -size, _LINE)
        self.address = (start + room - size) // aligned * aligned
