"""Recognises the kinds of sources, and compiles them to LLVM IR with clang.

slowpath's own headers replace those of Click and DPDK.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

from slowpath.core import codes
from slowpath.core.errors import Coded, InputError
from slowpath.core.inputs import read_program
from slowpath.core.programs.clang import BITCODE, Form, compile_c
from slowpath.core.programs.sources import Clang, advice_for, is_p4, kind_of

HEADERS = Path(__file__).parent / "headers"
"""Folder with slowpath's headers, such as `click/element.hh`."""
SUPPORT = ("slowpath_click_", "slowpath_dpdk_", "slowpath_xdp_", "slowpath_setup_")
"""Prefixes of symbols of code that supplies packets or counts, and would not run on a SmartNIC."""
SETUP = "slowpath_setup_code"
"""Function that contains the user's set-up code (`headers/nic/setup.c`)."""
ELEMENT = "slowpath_element_"
"""Prefix of the symbol of a Click element, before the name of its class."""
_NAMED = re.compile(rb"\b((?:%s)\w+)(##)?" % "|".join(SUPPORT).encode())
_OURS = "/slowpath/insights/source/headers/"
_KERNEL_FRAMEWORK = f"{_OURS}nic/xdp.c"
_ENGINE = re.compile(r"(_ZL\d+)?nic_engine_")
_EXPORTED = re.compile(rb"^[ \t]*EXPORT_ELEMENT\(([\w \t-]+)\)", re.MULTILINE)
_BITS, _INCLUDED = "/bits/", "/include/"
_STRUCTURED = re.compile(rb"\b(rte_ip6\.h|rte_ipv6_addr|RTE_IPV6)\b")
_QUOTED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_MISSING = re.compile(r"'(rte_\w+\.h)' file not found")
_MAX_HEADERS = 200
_MAX_COMPANIONS = 32
"""Maximum number of sources of other elements that are compiled together with one element."""
_INCLUDES = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)
_EXPORTS = re.compile(rb"^[ \t]*EXPORT_ELEMENT\([ \t]*(\w+)", re.MULTILINE)
_OUR_FOLDERS = ("click/", "clicknet/", "nic/")
_ROOT = "elements"
"""Folder of a Click package, which its sources name in `#include`."""
COMPANION = "-DSLOWPATH_COMPANION"
"""Flag of clang for the source of another element, whose objects are created only on request."""
FIND = ("-isystem", str(HEADERS), "-isystem", str(HEADERS / "dpdk"))
"""Flags with which clang finds slowpath's headers, for C and C++."""
FLAGS = (
    *(*FIND, "-std=gnu++17", "-fno-exceptions", "-fno-rtti"),
    *("-fno-threadsafe-statics", "-fno-c++-static-destructors"),
)
"""Flags for C++. Language features that SmartNICs lack (exceptions, RTTI) become errors."""


def aliases(source: bytes) -> tuple[str, ...]:
    """Return the clang flags for a Click element with a second name.

    The source has `EXPORT_ELEMENT(Class Class-Name)`. A macro cannot extract the first of two
    words, so a flag passes it.
    """
    exported = _EXPORTED.findall(source)
    if len(exported) != 1 or len(exported[0].split()) == 1:
        return ()
    return (f"-DSLOWPATH_ELEMENT={exported[0].split()[0].decode()}",)


def address_form(file: str, source: bytes, flags: Sequence[str]) -> tuple[str, ...]:
    """Return the clang flags for a source that uses the IPv6 addresses of DPDK 24.11; else none.

    In DPDK 24.11, IPv6 addresses are a structure, also in packet headers; in 22.11, they are byte
    arrays. Names in the source, or in headers that it includes in quotes, show the release. Headers
    in quotes are found in the source's folder or by `-I`.
    """
    named = _include_folders(flags)
    texts = [(Path(file).parent, source)]
    seen = set[Path]()
    while texts and len(seen) < _MAX_HEADERS:
        folder, text = texts.pop()
        if _STRUCTURED.search(text):
            return ("-DSLOWPATH_DPDK_IPV6",)
        for name in _QUOTED.findall(text):
            paths = (one / os.fsdecode(name) for one in (folder, *named))
            found = next((path for path in paths if path.is_file()), None)
            if found is not None and found.resolve() not in seen:
                seen.add(found.resolve())
                texts.append((found.parent, found.read_bytes()))
    return ()


