"""Compiles a source to BPF instructions, from which a learnt model predicts SmartNIC instructions.

LLVM's BPF back end rejects some code, so the LLVM IR is rewritten first:

- Functions get at most five parameters; they load others from the stack, and calls drop them.
- Copies of unknown length become calls.
- Atomic operations become unordered, as on the SmartNIC, and divisions become unsigned.

C compiles for BPF if clang accepts it. C++ (elements in the style of Click), other C, and LLVM IR
compile for this machine. LLVM's passes and the back end then treat the LLVM IR as code for BPF,
which has the same byte order and size of pointers.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import llvmlite.binding as llvm

from slowpath.core.engine.objects import Functions, Given, read_functions
from slowpath.core.errors import InputError
from slowpath.core.programs.sources import Clang
from slowpath.insights.blocks.backend import Assembler, BpfInstruction, assembler, layout
from slowpath.insights.source.bpf_steps import CPU, LAYOUT, TRIPLE, compile_to_ir, named
from slowpath.insights.source.functions import Parameter, functions_of
from slowpath.insights.source.modules import (
    bracketed_prefix,
    keep_crc_loops,
    prevent_inlining,
    read_module,
    split_at_commas,
)
from slowpath.insights.source.sources import Source, load_source

_MAX_PARAMETERS = 5
_COPIES = 1 << 10
"""Largest aligned copy that the back end expands to loads and stores, in bytes."""
_CALL = re.compile(r'(\bcall [^@\n]*?)(@(?:"(?:[^"\\]|\\.)*"|[\w.$-]+)|%[\w.$-]+)(?=\()')
_DEFINE = re.compile(r'^(define [^\n]*?@(?:"(?:[^"\\]|\\.)*"|[\w.$-]+))(?=\()')
_MEMORY = re.compile(r"@llvm\.(memcpy|memmove|memset)\.[\w.]+$")
_LABEL = re.compile(r'^(?:"(?:[^"\\]|\\.)*"|[-\w.$]+):')
_SIGNED = re.compile(r" = s(div|rem) ")
_MEMORY_PASSED = re.compile(r' (?:sret|byval)\((?:"[^"\n]*"|[^()"\n])*\)')
"""Attributes of pointers to structures that a function returns or takes by value."""
_ORDERED = re.compile(r" (?:seq_cst|acq_rel|acquire|release)(?=$|[ ,])")
"""Memory orderings for which newer LLVM versions read memory even if the result is unused."""
_COPY_PREFIX = "slowpath_"
"""Name prefix of functions that replace copies of unknown length."""


class Described(NamedTuple):
    """A BPF instruction, described by words from which a learnt model predicts its costs.

    The words state its operation and the kinds of its operands.
    """

    block: str  # name of the LLVM block
    words: tuple[str, ...]
    pieces: int  # card instructions that follow from the access's length and alignment alone
    pointee: str  # kind of memory that the instruction accesses; empty: none


def legal(text: str) -> str:
    """Return the LLVM IR `text`, rewritten so that LLVM's BPF back end accepts it."""
    lines, copies, loads = list[str](), set[str](), list[str]()
    for line in _MEMORY_PASSED.sub("", text).splitlines():
        if loads and not _LABEL.match(line):
            lines, loads = lines + loads, []
        if line.startswith("define "):
            head, *loads = _defined(line)
            lines.append(head)
        elif " = sdiv " in line or " = srem " in line:
            lines.append(_SIGNED.sub(r" = u\1 ", line))
        elif " = atomicrmw " in line:
            lines.append(_ORDERED.sub(" monotonic", line))
        elif "call " in line and line.startswith("  "):
            lines.append(_called(line, copies))
        else:
            lines.append(line)
    lines += [f"declare void @{name}(ptr, ptr, i64)" for name in sorted(copies)]
    return "\n".join(lines) + "\n"


def _defined(line: str) -> list[str]:
    """Limit a function definition in LLVM IR to five parameters.

    Return the shortened definition line, followed by loads from the stack that define the other
    parameters. Other lines are returned unchanged.
    """
    head = _DEFINE.match(line)
    if head is None:
        return [line]
    inside = bracketed_prefix(line[head.end() :])
    passed = split_at_commas(inside[1:-1]) if inside != "()" else []
    if len(passed) <= _MAX_PARAMETERS or not line.rstrip().endswith("{"):
        return [line]
    rest = line[head.end() + len(inside) :]
    lines = [f"{head[1]}({', '.join(passed[:_MAX_PARAMETERS])}){rest}"]
    for index, one in enumerate(passed[_MAX_PARAMETERS:]):
        words = one.split()
        lines += [
            f"  %slowpath.{index} = alloca i64, align 8",
            f"  {words[-1]} = load volatile {words[0]}, ptr %slowpath.{index}, align 8",
        ]
    return lines


