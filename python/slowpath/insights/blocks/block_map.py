"""Finds the LLVM block of each BPF instruction from comments in the assembly.

A machine block keeps the name of its LLVM block, even if the back end moves, splits or copies it.
Source: `AsmPrinter::emitBasicBlockStart` of LLVM.
"""

import re
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


def linked(entry: str, functions: dict[str, list[BpfInstruction]]) -> list[tuple[str, int]]:
    """Return the functions of a program with their first slots, in the order of libbpf's linking.

    A function's callees follow it; the callees of each come before its next sibling.
    """
    placed = dict[str, int]()
    end = 0
    work = list[tuple[str, int]]()

    def place(name: str) -> None:
        nonlocal end
        placed[name] = end
        end += sum(one.slots for one in functions[name])
        work.append((name, 0))

    place(entry)
    while work:
        name, at = work.pop()
        for number in range(at, len(functions[name])):
            callee = functions[name][number].calls
            if callee in functions and callee not in placed:
                work.append((name, number + 1))
                place(str(callee))
                break
    return list(placed.items())
