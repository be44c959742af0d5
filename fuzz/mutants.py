"""Damages BPF objects and listings at random. The same seed gives the same files."""

import random
import re
from collections.abc import Callable, Sequence

_NUMBERS = (0, 1, 7, 8, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 30)
_MARKS = ("\x1b[31m", "\x07", "\x00", "\u202e", "\r", "\x7f", "\t", "=", "\u2028", "\x85")


def damaged_object(chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return a copy of one of the objects in `seeds` with one to four kinds of damage."""
    data = bytearray(chance.choice(seeds))
    kinds: tuple[Callable[[], None], ...] = (
        lambda: _flip(chance, data),
        lambda: _number(chance, data),
        lambda: _code(chance, data),
        lambda: _code(chance, data),
        lambda: _map(chance, data),
        lambda: _header(chance, data),
        lambda: _splice(chance, data, seeds),
        lambda: _name(chance, data),
        lambda: _cut(chance, data),
    )
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        if data:
            chance.choice(kinds)()
    return bytes(data)


def damaged_code(chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return a copy of one of the objects in `seeds`, with one or two changes of instructions.

    Most readers still accept the copy.
    """
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.choice((1, 1, 1, 2))):
        _code(chance, data)
    return bytes(data)


def _flip(chance: random.Random, data: bytearray) -> None:
    for _ in range(chance.randint(1, 8)):
        data[chance.randrange(len(data))] = chance.randrange(256)


def _number(chance: random.Random, data: bytearray) -> None:
    at = chance.randrange(len(data))
    size = chance.choice((2, 4, 8))
    value = chance.choice(_NUMBERS) & ((1 << 8 * size) - 1)
    data[at : at + size] = value.to_bytes(size, "little")


def _sections(data: bytearray) -> list[tuple[int, int, int]]:
    """Return the offset of the header, the offset and the size of each ELF section in the file."""
    if len(data) < 64:
        return []
    start = int.from_bytes(data[40:48], "little")
    count = int.from_bytes(data[60:62], "little")
    found = []
    for header in range(start, start + 64 * count, 64):
        offset = int.from_bytes(data[header + 24 : header + 32], "little")
        size = int.from_bytes(data[header + 32 : header + 40], "little")
        if header + 64 <= len(data) and size > 0 and offset + size <= len(data):
            found.append((header, offset, size))
    return found


def _code(chance: random.Random, data: bytearray) -> None:
    """Change fields of instructions, or copy instructions, in an executable section."""
    code = [
        (offset, size)
        for header, offset, size in _sections(data)
        if size % 8 == 0 and data[header + 8] & 4
    ]
    if not code:
        return
    offset, size = chance.choice(code)
    for _ in range(chance.randint(1, 4)):
        at = offset + 8 * chance.randrange(size // 8)
        field = chance.randrange(5)
        if field == 0:
            data[at] = chance.randrange(256)
        elif field == 1:
            data[at + 1] = chance.randrange(11) | chance.randrange(11) << 4
        elif field == 2:
            data[at + 2 : at + 4] = chance.randrange(1 << 16).to_bytes(2, "little")
        elif field == 3:
            data[at + 4 : at + 8] = chance.choice(_NUMBERS).to_bytes(4, "little")
        else:
            other = offset + 8 * chance.randrange(size // 8)
            data[at : at + 8] = data[other : other + 8]


def _map(chance: random.Random, data: bytearray) -> None:
    """Replace an aligned number in a section, such as the size of a map or of a type."""
    small = [(offset, size) for _, offset, size in _sections(data) if size >= 4]
    if not small:
        return
    offset, size = chance.choice(small)
    at = offset + 4 * chance.randrange(size // 4)
    data[at : at + 4] = chance.choice(_NUMBERS).to_bytes(4, "little")


def _header(chance: random.Random, data: bytearray) -> None:
    sections = _sections(data)
    start = chance.choice(sections)[0] if sections and chance.random() < 0.8 else 0
    at = start + 4 * chance.randrange(16)
    data[at : at + 4] = chance.choice((*_NUMBERS, len(data), len(data) - 1)).to_bytes(4, "little")


def _splice(chance: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    other = chance.choice(seeds)
    theirs = _sections(bytearray(other))
    ours = _sections(data)
    if not theirs or not ours:
        return
    _, offset, size = chance.choice(theirs)
    header, at, length = chance.choice(ours)
    piece = other[offset : offset + size]
    if chance.random() < 0.5:
        data[at : at + min(length, size)] = piece[:length]
        return
    data[header + 24 : header + 32] = len(data).to_bytes(8, "little")
    data[header + 32 : header + 40] = size.to_bytes(8, "little")
    data += piece


def _name(chance: random.Random, data: bytearray) -> None:
    """Write a control sequence, or another special character, into a name."""
    names = [m.start() for m in re.finditer(rb"[a-z_]{5,}\0", bytes(data))]
    if names:
        mark = chance.choice(_MARKS).encode()
        at = chance.choice(names)
        data[at : at + len(mark)] = mark


def _cut(chance: random.Random, data: bytearray) -> None:
    at = chance.randrange(len(data))
    if chance.random() < 0.7:
        del data[at:]
    else:
        del data[at : at + chance.randint(1, 64)]


def damaged_listing(chance: random.Random, seeds: Sequence[str]) -> str:
    """Return one of the listings with one to four kinds of damage; mostly renumber its lines."""
    lines = chance.choice(seeds).splitlines()
    for _ in range(chance.choice((1, 1, 2, 3, 4))):
        at = chance.randrange(max(1, len(lines)))
        kind = chance.randrange(8)
        if not lines or kind == 0:
            lines.insert(at, "".join(chance.choices("abl$[]{},<>*+-.:0123456789 ", k=20)))
        elif kind == 1:
            del lines[at : at + chance.randint(1, 4)]
        elif kind == 2:
            lines[at:at] = chance.choice(seeds).splitlines()[at : at + chance.randint(1, 200)]
        elif kind == 3:
            other = chance.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 4:
            number = str(chance.choice((*_NUMBERS, 14999, 15000, 15017)))
            lines[at] = re.sub(r"(?<=\.)\d+(?=[,\s\]]|$)", number, lines[at])
        elif kind == 5:
            lines[at] = re.sub(r"0x[0-9a-f]+", hex(chance.choice(_NUMBERS)), lines[at])
        elif kind == 6:
            place = chance.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:place] + chance.choice(_MARKS) + lines[at][place:]
        else:
            lines[at] = re.sub(r"[AB]_?\d+", f"A_{chance.randrange(40)}", lines[at], count=1)
    if chance.random() < 0.8:
        lines = _numbered(lines)
    return "\n".join(lines)


def _numbered(lines: Sequence[str]) -> list[str]:
    """Return the lines of a listing with consecutive addresses and instruction numbers."""
    found, number = [], 0
    for line in lines:
        matched = re.match(r"\s*[0-9a-f]+:\s+\.\d+(\s.*)", line)
        if matched:
            found.append(f"{8 * number:4x}:\t  .{number}{matched[1]}")
            number += 1
        else:
            found.append(line)
    return found
