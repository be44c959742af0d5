"""Recognises the kinds of source files, and compiles sources to LLVM IR with clang."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from slowpath.core import codes
from slowpath.core.errors import Coded, InputError
from slowpath.core.inputs import read_program
from slowpath.core.programs.clang import BITCODE, Form, compile_c
from slowpath.core.programs.sources import Clang, advice_for, is_p4, kind_of
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
"""Extensions of files that clang compiles, each with options that name the language if needed."""
CPLUSPLUS = (".cc", ".cpp", ".cxx", ".hpp")
_CODE = "-DSLOWPATH_SETUP="
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")


class Source(NamedTuple):
    """A source file, as it was read or compiled to LLVM IR."""

    file: str
    data: bytes
    kind: Literal["bitcode", "text"]
    compiled: bool  # by slowpath, before any pass
    support: bytes = b""  # bitcode of helpers for an XDP program; empty: not XDP
    object: bytes = b""  # of an XDP program, as the kernel loads it; empty: not needed
    others: tuple[bytes, ...] = ()  # bitcode of other elements that an element needs
    lacking: str = ""  # reason why the needed `object` is missing


def is_source(file: str) -> bool:
    """Return true if clang compiles files with this extension."""
    return Path(file).suffix in _COMPILED


def setup_flags(code: Sequence[str]) -> tuple[str, ...]:
    """Return the clang flags that append the code of `--setup` to a source, as a function."""
    return (_CODE + "; ".join(code),) if code else ()


def compiler_for(file: str, data: bytes, clang: Clang) -> Clang:
    """Return the compiler with flags for the language, headers, and names of Click elements.

    The user's flags take precedence.
    """
    extension = Path(file).suffix
    own = (*FLAGS, *aliases(data)) if extension in CPLUSPLUS else FIND
    own = (*own, *address_form(file, data, clang.flags))
    behind = package_flags(file) if extension in CPLUSPLUS else ()
    return clang._replace(flags=(*_COMPILED.get(extension, ()), *own, *clang.flags, *behind))


def compile_source(file: str, data: bytes, clang: Clang, form: Form = BITCODE) -> bytes:
    """Compile C or C++ source, together with the code of `--setup`.

    Raises:
        InputError: if the source does not compile.
        StoppedError: if no time is left to compile the source.
    """
    compiler = compiler_for(file, data, clang)
    if any(flag.startswith(_CODE) for flag in clang.flags):
        return _with_setup(file, compiler, form)
    return compile_c(file, compiler, form)


def _others(needed: Sequence[Path], clang: Clang) -> Iterator[bytes]:
    """Yield bitcode of the sources that a Click element needs; skip those that do not compile."""
    flags = tuple(flag for flag in clang.flags if not flag.startswith(_CODE))
    for one in needed:
        # An error in another source is reported where the element calls it.
        with suppress(InputError, OSError):
            other = compiler_for(str(one), one.read_bytes(), clang._replace(flags=flags))
            yield compile_c(str(one), other._replace(flags=(*other.flags, COMPANION)), BITCODE)


def _with_setup(file: str, clang: Clang, form: Form) -> bytes:
    """Compile a source with set-up code behind it, so that the code sees the source's statics."""
    language = ("-x", "c++") if Path(file).suffix in CPLUSPLUS else ("-x", "c")
    flags = (*language, *clang.flags, "-include", file)
    try:
        return compile_c(str(HEADERS / "nic" / "setup.c"), clang._replace(flags=flags), form)
    except InputError as problem:
        raise InputError(problem.code, file, problem.reason) from None


