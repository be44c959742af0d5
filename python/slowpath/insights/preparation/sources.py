"""What a file is, and its content as LLVM's intermediate language: C and C++ by way of clang."""

from pathlib import Path
from typing import Literal, NamedTuple

from slowpath.cli.errors import InputError
from slowpath.cli.inputs import read_program
from slowpath.insights.preparation.framework import (
    FIND,
    FLAGS,
    address_form,
    aliases,
    missing_header,
)
from slowpath.programs.clang import BITCODE, compile_c
from slowpath.programs.sources import Clang, kind_of, known_as

_COMPILED = {".c": (), ".h": ("-x", "c"), ".cc": (), ".cpp": (), ".cxx": (), ".hpp": ("-x", "c++")}
"""What clang compiles, by extension, and how it is told so where the name does not say it."""
CPLUSPLUS = (".cc", ".cpp", ".cxx", ".hpp")
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")


class Source(NamedTuple):
    """A file in LLVM's intermediate language."""

    file: str
    data: bytes
    kind: Literal["bitcode", "text"]
    compiled: bool  # by us; passes have not run then
    support: bytes = b""  # bitcode of what an XDP program calls; empty: it is none
    object: bytes = b""  # of an XDP program, as the kernel would load it; empty: nobody needs it
    lacking: str = ""  # why there is none that is needed


def is_source(file: str) -> bool:
    """Whether a file is compiled, by its name."""
    return Path(file).suffix in _COMPILED


def compiler_for(file: str, data: bytes, clang: Clang) -> Clang:
    """The compiler, told what a source is, where headers are, and what elements are called, too.

    The user's flags come last.
    """
    extension = Path(file).suffix
    own = (*FLAGS, *aliases(data)) if extension in CPLUSPLUS else FIND
    own = (*own, *address_form(file, data, clang.flags))
    return clang._replace(flags=(*_COMPILED.get(extension, ()), *own, *clang.flags))


def load_source(file: str, clang: Clang) -> Source:
    """Reads a file, and compiles it where it is C or C++.

    Raises:
        InputError: when it cannot be read or compiled, or is neither source nor of LLVM.
        StoppedError: when there is no time left to compile it.
    """
    data = read_program(file)
    known = known_as(file, data)
    if known is not None:
        raise InputError(file, known)
    if data.startswith(_BITCODE):
        return Source(file, data, "bitcode", compiled=False)
    if is_source(file):
        try:
            made = compile_c(file, compiler_for(file, data, clang), BITCODE)
        except InputError as problem:
            more = missing_header(problem.reason)
            if not more:
                raise
            raise InputError(file, problem.reason + more) from None
        return Source(file, made, "bitcode", compiled=True)
    if Path(file).suffix == ".ll" or kind_of(file, data) == "ll":
        return Source(file, data, "text", compiled=False)
    if not data:
        raise InputError(file, "is empty")
    known = ", ".join(_COMPILED)
    raise InputError(file, f"is no source in C or C++ ({known}), and not of LLVM (.ll, .bc)")
