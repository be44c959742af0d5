"""Compiles P4 programs: the engine translates them to C for XDP, and clang compiles the C.

Lines of errors, and of the object's debug information, are those of the P4 program.
"""

import os.path
import re
from collections.abc import Sequence
from pathlib import Path

from slowpath.core import codes
from slowpath.core.engine import MapsFile
from slowpath.core.engine.p4 import (
    Fault,
    Form,
    Pipeline,
    PipelineEntry,
    map_content,
    pipeline_entries,
    translate,
    translate_to_swx,
)
from slowpath.core.errors import InputError
from slowpath.core.inputs import read_program
from slowpath.core.programs.clang import CompilationError, SourceError, compile_c
from slowpath.core.programs.sources import Clang, is_p4

_STACK = ("stack limit", "stack size")
"""Texts in clang's errors about programs that need more than the BPF stack of 512 bytes."""


def compile_p4(file: str, clang: Clang, text: str | None = None) -> bytes:
    """Compile a P4 program to a BPF object, or to a pipeline if `clang.pipelines` is true.

    If `text` is given, it is compiled in place of the file. A BPF program keeps its headers on the
    stack, or in a map if they need more than 512 bytes.

    Raises:
        CompilationError: if the program has faults.
        InputError: if the file cannot be read, no suitable clang is found, or it takes too long.
        StoppedError: if the total deadline ends before clang does.
    """
    if clang.pipelines:
        return to_swx(file, clang.flags, text=text).spec.encode()
    _, others = _divided(clang.flags)
    settings = clang._replace(flags=others, hidden=())

    def compiled(*, scratch: bool) -> bytes:
        c = to_c(file, clang.flags, text=text, scratch=scratch)
        try:
            return compile_c(file, settings, text=c.encode())
        except CompilationError as problem:
            raise _rejected(file, problem) from None

    try:
        return compiled(scratch=False)
    except CompilationError as problem:
        if not any(one in problem.reason for one in _STACK):
            raise
        return compiled(scratch=True)


def to_c(file: str, flags: Sequence[str], *, text: str | None = None, scratch: bool = False) -> str:
    """Translate a P4 program to C for XDP.

    Of `flags`, only `-I` and `-D` are used. If `text` is given, it is translated in place of the
    file. With `scratch`, headers are kept in a map instead of on the stack.

    Raises:
        CompilationError: if the program has faults.
        InputError: if the file cannot be read.
    """
    translated = translate(file, _divided(flags)[0], text=text, scratch=scratch)
    if translated.c is None:
        raise _error(file, translated.faults)
    return translated.c


def to_swx(file: str, flags: Sequence[str], *, text: str | None = None) -> Pipeline:
    """Translate a P4 program to a pipeline of DPDK's software switch (SWX).

    Of `flags`, only `-I` and `-D` are used. If `text` is given, it is translated in place of the
    file.

    Raises:
        CompilationError: if the program has faults.
        InputError: if the file cannot be read.
    """
    made = translate_to_swx(file, _divided(flags)[0], text=text)
    if isinstance(made, Pipeline):
        return made
    raise _error(file, made)


def included_files(file: str, flags: Sequence[str], text: str | None = None) -> list[str]:
    """Return the files that a P4 program includes, except for standard headers.

    If `text` is given, it is read in place of the file.

    Raises:
        InputError: if the program cannot be read.
    """
    return list(translate(file, _divided(flags)[0], text=text).files[1:])


_JSON = re.compile(r"\A\s*\{")
_RUNTIME_JSON = re.compile(r'"table_entries"\s*:')
_MESSAGES = re.compile(r"^[ \t]*(table_entry|entities|updates)\b[ \t]*:?[ \t]*(\{|$)", re.MULTILINE)
_TOML = re.compile(r"^[ \t]*\[", re.MULTILINE)
"""A line of map content in TOML, which no list of entries has."""


def maps_of(file: str, flags: Sequence[str], maps: MapsFile) -> str:
    """Return the content of a maps file; for a P4 program, convert table entries to map content.

    Messages of P4Runtime may have the numbers of a P4Info file, which is `p4info.txtpb` in the
    folder of the messages, or `NAME.p4info.txtpb` beside `NAME.entries.txtpb`.

    Raises:
        InputError: if an entry or the program has a fault.
    """
    if not is_p4(file):
        return maps.text
    form = _form_of(maps.text)
    if form is None:
        return maps.text
    preprocessor = _divided(flags)[0]
    content = map_content(file, preprocessor, maps, form, _info_of(maps.name, form))
    if content is None:
        raise _error(file, translate(file, preprocessor).faults)
    return content


def swx_entries(
    file: str, flags: Sequence[str], maps: MapsFile | None
) -> tuple[list[PipelineEntry], str]:
    """Translate a P4 program to a pipeline, and return its table entries and the pipeline's text.

    The entries are those that the program declares, followed by those in the file `maps`.

    The tables of the pipeline have room for all these entries.

    Raises:
        InputError: if an entry or the program has a fault, or the file has content of BPF maps.
    """
    maps = maps or MapsFile(file, "")
    form = _form_of(maps.text)
    if form is None:
        what = "is content of BPF maps, which a pipeline lacks; write entries of P4 tables"
        raise InputError(codes.MAPS_FILE_INVALID, maps.name, what)
    preprocessor = _divided(flags)[0]
    found = pipeline_entries(file, preprocessor, maps, form, _info_of(maps.name, form))
    if found is None:
        return [], to_swx(file, flags).spec  # raises the faults of the program
    return found


def _form_of(text: str) -> Form | None:
    """Return the format of a file with table entries; None for content of BPF maps."""
    if _JSON.search(text):
        return "json" if _RUNTIME_JSON.search(text) else None
    if _MESSAGES.search(text):
        return "messages"
    return None if _TOML.search(text) else "lines"


def _info_of(file: str, form: Form) -> str | None:
    """Return the text of the P4Info file beside a file of P4Runtime messages; None without one.

    P4Info gives the numbers of tables and actions.
    """
    if form != "messages":
        return None
    path = Path(file)
    names = [path.name.replace(".entries.", ".p4info."), "p4info.txtpb", "p4info.txt"]
    others = (path.with_name(name) for name in names if name != path.name)
    found = next((one for one in others if one.is_file()), None)
    return None if found is None else read_program(str(found)).decode(errors="replace")


def _error(file: str, faults: Sequence[Fault]) -> CompilationError:
    first, more = faults[0], len(faults) - 1
    rest = f" (and {more} more error{'s'[: more > 1]})" if more else ""
    errors = [
        SourceError(one.file, one.line, one.column, one.text, one.code, one.end)
        for one in faults
        if one.line
    ]
    return CompilationError(first.code, file, f"{first.message(file)}{rest}", errors)


def _rejected(file: str, problem: CompilationError) -> CompilationError:
    """Convert clang's errors about the C translation to errors of the P4 program in `file`."""
    if not problem.errors:
        return problem
    what = "clang rejects the translation, which slowpath compile --to xdp-c writes"
    faults = [
        Fault(
            one.code,
            file if os.path.abspath(one.file) == os.path.abspath(file) else one.file,
            one.line if is_p4(one.file) else 0,  # else a line of the translation
            one.column,
            f"{what}: {one.text}",
        )
        for one in problem.errors
    ]
    return _error(file, faults)


def _divided(flags: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Split flags into those of the preprocessor (`-I`, `-D`), each as one word, and all others."""
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
