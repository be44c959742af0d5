"""The programs of a source, counted block by block."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import llvmlite.binding as llvm

from slowpath.cli.errors import InputError
from slowpath.engine import objects
from slowpath.insights.blocks.exact import card
from slowpath.insights.blocks.exact.counting import Counted, counted
from slowpath.insights.blocks.exact.elf import Code
from slowpath.insights.blocks.exact.layout import Placed, layout
from slowpath.insights.blocks.exact.maps import with_known_maps
from slowpath.insights.blocks.exact.steps import language, lowered
from slowpath.insights.blocks.language import accesses
from slowpath.insights.blocks.language.program import Language, Traced
from slowpath.insights.blocks.predictions.documents import (
    PredictedBlock,
    PredictedFunction,
    PredictedProgram,
    Times,
)
from slowpath.insights.blocks.predictions.question import Question
from slowpath.insights.preparation.functions import Block, functions_of
from slowpath.programs.kernel_btf import KernelBtf
from slowpath.programs.selection import UNKNOWN
from slowpath.work.stopping import Stopping

_KINDS = frozenset({"xdp", UNKNOWN})
_NO_PROGRAM = ".text"
"""The section of functions that are called: what they are passed is not known."""
UNREACHED = "not reached beside what stands in for refused instructions: not counted"


class Module(NamedTuple):
    """A source in LLVM's language and as BPF."""

    language: Language
    layout: dict[str, list[Placed]]
    object: bytes
    programs: list[objects.ProgramInfo]
    exchanged: dict[str, str]  # by name of a map that the card has not, what it was


def counted_programs(asked: Question, stopping: Stopping) -> Iterator[PredictedProgram]:
    """The programs of a source that clang compiles for BPF, one by one.

    Raises:
        InputError: when it cannot be compiled, has no such program, or the card cannot run one.
        StoppedError: when it is to stop.
    """
    module = load(asked, language(asked.file, asked.clang))
    for program in module.programs:
        yield count(asked, module, program, stopping)


def load(asked: Question, text: str) -> Module:
    """The further steps of a source whose text in LLVM's language this is.

    Raises:
        InputError: when it does not compile, or has no such program.
        StoppedError: when the time is up before.
    """
    exchanged = with_known_maps(text)
    made = lowered(asked.file, exchanged.text, asked.clang)
    functions = functions_of(llvm.parse_assembly(made.llvm))
    found = objects.programs(objects.read_object(asked.file, made.object)) or []
    found = [one for one in found if one.kind in _KINDS and one.section != _NO_PROGRAM]
    programs = [one for one in found if asked.entry in (None, one.name)]
    if not programs:
        has = f"it has {', '.join(one.name for one in found)}" if found else "it has none"
        wanted = "an XDP program" if asked.entry is None else f"a program {asked.entry!r}"
        more = "--model learnt predicts other functions, too"
        raise InputError(asked.file, f"there is not {wanted}; {has}; {more}")
    placed = layout(made.assembler)
    code = Code(made.object)
    for one in placed:
        if code.slots(one) != sum(each.slots for each in placed[one]):
            raise InputError(asked.file, f"{one} has inline assembly, which belongs to no block")
    language_ = Language(made.llvm, functions)
    return Module(language_, placed, made.object, programs, exchanged.reasons)


def count(
    asked: Question, module: Module, program: objects.ProgramInfo, stopping: Stopping
) -> PredictedProgram:
    """A program, block by block.

    Raises:
        InputError: when the card cannot run it, whatever stands in for what it lacks.
        StoppedError: when it is to stop.
    """
    btf = KernelBtf(None).for_program(needed=program.needs_kernel)
    subject = card.Subject(asked.file, program.number, program.name, module.layout, btf)
    code = Code(module.object)
    done = card.lower(subject, code, asked.map_abi, stopping)
    blocks = counted(asked.file, done, module.layout, module.exchanged)
    traced = module.language.traced(program.name, ["context"])
    functions = [_function(name, traced, blocks[name], module.language) for name in blocks]
    rows = [row for one in functions for row in one["blocks"]]
    if done.refused:
        _mark_unreached(rows)
    return {
        "entry": program.name,
        "model": "exact",
        "functions": functions,
        "instructions": sum(one["instructions"] for one in rows),
        "around": done.around,
        "total": None
        if any(row["refused"] for row in rows)
        else len(done.compiled["instructions"]),
    }


def _function(
    name: str, traced: Mapping[str, Traced], blocks: dict[str, Counted], language: Language
) -> PredictedFunction:
    one = traced[name]
    function = one.function
    known = {block.name: block for block in function.blocks}
    order = [*known, *(other for other in blocks if other not in known)]
    rows = [
        _block(known.get(each), each, blocks.get(each, Counted()), one, language) for each in order
    ]
    return {
        "name": function.shown,
        "file": function.line.file if function.line else "",
        "line": function.line.line if function.line else 0,
        "blocks": rows,
    }


def _block(
    block: Block | None, name: str, counts: Counted, traced: Traced, language: Language
) -> PredictedBlock:
    places = [] if block is None else [language.line(one.place) for one in block.instructions]
    line = next((place for place in places if place is not None), None)
    packet, state = _resolved(block, counts, traced)
    return {
        "name": name,
        "file": line.file if line else "",
        "line": line.line if line else 0,
        "llvm": 0 if block is None else accesses.counted(block),
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
        "calls": _times(counts.calls),
        "refused": _times(counts.refused),
    }


def _mark_unreached(rows: list[PredictedBlock]) -> None:
    """Says of blocks that have instructions of BPF and none on the card that they are not counted.

    The code generator leaves out what cannot be reached; with what stands in for refused
    instructions, nobody knows whether that holds without it.
    """
    for row in rows:
        made = row["instructions"] or row["call_instructions"]
        if row["bpf"] and not made and not row["refused"]:
            row["refused"] = [{"what": UNREACHED, "times": 1}]


def _resolved(block: Block | None, counts: Counted, traced: Traced) -> tuple[int, int]:
    """How many accesses by refused instructions are to the packet and to state.

    LLVM's language has it, where it has more accesses than were counted.
    """
    if block is None or not counts.unknown:
        return 0, 0
    kinds = Counter(one.kind for one in accesses.accesses(block, traced.provenance))
    state = kinds["state"] + kinds["constant"] - counts.state
    left = min(counts.unknown, max(0, state))
    packet = kinds["packet"] if counts.unknown - left and not counts.packet else 0
    return min(packet, counts.unknown - left), left


def _times(what: Counter[str]) -> list[Times]:
    return [{"what": name, "times": times} for name, times in sorted(what.items())]
