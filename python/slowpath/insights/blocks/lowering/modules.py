"""LLVM's language of a source, made ready for the back end for BPF.

C is compiled for BPF where clang takes it so. C++ (elements in the manner of Click), C that only
compiles for this machine, and LLVM's own files are compiled for this machine, and then optimised
and lowered as if they were for BPF: both have pointers of 64 bits and the same order of bytes.
"""

import re
from pathlib import Path
from typing import NamedTuple

import llvmlite.binding as llvm

from slowpath.cli.errors import InputError
from slowpath.insights.blocks.exact.steps import CPU, LAYOUT, TRIPLE, language, named
from slowpath.insights.preparation.functions import functions_of
from slowpath.insights.preparation.modules import keep_loops, read_module, set_apart
from slowpath.insights.preparation.sources import Source, load_source
from slowpath.programs.sources import Clang

_TARGET = re.compile(
    r'"(?:target-cpu|target-features|tune-cpu|stack-protector[\w-]*|probe-stack|'
    r'min-legal-vector-width|frame-pointer)"="[^"]*"'
)
_HEAD = re.compile(r'^target (datalayout|triple) = "[^"]*"$', re.MULTILINE)
_UWTABLE = re.compile(r" uwtable(?:\(\w+\))?| personality ptr @[\w.$]+")


class Prepared(NamedTuple):
    """A source in LLVM's language, with names of blocks."""

    text: str
    for_bpf: bool  # whether clang compiled it for BPF


def prepared(file: str, clang: Clang) -> Prepared:
    """A source, ready for the back end.

    Raises:
        InputError: when it cannot be read or compiled.
        StoppedError: when the time is up before.
    """
    first: InputError | None = None
    if Path(file).suffix == ".c":
        try:
            return Prepared(language(file, clang), for_bpf=True)
        except InputError as problem:
            first = problem
    try:
        source = load_source(file, clang)
    except InputError as problem:
        raise (first or problem) from None
    text = _of_bpf(source)
    if text is not None:
        return Prepared(named(text), for_bpf=True)
    keep_loops()
    module = read_module(source)
    text = retargeted(str(module))
    text = optimised(text) if source.compiled else str(llvm.parse_assembly(text))
    return Prepared(named(text), for_bpf=False)


def _of_bpf(source: Source) -> str | None:
    """The text of a module that is for BPF already."""
    try:
        if source.kind == "bitcode":
            module = llvm.parse_bitcode(source.data)
        else:
            module = llvm.parse_assembly(source.data.decode(errors="replace"))
    except RuntimeError:
        return None  # whoever reads it next says why
    return str(module) if module.triple.startswith(TRIPLE) else None


def retargeted(text: str) -> str:
    """A module for BPF instead of this machine."""
    heads = {"datalayout": LAYOUT, "triple": TRIPLE}
    text = _HEAD.sub(lambda found: f'target {found[1]} = "{heads[found[1]]}"', text)
    return _UWTABLE.sub("", _TARGET.sub("", text))


def optimised(text: str) -> str:
    """A module after the passes of -O2 for BPF.

    Functions of the user may be inlined, and stay themselves; those of the headers are calls of the
    framework.
    """
    module = llvm.parse_assembly(text)
    support = {one.name for one in functions_of(module).values() if one.supports}
    set_apart(module, support.__contains__)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=CPU, opt=2)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return str(module)
