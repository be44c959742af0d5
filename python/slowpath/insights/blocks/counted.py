"""Counts the SmartNIC instructions of each basic block of a program, by compiling it.

clang compiles the source to BPF, and slowpath compiles BPF to instructions of the SmartNIC. Each
SmartNIC instruction belongs to a BPF instruction, and this to a block of LLVM IR.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import llvmlite.binding as llvm

from slowpath.core import codes
from slowpath.core.engine import analyses, objects, targets
from slowpath.core.engine.analyses import CardProgram, StandIn
from slowpath.core.errors import InputError, StoppedError
from slowpath.core.jobs import Stopping
from slowpath.core.programs.loading import KernelBtf
from slowpath.core.programs.selection import UNKNOWN
from slowpath.insights.blocks import pointers
from slowpath.insights.blocks.backend import BpfInstruction, layout, slots_of
from slowpath.insights.blocks.documents import (
    TARGET,
    PredictedBlock,
    PredictedFunction,
    PredictedProgram,
    Question,
    Times,
    Uncounted,
)
from slowpath.insights.blocks.pointers import IrModule, Kind, Traced
from slowpath.insights.source.bpf_steps import lowered, programs, without_other_programs
from slowpath.insights.source.functions import Block, Function, functions_of
from slowpath.insights.source.metadata import with_known_maps

_CALL = re.compile(r"^call (bpf_\w+)")
_REFUSED_CALL = re.compile(r"^(bpf_\w+)\b")
_MAP = re.compile(r"\bmap\[([^\]]+)\]")
_STATE = ("element", "global variable", "atomic")
_NO_ACCESS = re.compile(r"stack access|xdp_md")
"""Pattern for the reasons of rejected accesses that concern neither packets nor state."""


@dataclass
class Counted:
    """Counts of instructions and memory accesses for one basic block."""

    bpf: int = 0  # BPF instructions
    instructions: int = 0  # card instructions except for framework calls
    call_instructions: int = 0  # card instructions for framework calls
    packet: int = 0  # accesses to the packet
    state: int = 0  # accesses to state
    unknown: int = 0  # accesses to packet or state
    calls: Counter[str] = field(default_factory=Counter)  # framework calls by name
    refused: Counter[str] = field(default_factory=Counter)  # unsupported operations by reason


def counted(
    file: str,
    program: CardProgram,
    layout: Mapping[str, list[BpfInstruction]],
    exchanged: Mapping[str, str],
    called: Mapping[tuple[str, int], str],
) -> dict[str, dict[str, Counted]]:
    """Count the SmartNIC instructions of a compiled program, by function and block.

    Code outside of blocks has an empty block name. `layout` has the BPF instructions of each
    function. `exchanged` has the BPF maps that were replaced, each with the reason. `called` has
    the calls that a stand-in instruction replaces: the name of the callee by calling function and
    instruction slot.

    Raises:
        InputError: when the object has a function that the assembly lacks.
    """
    by_slot, refused = _by_slot(program), {one[:2]: one for one in program.stand_ins}
    texts = {one["slot"]: one["text"] for one in program.compiled["bpf"]}
    found = dict[str, dict[str, Counted]]()
    for name, first in program.functions:
        if name not in layout:
            raise InputError(
                codes.NO_SUCH_FUNCTION, file, f"the assembly does not have the function {name}"
            )
        blocks = found.setdefault(name, {})
        for _, at, one in slots_of({name: layout[name]}):
            block = blocks.setdefault(one.block, Counted())
            block.bpf += 1
            slots = () if first is None else range(first + at, first + at + one.slots)
            made = [text for slot in slots for text in by_slot.get(slot, [])]
            lacks, text = refused.get((name, at)), "".join(texts.get(slot, "") for slot in slots)
            if (name, at) in called:
                block.calls[called[name, at]] += 1
                block.call_instructions += len(made)
            elif lacks is not None:
                _refused(block, lacks)
            else:
                _made(block, text, made)
                named = _MAP.search(text)
                if named and named[1] in exchanged:
                    block.refused[exchanged[named[1]]] += 1
    return found


def _by_slot(program: CardProgram) -> dict[int, list[str]]:
    """Return the texts of a program's SmartNIC instructions, by slot index in the BPF program."""
    found = dict[int, list[str]]()
    for one in program.compiled["instructions"]:
        if one["bpf"] is not None:
            found.setdefault(one["bpf"], []).append(one["text"])
    return found