def _include_folders(flags: Sequence[str]) -> list[Path]:
    """Return the folders that the clang flags `-I` name."""
    joined = [Path(flag[2:]) for flag in flags if flag.startswith("-I") and flag != "-I"]
    return joined + [Path(word) for flag, word in pairwise(flags) if flag == "-I"]


def missing_header(reason: str) -> str:
    """Return advice for the user if clang does not find a header of DPDK.

    `reason` is clang's error message. For other errors, the advice is empty.
    """
    found = _MISSING.search(reason)
    if found is None:
        return ""
    there = ", ".join(sorted(path.stem[4:] for path in (HEADERS / "dpdk").glob("rte_*.h")))
    return (
        f"; slowpath replaces headers of DPDK 22.11, but not {found[1]} (available: rte_*.h of "
        f"{there}); add a folder with your own header: --cflags=-IFOLDER"
    )


def is_ours(file: str) -> bool:
    """Return true if the path of a file in debug information is that of a header of slowpath."""
    return _OURS in f"/{file}"


def is_engine(symbol: str, file: str) -> bool:
    """Return true if a hardware engine of the SmartNIC does the work of a function.

    Such functions are in `nic/engine.h`. `file` is the file that defines the function.
    """
    return is_ours(file) and _ENGINE.match(symbol) is not None


def is_support(symbol: str, file: str, *, own: bool = False) -> bool:
    """Return true if a function belongs to slowpath's headers, a library or the compiler.

    `file` is the file that defines the function. `own` is true if it is the compiled file. Then the
    result is true only if the file is slowpath's stand-in for the kernel.
    """
    if symbol.startswith((*SUPPORT, "_GLOBAL__", "__cxx_global_var_init")):
        return True
    if own:
        return f"/{file}".endswith(_KERNEL_FRAMEWORK)
    return is_ours(file) or (_INCLUDED in file.partition(_BITS)[0] and _BITS in file)


def is_framework(symbol: str) -> bool:
    """Return true if a symbol is the name of a support function in slowpath's headers.

    Support functions supply packets, ports and tables. Names in a user's source do not count.
    """
    names, beginnings = _framework()
    return symbol in names or symbol.startswith(beginnings)


