"""Buffers of DPDK's packets, and which of them anybody has the address of."""

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from slowpath.insights.porting.memory import Memory

if TYPE_CHECKING:
    import numpy.typing as npt

_WORD = 8
_DESCRIBED, _COUNTED, _NEXT = 128, 18, 64
"""Bytes of `struct rte_mbuf`, and where in it is who refers to the packet, and its next segment."""
_OF_NOBODY, _HELD, _BEHIND = 0, 1, 2
"""What `slowpath_dpdk_seek` says of a buffer (slowpath_arriving.h)."""


class Buffers:
    """What the headers keep of each packet: first of those that come, behind them of others."""

    def __init__(self, memory: Memory, address: Callable[[str], int]) -> None:
        """`address` is where a variable is."""
        sizes = (ctypes.c_uint32 * 2).from_address(address("slowpath_dpdk_sizes"))
        self.turns, made = map(int, sizes)
        """So many are for packets that come."""
        self._first, self._count = address("slowpath_dpdk_mbufs"), self.turns + made
        self._areas = [one for one in memory.areas if one.structure >= 0]

    def heads(self) -> set[int]:
        """The buffers in use that are no segment behind another."""
        words = self._described()
        halves = words.view(np.uint16)
        used = halves[:, _COUNTED // 2] != 0
        behind = self._numbers(words[used, _NEXT // _WORD], exact=True)
        used[behind[behind >= 0]] = False
        return set(np.flatnonzero(used).tolist())

    def by_structure(self) -> list[tuple[int, set[int]]]:
        """Of each structure its number, and the buffers whose addresses it has."""
        return [
            (one.structure, set(self._pointed(one.start, one.size, exact=True).tolist()))
            for one in self._areas
        ]

    def seek(self, to: int) -> int:
        """Writes a byte for each buffer to an address: whether anybody has it. Gives 1.

        What structures point to is there, anywhere inside; so is what any such packet points to.
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
        """What is kept of all packets, in words (buffers x 16)."""
        return _words(self._first, self._count * _DESCRIBED // _WORD).reshape(self._count, -1)

    def _pointed(self, start: int, size: int, *, exact: bool) -> "npt.NDArray[np.int64]":
        """The buffers that words of some memory point to."""
        begin = -(-start // _WORD) * _WORD
        count = (start + size - begin) // _WORD
        if count <= 0:
            return np.zeros(0, np.int64)
        found = self._numbers(_words(begin, count), exact=exact)
        return found[found >= 0]

    def _numbers(self, words: "npt.NDArray[np.uint64]", *, exact: bool) -> "npt.NDArray[np.int64]":
        """The buffer that each word points to, if `exact` to its beginning; else -1."""
        # What is before the first one wraps, and is far behind the last one.
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
