"""Packets of DPDK that are neither sent nor freed when the trace is over, and where they are."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowpath.insights.porting.memory import Memory
from slowpath.insights.porting.packets.buffers import Buffers


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
    buffers = Buffers(memory, address)
    there = buffers.heads()
    found, where = 0, list[str]()
    for structure, has in buffers.by_structure() if there else ():
        here = there & has
        if here:
            found += len(here)
            where.append(memory.structures[structure].name)
            there -= here
    return Waiting(found, where, sum(at >= buffers.turns for at in there))


def as_note(packets: int, where: Sequence[str]) -> list[str]:
    """What a user is told of those that wait."""
    if not packets:
        return []
    what = f"{packets:,} packet{'s wait' if packets != 1 else ' waits'} in {', '.join(where)}"
    return [f"{what} when the trace is over: neither sent nor freed, so in no output"]
