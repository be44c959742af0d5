"""XDP programs in C as sources that run here; all other sources are as they are."""

import re

from slowpath.cli.errors import InputError, StoppedError
from slowpath.insights.blocks.exact.steps import from_llvm, language, named
from slowpath.insights.porting.xdp.here import ported
from slowpath.insights.preparation.framework import HEADERS
from slowpath.insights.preparation.kernel import is_xdp
from slowpath.insights.preparation.sources import Source, load_source
from slowpath.programs.clang import OBJECT, Form, compile_c
from slowpath.programs.sources import Clang

_MAPS = re.compile(r'^@[^\n]*section "\.?maps"', re.MULTILINE)
_OWN = re.compile(r"^define (?:internal|private|available_externally) ", re.MULTILINE)
_SUPPORT = Form(
    (
        *("-O1", "-g", "-w", "-emit-llvm", "-fno-strict-aliasing", "-fwrapv"),
        *("-fno-stack-protector", "-U_FORTIFY_SOURCE", "-fno-unroll-loops"),
        *("-fno-vectorize", "-fno-slp-vectorize"),
    ),
    "bc",
    "bitcode",
    kernel=False,
)
_NO_PASSES = ("-w", "-Xclang", "-disable-llvm-passes")
_FROM_TEXT = Form((*OBJECT.words, *_NO_PASSES, "-x", "ir"), "o", "object", kernel=False)
_READ = Form(
    (
        *(*OBJECT.words, *_NO_PASSES, "-S", "-emit-llvm", "-femit-all-decls"),
        *("-fno-discard-value-names", "-fno-strict-aliasing", "-fwrapv"),
    ),
    "ll",
    "text of LLVM",
    kernel=True,
)
_OPTIMISED = Form(
    (*OBJECT.words, "-w", "-fno-discard-value-names", "-S", "-emit-llvm", "-x", "ir"),
    "ll",
    "text of LLVM",
    kernel=False,
)


def load_runnable(file: str, clang: Clang) -> Source:
    """Reads a source that is to run: an XDP program as it is compiled for BPF.

    Raises:
        InputError: when it cannot be read or compiled.
        StoppedError: when there is no time left to compile it.
    """
    if not is_xdp(file):
        return load_source(file, clang)
    text = language(file, clang)
    support = compile_c(str(HEADERS / "nic" / "xdp.c"), clang._replace(flags=()), _SUPPORT)
    ran = ported(text).encode()
    made = _object(file, text, clang) if _MAPS.search(text) else b""
    return Source(file, ran, "text", compiled=False, support=support, object=made)


def _object(file: str, text: str, clang: Clang) -> bytes:
    """What the kernel would load; nothing where clang makes no code of it."""
    try:
        return from_llvm(file, text, clang, _FROM_TEXT)
    except StoppedError:
        raise
    except InputError:
        return b""


def load_examined(file: str, clang: Clang) -> Source:
    """Reads a source whose functions are called one by one, with arguments that are made up.

    An XDP program that does not compile for this machine is compiled for BPF, each function by
    itself, with those that are part of who calls them; of helpers of the kernel, none is there.

    Raises:
        InputError: when it cannot be read or compiled.
        StoppedError: when there is no time left to compile it.
    """
    try:
        return load_source(file, clang)
    except StoppedError:
        raise
    except InputError:
        if not is_xdp(file):
            raise
    read = _OWN.sub("define ", compile_c(file, clang, _READ).decode(errors="replace"))
    text = ported(named(from_llvm(file, read, clang, _OPTIMISED).decode(errors="replace")))
    return Source(file, text.encode(), "text", compiled=True)
