"""Compiles C with clang, to BPF objects or LLVM bitcode, in a temporary folder.

Debug information is always requested, because results contain source lines and types (BTF).
"""

import math
import os
import re
import resource
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

from slowpath.core import codes
from slowpath.core.codes import Code
from slowpath.core.errors import InputError, StoppedError
from slowpath.core.inputs import STANDARD_INPUT, read_program
from slowpath.core.jobs import handling_signals
from slowpath.core.jobs.memory import default_limit
from slowpath.core.programs.compilers import (
    Compiler,
    CompilerError,
    MissingCompilerError,
    OldCompilerError,
    find_compiler,
)
from slowpath.core.programs.sources import Clang

_SECONDS = 60.0
"""Time limit of clang if no deadline is given."""
_UNKNOWN_MACHINE = re.compile(r"'gnu/stubs-32\.h' file not found")
"""Text in error messages of the C library's headers if a target, such as BPF, has no machine macro.
"""
_MISSING_HEADER = re.compile(r"'(?P<name>[^']+)' file not found")
"""Text in clang's errors about any header."""
_KERNEL_TYPES = "vmlinux.h"
"""Name that BPF programs give to a header with the kernel's types, which bpftool writes."""
_OUT_OF_MEMORY = ("LLVM ERROR: out of memory", "std::bad_alloc")


_DIAGNOSIS = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<text>.*)$",
    re.MULTILINE,
)
"""An error in clang's output (Clang user's manual, "Formatting of Diagnostics")."""


class SourceError(NamedTuple):
    """An error that a compiler finds in a source file."""

    file: str
    line: int
    column: int
    text: str
    code: Code = codes.COMPILATION_FAILED
    end: tuple[int, int] | None = None
    """Line and column after the last character. With it, columns count characters instead of
    bytes."""


class CompilationError(InputError):
    """Clang rejects a source. | `errors` lists the errors for which clang gives a line."""

    def __init__(self, code: Code, file: str, reason: str, errors: Sequence[SourceError]) -> None:
        super().__init__(code, file, reason)
        self.errors = errors


class Form(NamedTuple):
    """An output format of clang, with the flags that select it: BPF object, LLVM bitcode."""

    flags: tuple[str, ...]
    extension: str
    name: str  # for messages
    kernel: bool  # true: also search the kernel's machine-dependent headers


OBJECT = Form(("-O2", "-g", "-target", "bpf", "-mcpu=v3"), "o", "object", kernel=True)
"""Compile to a BPF object. Version 3 of the instruction set, with 32-bit operations, is the default
since clang 20. Older versions need more instructions, some of which the card does not support.
"""
BITCODE = Form(
    (
        *("-O1", "-g", "-w", "-emit-llvm", "-femit-all-decls"),
        *("-fno-strict-aliasing", "-fwrapv", "-fno-stack-protector", "-U_FORTIFY_SOURCE"),
        *("-Xclang", "-disable-llvm-passes"),
    ),
    "bc",
    "bitcode",
    kernel=False,
)
"""Compile to LLVM bitcode for this machine, and keep unused functions. No pass has run, so that
static functions still have their original parameters; the reader runs the passes. Signed overflow
wraps and aliasing is not strict, as most authors of packet-processing code assume.
"""


def compile_c(file: str, clang: Clang, form: Form = OBJECT, *, text: bytes | None = None) -> bytes:
    """Compile a C source with clang and return the content of the output file.

    If `text` is given, it is compiled in place of the file; `file` is then its name in errors.

    Raises:
        CompilationError: if clang reports errors.
        InputError: if no suitable clang is found, or it takes too long.
        StoppedError: if the total deadline ends before clang does.
        KeyboardInterrupt: on SIGINT (Ctrl-C), SIGTERM and SIGHUP, after clang was killed.
    """
    program = _need_clang(file, clang, form).command

    def fault(problem: str) -> InputError:
        # The search for the compiler takes milliseconds, so only error messages contain the
        # command.
        return InputError(
            codes.COMPILATION_FAILED, file, f"{problem}: {shown_command(file, clang, form=form)}"
        )

    # An interrupt unwinds, so that clang is killed and its files are removed.
    with handling_signals(_interrupt), tempfile.TemporaryDirectory(prefix="slowpath-") as folder:
        made = Path(folder, f"program.{form.extension}")
        source = file
        if text is None and file == STANDARD_INPUT:
            text = read_program(file)
            clang = clang._replace(flags=("-iquote", ".", *clang.flags))
        if text is not None:
            source = str(Path(folder, "stdin.bpf.c" if file == STANDARD_INPUT else "program.c"))
            Path(source).write_bytes(text)
        words = [*program, *_words(source, clang, form), *clang.hidden]
        words += ["-fno-caret-diagnostics", "-o", str(made)]
        left = math.inf if clang.until is None else clang.until - time.monotonic()
        seconds = clang.seconds or _SECONDS
        if left <= 0:
            raise StoppedError(
                codes.STOPPED_AT_DEADLINE, file, "total deadline before it was compiled"
            )
        try:
            code, errors = _run(words, min(seconds, left), clang.memory_bytes or default_limit())
        except OSError as problem:
            reason = (problem.strerror or str(problem)).lower()
            raise InputError(
                codes.NO_COMPILER, file, f"{program[0]} cannot be started: {reason}"
            ) from None
        except subprocess.TimeoutExpired:
            if left < seconds:
                raise StoppedError(
                    codes.STOPPED_AT_DEADLINE, file, "total deadline while clang compiles it"
                ) from None
            raise fault(f"clang did not finish within {seconds:g} s") from None
        if code:
            reason = fault(f"clang: {_summary(errors, code)}; the command").reason
            raise CompilationError(codes.COMPILATION_FAILED, file, reason, _places(errors))
        if not made.exists():
            raise fault(f"clang did not write the {form.name}; the command")
        return read_program(str(made))


