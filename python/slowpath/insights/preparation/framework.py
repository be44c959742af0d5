"""The headers in the manners of Click and DPDK, and what of a module is theirs."""

import os
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

HEADERS = Path(__file__).parent / "headers"
"""Found by `#include <click/element.hh>`."""
SUPPORT = ("slowpath_click_", "slowpath_dpdk_", "slowpath_xdp_")
"""What symbols begin with that are no work of a card: what brings packets, and counts."""
ELEMENT = "slowpath_element_"
"""What the symbols of elements begin with, in front of the name of their class."""
_OURS = "/slowpath/insights/preparation/headers/"
_KERNEL = f"{_OURS}nic/xdp.c"
_ENGINE = re.compile(r"(_ZL\d+)?nic_engine_")
_EXPORTED = re.compile(rb"^[ \t]*EXPORT_ELEMENT\(([\w \t-]+)\)", re.MULTILINE)
_BITS, _INCLUDED = "/bits/", "/include/"
_STRUCTURED = re.compile(rb"\b(rte_ip6\.h|rte_ipv6_addr|RTE_IPV6)\b")
_QUOTED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_MISSING = re.compile(r"'(rte_\w+\.h)' file not found")
_MOST_HEADERS = 200
FIND = ("-isystem", str(HEADERS), "-isystem", str(HEADERS / "dpdk"))
"""How clang finds the headers, in C, too."""
FLAGS = (
    *(*FIND, "-std=gnu++17", "-fno-exceptions", "-fno-rtti"),
    *("-fno-threadsafe-statics", "-fno-c++-static-destructors"),
)
"""How C++ is compiled: what cards do not have (exceptions, types at run time) is an error there."""


def aliases(source: bytes) -> tuple[str, ...]:
    """Flags of clang for an element with a second name, `EXPORT_ELEMENT(Class Class-Name)`.

    No macro can take the first of two words.
    """
    exported = _EXPORTED.findall(source)
    if len(exported) != 1 or len(exported[0].split()) == 1:
        return ()
    return (f"-DSLOWPATH_ELEMENT={exported[0].split()[0].decode()}",)


def address_form(file: str, source: bytes, flags: Sequence[str]) -> tuple[str, ...]:
    """Return the flags of clang for a source that has IPv6 addresses as DPDK 24.11 has them.

    They are a structure there, and bytes in release 22.11, of headers of packets too. The source
    tells by the names it uses, or that its own headers use: those in quotes, found beside it or by
    `-I`.
    """
    named = [flag[2:] for flag in flags if flag.startswith("-I") and flag != "-I"]
    named += [word for flag, word in pairwise(flags) if flag == "-I"]
    texts = [(Path(file).parent, source)]
    seen = set[Path]()
    while texts and len(seen) < _MOST_HEADERS:
        folder, text = texts.pop()
        if _STRUCTURED.search(text):
            return ("-DSLOWPATH_DPDK_IPV6",)
        for name in _QUOTED.findall(text):
            beside = (Path(one) / os.fsdecode(name) for one in (str(folder), *named))
            found = next((path for path in beside if path.is_file()), None)
            if found is not None and found.resolve() not in seen:
                seen.add(found.resolve())
                texts.append((found.parent, found.read_bytes()))
    return ()


def missing_header(reason: str) -> str:
    """Return a sentence on a header of DPDK that clang does not find; else nothing."""
    found = _MISSING.search(reason)
    if found is None:
        return ""
    there = ", ".join(sorted(path.stem[4:] for path in (HEADERS / "dpdk").glob("rte_*.h")))
    return (
        f"; headers of slowpath stand in for those of DPDK 22.11, and {found[1]} is not among them"
        f" (rte_*.h of {there}): --cflags=-IFOLDER adds a folder with one of your own"
    )


def is_ours(file: str) -> bool:
    """Whether a file is one of the headers, as debug information names it."""
    return _OURS in f"/{file}"


def is_engine(symbol: str, file: str) -> bool:
    """Whether a function of a file is what an engine of the card does (`nic/engine.h`)."""
    return is_ours(file) and _ENGINE.match(symbol) is not None


def is_support(symbol: str, file: str, *, own: bool = False) -> bool:
    """Whether a function is not the user's: of the headers, of a library, of the compiler.

    `own` functions are in the file that was compiled, wherever it lies; what stands for the kernel
    is compiled by itself.
    """
    if symbol.startswith((*SUPPORT, "_GLOBAL__", "__cxx_global_var_init")):
        return True
    if own:
        return f"/{file}".endswith(_KERNEL)
    return is_ours(file) or (_INCLUDED in file.partition(_BITS)[0] and _BITS in file)
