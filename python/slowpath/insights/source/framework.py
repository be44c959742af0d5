"""Provides headers in place of those of Click and DPDK, and identifies the code in them."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path

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
_KERNEL = f"{_OURS}nic/xdp.c"
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
    """Return the clang flags for an element with a second name, `EXPORT_ELEMENT(Class Class-Name)`.

    A macro cannot extract the first of two words, so a flag passes it.
    """
    exported = _EXPORTED.findall(source)
    if len(exported) != 1 or len(exported[0].split()) == 1:
        return ()
    return (f"-DSLOWPATH_ELEMENT={exported[0].split()[0].decode()}",)


def address_form(file: str, source: bytes, flags: Sequence[str]) -> tuple[str, ...]:
    """Return clang flags for a source that uses the IPv6 addresses of DPDK 24.11; else none.

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
    """Return the folders that `-I` flags name."""
    joined = [Path(flag[2:]) for flag in flags if flag.startswith("-I") and flag != "-I"]
    return joined + [Path(word) for flag, word in pairwise(flags) if flag == "-I"]


def missing_header(reason: str) -> str:
    """Return advice if clang does not find a header of DPDK; else an empty string.

    `reason` is clang's error message.
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
    """Return true if a file, as debug information names it, is one of slowpath's headers."""
    return _OURS in f"/{file}"


def is_engine(symbol: str, file: str) -> bool:
    """Return true if a hardware engine of the SmartNIC does a function's work (`nic/engine.h`)."""
    return is_ours(file) and _ENGINE.match(symbol) is not None


def is_support(symbol: str, file: str, *, own: bool = False) -> bool:
    """Return true if a function belongs to slowpath's headers, a library or the compiler.

    `own` is true for a function of the compiled file. A function of the compiled file counts only
    if that file is slowpath's stand-in for the kernel.
    """
    if symbol.startswith((*SUPPORT, "_GLOBAL__", "__cxx_global_var_init")):
        return True
    if own:
        return f"/{file}".endswith(_KERNEL)
    return is_ours(file) or (_INCLUDED in file.partition(_BITS)[0] and _BITS in file)


def is_framework(symbol: str) -> bool:
    """Return true if slowpath's headers name this support function, unlike a user's function.

    Support code supplies packets, ports and tables.
    """
    names, beginnings = _framework()
    return symbol in names or symbol.startswith(beginnings)


@cache
def _framework() -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the names of support code in the headers, and those to which macros append a word."""
    found = {
        (name.decode(), bool(pasted))
        for path in HEADERS.rglob("*")
        if path.is_file()
        for name, pasted in _NAMED.findall(path.read_bytes())
    }
    names = frozenset(name for name, pasted in found if not pasted)
    return names, tuple(sorted(name for name, pasted in found if pasted))


def package_flags(file: str) -> tuple[str, ...]:
    """Return clang flags that find `elements/...`, if the source is below a folder `elements`."""
    root = next((one.parent for one in Path(file).resolve().parents if one.name == _ROOT), None)
    return () if root is None else ("-idirafter", str(root))


def companions(file: str, source: bytes, flags: Sequence[str]) -> list[Path]:
    """Return the other sources that an element's source needs, in the order of their dependence.

    An element may have a base class with its own methods, or find another element by name. Click
    sources then include a header: the source of `path/other.hh` is `path/other.cc`. `flags` are the
    user's flags.
    """
    return _Companions(file, flags).of(source) if _EXPORTS.search(source) else []


class _Companions:
    """A search for source files that belong to included headers: `x.cc` next to `x.hh`."""

    def __init__(self, file: str, flags: Sequence[str]) -> None:
        self._file = Path(file)
        self._folders = [*_include_folders(flags), *map(Path, package_flags(file)[1:])]
        self._named = [word for flag, word in pairwise(flags) if flag == "-include"]
        self._seen = {self._file.resolve()}
        self._included = set[Path]()
        self._found = list[Path]()

    def of(self, source: bytes) -> list[Path]:
        """Return the other sources that a source needs; none if there are too many."""
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
        """Return the file that an include names; None for slowpath's headers and missing files."""
        if name.startswith(_OUR_FOLDERS):
            return None
        folders = [*([folder] if quote == b'"' else []), *self._folders]
        found = next((path for one in folders if (path := one / name).is_file()), None)
        return None if found is None else found.resolve()
