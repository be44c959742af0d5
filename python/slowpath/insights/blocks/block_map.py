"""Finds the LLVM block of each BPF instruction from comments in the assembly.

A machine block keeps the name of its LLVM block, even if the back end moves, splits or copies it.
Source: `AsmPrinter::emitBasicBlockStart` of LLVM.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_FUNCTION = re.compile(r'^("[^"]+"|[\w.$-]+):\s+# @')
_BLOCK = re.compile(r'^(?:# %bb\.\d+|LBB\d+_\d+):(?:\s+# (?:%("[^"]*"|[\w.$-]+))?)?')
_NAMED_BELOW = re.compile(r'^\s+#\s+%("[^"]*"|[\w.$-]+)\s*$')
_CALLED = re.compile(r"^call ([A-Za-z_.$][\w.$]*)|^r\d+ = ([A-Za-z_.$][\w.$]*) ll$")


class BpfInstruction(NamedTuple):
    """A BPF instruction, as found in the assembly of LLVM's back end."""

    block: str  # name of the LLVM block; empty if unknown
    slots: int  # 2 with an immediate of 64 bits
    calls: str | None  # the symbol that it calls, or whose address it takes


def layout(assembler: str) -> dict[str, list[BpfInstruction]]:
    """Return the instructions of each function in order; `assembler` is assembly from LLVM."""
    found = dict[str, list[BpfInstruction]]()
    inside, block = None, ""
    for line in assembler.splitlines():
        head = _FUNCTION.match(line)
        if head:
            inside = found.setdefault(head[1].strip('"'), [])
            block = ""
            continue
        if inside is None:
            continue
        label = _BLOCK.match(line)
        if label:
            block = (label[1] or "").strip('"')
            continue
        text = line.strip()
        if line.startswith(".Lfunc_end"):
            inside = None
        elif not block and _NAMED_BELOW.match(line):
            block = str(_NAMED_BELOW.match(line)[1]).strip('"')  # type: ignore[index]
        elif line.startswith("\t") and text and text[0] not in ".#":
            called = _CALLED.match(text)
            wide = text.endswith(" ll") or " ll\t" in text or " ll " in text
            inside.append(
                BpfInstruction(
                    block, 2 if wide else 1, called[called.lastindex or 0] if called else None
                )
            )
    return found


def slots_of(
    functions: Mapping[str, list[BpfInstruction]],
) -> Iterator[tuple[str, int, BpfInstruction]]:
    """Yield function, slot in it, and instruction, for all instructions of `functions`."""
    for name, instructions in functions.items():
        at = 0
        for one in instructions:
            yield name, at, one
            at += one.slots
