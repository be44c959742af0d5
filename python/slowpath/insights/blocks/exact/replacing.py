"""Instructions that stand in for those that the card refuses, so that the rest can be compiled.

What stands in leaves as little behind as can be: a number of which nothing is known where the
refused instruction has a result, nothing where it has none. What the card's code has for it is not
counted. Source: RFC 9669 for the encodings.
"""

import struct
from collections.abc import Iterable

_INSTRUCTION = struct.Struct("<BBhi")
_LOAD_WIDE, _LOAD, _STORE_CONSTANT, _STORE, _ALU32, _ALU64 = 0, 1, 2, 3, 4, 7
_ADDRESS = 0x18
_MODE, _ATOMIC, _FETCH = 0xE0, 0xC0, 1
_CALL, _RANDOM, _TAIL = 0x85, 7, 12
_MOVE64, _ADD, _TO_BIG = 0xBF, 0x07, 0xDC
_FRAME = 10
_STACK = 512
"""Bytes of stack that a program may use."""


def _packed(opcode: int, target: int, source: int = 0, immediate: int = 0) -> bytes:
    return _INSTRUCTION.pack(opcode, source << 4 | target, 0, immediate)


def is_call(instruction: bytes) -> bool:
    """Whether it calls something."""
    return instruction[0] == _CALL


def is_tail_call(instruction: bytes) -> bool:
    """Whether it calls another program last."""
    opcode, registers, _, immediate = _INSTRUCTION.unpack(instruction)
    return (opcode, registers, immediate) == (_CALL, 0, _TAIL)


def is_address(instruction: bytes) -> bool:
    """Whether it makes an address, or a constant of 64 bits."""
    return instruction[0] == _ADDRESS


def goes_to_memory(instruction: bytes) -> bool:
    """Whether it is an access."""
    return instruction[0] & 7 <= _STORE and not is_address(instruction)


def depth(instructions: Iterable[bytes]) -> int:
    """How many bytes of its stack a function uses, from its instructions."""
    lowest = 0
    framed = dict[int, int]()  # registers that have the frame's address, or one near it
    for instruction in instructions:
        opcode, registers, offset, immediate = _INSTRUCTION.unpack(instruction)
        target, source = registers & 15, registers >> 4
        base = source if opcode & 7 == _LOAD else target
        if opcode & 7 in (_LOAD, _STORE, _STORE_CONSTANT) and base == _FRAME:
            lowest = min(lowest, offset)
        elif opcode == _MOVE64 and source == _FRAME:
            framed[target] = 0
        elif opcode == _ADD and target in framed:
            lowest = min(lowest, framed.pop(target) + immediate)
    return -lowest


def stands_in(instruction: bytes, used: int) -> bytes | None:
    """What stands in for an instruction of a function that uses so many bytes of its stack.

    It has as many slots. None: nothing can. Loads are from a place that nobody writes, so that
    nothing is known of what they get but its size.
    """
    opcode, registers, _, immediate = _INSTRUCTION.unpack(instruction)
    target, source = registers & 15, registers >> 4
    unknown = _packed(_TO_BIG, target, immediate=64)
    by_kind = {
        _LOAD_WIDE: _packed(_MOVE64, target, _FRAME) + unknown,
        _LOAD: _INSTRUCTION.pack(opcode, _FRAME << 4 | target, -_below(used), 0),
        _STORE: _packed(_MOVE64, source, source),
        _STORE_CONSTANT: _packed(_MOVE64, target, target),
        _ALU32: _packed(_TO_BIG, target, immediate=32),
        _ALU64: unknown,
    }
    if opcode == _CALL:
        return _packed(_CALL, 0, immediate=_RANDOM)
    if opcode & 7 == _STORE and opcode & _MODE == _ATOMIC and immediate & _FETCH:
        return _packed(_TO_BIG, source, immediate=64)
    return by_kind.get(opcode & 7)


def _below(used: int) -> int:
    """How far below the frame's address there are eight bytes that nobody writes."""
    return min(_STACK, (used + 7) // 8 * 8 + 8)