@cache
def _framework() -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the names of support functions, and prefixes of further names.

    Macros append a word to these prefixes.
    """
    found = {
        (name.decode(), bool(pasted))
        for path in HEADERS.rglob("*")
        if path.is_file()
        for name, pasted in _NAMED.findall(path.read_bytes())
    }
    names = frozenset(name for name, pasted in found if not pasted)
    return names, tuple(sorted(name for name, pasted in found if pasted))


def package_flags(file: str) -> tuple[str, ...]:
    """Return the clang flags that find headers by `#include "elements/..."`.

    They are needed for a Click source below a folder `elements`; else there are none.
    """
    root = next((one.parent for one in Path(file).resolve().parents if one.name == _ROOT), None)
    return () if root is None else ("-idirafter", str(root))


def companions(file: str, source: bytes, flags: Sequence[str]) -> list[Path]:
    """Return the other source files that the source of a Click element needs.

    They are in order of dependence. An element may have a base class with its own methods, or find
    another element by name. Click sources then include a header: the source of `path/other.hh` is
    `path/other.cc`. `flags` are the user's flags for clang.
    """
    return _Companions(file, flags).of(source) if _EXPORTS.search(source) else []


class _Companions:
    """A search for the source files that belong to included headers: `x.cc` next to `x.hh`."""

    def __init__(self, file: str, flags: Sequence[str]) -> None:
        self._file = Path(file)
        self._folders = [*_include_folders(flags), *map(Path, package_flags(file)[1:])]
        self._named = [word for flag, word in pairwise(flags) if flag == "-include"]
        self._seen = {self._file.resolve()}
        self._included = set[Path]()
        self._found = list[Path]()

    def of(self, source: bytes) -> list[Path]:
        """Return the further source files that the code `source` needs; none if too many."""
        for name in self._named:
            self._follow(Path(), b'#include "' + os.fsencode(name) + b'"')
        self._follow(self._file.parent, source)
        needed = [one for one in self._found if one not in self._included]
        return needed if len(needed) <= _MAX_COMPANIONS else []

    def _follow(self, folder: Path, text: bytes) -> None:
        """Follow the `#include` lines of a source text, and collect sources next to the headers.

        Files that cannot be read are skipped, as clang reports them.
        """
        for quote, name in _INCLUDES.findall(text):
            path = self._path(folder, quote, os.fsdecode(name))
            if path is None:
                continue
            if path.suffix == ".cc":
                self._included.add(path)
            if path in self._seen:
                continue
            self._seen.add(path)
            with suppress(OSError):
                self._follow(path.parent, path.read_bytes())
            source = path.with_suffix(".cc")
            if source == path or source in self._seen or not source.is_file():
                continue
            self._seen.add(source)
            with suppress(OSError):
                self._follow(source.parent, source.read_bytes())
                self._found.append(source)

    def _path(self, folder: Path, quote: bytes, name: str) -> Path | None:
        """Return the path of an included file; None for slowpath's headers and missing files.

        `folder` contains the including file. `quote` is the character before `name`, which tells
        the kind of include.
        """
        if name.startswith(_OUR_FOLDERS):
            return None
        folders = [*([folder] if quote == b'"' else []), *self._folders]
        found = next((path for one in folders if (path := one / name).is_file()), None)
        return None if found is None else found.resolve()


# --- sources --------------------------------------------------------------------------------------

_COMPILED = {".c": (), ".h": ("-x", "c"), ".cc": (), ".cpp": (), ".cxx": (), ".hpp": ("-x", "c++")}
"""Extensions of files that clang compiles, each with options that name the language if needed."""
CPLUSPLUS = (".cc", ".cpp", ".cxx", ".hpp")
_CODE = "-DSLOWPATH_SETUP="
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")


class Source(NamedTuple):
    """A source file, as read from disk or compiled to LLVM IR."""

    file: str
    data: bytes
    kind: Literal["bitcode", "text"]
    compiled: bool  # by slowpath, before any pass
    support: bytes = b""  # bitcode of helpers for an XDP program; empty: not XDP
    object: bytes = b""  # of an XDP program, as the kernel loads it; empty: not needed
    others: tuple[bytes, ...] = ()  # bitcode of other elements that an element needs
    lacking: str = ""  # reason why the needed `object` is missing


def is_source(file: str) -> bool:
    """Return true if the extension of a file is that of C or C++ source."""
    return Path(file).suffix in _COMPILED


def setup_flags(code: Sequence[str]) -> tuple[str, ...]:
    """Return the clang flags that add the code of the option `--setup` to a source.

    The code becomes a function, which runs before the first packet.
    """
    return (_CODE + "; ".join(code),) if code else ()


def compiler_for(file: str, data: bytes, clang: Clang) -> Clang:
    """Return the compiler with the flags that a source needs, depending on its language.

    They name the language, slowpath's headers and Click elements. The user's flags take precedence.
    `data` is the source code.
    """
    extension = Path(file).suffix
    own = (*FLAGS, *aliases(data)) if extension in CPLUSPLUS else FIND
    own = (*own, *address_form(file, data, clang.flags))
    behind = package_flags(file) if extension in CPLUSPLUS else ()
    return clang._replace(flags=(*_COMPILED.get(extension, ()), *own, *clang.flags, *behind))


def compile_source(file: str, data: bytes, clang: Clang, form: Form = BITCODE) -> bytes:
    """Compile C or C++ source with the code of `--setup`, and return the output in the given form.

    `data` is the source code in `file`.

    Raises:
        InputError: if the source does not compile.
        StoppedError: if no time is left to compile the source.
    """
    compiler = compiler_for(file, data, clang)
    if any(flag.startswith(_CODE) for flag in clang.flags):
        return _with_setup(file, compiler, form)
    return compile_c(file, compiler, form)


def _others(needed: Sequence[Path], clang: Clang) -> Iterator[bytes]:
    """Compile the further sources that a Click element needs, and yield their bitcode.

    Sources that do not compile are skipped.
    """
    flags = tuple(flag for flag in clang.flags if not flag.startswith(_CODE))
    for one in needed:
        # An error in another source is reported where the element calls it.
        with suppress(InputError, OSError):
            other = compiler_for(str(one), one.read_bytes(), clang._replace(flags=flags))
            yield compile_c(str(one), other._replace(flags=(*other.flags, COMPANION)), BITCODE)


def _with_setup(file: str, clang: Clang, form: Form) -> bytes:
    """Compile a source together with the code of `--setup`.

    The code comes after the source, so that it can use the source's static variables.
    """
    language = ("-x", "c++") if Path(file).suffix in CPLUSPLUS else ("-x", "c")
    flags = (*language, *clang.flags, "-include", file)
    try:
        return compile_c(str(HEADERS / "nic" / "setup.c"), clang._replace(flags=flags), form)
    except InputError as problem:
        raise InputError(problem.code, file, problem.reason) from None


def load_source(file: str, clang: Clang) -> Source:
    """Read a file, and compile it to LLVM IR if it is C or C++.

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
"""Pattern for comments and for quoted text, because quoted text may contain comment marks."""
_CONTEXT = re.compile(rb"\bxdp_md\b")
_MACRO = re.compile(rb'\bSEC\s*\(\s*"')
"""libbpf's macro for a program's section; other sources use at most the attribute."""
_ATTRIBUTE = re.compile(rb'\bsection\s*\(\s*"')
_INCLUDE = rb'^[ \t]*#[ \t]*include[ \t]*[<"]'
_MAX_FILES = 32
"""Maximum number of local files that are searched for one source."""
_HELPERS = re.compile(_INCLUDE + rb"(?:bpf/)?(?:bpf_helpers|vmlinux)\.h\b", re.MULTILINE)
"""Headers that only BPF programs include."""
_KERNEL = re.compile(_INCLUDE + rb"linux/bpf\.h\b", re.MULTILINE)
_USER = re.compile(_INCLUDE + rb"(?:bpf/)?(?:libbpf|bpf)\.h\b", re.MULTILINE)
"""Headers that loaders of BPF programs include, besides `linux/bpf.h`."""


