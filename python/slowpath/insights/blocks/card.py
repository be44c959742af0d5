"""Compiles BPF programs for the SmartNIC, with stand-ins for instructions that it lacks.

A stand-in has as little effect as possible: it only sets the result of the refused instruction, if
it has one, to an unknown number. Card instructions of stand-ins do not count. Source of the
encodings: RFC 9669.
"""

import struct
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from slowpath.core.engine import analyses, objects, targets
from slowpath.core.engine.objects import HELPER_NUMBERS
from slowpath.core.errors import InputError
from slowpath.core.jobs.stopping import Stopping
from slowpath.core.schema.compiled import Compiled
from slowpath.core.schema.results import Refusal
from slowpath.insights.blocks.block_map import BpfInstruction, linked
from slowpath.insights.blocks.documents import TARGET
from slowpath.insights.blocks.elf import Code

_INSTRUCTION = struct.Struct("<BBhi")
_LOAD_WIDE, _LOAD, _STORE_CONSTANT, _STORE, _ALU32, _ALU64 = 0, 1, 2, 3, 4, 7
_ADDRESS = 0x18
_MODE, _ATOMIC, _FETCH = 0xE0, 0xC0, 1
_CALL, _TAIL_CALL = 0x85, "bpf_tail_call"
_RANDOM, _TAIL = HELPER_NUMBERS["bpf_get_prandom_u32"], HELPER_NUMBERS[_TAIL_CALL]
_MOVE64, _ADD, _TO_BIG = 0xBF, 0x07, 0xDC
_FRAME = 10
_STACK = 512
"""Size of a program's stack in bytes."""


def _packed(opcode: int, target: int, source: int = 0, immediate: int = 0) -> bytes:
    return _INSTRUCTION.pack(opcode, source << 4 | target, 0, immediate)


def is_call(instruction: bytes) -> bool:
    """Return true if an encoded BPF instruction is a call."""
    return instruction[0] == _CALL


def is_tail_call(instruction: bytes) -> bool:
    """Return true if an encoded BPF instruction is a tail call."""
    opcode, registers, _, immediate = _INSTRUCTION.unpack(instruction)
    return (opcode, registers, immediate) == (_CALL, 0, _TAIL)


def is_address(instruction: bytes) -> bool:
    """Return true if an encoded BPF instruction loads an address or a 64-bit constant."""
    return instruction[0] == _ADDRESS


def is_memory_access(instruction: bytes) -> bool:
    """Return true if an encoded BPF instruction accesses memory."""
    return instruction[0] & 7 <= _STORE and not is_address(instruction)


def depth(instructions: Iterable[bytes]) -> int:
    """Return the number of bytes of stack that a function with these instructions uses."""
    lowest = 0
    framed = dict[int, int]()  # registers with a copy of the frame pointer
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


def stand_in_for(instruction: bytes, used: int) -> bytes | None:
    """Return the stand-in for an instruction that the card refuses; None if there is none.

    The stand-in occupies the same number of slots. `used` is the number of stack bytes that the
    function uses. The stand-in for a load reads stack bytes that no code writes, so that only the
    size of the result is known.
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
    """Return the distance in bytes from the frame pointer down to 8 bytes that no code writes."""
    return min(_STACK, (used + 7) // 8 * 8 + 8)


OF_ANY_KIND = "a pointer whose kind is not the same on all ways to the instruction"
"""The reason that the code generator gives if it does not know the kind of memory of a pointer.

