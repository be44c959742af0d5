"""Counts card instructions for each basic block of LLVM IR."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from slowpath.core import codes
from slowpath.core.engine.analyses import CardProgram, StandIn
from slowpath.core.errors import InputError
from slowpath.insights.blocks.block_map import BpfInstruction, slots_of

_CALL = re.compile(r"^call (bpf_\w+)")
_REFUSED_CALL = re.compile(r"^(bpf_\w+)\b")
_MAP = re.compile(r"\bmap\[([^\]]+)\]")
_STATE = ("element", "global variable", "atomic")
_NO_ACCESS = re.compile(r"stack access|xdp_md")
"""Reasons of refused accesses that are neither to packets nor to state."""


@dataclass
class Counted:
    """Counts of instructions and memory accesses of a basic block."""

    bpf: int = 0  # BPF instructions
    instructions: int = 0  # card instructions except for framework calls
    call_instructions: int = 0  # card instructions for framework calls
    packet: int = 0  # accesses to the packet
    state: int = 0  # accesses to state
    unknown: int = 0  # accesses to packet or state
    calls: Counter[str] = field(default_factory=Counter)  # framework calls by name
    refused: Counter[str] = field(default_factory=Counter)  # unsupported operations by reason


def counted(
    file: str,
    program: CardProgram,
    layout: Mapping[str, list[BpfInstruction]],
    exchanged: Mapping[str, str],
    called: Mapping[tuple[str, int], str],
) -> dict[str, dict[str, Counted]]:
    """Count card instructions by function and block; code outside of blocks has an empty name.

    `exchanged` maps each replaced BPF map to the reason. `called` has the function whose call was
    replaced by a stand-in, for each function and instruction slot.

    Raises:
        InputError: when the object has code that the assembly lacks.
    """
    by_slot, refused = _by_slot(program), {one[:2]: one for one in program.stand_ins}
    texts = {one["slot"]: one["text"] for one in program.compiled["bpf"]}
    found = dict[str, dict[str, Counted]]()
    for name, first in program.functions:
        if name not in layout:
            raise InputError(
                codes.NO_SUCH_FUNCTION, file, f"the assembly does not have the function {name}"
            )
        blocks = found.setdefault(name, {})
        for _, at, one in slots_of({name: layout[name]}):
            block = blocks.setdefault(one.block, Counted())
            block.bpf += 1
            slots = () if first is None else range(first + at, first + at + one.slots)
            made = [text for slot in slots for text in by_slot.get(slot, [])]
            lacks, text = refused.get((name, at)), "".join(texts.get(slot, "") for slot in slots)
            if (name, at) in called:
                block.calls[called[name, at]] += 1
                block.call_instructions += len(made)
            elif lacks is not None:
                _refused(block, lacks)
            else:
                _made(block, text, made)
                named = _MAP.search(text)
                if named and named[1] in exchanged:
                    block.refused[exchanged[named[1]]] += 1
    return found


def _by_slot(program: CardProgram) -> dict[int, list[str]]:
    """Return the texts of the card instructions for each BPF slot of a program."""
    found = dict[int, list[str]]()
    for one in program.compiled["instructions"]:
        if one["bpf"] is not None:
            found.setdefault(one["bpf"], []).append(one["text"])
    return found


def _made(block: Counted, text: str, made: list[str]) -> None:
    """Count a supported BPF instruction `text` with its card instructions `made`."""
    call = _CALL.match(text)
    if call:
        block.calls[call[1]] += 1
        block.call_instructions += len(made)
        return
    block.instructions += len(made)
    for one in made:
        if one.startswith("mem["):
            if "<<8" in one:
                block.state += 1
            else:
                block.packet += 1


def _refused(block: Counted, one: StandIn) -> None:
    """Count a BPF instruction that the SmartNIC does not support."""
    block.refused[one.reason] += 1
    call = _REFUSED_CALL.match(one.reason)
    if call:
        block.calls[call[1]] += 1
        return
    if not one.accesses_memory or _NO_ACCESS.search(one.reason):
        return
    if any(word in one.reason for word in _STATE):
        block.state += 1
    else:
        block.unknown += 1
