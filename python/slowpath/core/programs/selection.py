"""Selects programs by globs on section and program names, as `xdp-loader` does."""

from collections.abc import Sequence
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.engine.objects import ProgramInfo
from slowpath.core.errors import Coded, OptionError
from slowpath.core.programs.sources import not_an_object

UNKNOWN = "unknown"
"""Kind of a program whose section names no program type of the kernel."""

XDP = ("xdp",)
"""Kinds of the programs that run on a card, in chains, and in measurements."""

ANALYSED = ("xdp", "sched_cls", "sched_act", "cgroup_skb", "socket_filter")
"""Kinds of the programs that are analysed for servers."""

NAMES = {"xdp": "XDP", "sched_cls": "tc", "sched_act": "tc", "socket_filter": "socket"}
"""For some program types, the name in messages, where it differs from that of the type."""


class Selection(NamedTuple):
    """Globs on the sections and names of programs.

    A program is selected if it matches one glob of each kind; without globs of a kind, all match.
    """

    sections: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.sections or self.names)

    def matches(self, section: str, name: str) -> bool:
        """Return true if section and name each match one of their globs, or have no globs."""
        return _any(self.sections, section) and _any(self.names, name)

    @property
    def option(self) -> str:
        """Name of the command-line option to mention in errors about the selection."""
        return "--section" if self.sections else "--prog-name"

    def words(self) -> list[str]:
        """Return the selection as words of a command line, to repeat a command."""
        pairs = [("--section", glob) for glob in self.sections]
        pairs += [("--prog-name", glob) for glob in self.names]
        return [word for pair in pairs for word in pair]

    def __str__(self) -> str:
        options = [f"--section {glob!r}" for glob in self.sections]
        return " ".join([*options, *(f"--prog-name {glob!r}" for glob in self.names)])


def _any(globs: Sequence[str], text: str) -> bool:
    if not globs:
        return True
    from fnmatch import fnmatchcase

    return any(fnmatchcase(text, glob) for glob in globs)


def choose(
    programs: Sequence[ProgramInfo], selection: Selection, kinds: Sequence[str] = XDP
) -> tuple[list[ProgramInfo], list[ProgramInfo]]:
    """Split programs into those to analyse, and those left out because of their type.

    Without a selection, the programs to analyse are those of the types `kinds`, or a single program
    of unknown type.
    """
    if selection or (len(programs) == 1 and programs[0].kind == UNKNOWN):
        return [p for p in programs if selection.matches(p.section, p.name)], []
    chosen = [program for program in programs if program.kind in kinds]
    return chosen, [program for program in programs if program.kind not in kinds]


def find_program(
    path: str, data: bytes, programs: Sequence[ProgramInfo] | None, name: str | None
) -> ProgramInfo | Coded:
    """Return the program called `name` in a BPF object, or the text of an error.

    `path` and `data` are the file and its content. `programs` are the programs of the object; None
    if the file is not a BPF object. If `name` is None, return the only XDP program.
    """
    if programs is None:
        wrong = not_an_object(data)
        return Coded(wrong.code, f"{path} {wrong}")
    if name is not None:
        there_are = f"it has {list_programs(programs)}"
        found = (one for one in programs if one.name == name)
        missing = f"{path} does not have a program {name}; {there_are}"
        return next(found, Coded(codes.NO_SUCH_PROGRAM, missing))
    chosen, others = choose(programs, Selection())
    if not chosen:
        none = nothing_to_choose(others, limit="this command takes only XDP programs")
        return Coded(none.code, f"{path}: {none}")
    if len(chosen) > 1:
        several = f"{path} has several programs; name one with `program:`: {list_programs(chosen)}"
        return Coded(codes.PROGRAM_NOT_CHOSEN, several)
    return chosen[0]


def remark_on(program: ProgramInfo) -> str | None:
    """Return a note that a program of unknown type is treated as XDP; None for other programs."""
    if program.kind != UNKNOWN:
        return None
    return (
        f"{program.name}: section {program.section!r} does not state the type of the program; XDP "
        "is assumed"
    )


def names_of(kinds: Sequence[str]) -> str:
    """Return the names of program types for messages, such as `XDP, tc and socket`."""
    *first, last = dict.fromkeys(NAMES.get(kind, kind) for kind in kinds)
    return f"{', '.join(first)} and {last}" if first else last


def nothing_to_choose(
    others: Sequence[ProgramInfo], kinds: Sequence[str] = XDP, limit: str | None = None
) -> Coded:
    """Return the error for an object whose programs, `others`, all have unsupported types.

    `kinds` are the supported types. `limit` is the end of the text: the programs that the command
    accepts.
    """
    if not others:
        return Coded(codes.OBJECT_WITHOUT_PROGRAMS, "the object has no programs")
    wanted = names_of(kinds).replace(" and ", " or ")
    reason = f"no {wanted} program in the object; it has {list_programs(others, kinds=True)}"
    if any(program.kind == UNKNOWN for program in others):
        reason = f"{reason}; select programs of unknown type with --section or --prog-name"
        return Coded(codes.PROGRAM_NOT_CHOSEN, reason)
    what = f"{reason}; {limit or f'only {names_of(kinds)} programs are analysed'}"
    return Coded(codes.UNSUPPORTED_PROGRAM_TYPE, what)


def no_match(selection: Selection, programs: Sequence[ProgramInfo] = ()) -> OptionError:
    """Return the error for a selection that matches none of the programs.

    The error suggests the section or program most similar to a glob; if none is similar, it lists
    all programs.
    """
    from slowpath.core.spelling import did_you_mean

    sections, names = [one.section for one in programs], [one.name for one in programs]
    globs = [(glob, sections) for glob in selection.sections]
    globs += [(glob, names) for glob in selection.names]
    wrong = [(glob, known) for glob, known in globs if not any(_any([glob], one) for one in known)]
    hint = next(filter(None, (did_you_mean(*one) for one in wrong)), "")
    if not hint and programs:
        hint = f"; there are {list_programs(programs)}"
    return OptionError(
        codes.NO_MATCHING_PROGRAM, selection.option, f"no program matches {selection}{hint}"
    )


def list_programs(programs: Sequence[ProgramInfo], *, kinds: bool = False) -> str:
    """Format a list of programs as `SECTION: NAME`, for messages; with `kinds`, add their types."""
    labels = [f"{p.section}: {p.name}" if p.section else f"{p.name} (no section)" for p in programs]
    if kinds:
        labels = [f"{label} ({p.kind})" for label, p in zip(labels, programs, strict=True)]
    return ", ".join(labels)
