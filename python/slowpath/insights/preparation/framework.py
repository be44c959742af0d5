"""The headers in the manners of Click and DPDK, and what of a module is theirs."""

import re
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
