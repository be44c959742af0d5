"""Instructions of the card, by block of LLVM's language."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from slowpath.cli.errors import InputError
from slowpath.insights.blocks.exact.card import Lowered
from slowpath.insights.blocks.exact.layout import Placed

_CALL = re.compile(r"^call (bpf_\w+)")
_REFUSED_CALL = re.compile(r"^(bpf_\w+)\b")
_MAP = re.compile(r"\bmap\[([^\]]+)\]")
_STATE = ("element", "global variable", "atomic")
_NO_ACCESS = re.compile(
    r"remainder|division|shift|factor|divi[ds]|multiplication|conversion|swap|move|^map |"
    r"address of|global variable|stack access|xdp_md"
)
"""Reasons for which what is refused makes no access to packets or state."""


@dataclass
class Counted:
    """What a block takes."""

    bpf: int = 0
    instructions: int = 0
    call_instructions: int = 0
    packet: int = 0
    state: int = 0
    unknown: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)


def counted(
    file: str,
    lowered: Lowered,
    layout: Mapping[str, list[Placed]],
    exchanged: Mapping[str, str],
    called: Mapping[tuple[str, int], str],
) -> dict[str, dict[str, Counted]]:
    """By function and block; the block without a name has what belongs to none.

    `exchanged` are maps that others stand in for, with reasons; `called`, by function and slot,
    calls that a call of the framework stands in for, with what they are.

    Raises:
        InputError: when the assembler and the object are not the same program.
    """
    by_slot, refused = lowered.by_slot(), {one[:2]: one.reason for one in lowered.refused}
    texts = {one["slot"]: one["text"] for one in lowered.compiled["bpf"]}
    end = lowered.functions[-1][1] + sum(one.slots for one in layout[lowered.functions[-1][0]])
    if any(slot >= end for slot in texts):
        raise InputError(file, "it refers to functions in a way that is not understood")
    found = dict[str, dict[str, Counted]]()
    for name, first in lowered.functions:
        blocks = found.setdefault(name, {})
        at = 0
        for one in layout[name]:
            block = blocks.setdefault(one.block, Counted())
            block.bpf += 1
            slots = range(first + at, first + at + one.slots)
            made = [text for slot in slots for text in by_slot.get(slot, [])]
            reason, text = refused.get((name, at)), texts.get(first + at, "")
            if (name, at) in called:
                block.calls[called[name, at]] += 1
                block.call_instructions += len(made)
            elif reason is not None:
                _refused(block, reason)
            else:
                _made(block, text, made)
                named = _MAP.search(text)
                if named and named[1] in exchanged:
                    block.refused[exchanged[named[1]]] += 1
            at += one.slots
    return found


def _made(block: Counted, text: str, made: list[str]) -> None:
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


def _refused(block: Counted, reason: str) -> None:
    call = _REFUSED_CALL.match(reason)
    if call:
        block.calls[call[1]] += 1
        block.refused[reason] += 1
        return
    block.refused[reason] += 1
    if _NO_ACCESS.search(reason):
        return
    if any(word in reason for word in _STATE):
        block.state += 1
    else:
        block.unknown += 1