def is_xdp(file: str) -> bool:
    """Return true if a C source, or a local file that it includes, has an XDP program.

    The result is false for a loader of BPF programs, even if it includes their code.

    Raises:
        InputError: if the file cannot be read.
    """
    code = _kernel_code(file)
    section = _MACRO.search(code) or _ATTRIBUTE.search(code)
    return section is not None and _CONTEXT.search(code) is not None


def _kernel_code(file: str) -> bytes:
    """Return the code of a C source and of the local files that it includes.

    The result is empty for a loader of BPF programs.
    """
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

    Call this for sources that do not compile for this machine: they may compile for BPF. The source
    need not contain a program. If a file ends before its first program, clang's errors for this
    machine mislead, too.

    Raises:
        InputError: if the file cannot be read.
    """
    code = _kernel_code(file)
    return any(one.search(code) for one in (_KERNEL, _HELPERS)) or is_xdp(file)


def _all_code(file: str) -> bytes:
    """Return the code of a source and of the local files that it includes.

    At most `_MAX_FILES` files are read.
    """
    found, left = dict[Path, bytes](), [Path(file)]
    while left and len(found) < _MAX_FILES:
        one = left.pop()
        if one in found or (found and not one.is_file()):
            continue
        found[one] = _code(str(one))
        left += [one.parent / name.decode(errors="replace") for name in _QUOTED.findall(found[one])]
    return b"\n".join(found.values())


def _code(file: str) -> bytes:
    """Return the code of a source file without comments."""
    return _COMMENT.sub(rb" \1", read_program(file))
