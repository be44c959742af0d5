"""Runs LLVM's BPF back end in a separate process, and finds the LLVM block of each instruction.

The separate process survives crashes of the back end. If the back end rejects a function, the
module is compiled again with an empty body for this function.

The block of an instruction is in comments of the assembly. A machine block keeps the name of its
LLVM block, even if the back end moves, splits or copies it. Source:
`AsmPrinter::emitBasicBlockStart` of LLVM.
"""

import re
import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.errors import StoppedError
from slowpath.core.jobs import Send, Stopping, WorkerLostError
from slowpath.core.jobs.supervision import ProcessWorker
from slowpath.insights.source.bpf_steps import CPU, TRIPLE

_FUNCTION = re.compile(r'^("[^"]+"|[\w.$-]+):\s+# @')
_BLOCK = re.compile(r'^(?:# %bb\.\d+|LBB\d+_\d+):(?:\s+# (?:%("[^"]*"|[\w.$-]+))?)?')
_NAMED_BELOW = re.compile(r'^\s+#\s+%("[^"]*"|[\w.$-]+)\s*$')
_CALLED = re.compile(r"^call ([A-Za-z_.$][\w.$]*)|^r\d+ = ([A-Za-z_.$][\w.$]*) ll$")


class BpfInstruction(NamedTuple):
    """A BPF instruction in the assembly of LLVM's back end, with the LLVM block it comes from."""

    block: str  # name of the LLVM block; empty if unknown
    slots: int  # 2 with an immediate of 64 bits
    calls: str | None  # symbol that the instruction calls, or whose address it takes


def layout(assembler: str) -> dict[str, list[BpfInstruction]]:
    """Parse assembly text of LLVM's BPF back end.

    Return the instructions of each function, by name, in their order.
    """
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
    """Yield each instruction with the name of its function and the index of its first slot.

    A slot has 8 bytes. Its index counts from the start of the function.
    """
    for name, instructions in functions.items():
        at = 0
        for one in instructions:
            yield name, at, one
            at += one.slots


# --- back end -------------------------------------------------------------------------------------

_REFUSED = re.compile(r"in function ([\w.$-]+)|In function: ([\w.$-]+)")
_BODY = re.compile(
    r'^(define [^\n]*?@("(?:[^"\\]|\\.)*"|[\w.$-]+)\([^\n]*\{\n).*?^\}$', re.MULTILINE | re.DOTALL
)
_SECONDS = 20.0
"""Time limit of one attempt in seconds."""
_ALL_SECONDS = 60.0
"""Time limit for compiling functions one by one, in seconds."""


class Assembler(NamedTuple):
    """A module compiled by LLVM's BPF back end: assembly, object file and rejected functions."""

    text: str  # assembly, with the names of blocks in comments
    object: bytes
    refused: dict[str, str]  # rejected functions, with reasons


def assembler(file: str, text: str, until: float | None = None) -> Assembler:
    """Compile the LLVM IR `text` for BPF, to assembly and to an object file.

    Functions that the back end rejects get empty bodies. `file` is the source, for error messages.

    Raises:
        StoppedError: when the time `until` of the monotonic clock passes first.
    """
    refused = dict[str, str]()
    names = [found[2].strip('"') for found in _BODY.finditer(text)]
    while len(refused) < len(names):
        made, message = _attempt(_without(text, refused), file, until)
        if made is not None:
            return Assembler(*made, refused)
        found = _REFUSED.search(message)
        name = next((one for one in found.groups() if one), None) if found else None
        if name not in names or name in refused:
            return _one_by_one(file, text, names, refused, until)
        refused[str(name)] = _reason(message)
    return Assembler("", b"", refused)


def _one_by_one(
    file: str, text: str, names: list[str], refused: dict[str, str], until: float | None
) -> Assembler:
    """Compile a module without the functions that LLVM's BPF back end rejects.

    The back end does not always name them, so each function is first compiled alone. `names` are
    all functions of the module, and `refused` those already known as rejected, with the reasons.
    """
    refused, end = dict(refused), time.monotonic() + _ALL_SECONDS
    for name in names:
        if name in refused:
            continue
        if time.monotonic() >= end:
            refused[name] = "the limit of calls of LLVM's BPF back end was reached"
            continue
        others = dict.fromkeys((one for one in names if one != name), "")
        made, message = _attempt(_without(text, others), file, until)
        if made is None:
            refused[name] = _reason(message)
    made, message = _attempt(_without(text, refused), file, until)
    if made is None:
        return Assembler("", b"", dict.fromkeys(names, _reason(message)))
    return Assembler(*made, refused)


def _without(text: str, names: dict[str, str]) -> str:
    """Return the LLVM IR `text` with empty bodies for the functions `names`.

    These functions also lose their parameters and results.
    """
    if not names:
        return text

    def emptied(found: re.Match[str]) -> str:
        if found[2].strip('"') not in names:
            return found[0]
        return f"define void @{found[2]}() {{\n  unreachable\n}}"

    return _BODY.sub(emptied, text)


def _reason(message: str) -> str:
    """Shorten an error message of LLVM's BPF back end to one line."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    first = next((line for line in lines if "rror:" in line or "ERROR" in line), "")
    words = re.sub(r"^.*?(error|LLVM ERROR): ", "", first)
    return words[:200] or "LLVM's BPF back end rejects the function"


_Output = tuple[str, bytes]
"""Output of the back end: assembly text, and object file."""


def _attempt(text: str, file: str, until: float | None) -> tuple[_Output | None, str]:
    """Compile the LLVM IR `text` for BPF in a child process.

    Return the output and the error messages. The output is None if the back end fails.
    """
    left = _SECONDS if until is None else min(_SECONDS, until - time.monotonic())
    if left <= 0:
        raise StoppedError(
            codes.STOPPED_AT_DEADLINE,
            file,
            "total deadline before the function was compiled for BPF",
        )
    worker = ProcessWorker([partial(_emit, text)], lambda: None)
    worker.start(0, None)
    try:
        result = worker.receive(left)
    except WorkerLostError as lost:
        return None, lost.text
    finally:
        worker.kill()
    if result is not None:
        made, error = result
        return made, error
    if until is not None and time.monotonic() >= until:
        raise StoppedError(
            codes.STOPPED_AT_DEADLINE,
            file,
            "total deadline while the function was compiled for BPF",
        )
    return None, "error: LLVM's BPF back end takes too long"


def _emit(text: str, _seconds: float | None, send: Send, _stopping: Stopping) -> None:
    """Compile the LLVM IR `text` for BPF, and send the result to the parent process.

    The result is the output, None on failure, and an error message. Assembly and object are made
    from separate copies of the module, because the back end changes it.
    """
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=CPU, opt=2)
    machine.set_asm_verbosity(True)  # prints names of blocks
    try:
        assembly = machine.emit_assembly(llvm.parse_assembly(text))
        send(((assembly, machine.emit_object(llvm.parse_assembly(text))), ""))
    except RuntimeError as problem:
        send((None, f"error: {problem}"))
