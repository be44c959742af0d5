"""Finds a recent clang on this machine, for slowpath itself, its Makefile, and its tests.

The search takes `$CLANG` if set, else the newest of `clang` and `clang-N` in PATH. It rejects
versions before `OLDEST`, because slowpath's bounds on code from these versions are less exact.

Run as a program, the module prints the command, or the error (exit code 1). It imports only the
standard library, so that a Makefile can run it without the package's environment.
"""

import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

OLDEST, NEWEST = 16, 40
"""The oldest accepted version, and the highest N for which `clang-N` is searched."""
_ANCIENT = 3
"""The lowest N for which `clang-N` is searched, so that errors can name a clang that is too old."""
_SECONDS = 20.0
"""Time limit of `--version`."""
_VERSION = re.compile(r"\bclang version (\d+)\.")
_REMEDY = f"version {OLDEST} or newer is needed; apt install clang-{OLDEST}, or set CLANG"


class CompilerError(Exception):
    """No clang can be used; the message has the reason and a remedy."""


class MissingCompilerError(CompilerError):
    """Neither `$CLANG` nor PATH has a clang."""


class OldCompilerError(CompilerError):
    """The clang that was found is older than `OLDEST`."""


class Compiler(NamedTuple):
    """A clang on this machine: its command and its version."""

    command: tuple[str, ...]  # program and arguments, such as `ccache clang-19`
    version: int  # major version
    banner: str  # output line with the full version


def find_compiler() -> Compiler:
    """Return the clang to use: that of the variable `$CLANG`, else the newest one in PATH.

    Raises:
        CompilerError: if none is found, its version is unknown, or it is too old.
    """
    named = shlex.split(os.environ.get("CLANG", ""))
    if named:
        return _accepted(_query(tuple(named), shutil.which(named[0])))
    newest: Compiler | None = None
    for name, version in _installed():
        if version is not None and newest is not None and version <= newest.version:
            continue
        found = _query((name,), shutil.which(name))
        newest = found if newest is None or found.version > newest.version else newest
        if version is not None:
            break  # later names have lower numbers
    if newest is None:
        raise MissingCompilerError(f"clang is neither in PATH nor in $CLANG: {_REMEDY}")
    return _accepted(newest)


def _installed() -> Iterator[tuple[str, int | None]]:
    """Yield the names of installed compilers: `clang`, then each `clang-N`, newest first.

    The version is None for `clang`.
    """
    if shutil.which("clang"):
        yield "clang", None
    for version in range(NEWEST, _ANCIENT - 1, -1):
        if shutil.which(f"clang-{version}"):
            yield f"clang-{version}", version


def _accepted(compiler: Compiler) -> Compiler:
    """Return a compiler unchanged if its version is at least `OLDEST`.

    Raises:
        OldCompilerError: if it is older.
    """
    if compiler.version < OLDEST:
        raise OldCompilerError(
            f"{shlex.join(compiler.command)} is too old ({compiler.banner}): {_REMEDY}"
        )
    return compiler


@functools.cache
def _query(command: tuple[str, ...], path: str | None) -> Compiler:  # noqa: ARG001 - key of the cache
    """Ask a compiler for its version.

    `path` is the file of the program, which tells cached answers apart.

    Raises:
        CompilerError: if the compiler cannot be started, or does not print a version of clang.
    """
    name = shlex.join(command)
    try:
        run = subprocess.run(  # noqa: S603 - the user's compiler
            [*command, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=os.environ | {"LC_ALL": "C"},
            timeout=_SECONDS,
            check=False,
        )
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise CompilerError(f"{command[0]} cannot be started: {reason}") from None
    except subprocess.TimeoutExpired:
        raise CompilerError(f"{name} --version did not finish within {_SECONDS:g} s") from None
    for line in run.stdout.decode(errors="replace").splitlines():
        if version := _VERSION.search(line):
            return Compiler(command, int(version[1]), line.strip())
    raise CompilerError(f"{name} --version does not print a version of clang: {_REMEDY}")


if __name__ == "__main__":
    try:
        print(shlex.join(find_compiler().command))  # noqa: T201 - for Makefiles
    except CompilerError as error:
        sys.exit(f"error: {error}")
