"""Finds packet buffers of DPDK that are in use, and provides memory for pointer parameters."""

import ctypes
import mmap
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.core.terminal import first_few
from slowpath.insights.native import protect_page
from slowpath.insights.source.entry import Entry
from slowpath.insights.source.layouts import Layouts, Variable
from slowpath.insights.source.pointer_parameters import PointerTarget
from slowpath.insights.trace.memory import MemoryMap

if TYPE_CHECKING:
    import numpy.typing as npt


_WORD = 8
_MBUF_BYTES, _REFERENCE_COUNT, _NEXT = 128, 18, 64
"""Size of `struct rte_mbuf`, and offsets of its reference count and its next segment, in bytes."""
_UNREFERENCED, _REFERENCED, _LATER_SEGMENT = 0, 1, 2
"""Results of `slowpath_dpdk_seek` for a buffer (`slowpath_arriving.h`).

`_LATER_SEGMENT` is a buffer after the first one of an unreferenced packet.
"""


class Buffers:
    """The array of DPDK packet buffers (`rte_mbuf`) in slowpath's headers.

    The first `turns` buffers are for arriving packets, the others for packets that the function
    allocates. A scan of memory finds the buffers that the program still points to.
    """

    def __init__(self, memory: MemoryMap, address: Callable[[str], int]) -> None:
        """Read the location and the size of the array.

        `memory` has the known memory areas; `address` returns the address of a variable.
        """
        sizes = (ctypes.c_uint32 * 2).from_address(address("slowpath_dpdk_sizes"))
        self.turns, made = map(int, sizes)
        """Number of buffers for arriving packets."""
        self._first, self._count = address("slowpath_dpdk_mbufs"), self.turns + made
        self._areas = [one for one in memory.areas if one.structure >= 0]

    def heads(self) -> set[int]:
        """Return the indices of the buffers with the first segment of a packet.

        Buffers that are not in use are left out.
        """
        words = self._mbuf_words()
        halves = words.view(np.uint16)
        used = halves[:, _REFERENCE_COUNT // 2] != 0
        later = self._indices(words[used, _NEXT // _WORD], exact=True)
        used[later[later >= 0]] = False
        return set(np.flatnonzero(used).tolist())

    def by_structure(self) -> list[tuple[int, set[int]]]:
        """Return the number of each data structure, and the indices of buffers it points to."""
        return [
            (one.structure, set(self._pointed(one.start, one.size, exact=True).tolist()))
            for one in self._areas
        ]

    def seek(self, to: int) -> int:
        """Find out which buffers the program may still use.

        Write the state of each buffer, as one byte, to the address `to`, and return 1. slowpath's
        headers call this before they reuse buffers.

        A buffer is referenced if a data structure, or the `rte_mbuf` of another referenced buffer,
        contains an address within this buffer's `rte_mbuf`. The state also marks unreferenced
        buffers that are a later segment of a packet.
        """
        words = self._mbuf_words()
        referenced = np.zeros(self._count, bool)
        for one in self._areas:
            referenced[self._pointed(one.start, one.size, exact=False)] = True
        targets = self._indices(words, exact=False)
        new = referenced
        while new.any():
            reached = targets[new]
            before = referenced.copy()
            referenced[reached[reached >= 0]] = True
            new = referenced & ~before
        states = np.where(referenced, _REFERENCED, _UNREFERENCED).astype(np.uint8)
        later = self._indices(words[~referenced, _NEXT // _WORD], exact=True)
        later = later[later >= 0]
        states[later[~referenced[later]]] = _LATER_SEGMENT
        ctypes.memmove(to, states.tobytes(), self._count)
        return 1

    def _mbuf_words(self) -> "npt.NDArray[np.uint64]":
        """Return the array of `rte_mbuf` as 64-bit words, shape (buffers, 16)."""
        return _words(self._first, self._count * _MBUF_BYTES // _WORD).reshape(self._count, -1)

    def _pointed(self, start: int, size: int, *, exact: bool) -> "npt.NDArray[np.int64]":
        """Return the indices of the buffers to which pointers in a memory area point.

        The area has `size` bytes, and starts at the address `start`. With `exact`, only pointers to
        the start of an `rte_mbuf` count.
        """
        begin = -(-start // _WORD) * _WORD
        count = (start + size - begin) // _WORD
        if count <= 0:
            return np.zeros(0, np.int64)
        found = self._indices(_words(begin, count), exact=exact)
        return found[found >= 0]

    def _indices(self, words: "npt.NDArray[np.uint64]", *, exact: bool) -> "npt.NDArray[np.int64]":
        """Interpret words as pointers, and return the index of the buffer that each points into.

        The index is -1 for a word that points to no buffer. With `exact`, only pointers to the
        start of an `rte_mbuf` count.
        """
        # Addresses before the first buffer wrap around to offsets far beyond the last buffer.
        offsets = words - np.uint64(self._first)
        inside = offsets < self._count * _MBUF_BYTES
        if exact:
            inside &= offsets % np.uint64(_MBUF_BYTES) == 0
        found = np.full(words.shape, -1, np.int64)
        found[inside] = offsets[inside] // np.uint64(_MBUF_BYTES)
        return found


def _words(start: int, count: int) -> "npt.NDArray[np.uint64]":
    memory = (ctypes.c_uint64 * count).from_address(start)
    return np.frombuffer(memoryview(memory), np.uint64)


Symbol = tuple[str, int, int, Variable | None]
"""A variable: its symbol, address, size in bytes and layout."""
_PAGE = mmap.PAGESIZE
_LINE = 64
"""Largest alignment in bytes."""
_MAX_NAMES = 3
"""Maximum number of variables that a note names."""


class ParameterMemory:
    """Provides the memory to which the pointer parameters of the entry function point."""

    def __init__(
        self, file: str, entry: Entry, layouts: Layouts, address: Callable[[str], int]
    ) -> None:
        """Allocate memory for the pointer parameters for which the source has no variable.

        `address` returns the address of a symbol.
        """
        self._file, self._entry, self._layouts, self._address = file, entry, layouts, address
        self._rooms = {
            one.place: _Zeros(one.type.size)
            for one in entry.targets
            if one.type is not None and not one.variables and not one.maker
        }

    @property
    def symbols(self) -> list[Symbol]:
        """The allocated memory, described in the same way as variables of the source."""
        found = list[Symbol]()
        for one in self._entry.targets:
            if one.type is not None and one.place in self._rooms:
                name = f"*{self._name(one)}"
                variable = Variable(name, one.type, one.type.line or self._entry.function.line)
                found.append((name, self._rooms[one.place].address, one.type.size, variable))
        return found

    @property
    def zeros(self) -> list[str]:
        """Descriptions of parameters whose memory is zero until the source's own code runs."""
        return [
            self._is(one, _of_zeros(one))
            for one in self._entry.targets
            if one.place in self._rooms and not one.pointers
        ] + [
            self._is(one, f"{one.variables[0]}, defined in another file: zeros before --setup")
            for one in self._entry.targets
            if self._is_outside(one)
        ]

    def addresses(self) -> tuple[dict[int, int], list[str]]:
        """Return the value to pass for each pointer parameter, by its index.

        Also return notes that tell the user about these values. The constructors of the source must
        have run before.

        Raises:
            InputError: when a parameter needs an object that no code has created.
        """
        found, notes = dict[int, int](), list[str]()
        for one in self._entry.targets:
            found[one.place], description = self._target(one)
            if description:
                notes.append(self._is(one, description))
        return found, notes

    def _is(self, one: PointerTarget, description: str) -> str:
        return f"{self._name(one)} of {self._entry.function.shown} is {description}"

    def _name(self, one: PointerTarget) -> str:
        return one.name or f"parameter {one.place + 1}"

    def _target(self, one: PointerTarget) -> tuple[int, str]:
        """Return the address to pass for a pointer parameter.

        Also return a description of the memory there, for the user.
        """
        if one.type is None:
            return 0, ""
        pointed = [(symbol, self._value(symbol)) for symbol in one.pointers]
        pointed = [(symbol, value) for symbol, value in pointed if value]
        variables = list(one.variables)
        if one.maker:
            variables = [] if pointed else [name for name in variables if self._is_made(name, one)]
        if variables:
            first, *others = [self._shown(symbol, one) for symbol in variables]
            alternatives = f" (also possible: {first_few(others, _MAX_NAMES)})" if others else ""
            left = ", as constructors initialise it"
            if self._is_outside(one):
                left = ", defined in another file: zeros, except for bytes that --setup writes"
            return self._address(variables[0]), f"{first}{left}{alternatives}"
        if pointed:
            symbol, value = pointed[0]
            return value, f"the target of {self._shown(symbol, None)} after constructors"
        if one.maker:
            raise self._unmade(one)
        return self._rooms[one.place].address, _of_zeros(one)

    def _is_outside(self, one: PointerTarget) -> bool:
        """Return true if another file defines the variable that a parameter points to."""
        return bool(one.variables) and self._layouts.variable(one.variables[0]) is None

    def _unmade(self, one: PointerTarget) -> InputError:
        function = self._entry.function
        kind = "" if one.type is None else one.type.name
        reason = f"no {kind} exists when packets arrive"
        remedy = f"let a function of RTE_INIT call {one.maker} and store the result"
        what = f"{self._name(one)} of {function.shown}"
        return InputError(
            codes.PARAMETER_NOT_UNDERSTOOD,
            self._file,
            f"{function.place}: {what}: {reason}; {remedy}",
        )

    def _is_made(self, symbol: str, one: PointerTarget) -> bool:
        size = 0 if one.type is None else one.type.size
        return any(ctypes.string_at(self._address(symbol), size))

    def _value(self, symbol: str) -> int:
        """Return the pointer that a variable contains; for an array, that of its first element."""
        return int(ctypes.c_uint64.from_address(self._address(symbol)).value)

    def _shown(self, symbol: str, one: PointerTarget | None) -> str:
        """Return a variable's name in the source, followed by `[0]` if the variable is an array."""
        found = self._layouts.variable(symbol)
        if found is None:
            return symbol
        size = 8 if one is None or one.type is None else one.type.size
        return f"{found.name}[0]" if found.type.size != size else found.name


def _of_zeros(one: PointerTarget) -> str:
    kind = "" if one.type is None else one.type.name
    return f"zeroed memory, because no variable has {f'type {kind}' if kind else 'its type'}"


class _Zeros:
    """Zeroed memory in front of a protected page, so that an access beyond its end crashes."""

    def __init__(self, size: int) -> None:
        room = -(-size // _PAGE) * _PAGE
        self._map = mmap.mmap(-1, room + _PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        protect_page(start + room)
        aligned = min(size & -size, _LINE)
        self.address = (start + room - size) // aligned * aligned