def load_source(file: str, clang: Clang) -> Source:
    """Read a file, and compile it if it is C or C++.

    Raises:
        InputError: if the file cannot be read or compiled, or is neither a source nor LLVM IR.
        StoppedError: if no time is left to compile the file.
    """
    data = read_program(file)
    known = advice_for(file, data)
    if known is None and is_p4(file):
        advice = "is P4; slowpath bound and slowpath annotate read it"
        known = Coded(codes.NOT_INSIGHTS_SOURCE, advice)
    if known is not None:
        raise InputError(codes.NOT_INSIGHTS_SOURCE, file, known)
    if data.startswith(_BITCODE):
        return Source(file, data, "bitcode", compiled=False)
    if is_source(file):
        needed = companions(file, data, clang.flags) if Path(file).suffix in CPLUSPLUS else []
        if needed:  # else clang omits debug information of base classes in other sources
            clang = clang._replace(flags=("-fstandalone-debug", *clang.flags))
        try:
            made = compile_source(file, data, clang)
        except InputError as problem:
            more = missing_header(problem.reason)
            if not more:
                raise
            raise InputError(problem.code, file, problem.reason + more) from None
        others = tuple(_others(needed, clang))
        return Source(file, made, "bitcode", compiled=True, others=others)
    if Path(file).suffix == ".ll" or kind_of(file, data) == "ll":
        return Source(file, data, "text", compiled=False)
    if not data:
        raise InputError(codes.FILE_EMPTY, file, "the file is empty")
    extensions = ", ".join(_COMPILED)
    raise InputError(
        codes.NOT_INSIGHTS_SOURCE,
        file,
        f"the file is neither a source in C or C++ ({extensions}) nor LLVM IR (.ll, .bc)",
    )


_COMMENT = re.compile(
    rb"""/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.DOTALL
)
"""Pattern for comments and quoted text; quoted text may contain comment marks."""
_CONTEXT = re.compile(rb"\bxdp_md\b")
_MACRO = re.compile(rb'\bSEC\s*\(\s*"')
"""libbpf's macro for a program's section; other sources use at most the attribute."""
_ATTRIBUTE = re.compile(rb'\bsection\s*\(\s*"')
_INCLUDE = rb'^[ \t]*#[ \t]*include[ \t]*[<"]'
_LOCAL = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_MAX_FILES = 32
"""Maximum number of local files that are searched for one source."""
_HELPERS = re.compile(_INCLUDE + rb"(?:bpf/)?(?:bpf_helpers|vmlinux)\.h\b", re.MULTILINE)
"""Headers that only BPF programs include."""
_KERNEL = re.compile(_INCLUDE + rb"linux/bpf\.h\b", re.MULTILINE)
_USER = re.compile(_INCLUDE + rb"(?:bpf/)?(?:libbpf|bpf)\.h\b", re.MULTILINE)
"""Headers that loaders of BPF programs include, besides `linux/bpf.h`."""


def is_xdp(file: str) -> bool:
    """Return true if a C source, or a local file that it includes, has an XDP program.

    The result is false for a loader of programs, even if it includes their code.

    Raises:
        InputError: if the file cannot be read.
    """
    code = _kernel_code(file)
    section = _MACRO.search(code) or _ATTRIBUTE.search(code)
    return section is not None and _CONTEXT.search(code) is not None


def _kernel_code(file: str) -> bytes:
    """Return the code of a C source and of its local files; empty for a loader of programs."""
    if Path(file).suffix != ".c" or _USER.search(_code(file)):
        return b""
    return _all_code(file)


def may_have_programs(file: str) -> bool:
    """Return true if a source seems to contain BPF programs, so that it should compile for BPF.

    Raises:
        InputError: if the file cannot be read.
    """
    code = _code(file)
    return any(one.search(code) for one in (_MACRO, _CONTEXT, _HELPERS))


def is_for_kernel(file: str) -> bool:
    """Return true if a C source looks like kernel code, such as an XDP program.

    This is asked about sources that do not compile for this machine. Kernel code need not contain a
    program: clang's errors for this machine would also mislead if a file ends before its first
    program.

    Raises:
        InputError: if the file cannot be read.
    """
    code = _kernel_code(file)
    return any(one.search(code) for one in (_KERNEL, _HELPERS)) or is_xdp(file)


def _all_code(file: str) -> bytes:
    """Return the code of a source and of local files that it includes, at most `_MAX_FILES`."""
    found, left = dict[Path, bytes](), [Path(file)]
    while left and len(found) < _MAX_FILES:
        one = left.pop()
        if one in found or (found and not one.is_file()):
            continue
        found[one] = _code(str(one))
        left += [one.parent / name.decode(errors="replace") for name in _LOCAL.findall(found[one])]
    return b"\n".join(found.values())


def _code(file: str) -> bytes:
    """Return the code of a source file without comments."""
    return _COMMENT.sub(rb" \1", read_program(file))
