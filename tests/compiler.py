"""The compiler of C sources, for tests that cannot do without."""

from oracles import missing
from slowpath.programs import clang


def needs_clang() -> list[str]:
    """The command that is clang; without one, the test is left out."""
    found = clang._find_clang()
    if found is None:
        missing("clang", "there is no clang in PATH or $CLANG (apt install clang-16)")
    return found
