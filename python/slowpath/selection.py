"""Which programs of an object are meant: globs on sections and names, as `xdp-loader` has them."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from slowpath.engine import ProgramInfo


class Selection(NamedTuple):
    """Globs; none of a kind means all."""

    sections: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.sections or self.names)

    def matches(self, section: str, name: str) -> bool:
        """Whether a program is meant: by one glob of each kind that is given."""
        return _any(self.sections, section) and _any(self.names, name)

    def words(self) -> list[str]:
        """The options that say the same."""
        pairs = [("--section", glob) for glob in self.sections]
        pairs += [("--prog-name", glob) for glob in self.names]
        return [word for pair in pairs for word in pair]

    def __str__(self) -> str:
        options = [f"--section {glob!r}" for glob in self.sections]
        return " ".join([*options, *(f"--prog-name {glob!r}" for glob in self.names)])


def _any(globs: Sequence[str], text: str) -> bool:
    return not globs or any(fnmatchcase(text, glob) for glob in globs)


def choose(
    programs: Sequence[ProgramInfo], selection: Selection
) -> tuple[list[ProgramInfo], list[ProgramInfo]]:
    """The programs to analyse, and those that are left out because of their kind."""
    meant = [p for p in programs if selection.matches(p.section, p.name)]
    if selection:
        return meant, []
    chosen = [program for program in meant if program.kind == "xdp"]
    return chosen, [program for program in meant if program.kind != "xdp"]


def list_programs(programs: Sequence[ProgramInfo], *, kinds: bool = False) -> str:
    """The programs as `SECTION: NAME`, for messages."""
    return ", ".join(f"{p.section}: {p.name}" + (f" ({p.kind})" if kinds else "") for p in programs)
