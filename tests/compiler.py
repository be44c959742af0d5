"""Helpers for tests that need clang."""

import shutil

from oracles import missing
from slowpath.core.programs.compilers import NEWEST, OLDEST, CompilerError, find_compiler


def needs_clang() -> list[str]:
    """Return the command that starts clang. Skip the test if no suitable clang is installed."""
    try:
        return list(find_compiler().command)
    except CompilerError as problem:
        missing("clang", str(problem))


def accepted_compilers() -> list[str]:
    """Return each `clang-N` in PATH that is new enough, newest first."""
    names = (f"clang-{version}" for version in range(NEWEST, OLDEST - 1, -1))
    return [name for name in names if shutil.which(name)]