def _called(line: str, copies: set[str]) -> str:
    """Limit a call in LLVM IR to five arguments, and return the changed line.

    A call that copies memory may become the call of a new function; its name is added to `copies`.
    """
    found = _CALL.search(line)
    if found is None:
        return line
    inside = bracketed_prefix(line[found.end() :])
    passed = split_at_commas(inside[1:-1])
    memory = _MEMORY.match(found[2])
    if memory:
        return _copied(line, passed, memory[1], copies)
    if len(passed) <= _MAX_PARAMETERS or found[2].startswith("@llvm."):
        return line
    cut = re.sub(r" \([^()]*\) $", " ", found[1])  # drop the type of a variadic function
    rest = line[found.end() + len(inside) :]
    return f"{line[: found.start()]}{cut}{found[2]}({', '.join(passed[:_MAX_PARAMETERS])}){rest}"


def _copied(line: str, passed: list[str], operation: str, copies: set[str]) -> str:
    """Return a call that copies or fills memory, in a form that the BPF back end accepts.

    If the back end would not expand the call to loads and stores, a call of a new function replaces
    it, and its name is added to `copies`. `passed` are the arguments, and `operation` is the name
    of the C function, such as `memcpy`.
    """
    length = passed[2].split()[-1]
    aligned = [int(one) for part in passed[:2] for one in re.findall(r"\balign (\d+)", part)] or [1]
    if length.isdigit() and int(length) <= _COPIES * min(8, *aligned) // 8:
        return line
    if "ptr addrspace" in line:
        return line
    name = f"{_COPY_PREFIX}{operation}"
    copies.add(name)
    to = passed[0].split()[-1]
    other = passed[1].split()[-1] if operation != "memset" else to
    indent = line[: len(line) - len(line.lstrip())]
    return f"{indent}call void @{name}(ptr {to}, ptr {other}, i64 {length})"


_TARGET = re.compile(
    r'"(?:target-cpu|target-features|tune-cpu|stack-protector[\w-]*|probe-stack|'
    r'min-legal-vector-width|frame-pointer)"="[^"]*"'
)
_HEAD = re.compile(r'^target (datalayout|triple) = "[^"]*"$', re.MULTILINE)
_UWTABLE = re.compile(r" uwtable(?:\(\w+\))?| personality ptr @[\w.$]+")


class Prepared(NamedTuple):
    """A source as LLVM IR in which all blocks have names."""

    text: str
    for_bpf: bool  # true if clang compiled it for BPF


def prepared(file: str, clang: Clang) -> Prepared:
    """Compile a source to LLVM IR that is ready for LLVM's BPF back end.

    Raises:
        InputError: when the source cannot be read or compiled.
        StoppedError: when the deadline passes first.
    """
    first: InputError | None = None
    if Path(file).suffix == ".c":
        try:
            return Prepared(compile_to_ir(file, clang), for_bpf=True)
        except InputError as problem:
            first = problem
    try:
        source = load_source(file, clang)
    except InputError as problem:
        raise (first or problem) from None
    text = _of_bpf(source)
    if text is not None:
        return Prepared(named(text), for_bpf=True)
    keep_crc_loops()
    module = read_module(source)
    text = retargeted(str(module))
    text = optimised(text) if source.compiled else str(llvm.parse_assembly(text))
    return Prepared(named(text), for_bpf=False)


def _of_bpf(source: Source) -> str | None:
    """Return the LLVM IR of a source that already targets BPF; None for other sources."""
    try:
        if source.kind == "bitcode":
            module = llvm.parse_bitcode(source.data)
        else:
            module = llvm.parse_assembly(source.data.decode(errors="replace"))
    except RuntimeError:
        return None  # `read_module` reports the error
    return str(module) if module.triple.startswith(TRIPLE) else None


def retargeted(text: str) -> str:
    """Return the LLVM IR `text` with BPF as its target instead of this machine."""
    heads = {"datalayout": LAYOUT, "triple": TRIPLE}
    text = _HEAD.sub(lambda found: f'target {found[1]} = "{heads[found[1]]}"', text)
    return _UWTABLE.sub("", _TARGET.sub("", text))


