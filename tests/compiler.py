"""The compiler of C sources, for tests that cannot do without."""

import shutil

from oracles import missing
from slowpath.core.programs.compilers import NEWEST, OLDEST, CompilerError, find_compiler


def needs_clang() -> list[str]:
    """Return the command that is clang; without one, the test is left out."""
    try:
        return list(find_compiler().command)
    except CompilerError as problem:
        missing("clang", str(problem))


def accepted_compilers() -> list[str]:
    """Return all `clang-N` in PATH that are new enough, the newest first."""
    names = (f"clang-{version}" for version in range(NEWEST, OLDEST - 1, -1))
    return [name for name in names if shutil.which(name)]
