"""Translates P4 programs to C with the compiled engine."""

from collections.abc import Sequence
from typing import NamedTuple

from slowpath import _core
from slowpath.core.codes import Code
from slowpath.core.inputs import read_program


class Fault(NamedTuple):
    """A fault of a P4 program, with its place."""

    code: Code
    file: str
    line: int  # 0: a macro of the command line
    column: int
    text: str


class Translation(NamedTuple):
    """C source of a P4 program for XDP."""

    c: str | None  # None: the program has faults
    faults: Sequence[Fault]
    files: Sequence[str]
    """The program and the files that it includes, without standard headers."""


def translate(file: str, flags: Sequence[str], *, scratch: bool = False) -> Translation:
    """Translate a P4 program to C for XDP.

    Args:
        file: The P4 program.
        flags: Flags `-I` and `-D`, each as one word.
        scratch: Keep headers in a map instead of on the stack.

    Raises:
        InputError: if the file cannot be read.
    """
    folders = [flag[2:] for flag in flags if flag.startswith("-I")]
    defines = [_definition(flag[2:]) for flag in flags if flag.startswith("-D")]
    text = read_program(file).decode(errors="replace")
    c, faults, files = _core.p4_to_c(file, text, folders, defines, scratch)
    return Translation(c, [Fault(Code(one[0]), *one[1:]) for one in faults], files)


def _definition(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    return name, value if separator else "1"
