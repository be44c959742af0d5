"""Loads program files as users have them: objects and listings as they are, C by way of clang."""

from slowpath.cli.errors import InputError
from slowpath.cli.inputs import read_program
from slowpath.programs.sources import KINDS, Clang, is_c, kind_of, known_as


def load_program(file: str, clang: Clang) -> bytes:
    """The content of an object or listing; C source is compiled.

    Raises:
        InputError: when it cannot be read or compiled, or is to be compiled first.
        StoppedError: when there is no time left to compile it.
    """
    data = read_program(file)
    known = known_as(file, data)
    if known is not None:
        raise InputError(file, known)
    kind = kind_of(file, data)
    if kind is None:
        return data
    from slowpath.programs.clang import compile_c, shown_command

    if kind == "c" and is_c(file):
        return compile_c(file, clang)
    what, language = KINDS[kind]
    settings = () if file.endswith(f".{kind}") else language
    command = shown_command(file, Clang((*clang.flags, *settings)), search=kind == "c")
    raise InputError(file, f"is {what}, no object; clang makes one of it: {command}")
