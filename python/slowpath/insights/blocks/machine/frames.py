"""Stack frames of functions on the card, and the cost of stack accesses.

Both depend on lengths and places alone. Sources: `mem_op_stack`, `wrp_lmem_load`, `wrp_lmem_store`
and `bpf_to_bpf_call` of the public driver, as our code generator has them (`emit/stack.rs`,
`emit/call.rs`). Variables are in local memory: words behind base register 0, which points to the
frame, or behind base register 3, which is set for the access.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from slowpath.insights.blocks.machine.classes import BYTE
from slowpath.insights.blocks.machine.instructions import Assembled, Instruction
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


_NEAR = 64
"""Bytes that are reached behind base register 0."""
_WINDOW = 32
"""Bytes of a window behind base register 3."""
_RESTRICTED = 7
"""Greatest word that other instructions than arithmetic can name."""
_WORD, _DOUBLE = 4, 8
_ALIGNED = 64
"""Bytes that frames begin at a multiple of."""
_UNTIL_SET = 3
"""Instructions until a base register holds what it was set to."""


def access(one: Instruction, place: int, *, through: bool, zeros: bool) -> int:
    """Instructions of a load or store of a byte of the frame, counted from its lowest one.

    `through`: by the pointer, as the place differs between ways, or is in another frame; `zeros`:
    whether zeros are needed above what is loaded.
    """
    size = one.bits // 8
    loads, advances, taken = one.kind == "load", through, 0
    zeros = zeros and loads and size < _DOUBLE
    if through:
        taken = 1 + _is_large(one.offset)
    elif place + size > _NEAR:
        advances = place // _WINDOW != (place + size - 1) // _WINDOW
        step = _WORD if advances else _WINDOW
        taken = 1 + _is_large(place - place % step)
        place = place if advances else place % _WINDOW
    if taken:
        taken += 1 + _UNTIL_SET - zeros
    return taken + zeros + _pieces(size, place, loads=loads, advances=advances)


def _pieces(size: int, place: int, *, loads: bool, advances: bool) -> int:
    """Instructions that move bytes, for each part that is in one word and one register."""
    taken = byte = register = 0
    previous = None
    while size:
        place = place % _WORD if advances else place
        length = min(size, _WORD - byte, _WORD - place % _WORD)
        first, new, last = previous is None, previous != register, length == size
        if length == _WORD:
            taken += 1
        else:
            far, steps = place // _WORD > _RESTRICTED, advances and new and not last
            if loads:
                taken += 1 + (far and (first or not new)) + steps
            else:
                taken += 1 + (far and (first or last)) + (far and (new or last)) + steps
        previous = register
        register, byte = register + (byte + length) // _WORD, (byte + length) % _WORD
        size, place = size - length, place + length
    return taken


def call(caller: Frame, callee: Frame) -> int:
    """Instructions of a call: the frame is moved there and back, two addresses are passed."""
    depth = -(-caller.depth // _ALIGNED) * _ALIGNED
    moved = 2 * (2 + _is_large(depth)) + _UNTIL_SET if depth else 0
    return 2 + callee.saves + moved


def _is_large(number: int) -> bool:
    """Whether a constant takes an instruction of its own."""
    return not 0 <= number <= BYTE