def optimised(text: str) -> str:
    """Run LLVM's optimisations of level -O2 for BPF on the LLVM IR `text`.

    The user's functions remain even where they are inlined. Functions of slowpath's headers are not
    inlined, because they count as calls of the framework.
    """
    module = llvm.parse_assembly(text)
    support = {one.name for one in functions_of(module).values() if one.supports}
    prevent_inlining(module, support.__contains__)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=CPU, opt=2)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return str(module)


_POINTERS = re.compile(r'^(?:define|declare) [^(\n]*\bptr @("[^"]*"|[\w.$-]+)\(', re.MULTILINE)
_DEBUG = re.compile(r",? !dbg !\d+|^    #dbg_[^\n]*\n|^!llvm\.dbg\.cu = [^\n]*\n", re.MULTILINE)
_PACKETS = re.compile(r"_ZNK?(?:6Packet|14WritablePacket)")
"""Mangled names of C++ methods of packets whose results point into the packet."""


class Machine(NamedTuple):
    """A module compiled to BPF, with the instructions of each function."""

    functions: dict[str, list[BpfInstruction]]  # without rejected functions
    code: Functions | None  # None: the back end rejects all functions
    refused: dict[str, str]  # rejected functions, with reasons
    pointers: frozenset[str]  # functions that return pointers


def lower(file: str, source: Prepared, until: float | None = None) -> Machine:
    """Compile a source from LLVM IR to BPF assembly and to an object.

    Only C compiled for BPF keeps its debug information, which names the fields that programs use.
    Debug information of C++ would crash the back end.

    Raises:
        StoppedError: when the time `until` of the monotonic clock passes first.
    """
    text = source.text
    made = assembler(file, legal(text if source.for_bpf else _DEBUG.sub("", text)), until)
    return machine_of(file, text, made)


def machine_of(file: str, text: str, made: Assembler) -> Machine:
    """Collect the functions that the BPF back end compiled.

    `made` is the output of the back end, and `text` the LLVM IR of the module.
    """
    return Machine(
        {name: one for name, one in layout(made.text).items() if name not in made.refused},
        read_functions(file, made.object) if made.object else None,
        made.refused,
        frozenset(name.strip('"') for name in _POINTERS.findall(text)),
    )


def blocks(
    machine: Machine,
    entry: str,
    parameters: Mapping[str, Sequence[Given]],
    elsewhere: Iterable[str] = (),
) -> dict[str, dict[str, list[Described]]]:
    """Return the BPF instructions of the function `entry` and its callees, by function and block.

    `parameters` has the kinds of values that functions are assumed to take, such as packet
    pointers. It includes functions that no visible call reaches. `elsewhere` are functions without
    bodies that return numbers, not pointers.
    """
    found = dict[str, dict[str, list[Described]]]()
    results = {
        name: Given.descriptor() if _PACKETS.match(name) else Given.state()
        for name in machine.pointers - machine.functions.keys()
    }
    results |= dict.fromkeys(elsewhere, Given.verdict())
    for root in (entry, *parameters):  # some are only called through pointers
        if root in found or root not in machine.functions:
            continue
        for name, rows in described(machine, root, parameters.get(root, ()), results):
            if name in found:
                continue
            inside = found.setdefault(name, {})
            for one in rows:
                inside.setdefault(one.block, []).append(one)
    return found


def described(
    machine: Machine, root: str, arguments: Sequence[Given], results: dict[str, Given]
) -> Iterator[tuple[str, list[Described]]]:
    """Yield the BPF instructions of the function `root` and of its callees, by function.

    `arguments` are the kinds of values that `root` is assumed to take. `results` are those that
    functions without bodies are assumed to return.
    """
    if machine.code is None:
        return
    own = {*machine.functions}
    for name, rows in machine.code.tokens(root, [*arguments], own, results):
        placed = zip(machine.functions[name], rows, strict=True)
        yield (
            name,
            [Described(at.block, tuple(words), more, to) for at, (words, more, to) in placed],
        )


def value(parameter: Parameter, kind: str) -> Given:
    """Return the kind of value that a function's parameter is assumed to have.

    `kind` names the memory to which a pointer is assumed to point, such as `packet` or `state`.
    """
    if parameter.kind != "pointer":
        return Given.number(min(parameter.bits, 64) if parameter.kind == "integer" else 64)
    if kind == "context":
        described = parameter.described
        if described is not None and described.pointee != "xdp_md":
            return Given.descriptor()
        places = {one.name: one.offset for one in described.members} if described else {}
        return Given.context(places.get("data", 0), places.get("data_end", 4))
    if kind == "packet":
        return Given.packet()
    return Given.state() if kind == "state" else Given.unknown()
