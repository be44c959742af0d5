"""Reads BPF objects and replaces instructions in them.

Source: System V ABI, Object Files. The objects are little-endian 64-bit ELF, as clang emits them.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQ")
_SYMBOLS, _RELOCATIONS = 2, 9
_FUNCTION = 2
SLOT = 8
"""Bytes of an instruction slot."""


class _Section(NamedTuple):
    kind: int
    offset: int
    size: int
    info: int


class Code:
    """Instructions of a BPF object, by function; `data` is the object after all replacements."""

    def __init__(self, data: bytes) -> None:
        """Read the bytes of an object file that clang wrote."""
        self.data = bytearray(data)
        head = _HEADER.unpack_from(data)
        start, size, count = head[6], head[11], head[12]
        self._sections = [self._section(start + size * number) for number in range(count)]
        self._starts = dict[str, tuple[int, int, int]]()  # section, offset in it, size in bytes
        for section, link in self._symbols():
            self._named(section, link)
        self._relocations = dict(self._relocated())

    def _section(self, at: int) -> _Section:
        _, kind, _, _, offset, size, _, info, _, _ = _SECTION.unpack_from(self.data, at)
        return _Section(kind, offset, size, info)

    def _symbols(self) -> list[tuple[_Section, int]]:
        """Return all symbol tables, each with the index of the section that contains its names."""
        head = _HEADER.unpack_from(self.data)
        start, size = head[6], head[11]
        return [
            (section, _SECTION.unpack_from(self.data, start + size * number)[6])
            for number, section in enumerate(self._sections)
            if section.kind == _SYMBOLS
        ]

    def _named(self, section: _Section, link: int) -> None:
        names = self._sections[link]
        for at in range(section.offset, section.offset + section.size, _SYMBOL.size):
            name, info, _, home, value, size = _SYMBOL.unpack_from(self.data, at)
            if info & 15 == _FUNCTION and home < len(self._sections):
                begin = names.offset + name
                text = self.data[begin : self.data.index(b"\0", begin)].decode(errors="replace")
                self._starts[text] = (home, value, size)

    def _relocated(self) -> Iterator[tuple[tuple[int, int], int]]:
        """Yield section and offset of each relocated instruction, and its relocation's position."""
        for section in self._sections:
            if section.kind != _RELOCATIONS:
                continue
            for entry in range(section.offset, section.offset + section.size, _RELOCATION.size):
                place, _ = _RELOCATION.unpack_from(self.data, entry)
                yield (section.info, place), entry

    def slots(self, function: str) -> int | None:
        """Return the number of instruction slots of a function; None if it does not exist."""
        found = self._starts.get(function)
        return None if found is None else found[2] // SLOT

    def instruction(self, function: str, slot: int) -> bytes:
        """Return the 8 bytes of an instruction slot of a function."""
        at = self._at(function, slot)
        return bytes(self.data[at : at + SLOT])

    def instructions(self, function: str) -> list[bytes]:
        """Return the 8 bytes of each instruction slot of a function."""
        return [self.instruction(function, slot) for slot in range(self.slots(function) or 0)]

    def exchange(self, function: str, slot: int, instructions: bytes) -> None:
        """Overwrite the instructions that start at a slot, and disable their relocations."""
        at = self._at(function, slot)
        self.data[at : at + len(instructions)] = instructions
        home, begin, _ = self._starts[function]
        first = begin + SLOT * slot
        for place in range(first, first + len(instructions), SLOT):
            entry = self._relocations.pop((home, place), None)
            if entry is not None:
                _RELOCATION.pack_into(self.data, entry, place, 0)

    def _at(self, function: str, slot: int) -> int:
        home, begin, _ = self._starts[function]
        return self._sections[home].offset + begin + SLOT * slot