def _made(block: Counted, text: str, made: list[str]) -> None:
    """Add a BPF instruction that the SmartNIC supports to the counts of a block.

    `text` is the BPF instruction, and `made` are the SmartNIC instructions compiled from it.
    """
    call = _CALL.match(text)
    if call:
        block.calls[call[1]] += 1
        block.call_instructions += len(made)
        return
    block.instructions += len(made)
    for one in made:
        if one.startswith("mem["):
            if "<<8" in one:
                block.state += 1
            else:
                block.packet += 1


def _refused(block: Counted, one: StandIn) -> None:
    """Add a BPF instruction that the SmartNIC does not support to the counts of a block.

    `one` describes the instruction that stands in for it.
    """
    block.refused[one.reason] += 1
    call = _REFUSED_CALL.match(one.reason)
    if call:
        block.calls[call[1]] += 1
        return
    if not one.accesses_memory or _NO_ACCESS.search(one.reason):
        return
    if any(word in one.reason for word in _STATE):
        block.state += 1
    else:
        block.unknown += 1


# --- programs -------------------------------------------------------------------------------------

_KINDS = frozenset({"xdp", UNKNOWN})
_NO_PROGRAM = ".text"
"""Section of functions that are only called by programs; their arguments are unknown."""
UNREACHED = (
    "the block was not counted, because it became unreachable when unsupported instructions "
    "were replaced"
)


class Made(NamedTuple):
    """Facts about a BPF program that slowpath made from a plain function by adding code.

    They serve to leave the added code out of the counts.
    """

    kinds: list[Kind]  # targets of the function's parameters
    called: Mapping[
        tuple[str, int], str
    ]  # by function and slot, the callee that a stand-in replaces
    lacks: Mapping[tuple[str, str], Counter[str]]  # by function and block, features that BPF lacks
    functions: frozenset[str]  # functions that are not in the source
    blocks: str  # name prefix of blocks that are not in the source


class Module(NamedTuple):
    """A source with BPF programs, compiled to LLVM IR and to a BPF object."""

    language: IrModule
    layout: dict[str, list[BpfInstruction]]
    object: objects.Object
    programs: list[objects.ProgramInfo]
    exchanged: dict[str, str]  # maps of a replaced type, with the reason
    made: Made | None = None  # None: the source itself defines the programs


class CountedProgram(NamedTuple):
    """The instruction counts of a program, with the symbols of its functions."""

    program: PredictedProgram
    symbols: list[str]  # of the functions in `program`, in the same order


def counted_programs(
    question: Question, text: str, stopping: Stopping
) -> Iterator[PredictedProgram | Uncounted]:
    """Yield the instruction counts of each BPF program in a source.

    `text` is the LLVM IR of the source for BPF. A program that cannot be counted yields the reason.

    Raises:
        InputError: when the source cannot be compiled, or lacks the requested program.
        StoppedError: when `stopping` asks to stop.
    """
    names = programs(text)
    try:
        module = load(question, text)
    except StoppedError:
        raise
    except InputError:
        if len(names) < 2 or question.entry not in (None, *names):  # noqa: PLR2004
            raise
        requested = names if question.entry is None else [question.entry]
        for name in requested:  # clang may reject one program and accept the others
            alone = question._replace(entry=name)
            yield _counted(name, partial(_alone, alone, text, stopping))
        return
    for program in module.programs:
        yield _counted(program.name, partial(count, question, module, program, stopping))


def _alone(question: Question, text: str, stopping: Stopping) -> CountedProgram:
    """Return the instruction counts of the requested program, compiled without other programs.

    The back end may reject another program of the source. `text` is the source's LLVM IR for BPF.
    """
    module = load(question, without_other_programs(text, question.entry or ""))
    return count(question, module, module.programs[0], stopping)


def _counted(name: str, work: Callable[[], CountedProgram]) -> PredictedProgram | Uncounted:
    """Run `work`, which counts the program `name`, and return the counts.

    If it fails with an `InputError`, return the reason.
    """
    try:
        return work().program
    except StoppedError:
        raise
    except InputError as problem:
        return {"entry": name, "reason": problem.reason}


