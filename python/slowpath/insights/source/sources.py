"""Kinds of sources, and their LLVM IR by way of clang."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from slowpath.core.errors import InputError
from slowpath.core.inputs import read_program
from slowpath.core.programs.clang import BITCODE, Form, compile_c
from slowpath.core.programs.sources import Clang, kind_of, known_as
from slowpath.insights.source.framework import (
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


_COMMENT = re.compile(
    rb"""/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.DOTALL
)
"""Comments; or what is in quotes, where there are none."""
_CONTEXT = re.compile(rb"\bxdp_md\b")
_MACRO = re.compile(rb'\bSEC\s*\(\s*"')
"""Of the kernel's headers. The attribute that it stands for is written in other sources, too."""
_ATTRIBUTE = re.compile(rb'\bsection\s*\(\s*"')
_INCLUDE = rb'^[ \t]*#[ \t]*include[ \t]*[<"]'
_LOCAL = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_MOST = 32
"""Files that are looked at of those that a source includes."""
_HELPERS = re.compile(_INCLUDE + rb"(?:bpf/)?(?:bpf_helpers|vmlinux)\.h\b", re.MULTILINE)
"""Headers that nothing but programs of the kernel includes."""
_KERNEL = re.compile(_INCLUDE + rb"linux/bpf\.h\b", re.MULTILINE)
_USER = re.compile(_INCLUDE + rb"(?:bpf/)?(?:libbpf|bpf)\.h\b", re.MULTILINE)
"""What loads programs has one of these beside it."""


def is_xdp(file: str) -> bool:
    """Whether a file is a source in C that has an XDP program, itself or in files beside it.

    What loads programs has none, whatever it shares with them.

    Raises:
        InputError: when it cannot be read.
    """
    code = _kernel_code(file)
    section = _MACRO.search(code) or _ATTRIBUTE.search(code)
    return section is not None and _CONTEXT.search(code) is not None


def _kernel_code(file: str) -> bytes:
    """The code of a source in C and of files beside it; nothing of what loads programs."""
    if Path(file).suffix != ".c" or _USER.search(_code(file)):
        return b""
    return _all_code(file)


def may_have_programs(file: str) -> bool:
    """Whether a source speaks of the kernel's programs: if it does not compile for BPF, it should.

    Raises:
        InputError: when it cannot be read.
    """
    code = _code(file)
    return any(one.search(code) for one in (_MACRO, _CONTEXT, _HELPERS))


def is_for_kernel(file: str) -> bool:
    """Whether a source in C that does not compile for this machine is meant for the kernel.

    It need not have a program: where it is cut off before its first one, what clang says of it as
    plain C is of no use.

    Raises:
        InputError: when it cannot be read.
    """
    code = _kernel_code(file)
    return any(one.search(code) for one in (_KERNEL, _HELPERS)) or is_xdp(file)


def _all_code(file: str) -> bytes:
    """The same with what a source includes of files beside it, some of them at most."""
    found, left = dict[Path, bytes](), [Path(file)]
    while left and len(found) < _MOST:
        one = left.pop()
        if one in found or (found and not one.is_file()):
            continue
        found[one] = _code(str(one))
        left += [one.parent / name.decode(errors="replace") for name in _LOCAL.findall(found[one])]
    return b"\n".join(found.values())


def _code(file: str) -> bytes:
    """A source without comments."""
    return _COMMENT.sub(rb" \1", read_program(file))
