"""Compiles P4 programs to BPF objects: the engine translates them to C, and clang compiles the C.

Lines of errors, and of the object's debug information, are those of the P4 program.
"""

import re
from collections.abc import Sequence

from slowpath.core.engine.errors import MapsFile
from slowpath.core.engine.p4 import Fault, map_content, translate
from slowpath.core.programs.clang import CompilationError, SourceError, compile_c
from slowpath.core.programs.sources import Clang, is_p4

_STACK = ("stack limit", "stack size")
"""Texts in clang's errors about programs that need more than the stack of 512 bytes."""


def compile_p4(file: str, clang: Clang, text: str | None = None) -> bytes:
    """Compile a P4 program to a BPF object; with `text`, its content is this text.

    Headers stand on the stack, or in a map if they need more than 512 bytes.

    Raises:
        CompilationError: if the program has faults.
        InputError: if the file cannot be read, no suitable clang is found, or it takes too long.
        StoppedError: if the total deadline ends before clang does.
    """
    _, others = _divided(clang.flags)
    settings = clang._replace(flags=others, hidden=())
    try:
        return compile_c(file, settings, text=to_c(file, clang.flags, text=text).encode())
    except CompilationError as problem:
        if not any(text in problem.reason for text in _STACK):
            raise
    return compile_c(file, settings, text=to_c(file, clang.flags, text=text, scratch=True).encode())


def to_c(file: str, flags: Sequence[str], *, text: str | None = None, scratch: bool = False) -> str:
    """Translate a P4 program to C for XDP, with the flags `-I` and `-D` among `flags`.

    Raises:
        CompilationError: if the program has faults.
        InputError: if the file cannot be read.
    """
    translated = translate(file, _divided(flags)[0], text=text, scratch=scratch)
    if translated.c is None:
        raise _error(file, translated.faults)
    return translated.c


def included_files(file: str, flags: Sequence[str], text: str | None = None) -> list[str]:
    """Return the files that a P4 program includes, without standard headers.

    Raises:
        InputError: if the program cannot be read.
    """
    return list(translate(file, _divided(flags)[0], text=text).files[1:])


_CONTENT = re.compile(r"\A\s*\{|^[ \t]*\[", re.MULTILINE)
"""The start of map content in JSON, or a line of TOML that no list of entries has."""


def maps_of(file: str, flags: Sequence[str], maps: MapsFile) -> str:
    """Return the text of a maps file; entries of a P4 program's tables become map content.

    Raises:
        InputError: if an entry or the program has a fault.
    """
    if is_p4(file) and not _CONTENT.search(maps.text):
        return map_content(file, _divided(flags)[0], maps)
    return maps.text


def _error(file: str, faults: Sequence[Fault]) -> CompilationError:
    first, more = faults[0], len(faults) - 1
    place = f"line {first.line}, column {first.column}: " if first.line else ""
    if first.file != file and place:
        place = f"{first.file}, {place}"
    rest = f" (and {more} more error{'s'[: more > 1]})" if more else ""
    errors = [
        SourceError(one.file, one.line, one.column, one.text, one.code)
        for one in faults
        if one.line
    ]
    return CompilationError(first.code, file, f"{place}{first.text}{rest}", errors)


def _divided(flags: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the flags of the preprocessor, each as one word, and all other flags."""
    settings, others = list[str](), list[str]()
    words = iter(flags)
    for word in words:
        if word in ("-I", "-D"):
            settings.append(word + next(words, ""))
        elif word.startswith(("-I", "-D")):
            settings.append(word)
        else:
            others.append(word)
    return settings, tuple(others)
