"""Helpers for tests that need clang."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from oracles import missing
from slowpath.core.programs.compilers import NEWEST, OLDEST, CompilerError, find_compiler


def needs_clang() -> list[str]:
    """Return the command that starts clang; skip the test without a suitable clang."""
    try:
        return list(find_compiler().command)
    except CompilerError as problem:
        missing("clang", str(problem))


def accepted_compilers() -> list[str]:
    """Return the names of all `clang-N` in PATH that are new enough, newest first."""
    names = (f"clang-{version}" for version in range(NEWEST, OLDEST - 1, -1))
    return [name for name in names if shutil.which(name)]


def answer_versions(folder: Path) -> None:
    """Put scripts named like clang in front of PATH, which answer `--version` and else start clang.

    Commands ask every clang of the machine for its version, which takes clang 50 ms each time.
    """
    for name in ("clang", *(f"clang-{version}" for version in range(NEWEST, 0, -1))):
        program = shutil.which(name)
        if program is None:
            continue
        asked = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        if asked.returncode:
            continue
        answer = folder / f"{name}.version"
        answer.write_text(asked.stdout)
        script = folder / name
        script.write_text(
            "#!/bin/sh\n"
            f'if [ "$*" = --version ]; then exec cat {shlex.quote(str(answer))}; fi\n'
            f'exec {shlex.quote(program)} "$@"\n'
        )
        script.chmod(0o755)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
