"""LLVM's BPF back end in a separate process.

If the back end rejects a function, its body is removed, and the rest is compiled again.
"""

import os
import re
import selectors
import signal
import time
from contextlib import suppress
from typing import NamedTuple

from slowpath.core.errors import StoppedError
from slowpath.insights.source.bpf_steps import CPU, TRIPLE

_REFUSED = re.compile(r"in function ([\w.$-]+)|In function: ([\w.$-]+)")
_BODY = re.compile(
    r'^(define [^\n]*?@("(?:[^"\\]|\\.)*"|[\w.$-]+)\([^\n]*\{\n).*?^\}$', re.MULTILINE | re.DOTALL
)
_SECONDS = 20.0
"""Time limit of one attempt in seconds."""
_ALL_SECONDS = 60.0
"""Time limit for compiling functions one by one, in seconds."""
_CHUNK = 1 << 16


class Assembler(NamedTuple):
    """Output of the back end for a module."""

    text: str
    refused: dict[str, str]  # rejected functions, with reasons


def assembler(file: str, text: str, until: float | None = None) -> Assembler:
    """Compile the text of an LLVM module for BPF to assembly.

    Raises:
        StoppedError: when `until` (of the monotonic clock) passes before.
    """
    refused = dict[str, str]()
    names = [found[2].strip('"') for found in _BODY.finditer(text)]
    while len(refused) < len(names):
        made, said = _attempt(_without(text, refused), file, until)
        if made is not None:
            return Assembler(made, refused)
        found = _REFUSED.search(said)
        name = next((one for one in found.groups() if one), None) if found else None
        if name not in names or name in refused:
            return _one_by_one(file, text, names, refused, until)
        refused[str(name)] = _reason(said)
    return Assembler("", refused)


def _one_by_one(
    file: str, text: str, names: list[str], refused: dict[str, str], until: float | None
) -> Assembler:
    """Find the rejected functions one by one, if the back end does not name them."""
    refused, end = dict(refused), time.monotonic() + _ALL_SECONDS
    for name in names:
        if name in refused:
            continue
        if time.monotonic() >= end:
            refused[name] = "LLVM's back end for BPF would have to be asked too often"
            continue
        others = dict.fromkeys((one for one in names if one != name), "")
        made, said = _attempt(_without(text, others), file, until)
        if made is None:
            refused[name] = _reason(said)
    made, said = _attempt(_without(text, refused), file, until)
    if made is None:
        return Assembler("", dict.fromkeys(names, _reason(said)))
    return Assembler(made, refused)


def _without(text: str, names: dict[str, str]) -> str:
    """Return the module with these functions emptied, without parameters and results."""
    if not names:
        return text

    def emptied(found: re.Match[str]) -> str:
        if found[2].strip('"') not in names:
            return found[0]
        return f"define void @{found[2]}() {{\n  unreachable\n}}"

    return _BODY.sub(emptied, text)


def _reason(said: str) -> str:
    """Return the error message of the back end in one line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    first = next((line for line in lines if "rror:" in line or "ERROR" in line), "")
    words = re.sub(r"^.*?(error|LLVM ERROR): ", "", first)
    return words[:200] or "LLVM's back end for BPF does not take it"


def _attempt(text: str, file: str, until: float | None) -> tuple[str | None, str]:
    """Return the assembly, or None, and the messages of the child process."""
    end = time.monotonic() + _SECONDS
    if until is not None and until <= time.monotonic():
        raise StoppedError(file, "total deadline before it was lowered to BPF")
    made, made_end = os.pipe()
    said, said_end = os.pipe()
    child = os.fork()
    if child == 0:
        _emit(text, made_end, said_end)  # does not return
    os.close(made_end)
    os.close(said_end)
    try:
        parts = _read((made, said), end if until is None else min(end, until))
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if parts is None:
        if until is not None and time.monotonic() >= until:
            raise StoppedError(file, "total deadline while it was lowered to BPF")
        return None, "error: LLVM's back end for BPF takes too long"
    text, words = (part.decode(errors="replace") for part in parts)
    complete = os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL) and text.endswith(_DONE)
    return (text.removesuffix(_DONE) if complete else None), words


_DONE = "\n# done\n"


def _read(pipes: tuple[int, int], end: float) -> list[bytes] | None:
    """Read two pipes until both are closed; return None if the time is over before."""
    found = {pipe: bytearray() for pipe in pipes}
    try:
        with selectors.DefaultSelector() as selector:
            for pipe in pipes:
                selector.register(pipe, selectors.EVENT_READ)
            while selector.get_map():
                left = end - time.monotonic()
                ready = selector.select(left) if left > 0 else []
                if not ready:
                    return None
                for key, _ in ready:
                    data = os.read(key.fd, _CHUNK)
                    found[key.fd] += data
                    if not data:
                        selector.unregister(key.fd)
    finally:
        for pipe in pipes:
            os.close(pipe)
    return [bytes(one) for one in found.values()]


def _emit(text: str, made: int, said: int) -> None:
    """Compile in the child process, and write assembly and messages to pipes."""
    code = 1
    try:
        os.dup2(said, 2)
        import llvmlite.binding as llvm

        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=CPU, opt=2)
        machine.set_asm_verbosity(True)  # prints names of blocks
        module = llvm.parse_assembly(text)
        data = (machine.emit_assembly(module) + _DONE).encode()
        while data:
            data = data[os.write(made, data) :]
        code = 0
    except BaseException as problem:  # noqa: BLE001 - the parent gets the message
        os.write(said, f"error: {str(problem)[:400]}\n".encode())
    finally:
        os._exit(code)
