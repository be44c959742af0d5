"""Shared packet reads and copies.

Rules of the code generator for the card, whose sources are those of the public driver
(`nfp_bpf_opt_pkt_cache`, `nfp_bpf_opt_ldst_gather`): a read gets all bytes that loads of the same
base want until something jumps in, is written to the packet, or is called, at most 64.
"""

from collections.abc import Sequence
from typing import NamedTuple

from slowpath.insights.blocks.machine.instructions import Assembled, Instruction
from slowpath.insights.blocks.machine.values import State, Value

_LARGEST_READ = 64
_LARGEST_COPY = 128


class Shared(NamedTuple):
    """The read that a load of the packet has its bytes from."""

    start: int  # first byte behind the base register
    end: int  # behind the last
    fetches: bool  # whether the load makes it


class Copied(NamedTuple):
    """Loads and stores that are one copy."""

    length: int  # bytes
    descending: bool
    offset: int  # lowest that is read
    to_offset: int  # lowest that is written


class Packets(NamedTuple):
    """How the packet is accessed in a function."""

    shared: dict[int, Shared]
    copies: dict[int, Copied]
    skipped: set[int]  # parts of copies


def packets(function: Assembled, states: Sequence[State | None]) -> Packets:
    """How the instructions of a function access the packet."""
    targets = function.targets()
    copies, skipped = _copies(function, states, targets)
    return Packets(_shared(function, states, targets, copies, skipped), copies, skipped)


def _base(one: Instruction, state: State | None) -> Value | None:
    return None if state is None else state.registers[one.base]


def _is_of(one: Instruction, state: State | None, *kinds: str) -> bool:
    base = _base(one, state)
    return base is not None and base.reaches in kinds


class _Pair(NamedTuple):
    """A load and the store behind it."""

    at: int
    load: Instruction
    store: Instruction


def _copies(
    function: Assembled, states: Sequence[State | None], targets: set[int]
) -> tuple[dict[int, Copied], set[int]]:
    copies, skipped = dict[int, Copied](), set[int]()
    chain = list[_Pair]()

    def finish() -> None:
        if len(chain) > 1:
            head, last = chain[0], chain[-1]
            descending = last.load.offset < head.load.offset
            lowest = last if descending else head
            copies[head.at] = Copied(
                sum(one.load.bits // 8 for one in chain),
                descending,
                lowest.load.offset,
                lowest.store.offset,
            )
            skipped.update(range(head.at + 1, last.at + 2))
        chain.clear()

    at = 0
    while at < len(function.instructions):
        pair = _pair(function, states, targets, at)
        if pair is None or (chain and not _continues(states, targets, chain, pair)):
            finish()
        if pair is not None:
            chain.append(pair)
        at += 1 if pair is None else 2
    finish()
    return copies, skipped


def _pair(
    function: Assembled, states: Sequence[State | None], targets: set[int], at: int
) -> _Pair | None:
    if at + 1 >= len(function.instructions) or at + 1 in targets:
        return None
    load, store = function.instructions[at], function.instructions[at + 1]
    fits = (
        (load.kind, load.op, store.kind) == ("load", "", "store")
        and load.bits == store.bits
        and load.target == store.source
        and _is_of(load, states[at], "packet", "element")
        and _is_of(store, states[at + 1], "packet")
    )
    return _Pair(at, load, store) if fits else None


def _continues(
    states: Sequence[State | None], targets: set[int], chain: list[_Pair], pair: _Pair
) -> bool:
    last, size = chain[-1], pair.load.bits // 8
    same = (last.load.target, last.load.base, last.store.base, last.load.bits) == (
        *(pair.load.target, pair.load.base, pair.store.base, pair.load.bits),
    )
    forth = pair.load.offset - last.load.offset, pair.store.offset - last.store.offset
    length = sum(one.load.bits // 8 for one in chain)
    return (
        same
        and pair.at == last.at + 2
        and pair.at not in targets
        and forth in ((size, size), (-size, -size))
        and length < _LARGEST_COPY
        and not _overlaps(states, chain[0], pair)
    )


def _overlaps(states: Sequence[State | None], head: _Pair, pair: _Pair) -> bool:
    """Whether a load may read what an earlier pair has written."""
    source, goal = _base(head.load, states[head.at]), _base(head.store, states[head.at + 1])
    if source is None or goal is None or source.kind != "packet":
        return False
    if source.origin != goal.origin or source.offset is None or goal.offset is None:
        return True
    written = head.store.offset + goal.offset - source.offset
    first, read = head.load.offset, pair.load.offset
    return first < written <= read or (read < first and first > written and read <= written)


def _shared(
    function: Assembled,
    states: Sequence[State | None],
    targets: set[int],
    copies: dict[int, Copied],
    skipped: set[int],
) -> dict[int, Shared]:
    groups = list[tuple[list[int], int, int]]()  # the loads, first byte, behind the last
    available = False
    for at, one in enumerate(function.instructions):
        if at in targets:
            available = False
        if at in skipped:
            continue
        if one.kind == "call" or (one.kind == "store" and _is_of(one, states[at], "packet")):
            available = False
            continue
        if one.kind != "load":
            continue
        if at in copies or one.op or not _is_of(one, states[at], "packet"):
            available = False
            continue
        start, end = one.offset, one.offset + one.bits // 8
        if available:
            members, first, behind = groups[-1]
            head = members[0]
            if _base(function.instructions[head], states[head]) == _base(one, states[at]):
                both = min(first, start), max(behind, end)
                if both == (first, behind) or both[1] - both[0] <= _LARGEST_READ:
                    groups[-1] = ([*members, at], *both)
                    continue
        available = True
        groups.append(([at], start, end))
    return {
        at: Shared(start, end, at == members[0]) for members, start, end in groups for at in members
    }
