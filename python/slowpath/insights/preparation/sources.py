"""What a file is, and its content as LLVM's intermediate language: C and C++ by way of clang."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from slowpath.cli.errors import InputError
from slowpath.cli.inputs import read_program
from slowpath.insights.preparation.framework import (
    COMPANION,
    FIND,
    FLAGS,
    HEADERS,
    address_form,
    aliases,
    companions,
    missing_header,
    package_flags,
)
from slowpath.programs.clang import BITCODE, Form, compile_c
from slowpath.programs.sources import Clang, kind_of, known_as

_COMPILED = {".c": (), ".h": ("-x", "c"), ".cc": (), ".cpp": (), ".cxx": (), ".hpp": ("-x", "c++")}
"""What clang compiles, by extension, and how it is told so where the name does not say it."""
CPLUSPLUS = (".cc", ".cpp", ".cxx", ".hpp")
_CODE = "-DSLOWPATH_SETUP="
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")


class Source(NamedTuple):
    """A file in LLVM's intermediate language."""

    file: str
    data: bytes
    kind: Literal["bitcode", "text"]
    compiled: bool  # by us; passes have not run then
    support: bytes = b""  # bitcode of what an XDP program calls; empty: it is none
    object: bytes = b""  # of an XDP program, as the kernel would load it; empty: nobody needs it
    others: tuple[bytes, ...] = ()  # bitcode of other elements that an element needs
    lacking: str = ""  # why there is none that is needed


def is_source(file: str) -> bool:
    """Whether a file is compiled, by its name."""
    return Path(file).suffix in _COMPILED


def setup_flags(code: Sequence[str]) -> tuple[str, ...]:
    """Return the flags with which a source gets a function of set-up code behind it."""
    return (_CODE + "; ".join(code),) if code else ()


def compiler_for(file: str, data: bytes, clang: Clang) -> Clang:
    """The compiler, told what a source is, where headers are, and what elements are called, too.

    The user's flags come last.
    """
    extension = Path(file).suffix
    own = (*FLAGS, *aliases(data)) if extension in CPLUSPLUS else FIND
    own = (*own, *address_form(file, data, clang.flags))
    behind = package_flags(file) if extension in CPLUSPLUS else ()
    return clang._replace(flags=(*_COMPILED.get(extension, ()), *own, *clang.flags, *behind))


def compile_source(file: str, data: bytes, clang: Clang, form: Form = BITCODE) -> bytes:
    """Compile C or C++, with the code of --setup behind it.

    Raises:
        InputError: when it does not compile.
        StoppedError: when there is no time left to compile it.
    """
    told = compiler_for(file, data, clang)
    if any(flag.startswith(_CODE) for flag in clang.flags):
        return _with_setup(file, told, form)
    return compile_c(file, told, form)


def _others(needed: Sequence[Path], clang: Clang) -> Iterator[bytes]:
    """Yield bitcode of the sources that an element needs, of those that compile."""
    flags = tuple(flag for flag in clang.flags if not flag.startswith(_CODE))
    for one in needed:
        # What is wrong with others is told where they are called.
        with suppress(InputError, OSError):
            told = compiler_for(str(one), one.read_bytes(), clang._replace(flags=flags))
            yield compile_c(str(one), told._replace(flags=(*told.flags, COMPANION)), BITCODE)


def _with_setup(file: str, clang: Clang, form: Form) -> bytes:
    """Compile a source with set-up code behind it, which may name all that is static there."""
    language = ("-x", "c++") if Path(file).suffix in CPLUSPLUS else ("-x", "c")
    flags = (*language, *clang.flags, "-include", file)
    try:
        return compile_c(str(HEADERS / "nic" / "setup.c"), clang._replace(flags=flags), form)
    except InputError as problem:
        raise InputError(file, problem.reason) from None


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
        needed = companions(file, data, clang.flags) if Path(file).suffix in CPLUSPLUS else []
        if needed:  # base classes have their members where other sources define them, too
            clang = clang._replace(flags=("-fstandalone-debug", *clang.flags))
        try:
            made = compile_source(file, data, clang)
        except InputError as problem:
            more = missing_header(problem.reason)
            if not more:
                raise
            raise InputError(file, problem.reason + more) from None
        others = tuple(_others(needed, clang))
        return Source(file, made, "bitcode", compiled=True, others=others)
    if Path(file).suffix == ".ll" or kind_of(file, data) == "ll":
        return Source(file, data, "text", compiled=False)
    if not data:
        raise InputError(file, "is empty")
    known = ", ".join(_COMPILED)
    raise InputError(file, f"is no source in C or C++ ({known}), and not of LLVM (.ll, .bc)")
