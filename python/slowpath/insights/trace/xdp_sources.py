"""Compiles XDP programs and other kernel sources in C so that they can run on this machine."""

import re
from collections.abc import Collection, Mapping, Sequence

from slowpath.core.engine.objects import MAP_KINDS
from slowpath.core.errors import InputError, StoppedError
from slowpath.core.programs.clang import Form, compile_c
from slowpath.core.programs.sources import Clang
from slowpath.insights.source.bpf_steps import (
    AS_IT_IS,
    AS_OBJECT,
    NAMES,
    OPTIMISED,
    compile_to_ir,
    from_llvm,
    named,
)
from slowpath.insights.source.framework import HEADERS
from slowpath.insights.source.sources import Source, is_for_kernel, is_xdp, load_source
from slowpath.insights.trace.xdp_host_ir import rewrite_for_host
from slowpath.insights.trace.xdp_maps import BLOOM, OF_MAPS, PROGRAMS, LookupCounts, Table, kinds_of

_OWN = re.compile(r"^define (?:internal|private|available_externally) ", re.MULTILINE)
_SUPPORT = Form(
    (
        *("-O1", "-g", "-w", "-emit-llvm", "-fno-strict-aliasing", "-fwrapv"),
        *("-fno-stack-protector", "-U_FORTIFY_SOURCE", "-fno-unroll-loops"),
        *("-fno-vectorize", "-fno-slp-vectorize"),
        *(f"-DBPF_MAP_TYPE_{name.upper()}={number}" for name, number in MAP_KINDS.items()),
    ),
    "bc",
    "bitcode",
    kernel=False,
)
_READ = Form(
    (
        *(*AS_IT_IS, NAMES, "-S", "-emit-llvm", "-femit-all-decls"),
        *("-fno-strict-aliasing", "-fwrapv"),
    ),
    "ll",
    "text of LLVM",
    kernel=True,
)


def load_runnable(file: str, clang: Clang, *, filled: bool = False) -> Source:
    """Load a source to run it over a trace.

    XDP programs, and other kernel sources that do not compile for this machine, compile for BPF.

    The source gets an object file if the user fills maps (`filled`), because definitions of maps
    are read from it. It also gets one for program arrays and maps of maps, to read their content.

    Raises:
        InputError: when the source cannot be read or compiled.
        StoppedError: when no time is left to compile it.
    """
    source = None if is_xdp(file) else _load_here(file, clang)
    if source is not None:
        return source
    text = compile_to_ir(file, clang)
    support = compile_c(str(HEADERS / "nic" / "xdp.c"), clang._replace(flags=()), _SUPPORT)
    ran = rewrite_for_host(text).encode()
    source = Source(file, ran, "text", compiled=False, support=support)
    if not filled and not {PROGRAMS, *OF_MAPS} & {*kinds_of(text).values()}:
        return source
    try:
        return source._replace(object=from_llvm(file, text, clang, AS_OBJECT))
    except StoppedError:
        raise
    except InputError as problem:
        return source._replace(
            lacking=problem.reason.removeprefix("clang cannot compile the source for BPF: ")
        )


def _load_here(file: str, clang: Clang) -> Source | None:
    """Load a source for this machine; return None for a kernel source that does not compile."""
    try:
        return load_source(file, clang)
    except StoppedError:
        raise
    except InputError:
        if not is_for_kernel(file):
            raise
        return None


def load_examined(file: str, clang: Clang) -> Source:
    """Load a source so that its functions can be called one by one, with made-up arguments.

    A kernel source that does not compile for this machine compiles for BPF. Each function stays
    callable, even if its callers inline it. Kernel helpers are not available.

    Raises:
        InputError: when the source cannot be read or compiled.
        StoppedError: when no time is left to compile the source.
    """
    source = _load_here(file, clang)
    if source is not None:
        return source
    read = _OWN.sub("define ", compile_c(file, clang, _READ).decode(errors="replace"))
    text = rewrite_for_host(named(from_llvm(file, read, clang, OPTIMISED).decode(errors="replace")))
    return Source(file, text.encode(), "text", compiled=True)


_FILL = "fill it with --maps FILE"
_ZERO_SEED = 1 << 6
"""Flag of bloom filters that have no random seed (`BPF_F_ZERO_SEED`)."""
_LEAST_SHARE = 1e-4


def unfilled_maps(
    tables: Sequence[Table], looked: Mapping[str, LookupCounts], held: Collection[str]
) -> list[str]:
    """Return notes on maps in which all lookups missed, and on random hits of bloom filters.

    `looked` has the counts of lookups by name of the map. `held` has the names of maps that
    contained an entry at some time.
    """
    notes = list[str]()
    for table in tables:
        name = table.map.name
        found, missed, chance = looked.get(name, LookupCounts(0, 0))
        if table.kind == PROGRAMS and missed:
            often = f"{missed:,} of {found + missed:,} times"
            notes.append(f"bpf_tail_call found no program in the array {name}, {often}; {_FILL}")
        elif missed and name not in held:
            ups = "the only lookup" if missed == 1 else f"all {missed:,} lookups"
            notes.append(f"the map {name} was always empty, so that {ups} missed; {_FILL}")
        if table.kind == BLOOM and chance and not table.map.flags & _ZERO_SEED:
            share = f"{100 * chance:.2g} %" if chance >= _LEAST_SHARE else "less than 0.01 %"
            why = f"the hash seed of {name} is 0, but random in the kernel"
            what = "of absent values are found by chance at the end, in the kernel other ones"
            notes.append(f"{why}: {share} {what}")
    return notes
