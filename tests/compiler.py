"""The compiler of C sources, for tests that cannot do without."""

from oracles import missing
from slowpath.core.programs.compilers import CompilerError, find_compiler


def needs_clang() -> list[str]:
    """Return the command that is clang; without one, the test is left out."""
    try:
        return list(find_compiler().command)
    except CompilerError as problem:
        missing("clang", str(problem))
