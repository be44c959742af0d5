"""Packets of DPDK that came and are still in arrays of the function when the trace is over."""

import ctypes
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from slowpath.insights.porting.memory import Memory

_WORD = 8
_DESCRIBED, _COUNTED = 128, 18
"""Bytes of `struct rte_mbuf`, and where in it is who refers to the packet."""
_TURNS = 128
"""Packets that come take turns in so many (`SLOWPATH_TURNS` of rte_mbuf.h)."""


class Waiting(NamedTuple):
    """Packets that nobody has sent or freed."""

    packets: int
    where: list[str]
    """Structures that have their addresses."""


def waiting(memory: Memory, address: Callable[[str], int]) -> Waiting:
    """The packets whose addresses are in some structure; `address` is where a variable is.

    What a function has given back it has forgotten. A packet counts once.
    """
    first = address("slowpath_dpdk_mbufs")
    there = {
        at
        for at in range(_TURNS)
        if ctypes.c_uint16.from_address(first + at * _DESCRIBED + _COUNTED).value
    }
    everywhere = [one for one in memory.areas if one.structure >= 0]
    found, where = 0, list[str]()
    for area in everywhere if there else ():
        here = there & _pointed(area.start, area.size, first)
        if here:
            found += len(here)
            where.append(memory.structures[area.structure].name)
            there -= here
    return Waiting(found, where)


def _pointed(start: int, size: int, first: int) -> set[int]:
    """The packets that words of some memory point to."""
    begin = -(-start // _WORD) * _WORD
    count = (start + size - begin) // _WORD
    if count <= 0:
        return set()
    words = np.frombuffer(memoryview((ctypes.c_uint64 * count).from_address(begin)), np.uint64)
    near = words[(words >= first) & (words < first + _TURNS * _DESCRIBED)].astype(np.int64) - first
    return set((near[near % _DESCRIBED == 0] // _DESCRIBED).tolist())


def as_note(packets: int, where: Sequence[str]) -> list[str]:
    """What a user is told of them."""
    if not packets:
        return []
    what = f"{packets:,} packet{'s wait' if packets != 1 else ' waits'} in {', '.join(where)}"
    return [f"{what} when the trace is over: neither sent nor freed, so in no output"]
