"""What is learnt from, and judged by: sources that are counted exactly, by instruction and block."""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from slowpath.core.engine.bpf import Given
from slowpath.core.engine.objects import ProgramInfo
from slowpath.core.errors import InputError
from slowpath.core.jobs.stopping import Stopping
from slowpath.core.programs.loading import KernelBtf
from slowpath.core.programs.sources import Clang
from slowpath.insights.blocks import card
from slowpath.insights.blocks.backend import Assembler
from slowpath.insights.blocks.counted import UNREACHED, Module, count, load
from slowpath.insights.blocks.counting import counted
from slowpath.insights.blocks.documents import Question
from slowpath.insights.blocks.elf import Code
from slowpath.insights.blocks.learnt import Described
from slowpath.insights.blocks.lowering import (
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
from slowpath.insights.source.map_types import with_known_maps


class Pair(NamedTuple):
    """A block."""

    program: str
    block: str
    words: list[str]  # of LLVM's language
    machine: list[Described] | None  # of BPF, as the back end in llvmlite makes it, if it does
    instructions: int
    packet: int  # accesses that the card makes
    state: int
    unknown: int
    predicted_packet: int  # accesses as LLVM's language has them
    predicted_state: int
    refused: bool  # the card lacks something in it


class Slot(NamedTuple):
    """An instruction of BPF, as clang's back end makes it."""

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
    """What is known of a source."""

    pairs: list[Pair]
    slots: list[Slot]


def pairs(file: str, flags: tuple[str, ...] = ()) -> Iterator[Counted]:
    """All programs of a file that the code generator takes."""
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
    done = count(question, module, program, Stopping())
    traced = module.language.traced(program.name, ["context"])
    made = blocks(machine, program.name, {name: [] for name in traced} | _given(module, program))
    rows = {one["name"]: one for one in done["functions"]}
    for name, one in traced.items():
        counted_ = {row["name"]: row for row in rows[one.function.shown]["blocks"]}
        if not any(row["instructions"] or row["call_instructions"] for row in counted_.values()):
            continue  # called through a pointer by a helper that is refused: nobody knows either
        for said in Describer(one).said():
            row = counted_[said.block]
            if any(each["what"] == UNREACHED for each in row["refused"]):
                continue  # nobody knows what it takes
            yield Pair(
                program.name,
                said.block,
                list(said.words),
                made[name].get(said.block, []) if name in made else None,
                int(row["instructions"]),
                *(row["accesses"]["packet"], row["accesses"]["state"], row["accesses"]["unknown"]),
                *(said.packet, said.state),
                bool(row["refused"]),
            )


def _given(module: Module, program: ProgramInfo) -> dict[str, list[Given]]:
    parameters = module.language.functions[program.name].parameters
    return {program.name: [value(one, "context") for one in parameters]}


def _slots(
    question: Question, module: Module, program: ProgramInfo, exact: Machine
) -> Iterator[Slot]:
    """Each instruction as if it were a block."""
    btf = KernelBtf(None).for_program(needed=program.needs_kernel)
    subject = card.Subject(question.file, program.number, program.name, module.layout, btf)
    done = card.lower(subject, Code(module.object), question.map_abi, Stopping())
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
