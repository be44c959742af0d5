"""Finds the memory accesses and calls in basic blocks of LLVM IR."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from slowpath.insights.blocks.pointers import Kind, Provenance
from slowpath.insights.source.functions import Block, Instruction
from slowpath.insights.source.operands import arguments, call_target, parts, pointer, value, width

_MAX_ACCESS = 8
"""Largest access of a BPF instruction in bytes."""
_ASSEMBLY = re.compile(r'(?<![%@"\w.-])asm (?:\w+ )*"')
_ALIGNED = re.compile(r"\balign (\d+)")
_MARKERS = (
    "llvm.lifetime",
    "llvm.dbg",
    "llvm.assume",
    "llvm.bpf",
    "llvm.preserve",
    "llvm.experimental.noalias",
)


class Access(NamedTuple):
    """A memory access that one BPF instruction makes."""

    kind: Kind  # the memory that it accesses
    writes: bool
    reads: bool
    size: int  # bytes


def accesses(block: Block, provenance: Provenance) -> Iterator[Access]:
    """Yield the memory accesses of a block in order.

    Accesses that are larger than an access of a BPF instruction are split.
    """
    for one in block.instructions:
        if one.opcode == "call":
            yield from _copied(one, provenance)
            continue
        address = pointer(one.opcode, one.text)
        if address is None:
            continue
        atomic = one.opcode in ("atomicrmw", "cmpxchg")
        size = max(1, width(parts(one.text)[1 if atomic else 0]) // 8)
        kind = provenance.kind(address)
        aligned = None if atomic else _ALIGNED.search(one.text)
        step = min(_MAX_ACCESS, int(aligned[1]) if aligned else _MAX_ACCESS)
        for _ in range(size // step + (size % step).bit_count()):
            reads = one.opcode == "load" or atomic
            yield Access(kind, one.opcode == "store" or atomic, reads, min(size, step))


def _has_size(call: Instruction) -> bool:
    """Return true if a call that copies or fills memory has a constant length."""
    return (value(arguments(call.text)[2]) or "").isdigit()


def _copied(call: Instruction, provenance: Provenance) -> Iterator[Access]:
    """Yield the accesses of a call that copies or fills memory, if its length is constant."""
    name = call_target(call.text).name or ""
    if not name.startswith(("llvm.mem", "memcpy", "memset", "memmove")):
        return
    passed = arguments(call.text)
    length = value(passed[2]) if len(passed) > 2 else None  # noqa: PLR2004
    if length is None or not length.isdigit():
        return
    fills = "set" in name
    aligned = [int(found[1]) if (found := _ALIGNED.search(one)) else 1 for one in passed[:2]]
    step = min(_MAX_ACCESS, aligned[0] if fills else min(aligned))
    pieces, rest = divmod(int(length), step)
    for number in range(pieces + rest.bit_count()):
        size = step if number < pieces else 1
        if not fills:
            yield Access(provenance.kind(value(passed[1])), writes=False, reads=True, size=size)
        yield Access(provenance.kind(value(passed[0])), writes=True, reads=False, size=size)


def calls(block: Block, own: Mapping[str, object]) -> Counter[str]:
    """Count a block's calls of framework functions by name, and of kernel helpers by number.

    `own` are the functions of the module, whose calls do not count.
    """
    found = Counter[str]()
    for one in block.instructions:
        if one.opcode != "call":
            continue
        target = call_target(one.text)
        if target.helper is not None:
            found[f"helper {target.helper}"] += 1
        elif _ASSEMBLY.search(one.text):
            found["inline assembly"] += 1
        elif target.name is None:
            found["through a pointer"] += 1
        elif target.name.startswith("llvm.mem") and not _has_size(one):
            found[f"{target.name.split('.')[1]} of unknown length"] += 1
        elif target.name not in own and not target.name.startswith("llvm."):
            found[target.name] += 1
    return found


def counted(block: Block) -> int:
    """Return the number of instructions of a block that lead to machine code.

    This excludes phi instructions and calls that only mark something, such as those for debug
    information.
    """
    return sum(
        one.opcode != "phi"
        and not (one.opcode == "call" and (call_target(one.text).name or "").startswith(_MARKERS))
        for one in block.instructions
    )
