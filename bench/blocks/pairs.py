"""Computes training and test data: exact instruction and access counts of programs.

The counts are those of basic blocks, and of single BPF instructions.
"""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from slowpath.core.engine.objects import Given, ProgramInfo
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping
from slowpath.core.programs.sources import Clang
from slowpath.insights.blocks.backend import Assembler
from slowpath.insights.blocks.counted import (
    UNREACHED,
    Module,
    compiled_for_card,
    count,
    counted,
    load,
)
from slowpath.insights.blocks.documents import Question
from slowpath.insights.blocks.lowering import (
    Described,
    Machine,
    Prepared,
    blocks,
    described,
    lower,
    machine_of,
    value,
)
from slowpath.insights.blocks.tokens import Describer
from slowpath.insights.source.bpf_steps import compile_to_ir, lowered
from slowpath.insights.source.metadata import with_known_maps


class Pair(NamedTuple):
    """A basic block as tokens, with the exact counts of its compiled code."""

    program: str
    block: str
    words: list[str]  # tokens of LLVM IR
    machine: list[Described] | None  # BPF instructions of llvmlite's back end, if it compiles
    instructions: int
    packet: int  # accesses of the compiled code, as are the next two
    state: int
    unknown: int
    predicted_packet: int  # accesses in LLVM IR
    predicted_state: int
    refused: bool  # true if the card does not support the block


class Slot(NamedTuple):
    """A BPF instruction from clang as tokens, with the exact counts of its compiled code."""

    block: str
    words: list[str]
    pieces: int
    pointee: str
    instructions: int
    packet: int
    state: int
    unknown: int
    refused: bool


class Counted(NamedTuple):
    """Exact instruction and access counts of one program, by basic block and by BPF instruction."""

    pairs: list[Pair]
    slots: list[Slot]


def pairs(file: str, flags: tuple[str, ...] = ()) -> Iterator[Counted]:
    """Compile a file; yield the exact counts of each program that the code generator accepts."""
    question = Question(file, None, "call", Clang(flags))
    text = compile_to_ir(file, question.clang)
    module = load(question, text)
    machine = lower(file, Prepared(text, for_bpf=True))
    made = lowered(file, with_known_maps(text).text, question.clang)
    exact = machine_of(file, text, Assembler(made.assembler, made.object, {}))
    for program in module.programs:
        with contextlib.suppress(InputError):
            yield Counted(
                list(_of(question, module, program, machine)),
                list(_slots(question, module, program, exact)),
            )


def _of(
    question: Question, module: Module, program: ProgramInfo, machine: Machine
) -> Iterator[Pair]:
    done = count(question, module, program, Stopping()).program
    traced = module.language.traced(program.name, ["context"])
    made = blocks(machine, program.name, {name: [] for name in traced} | _given(module, program))
    rows = {one["name"]: one for one in done["functions"]}
    for name, one in traced.items():
        counted_ = {row["name"]: row for row in rows[one.function.shown]["blocks"]}
        if not any(row["instructions"] or row["call_instructions"] for row in counted_.values()):
            continue  # only called through a pointer, by an unsupported helper: counts are unknown
        for block in Describer(one).said():
            row = counted_[block.block]
            if any(each["what"] == UNREACHED for each in row["refused"]):
                continue  # counts are unknown
            yield Pair(
                program.name,
                block.block,
                list(block.words),
                made[name].get(block.block, []) if name in made else None,
                int(row["instructions"]),
                *(row["accesses"]["packet"], row["accesses"]["state"], row["accesses"]["unknown"]),
                *(block.packet, block.state),
                bool(row["refused"]),
            )


def _given(module: Module, program: ProgramInfo) -> dict[str, list[Given]]:
    parameters = module.language.functions[program.name].parameters
    return {program.name: [value(one, "context") for one in parameters]}


def _slots(
    question: Question, module: Module, program: ProgramInfo, exact: Machine
) -> Iterator[Slot]:
    """Yield the exact counts of each BPF instruction of a program."""
    done = compiled_for_card(question, module, program, Stopping())
    alone = {
        name: [one._replace(block=str(at)) for at, one in enumerate(placed)]
        for name, placed in module.layout.items()
    }
    found = counted(question.file, done, alone, module.exchanged, {})
    arguments = _given(module, program)[program.name]
    for name, rows in described(exact, program.name, arguments, {}):
        if len(rows) != len(module.layout[name]):
            raise InputError(question.file, f"{name} is read in two ways")
        for at, one in enumerate(rows):
            label = found[name][str(at)]
            yield Slot(
                one.block,
                list(one.words),
                one.pieces,
                one.pointee,
                label.instructions,
                *(label.packet, label.state, label.unknown),
                bool(label.refused),
            )
