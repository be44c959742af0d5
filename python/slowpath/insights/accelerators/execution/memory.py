"""Memory for what functions point to: regions with pages around them that nobody may touch."""

import ctypes
import mmap
from collections.abc import Sequence

SIZE = 1 << 16
"""Bytes of a region."""
WINDOW = 1 << 13
"""So many bytes of a region are looked at: what a function takes for its state is not larger."""
_PAGE = mmap.PAGESIZE
_NONE, _READ_WRITE = 0, 3


class Region:
    """Bytes at an address; what is before and behind them ends the process that touches it."""

    def __init__(self) -> None:
        self._map = mmap.mmap(-1, SIZE + 2 * _PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self.address = start + _PAGE
        libc = ctypes.CDLL(None, use_errno=True)
        protect = libc.mprotect
        protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        for guard in (start, self.address + SIZE):
            if protect(guard, _PAGE, _NONE):
                raise MemoryError("pages cannot be protected")

    def write(self, data: bytes, offset: int = 0) -> None:
        """Puts bytes there."""
        ctypes.memmove(self.address + offset, data, min(len(data), SIZE - offset))

    def read(self, size: int = WINDOW, offset: int = 0) -> bytes:
        """The bytes that are there."""
        return ctypes.string_at(self.address + offset, size)


def changed(before: bytes, after: bytes) -> list[tuple[int, int]]:
    """Where two texts of one length differ: offset and size of each stretch; short gaps count."""
    found = list[tuple[int, int]]()
    if before == after:
        return found
    for at, (one, other) in enumerate(zip(before, after, strict=True)):
        if one == other:
            continue
        if found and at - sum(found[-1]) < _GAP:
            start, _ = found[-1]
            found[-1] = (start, at + 1 - start)
        else:
            found.append((at, 1))
    return found


_GAP = 4
"""Bytes that a random text leaves unchanged by chance, at most so many in a row."""


def spread(pieces: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Where the first of several stretches begins, and the last one ends."""
    return pieces[0][0], sum(pieces[-1])