def load(question: Question, text: str) -> Module:
    """Compile the LLVM IR `text` of a source to a BPF object, and find its programs.

    Raises:
        InputError: when the source does not compile, or lacks the requested program.
        StoppedError: when the deadline passes first.
    """
    exchanged = with_known_maps(text)
    made = lowered(question.file, exchanged.text, question.clang)
    functions = functions_of(llvm.parse_assembly(made.llvm))
    compiled = objects.read_object(question.file, made.object)
    found = objects.programs(compiled) or []
    found = [one for one in found if one.kind in _KINDS and one.section != _NO_PROGRAM]
    requested = [one for one in found if question.entry in (None, one.name)]
    if not requested:
        has = (
            f"its programs are {', '.join(one.name for one in found)}"
            if found
            else "it has no programs"
        )
        missing = "an XDP program" if question.entry is None else f"a program {question.entry!r}"
        more = "--model learnt also predicts other functions"
        raise InputError(
            codes.NO_SUCH_FUNCTION,
            question.file,
            f"the file does not contain {missing}; {has}; {more}",
        )
    placed = layout(made.assembler)
    check(question.file, placed, compiled)
    language = IrModule(made.llvm, functions)
    return Module(language, placed, compiled, requested, exchanged.reasons)


def check(file: str, placed: Mapping[str, list[BpfInstruction]], compiled: objects.Object) -> None:
    """Check that assembly and object of a source have the same number of instruction slots.

    `placed` has the instructions of the assembly, by function. The numbers differ for functions
    with inline assembly, so their instructions cannot be assigned to blocks.

    Raises:
        InputError: when the numbers differ.
    """
    slots = objects.function_slots(compiled)
    for one in placed:
        expected = sum(each.slots for each in placed[one])
        if slots.get(one, expected) != expected:  # unknown if the object's code is not valid
            raise InputError(
                codes.SOURCE_NOT_SUPPORTED,
                file,
                f"the function {one} has inline assembly, which slowpath cannot assign "
                "to a block; use C",
            )


def count(
    question: Question, module: Module, program: objects.ProgramInfo, stopping: Stopping
) -> CountedProgram:
    """Count the SmartNIC instructions of a program for each basic block.

    Raises:
        InputError: when the SmartNIC cannot run the program, even with stand-ins for unsupported
            instructions.
        StoppedError: when `stopping` asks to stop.
    """
    made, done = module.made, compiled_for_card(question, module, program, stopping)
    called = {} if made is None else made.called
    blocks = counted(question.file, done, module.layout, module.exchanged, called)
    wrapper = 0 if made is None else _remove_added(blocks, made)
    kinds: list[Kind] = ["context"] if made is None else made.kinds
    traced = module.language.traced(program.name, kinds)
    functions = [_function(name, traced, blocks[name], module.language) for name in blocks]
    rows = [row for one in functions for row in one["blocks"]]
    if done.stand_ins:
        _mark_unreached(rows)
    counts: PredictedProgram = {
        "entry": traced[program.name].function.shown,
        "model": "exact",
        "why": None,
        "functions": functions,
        "instructions": sum(one["instructions"] for one in rows),
        "wrapper": wrapper,
        "around": sum(one["bpf"] is None for one in done.compiled["instructions"]),
        "total": None
        if any(row["refused"] for row in rows)
        else len(done.compiled["instructions"]),
    }
    return CountedProgram(counts, list(blocks))


def compiled_for_card(
    question: Question, module: Module, program: objects.ProgramInfo, stopping: Stopping
) -> analyses.CardProgram:
    """Compile a program for the SmartNIC.

    Stand-in instructions replace those that the SmartNIC lacks.

    Raises:
        InputError: when the SmartNIC cannot run the program, even with stand-ins.
        StoppedError: when `stopping` asks to stop.
    """
    btf = KernelBtf(None).for_program(needed=program.needs_kernel)
    subject = objects.Subject(question.file, module.object, program.number, btf)
    kernel_calls = [
        (name, slot, one.calls)
        for name, slot, one in slots_of(module.layout)
        if one.slots == 1 and one.calls is not None and one.calls not in module.layout
    ]
    return analyses.compiled_with_stand_ins(
        subject,
        targets.builtin_target(TARGET),
        analyses.Options(map_abi=question.map_abi),
        analyses.Unresolved(kernel_calls, verified=module.made is None),
        stopping,
    )