def _interrupt() -> NoReturn:
    raise KeyboardInterrupt


def check_clang(file: str, clang: Clang) -> None:
    """Check before long work that a suitable clang for a C source exists.

    Raises:
        InputError: if no suitable clang is found.
    """
    _need_clang(file, clang)


def _need_clang(file: str, clang: Clang, form: Form = OBJECT) -> Compiler:
    try:
        return find_compiler()
    except MissingCompilerError as problem:
        command = shown_command(file, clang, form=form)
        reason = f"is a C source, but {problem}: {command}"
        raise InputError(codes.NO_COMPILER, file, reason) from None
    except CompilerError as problem:
        old = isinstance(problem, OldCompilerError)
        code = codes.COMPILER_TOO_OLD if old else codes.NO_COMPILER
        raise InputError(code, file, str(problem)) from None


def shown_command(file: str, clang: Clang, *, search: bool = True, form: Form = OBJECT) -> str:
    """Return the clang command that a user can run in a shell to compile a file.

    With `search`, the command also finds kernel headers.
    """
    name = file.removesuffix(Path(file).suffix)
    made = form.extension if form is not OBJECT or name.endswith(".bpf") else "bpf.o"
    try:
        program: Sequence[str] = find_compiler().command
    except CompilerError:
        program = ["clang"]
    words = _words(file, clang, form, search=search)
    return shlex.join([*program, *words, "-o", f"{name}.{made}"])


def _words(file: str, clang: Clang, form: Form, *, search: bool = True) -> list[str]:
    """Return clang's arguments to compile a file.

    Flags of the user come last, so that they override others.
    """
    headers = _headers() if search and form.kernel else ()
    return [*form.flags, *headers, *clang.flags, "-c", file]


def _headers() -> Iterator[str]:
    """Yield clang flags that add the folder of kernel headers such as `asm/types.h`.

    Debian has them in a folder that clang does not search for the BPF target.
    """
    folder = f"/usr/include/{os.uname().machine}-linux-gnu"
    if Path(folder).is_dir():
        yield from ("-idirafter", folder)


def _run(words: Sequence[str], seconds: float, memory: int | None) -> tuple[int, str]:
    """Run a command and return its exit code and standard error; kill it on an exception.

    `seconds` is its time limit, and `memory` the limit of each of its processes in bytes.
    """
    with subprocess.Popen(  # noqa: S603 - clang with the user's flags
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"LC_ALL": "C"},
        start_new_session=True,  # its own process group, which can be killed as a whole
    ) as process:
        _limit(process.pid, memory)
        try:
            _, errors = process.communicate(timeout=seconds)
        except BaseException:
            with suppress(ProcessLookupError):  # clang may have exited by now
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, errors.decode(errors="replace")


def _limit(process: int, memory: int | None) -> None:
    """Limit the memory of a process to `memory` bytes, if the system supports it (Linux)."""
    if memory is None or not hasattr(resource, "prlimit"):
        return
    with suppress(ProcessLookupError, PermissionError):  # exited, or owned by another user
        _, hard = resource.prlimit(process, resource.RLIMIT_DATA)
        most = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
        resource.prlimit(process, resource.RLIMIT_DATA, (most, hard))


def _places(output: str) -> list[SourceError]:
    """Return those errors in clang's output that have file, line and column."""
    return [
        SourceError(one["file"], int(one["line"]), int(one["column"]), one["text"])
        for one in _DIAGNOSIS.finditer(output)
    ]


def _summary(output: str, code: int) -> str:
    """Return clang's first error and the number of further errors.

    `output` is the text of standard error, and `code` clang's exit code.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if any(words in output for words in _OUT_OF_MEMORY):
        return "it exceeds the memory limit (--memory)"
    errors = [line.removeprefix("clang: ") for line in lines if "error:" in line]
    if not errors:
        reason = f"ended by signal {-code}" if code < 0 else f"exit code {code}"
        return f"{lines[-1]} ({reason})" if lines else reason
    more = len(errors) - 1
    first = errors[0] + (f" (and {more} more error{'s'[: more > 1]})" if more else "")
    return first + _advice(errors[0])


def _advice(error: str) -> str:
    """Return advice for the user if a header is missing; empty for other errors."""
    missing = _MISSING_HEADER.search(error)
    if missing is None:
        return ""
    if _UNKNOWN_MACHINE.search(error):
        return f"; add --cflags -D__{os.uname().machine}__ for headers of the C library"
    if missing["name"] == _KERNEL_TYPES:
        return (
            f"; write it with `bpftool btf dump file /sys/kernel/btf/vmlinux format c >"
            f" {_KERNEL_TYPES}`, and name its folder with --cflags -IFOLDER"
        )
    return "; name the folder of the header with --cflags -IFOLDER"
