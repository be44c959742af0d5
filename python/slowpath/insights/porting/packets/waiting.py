"""Packets of DPDK that are neither sent nor freed when the trace is over, and where they are."""

import ctypes
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.insights.porting.memory import Memory

_WORD = 8
_DESCRIBED, _COUNTED, _NEXT = 128, 18, 64
"""Bytes of `struct rte_mbuf`, and where in it is who refers to the packet, and its next segment."""
_TURNS = 128
"""Packets that come take turns in so many (`SLOWPATH_TURNS` of rte_mbuf.h); those that the function
makes are behind these."""


class Waiting(NamedTuple):
    """Packets that nobody has sent or freed."""

    packets: int
    where: list[str]
    """Structures that have their addresses."""
    lost: int
    """Those that the function has made, of which no structure has the address."""


NONE = Waiting(0, [], 0)


def waiting(memory: Memory, address: Callable[[str], int]) -> Waiting:
    """The packets that are left; `address` is where a variable is.

    Of those that came, what no structure has the function has given back. A packet counts once,
    whatever segments it has.
    """
    first = address("slowpath_dpdk_mbufs")
    made = ctypes.c_uint32.from_address(address("slowpath_dpdk_pool") + _WORD).value
    count = _TURNS + made
    used = {at for at in range(count) if _read(ctypes.c_uint16, first, at, _COUNTED)}
    behind = {_read(ctypes.c_uint64, first, at, _NEXT) for at in used}
    there = {at for at in used if first + at * _DESCRIBED not in behind}
    everywhere = [one for one in memory.areas if one.structure >= 0]
    found, where = 0, list[str]()
    for area in everywhere if there else ():
        here = there & _pointed(area.start, area.size, first, count)
        if here:
            found += len(here)
            where.append(memory.structures[area.structure].name)
            there -= here
    return Waiting(found, where, sum(at >= _TURNS for at in there))


def _read(kind: type[ctypes.c_uint16] | type[ctypes.c_uint64], first: int, at: int, of: int) -> int:
    """A member of what is kept of a packet."""
    return int(kind.from_address(first + at * _DESCRIBED + of).value)


def _pointed(start: int, size: int, first: int, packets: int) -> set[int]:
    """The packets that words of some memory point to."""
    begin = -(-start // _WORD) * _WORD
    count = (start + size - begin) // _WORD
    if count <= 0:
        return set()
    words = np.frombuffer(memoryview((ctypes.c_uint64 * count).from_address(begin)), np.uint64)
    near = words[(words >= first) & (words < first + packets * _DESCRIBED)]
    offsets = near.astype(np.int64) - first
    return set((offsets[offsets % _DESCRIBED == 0] // _DESCRIBED).tolist())


def as_note(packets: int, where: Sequence[str]) -> list[str]:
    """What a user is told of those that wait."""
    if not packets:
        return []
    what = f"{packets:,} packet{'s wait' if packets != 1 else ' waits'} in {', '.join(where)}"
    return [f"{what} when the trace is over: neither sent nor freed, so in no output"]
