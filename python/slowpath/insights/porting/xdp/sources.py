"""XDP programs in C as sources that run here; all other sources are as they are."""

from slowpath.insights.blocks.exact.steps import language
from slowpath.insights.porting.xdp.here import ported
from slowpath.insights.preparation.framework import HEADERS
from slowpath.insights.preparation.kernel import is_xdp
from slowpath.insights.preparation.sources import Source, load_source
from slowpath.programs.clang import Form, compile_c
from slowpath.programs.sources import Clang

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


def load_runnable(file: str, clang: Clang) -> Source:
    """Reads a source that is to run: an XDP program as it is compiled for BPF.

    Raises:
        InputError: when it cannot be read or compiled.
        StoppedError: when there is no time left to compile it.
    """
    if not is_xdp(file):
        return load_source(file, clang)
    text = ported(language(file, clang))
    support = compile_c(str(HEADERS / "nic" / "xdp.c"), clang._replace(flags=()), _SUPPORT)
    return Source(file, text.encode(), "text", compiled=False, support=support)
