"""LLVM modules, normalised by one set of passes.

What is read is not trusted: this runs in a process that may die (`slowpath.work.worker`).

Names in quotation marks may have any of them, as those of C++ templates do; a quotation mark
inside of a name is written by its number. Source: LLVM's language reference, Identifiers.
"""

import re
import string
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import TypeAlias

import llvmlite.binding as llvm

from slowpath.core.errors import InputError
from slowpath.insights.source.sources import Source

Machine: TypeAlias = llvm.TargetMachine
Module: TypeAlias = llvm.ModuleRef

_KEPT_INLINE = b"alwaysinline"
_LETTERS = string.ascii_lowercase + string.ascii_uppercase + string.digits + "._"
_HEAD = 128
"""Bytes of bitcode that name its producer."""
_TABLES_SINCE = 22
"""The version of LLVM that knows the option; an unknown one would end the process."""


@cache
def machine(effort: int = 1) -> Machine:
    """This machine, as code for it is made: with so much effort, from 0 (in haste) to 3."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # Headers of the kernel have inline assembly, which is compiled with the rest, and never run.
    llvm.initialize_native_asmparser()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=effort,
        jit=True,
        reloc="pic",
        codemodel="jitdefault",
    )


def read_module(source: Source) -> Module:
    """The module that a file has.

    Raises:
        InputError: when LLVM cannot read it, it is of another LLVM, or for another machine.
    """
    here = machine()
    try:
        if source.kind == "bitcode":
            module = llvm.parse_bitcode(source.data)
        else:
            module = llvm.parse_assembly(source.data.decode())
        module.verify()
    except UnicodeDecodeError as problem:
        raise InputError(source.file, f"is not UTF-8 text (byte {problem.start})") from None
    except RuntimeError as problem:
        raise InputError(source.file, _in_words(source, str(problem))) from None
    wanted, found = here.triple.partition("-")[0], module.triple.partition("-")[0]
    if found not in (wanted, ""):
        reason = f"is for {found}, and this machine is {wanted}; compile it for that"
        raise InputError(source.file, reason)
    module.triple = here.triple
    module.data_layout = str(here.target_data)
    if source.support:
        _link(source, module)
    for other in source.others:
        _add(module, other)
    return module


def _add(module: Module, bitcode: bytes) -> None:
    """Add what another element has, unless it defines what the module does, too."""
    other = llvm.parse_bitcode(bitcode)
    other.triple, other.data_layout = module.triple, module.data_layout
    if not _defined(module) & _defined(other):
        module.link_in(other)


def _defined(module: Module) -> set[str]:
    """Return the functions and variables of a module that no other may define, too."""
    bodies = (
        one for one in (*module.functions, *module.global_variables) if not one.is_declaration
    )
    return {one.name for one in bodies if one.linkage is llvm.Linkage.external}


def _link(source: Source, module: Module) -> None:
    """Adds what stands for the kernel.

    Raises:
        InputError: when a function of the source has the name of one of these.
    """
    support = llvm.parse_bitcode(source.support)
    support.triple, support.data_layout = module.triple, module.data_layout
    try:
        module.link_in(support)
    except RuntimeError as problem:
        raise InputError(
            source.file, f"goes not with the helpers that are here: {problem}"
        ) from None


def optimise(module: Module, *, compiled: bool, kept: Collection[str] = ()) -> None:
    """Runs the passes of -O1 without those that blur what was written: inlining and vectors.

    Static functions become visible first, so that what calls them has nothing to do with what they
    take. Of what others have compiled, only that is changed. `kept` are variables that others than
    the module may read, by symbol, so that they stay as they are.
    """
    set_apart(module, lambda _: compiled)
    if not compiled:
        return
    for variable in module.global_variables:
        if variable.name in kept:
            variable.linkage = llvm.Linkage.external
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = options.slp_vectorization = False
    options.loop_unrolling = options.loop_interleaving = False
    builder = llvm.create_pass_builder(machine(), options)
    builder.getModulePassManager().run(module, builder)


def set_apart(module: Module, apart: Callable[[str], bool]) -> None:
    """Makes all functions visible, and has some not inlined unless their source says so.

    `apart` says of a symbol whether it is one of these.
    """
    for function in module.functions:
        if function.is_declaration:
            continue
        if function.linkage in (llvm.Linkage.internal, llvm.Linkage.private):
            function.linkage = llvm.Linkage.external
        inlined = any(_KEPT_INLINE in words for words in function.attributes)
        if apart(function.name) and not inlined:
            function.add_function_attribute("noinline")


def keep_loops() -> None:
    """Has the passes of this process leave loops that compute a CRC bit by bit as they are.

    LLVM 22 makes look-ups in a table of them, which the source does not have and a card's compiler
    does not make. It holds for all that the process compiles from then on.
    """
    if llvm.llvm_version_info[0] >= _TABLES_SINCE:
        llvm.set_option("", "-disable-loop-idiom-hashrecognize")


def variables_of(module: Module) -> list[tuple[str, int]]:
    """The variables that a module defines: symbols, and how many bytes each has."""
    target = machine().target_data
    return [
        (value.name, target.get_abi_size(value.global_value_type))
        for value in module.global_variables
        if not value.is_declaration and not value.name.startswith("llvm.")
    ]


def llvm_version() -> str:
    """The version of LLVM that reads."""
    return ".".join(map(str, llvm.llvm_version_info))


def _in_words(source: Source, said: str) -> str:
    """What LLVM says, in one line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    first = next((line for line in lines if "error:" in line), lines[-1] if lines else "")
    first = re.sub(r"^<string>:", "line ", first.removeprefix("LLVM IR parsing error").strip())
    if source.kind == "text":
        return f"LLVM {llvm_version()} cannot read it: {first}"
    made = producer(source.data)
    by = f", which LLVM {made} wrote" if made else ""
    if made and int(made.partition(".")[0]) > llvm.llvm_version_info[0]:
        by += ": an older clang ($CLANG) or a newer llvmlite is needed"
    return f"LLVM {llvm_version()} cannot read this bitcode{by}: {first}"


