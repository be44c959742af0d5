"""Compilation of C by clang, to BPF objects or bitcode, in a temporary folder.

Debug information is always asked for: source lines and types (BTF) are part of the results.
"""

import math
import os
import re
import resource
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from slowpath.core.errors import InputError, StoppedError
from slowpath.core.inputs import read_program
from slowpath.core.jobs.memory import default_limit
from slowpath.core.programs.compilers import (
    Compiler,
    CompilerError,
    MissingCompilerError,
    find_compiler,
)
from slowpath.core.programs.sources import Clang

_SECONDS = 60.0
"""Time that clang has where no deadline is given."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_WIDTHS = re.compile(r"'gnu/stubs-32\.h' file not found")
"""What the C library's headers want where no machine is named, as for BPF."""
_OUT_OF_MEMORY = ("LLVM ERROR: out of memory", "std::bad_alloc")


class Form(NamedTuple):
    """What clang is to make of a source."""

    words: tuple[str, ...]
    extension: str
    what: str
    kernel: bool  # whether headers of the kernel that depend on the machine are searched, too


OBJECT = Form(("-O2", "-g", "-target", "bpf", "-mcpu=v3"), "o", "object", kernel=True)
"""For BPF. Version 3 of the instruction set, which has 32 bits, is clang's own default since
clang 20; what older ones have by default takes more instructions, some of which the card lacks."""
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
"""LLVM's intermediate language for this machine, of functions that nobody calls, too. Passes are
left to whoever reads it: at this point none has changed what a static function takes. Overflow and
aliasing mean what most authors of packet processing think that they mean."""


def compile_c(file: str, clang: Clang, form: Form = OBJECT) -> bytes:
    """What clang makes of a C source: an object, or in which form it is asked for.

    Raises:
        InputError: when there is no clang that can be used, it takes too long, or finds errors.
        StoppedError: when the time for all work ends before.
        KeyboardInterrupt: on SIGINT (Ctrl-C), SIGTERM and SIGHUP; clang is ended.
    """
    program = _need_clang(file, clang, form).command
    command = shown_command(file, clang, form=form)
    with _signals_interrupt(), tempfile.TemporaryDirectory(prefix="slowpath-") as folder:
        made = Path(folder, f"program.{form.extension}")
        words = [*program, *_words(file, clang, form), "-fno-caret-diagnostics", "-o", str(made)]
        seconds, left = clang.seconds or _SECONDS, _left(clang)
        if left <= 0:
            raise StoppedError(file, "total deadline before it was compiled")
        try:
            code, said = _run(words, min(seconds, left), clang.memory_bytes or default_limit())
        except OSError as problem:
            reason = (problem.strerror or str(problem)).lower()
            raise InputError(file, f"{program[0]} cannot be started: {reason}") from None
        except subprocess.TimeoutExpired:
            if left < seconds:
                raise StoppedError(file, "total deadline while clang compiles it") from None
            reason = f"clang was not done after {seconds:g} s: {command}"
            raise InputError(file, reason) from None
        if code:
            raise InputError(file, f"clang: {_in_short(said, code)}; the command: {command}")
        if not made.exists():
            raise InputError(file, f"clang wrote no {form.what}; the command: {command}")
        return read_program(str(made))


def check_clang(file: str, clang: Clang) -> None:
    """Finds out before the work whether a C source can be compiled.

    Raises:
        InputError: when there is no clang that can be used.
    """
    _need_clang(file, clang)


def _need_clang(file: str, clang: Clang, form: Form = OBJECT) -> Compiler:
    try:
        return find_compiler()
    except MissingCompilerError as problem:
        command = shown_command(file, clang, form=form)
        raise InputError(file, f"is C source, and {problem}: {command}") from None
    except CompilerError as problem:
        raise InputError(file, str(problem)) from None


def _left(clang: Clang) -> float:
    """Seconds left of the time for all work."""
    return math.inf if clang.until is None else clang.until - time.monotonic()


def shown_command(file: str, clang: Clang, *, search: bool = True, form: Form = OBJECT) -> str:
    """The command for a user's shell; `search` for kernel headers too."""
    name = file.removesuffix(Path(file).suffix)
    made = form.extension if form is not OBJECT or name.endswith(".bpf") else "bpf.o"
    try:
        program: Sequence[str] = find_compiler().command
    except CompilerError:
        program = ["clang"]
    words = _words(file, clang, form, search=search)
    return shlex.join([*program, *words, "-o", f"{name}.{made}"])


def _words(file: str, clang: Clang, form: Form, *, search: bool = True) -> list[str]:
    """What clang is told; flags of the user come last, so that they count."""
    headers = _headers() if search and form.kernel else ()
    return [*form.words, *headers, *clang.flags, "-c", file]


def _headers() -> Iterator[str]:
    """Headers of the kernel that depend on the machine (`asm/types.h`), where Debian has them."""
    folder = f"/usr/include/{os.uname().machine}-linux-gnu"
    if Path(folder).is_dir():
        yield from ("-idirafter", folder)


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Has signals that end the process raise `KeyboardInterrupt`, so that nothing is left behind.

    Not outside the main thread, where signals cannot be handled, nor where they are ignored
    (`nohup`).
    """

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    in_main_thread = threading.current_thread() is threading.main_thread()
    heeded = [
        number
        for number, handler in before.items()
        if in_main_thread and handler not in (signal.SIG_IGN, None)
    ]
    for number in heeded:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, before[number])


def _run(words: Sequence[str], seconds: float, memory: int | None) -> tuple[int, str]:
    """The exit code, and what was written to standard error. Nothing is left running.

    Each process may take so many bytes of memory.
    """
    with subprocess.Popen(  # noqa: S603 - clang, with what the user says
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"LC_ALL": "C"},
        start_new_session=True,  # a group of its own, which can be ended as a whole
    ) as process:
        _limit(process.pid, memory)
        try:
            _, said = process.communicate(timeout=seconds)
        except BaseException:
            with suppress(ProcessLookupError):  # it may have ended meanwhile
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, said.decode(errors="replace")


def _limit(process: int, memory: int | None) -> None:
    """Has allocations of a process fail above so many bytes, where the system can (Linux)."""
    if memory is None or not hasattr(resource, "prlimit"):
        return
    with suppress(ProcessLookupError, PermissionError):  # gone, or of somebody else
        _, hard = resource.prlimit(process, resource.RLIMIT_DATA)
        most = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
        resource.prlimit(process, resource.RLIMIT_DATA, (most, hard))


def _in_short(said: str, code: int) -> str:
    """The first error, and how many more there are."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if code and any(words in said for words in _OUT_OF_MEMORY):
        return "it takes more memory than it may (--memory)"
    errors = [line.removeprefix("clang: ") for line in lines if "error:" in line]
    if not errors:
        reason = f"ended by signal {-code}" if code < 0 else f"exit code {code}"
        return f"{lines[-1]} ({reason})" if lines else reason
    more = len(errors) - 1
    first = errors[0] + (f" (and {more} more error{'s'[: more > 1]})" if more else "")
    if _WIDTHS.search(errors[0]):
        first += (
            f"; --cflags -D__{os.uname().machine}__ has headers of the C library know the machine"
        )
    return first