def _remove_added(blocks: dict[str, dict[str, Counted]], made: Made) -> int:
    """Remove blocks that slowpath added to the source, and return the number of their instructions.

    `blocks` has the counts by function and block. Features that BPF lacks (`made.lacks`) are added
    to the counts of the remaining blocks.
    """
    added = list[Counted]()
    for name in list(blocks):
        if name in made.functions:
            added += blocks.pop(name).values()
            continue
        for block in list(blocks[name]):
            if block.startswith(made.blocks):
                added.append(blocks[name].pop(block))
            else:
                blocks[name][block].refused.update(made.lacks.get((name, block), Counter()))
    return sum(one.instructions + one.call_instructions for one in added)


def _function(
    name: str, traced: Mapping[str, Traced], blocks: dict[str, Counted], language: IrModule
) -> PredictedFunction:
    one = traced[name]
    function = one.function
    known = {block.name: block for block in function.blocks}
    order = [*known, *(other for other in blocks if other not in known)]
    rows = [
        _block(known.get(each), each, blocks.get(each, Counted()), one, language) for each in order
    ]
    return function_row(function, rows)


def function_row(function: Function, blocks: list[PredictedBlock]) -> PredictedFunction:
    """Return the entry for a function in the JSON document, with the entries of its blocks."""
    return {
        "name": function.shown,
        "file": function.line.file if function.line else "",
        "line": function.line.line if function.line else 0,
        "blocks": blocks,
    }


def _block(
    block: Block | None, name: str, counts: Counted, traced: Traced, language: IrModule
) -> PredictedBlock:
    line = language.first_line(block)
    packet, state = _resolved(block, counts, traced)
    return {
        "name": name,
        "file": line.file if line else "",
        "line": line.line if line else 0,
        "llvm": 0 if block is None else pointers.counted(block),
        "bpf": counts.bpf,
        "instructions": counts.instructions,
        "low": counts.instructions,
        "high": counts.instructions,
        "call_instructions": counts.call_instructions,
        "accesses": {
            "packet": counts.packet + packet,
            "state": counts.state + state,
            "unknown": counts.unknown - packet - state,
        },
        "calls": times_of(counts.calls),
        "refused": times_of(counts.refused),
    }


def _mark_unreached(rows: list[PredictedBlock]) -> None:
    """Mark blocks that have BPF instructions but no SmartNIC instructions as not counted.

    The SmartNIC's compiler drops unreachable code. Such code may be reachable in the original
    program, but became unreachable when a stand-in replaced an unsupported instruction.
    """
    for row in rows:
        made = row["instructions"] or row["call_instructions"]
        if row["bpf"] and not made and not row["refused"]:
            row["refused"] = [{"what": UNREACHED, "times": 1}]


def _resolved(block: Block | None, counts: Counted, traced: Traced) -> tuple[int, int]:
    """Assign a block's accesses to unknown memory to either the packet or state.

    Return how many access the packet, and how many access state. The kinds of pointers in the LLVM
    IR decide. The SmartNIC can serve several loads with one read. Therefore, if some pointers are
    unknown, accesses count for the packet only if no other SmartNIC instruction accesses the
    packet.
    """
    if block is None or not counts.unknown:
        return 0, 0
    kinds = Counter(one.kind for one in pointers.accesses(block, traced.provenance))
    state = kinds["state"] + kinds["constant"]
    if not kinds["unknown"] and bool(kinds["packet"]) != bool(state):
        return (counts.unknown, 0) if kinds["packet"] else (0, counts.unknown)
    left = min(counts.unknown, max(0, state - counts.state))
    packet = 0 if kinds["unknown"] and counts.packet else kinds["packet"]
    return min(packet, counts.unknown - left), left


def times_of(counts: Counter[str]) -> list[Times]:
    """Convert counts of names to entries of the JSON document, sorted by name."""
    return [{"what": name, "times": times} for name, times in sorted(counts.items())]