def producer(bitcode: bytes) -> str | None:
    """The version of the LLVM that wrote bitcode; None where it does not say so.

    It is near the start, in letters of 6 bits that begin at any bit (LLVM Bitcode File Format).
    """
    bits = int.from_bytes(bitcode[:_HEAD], "little")
    name = sum(_LETTERS.index(letter) << 6 * at for at, letter in enumerate("LLVM"))
    for start in range(8 * _HEAD):
        if bits >> start & 0xFFFFFF == name:
            rest = bits >> start + 24
            letters = (_LETTERS[rest >> 6 * at & 63] for at in range(12))
            found = re.match(r"\d+(\.\d+)*", "".join(letters))
            if found:
                return found[0]
    return None


_OPENING, _CLOSING = "([{<", ")]}>"


def separated(text: str) -> list[str]:
    """What commas separate, those inside of brackets and names left alone."""
    found, start = list[str](), 0
    for at, letter, depth in _outside(text):
        if letter == "," and not depth:
            found.append(text[start:at].strip())
            start = at + 1
    return [*found, text[start:].strip()]


def enclosed(text: str) -> str:
    """From the bracket with which a text begins to the one that closes it; all where none does."""
    for at, letter, depth in _outside(text):
        if letter in _CLOSING and not depth:
            return text[: at + 1]
    return text


def _outside(text: str) -> Iterator[tuple[int, str, int]]:
    """Letters that are in no name, with the brackets that are open behind them."""
    depth, quoted = 0, False
    for at, letter in enumerate(text):
        quoted ^= letter == '"'
        if quoted:
            continue
        depth += letter in _OPENING
        depth -= letter in _CLOSING
        yield at, letter, depth
