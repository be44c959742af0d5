"""The stack frame of a function as the card has it: how deep it is, where a variable is in it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from slowpath.insights.blocks.machine.assembler import Assembled
from slowpath.insights.blocks.machine.instructions import Instruction
from slowpath.insights.blocks.machine.values import FRAME, WORD_BYTES, Passed, State, Value
from slowpath.insights.blocks.machine.widths import arguments, refuses

_SAVED = 36
"""Bytes of a called function's frame for the return address and `r6` to `r9`."""
_RETURN = 4
_STACK = 512
Touched = Mapping[str, Mapping[int, int]]
"""By function and register, how far below or above what it is passed there its accesses begin."""


class Frame(NamedTuple):
    """The frame of a function."""

    depth: int  # bytes, in whole words
    saves: bool  # whether `r6` to `r9` are saved
    judged: int = 0  # bytes with which accesses are refused: without what stands in for them


def touched(function: Assembled, states: Sequence[State | None]) -> dict[int, int]:
    """By register of an argument, where the lowest access to a caller's frame behind it is."""
    found = dict[int, int]()
    for one, state in zip(function.instructions, states, strict=True):
        if state is None or one.kind not in ("load", "store"):
            continue
        base = state.registers[one.base]
        if base.kind == "stack" and isinstance(base.origin, Passed) and base.offset is not None:
            at = base.offset + one.offset
            found[base.origin.register] = min(at, found.get(base.origin.register, at))
    return found


def frame(
    function: Assembled,
    states: Sequence[State | None],
    *,
    main: bool,
    called: Touched = MappingProxyType({}),
) -> Frame:
    """The frame of a function; `main`: that a program begins with; `called`: those it may call."""
    lowest, refused = 0, False
    others = list[int]()  # where loads from callers' frames are, from those frames' addresses
    for one, state in zip(function.instructions, states, strict=True):
        if state is None:
            continue
        pointers: list[tuple[Value, int]]
        if one.kind == "call" and one.name in called:
            there = called[one.name].items()
            pointers = [(state.registers[number], offset) for number, offset in there]
        elif one.kind == "call":
            passed = range(1, arguments(one, state) + 1)
            pointers = [(state.registers[number], 0) for number in passed]
        elif one.kind in ("load", "store", "atomic"):
            base = state.registers[one.base]
            pointers = [(base, one.offset)]
            if one.kind == "load":
                refused = refused or refuses(one, state)
                others += elsewhere(base, one)
        else:
            continue
        for value, offset in pointers:
            if value.kind == "stack" and value.origin == "frame" and value.offset is not None:
                lowest = min(lowest, value.offset + offset)
    saves = any(
        number is not None and 6 <= number < FRAME  # noqa: PLR2004 - r6 to r9 are kept
        for one in function.instructions
        for number in (one.target, one.base if one.kind in ("store", "atomic") else None)
    )
    depth, kept = -lowest, 0 if main else _SAVED if saves else _RETURN
    judged = _whole(depth + kept)
    if refused or any(is_before(at + judged) for at in others):
        # What stands in for a refused load reads where nobody writes.
        depth = max(depth, min(_STACK, (_named(function) + 7) // 8 * 8 + 8))
    return Frame(_whole(depth + kept), saves, judged)


def _whole(depth: int) -> int:
    return (depth + 3) // 4 * 4


def elsewhere(base: Value, access: Instruction) -> list[int]:
    """Where an access is from the address of a caller's frame that it is in, if that is known."""
    if base.kind != "stack" or base.offset is None or not isinstance(base.origin, Passed):
        return []
    start = base.origin.start
    return [] if start is None else [start + base.offset + access.offset]


def is_before(place: int) -> bool:
    """Whether the card refuses an access to a caller's frame, so far from the own one's first byte.

    The driver takes the remainder of a place before that byte for one of a positive number.
    """
    return place < 0 and place % WORD_BYTES != 0


def _named(function: Assembled) -> int:
    """How many bytes of its stack instructions name."""
    lowest, framed = 0, dict[int, int]()
    for one in function.instructions:
        if one.kind in ("load", "store", "atomic") and one.base == FRAME:
            lowest = min(lowest, one.offset)
        elif one.kind == "move" and one.source == FRAME and one.target is not None:
            framed[one.target] = 0
        elif one.kind == "alu" and one.op == "+" and one.target in framed:
            lowest = min(lowest, framed.pop(one.target) + (one.immediate or 0))
    return -lowest