The text is from crates/nfp/src/codegen/subset.rs.
"""
_OF_NO_KIND = "a pointer of unknown kind: from memory, from a call, or not of one kind on all ways"
"""Reason to report instead of `OF_ANY_KIND` if a stand-in, or invalid code, may be the cause."""


class Refused(NamedTuple):
    """A BPF instruction that the SmartNIC does not support."""

    function: str
    slot: int  # index in the function
    reason: str
    to_memory: bool  # the instruction is a memory access


class Lowered(NamedTuple):
    """A BPF program compiled for the SmartNIC."""

    compiled: Compiled
    functions: list[tuple[str, int]]  # names with first slots
    refused: list[Refused]

    def by_slot(self) -> dict[int, list[str]]:
        """Return the text of the card instructions for each BPF instruction slot of the program."""
        found = dict[int, list[str]]()
        for one in self.compiled["instructions"]:
            if one["bpf"] is not None:
                found.setdefault(one["bpf"], []).append(one["text"])
        return found

    @property
    def around(self) -> int:
        """Number of card instructions that the driver adds before and after the program."""
        return sum(one["bpf"] is None for one in self.compiled["instructions"])


class Subject(NamedTuple):
    """A BPF program to compile for the SmartNIC."""

    file: str
    number: int  # index in the object
    entry: str
    functions: dict[str, list[BpfInstruction]]
    btf: objects.Btf | None
    verified: bool = True  # False: made from a function, which a verifier might reject


def lower(subject: Subject, code: Code, map_abi: str, stopping: Stopping) -> Lowered:
    """Compile a BPF program for the SmartNIC, with stand-ins for refused instructions.

    Raises:
        InputError: when the card refuses the whole program, or an instruction has no stand-in.
        StoppedError: when `stopping` asks to stop.
    """
    target, options = targets.builtin_target(TARGET), analyses.Options(map_abi=map_abi)
    exchange = _Exchange(subject, code)
    exchange.take_kernel()
    while True:
        found = objects.read_object(subject.file, bytes(code.data))
        named = objects.Subject(subject.file, found, subject.number, subject.btf)
        try:
            compiled = analyses.compiled(named, target, options, stopping)
        except analyses.RefusedError as problem:
            exchange.take(problem.refusals, problem.instructions)
        else:
            return Lowered(compiled, exchange.functions, exchange.done)


class _Exchange:
    """Replaces instructions that the card refuses by stand-ins, which have little effect."""

    def __init__(self, subject: Subject, code: Code) -> None:
        self.functions = linked(subject.entry, subject.functions)
        self.done = list[Refused]()
        self._subject, self._file, self._verified = subject, subject.file, subject.verified
        self._code = code
        self._exchanged = set[tuple[str, int]]()
        self._depths = {name: depth(code.instructions(name)) for name, _ in self.functions}

    def take_kernel(self) -> None:
        """Replace calls of kernel functions, and tail calls: the card supports neither.

        With tail calls, the front end would count the called programs as part of their callers.
        """
        own = self._subject.functions
        for name, _ in self.functions:
            slots = accumulate((one.slots for one in own[name]), initial=0)
            for slot, one in zip(slots, own[name], strict=False):
                before = self._code.instruction(name, slot)
                called = _TAIL_CALL if is_tail_call(before) else one.calls
                if not is_call(before) or called is None or called in own:
                    continue
                stand_in = stand_in_for(before, self._depths[name])
                if stand_in is not None:
                    self._code.exchange(name, slot, stand_in)
                    self._exchanged.add((name, slot))
                    reason = f"{called}, which the card does not have"
                    self.done.append(Refused(name, slot, reason, to_memory=False))

    def take(self, refusals: list[Refusal], instructions: list[list[int]]) -> None:
        """Replace some refused instructions by stand-ins; the caller then compiles again.

        `instructions` has the instruction slots of each refusal. One call replaces all calls; if
        there are none, all instructions except address loads; if there are none either, address
        loads. Calls come first, because they must find the maps that they name. Address loads come
        last, because the reason for a refused access is exact only while its target is known.

        Raises:
            InputError: when an instruction has no stand-in.
        """
        known = self._verified and not self.done
        calls, addresses = list[tuple[Refusal, int]](), list[tuple[Refusal, int]]()
        others = list[tuple[Refusal, int]]()
        for refusal, slots in zip(refusals, instructions, strict=True):
            for slot in slots:
                one = self._code.instruction(*self._place(slot))
                kind = calls if is_call(one) else addresses if is_address(one) else others
                kind.append((refusal, slot))
        whole = next((one for one in refusals if one["instruction"] is None), None)
        if whole is not None and not calls:
            raise InputError(self._file, f"the card cannot run it: {whole['reason']}")
        for refusal, slot in calls or others or addresses:
            self._replace(refusal, slot, known=known)

    def _place(self, slot: int) -> tuple[str, int]:
        """Return the function that contains an instruction slot, and the slot's index in it."""
        name, first = max((one for one in self.functions if one[1] <= slot), key=lambda one: one[1])
        return name, slot - first

    def _replace(self, refusal: Refusal, slot: int, *, known: bool) -> None:
        """Replace a refused instruction by a stand-in.

        `known` is true if the kinds of pointers are certain, because no other stand-in was inserted
        before.
        """
        place, reason = self._place(slot), refusal["reason"]
        if reason == OF_ANY_KIND and not known:
            reason = _OF_NO_KIND
        before = self._code.instruction(*place)
        stand_in = stand_in_for(before, self._depths[place[0]])
        if stand_in is None or place in self._exchanged:
            where = refusal["place"] if slot == refusal["instruction"] else f"instruction {slot}"
            raise InputError(self._file, f"{where}: {reason}; nothing can stand in for it")
        self._code.exchange(*place, stand_in)
        self._exchanged.add(place)
        self.done.append(Refused(*place, reason, is_memory_access(before)))
