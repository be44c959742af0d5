"""Pairs of a block in words and what was counted for it, of sources that are counted exactly."""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from slowpath.cli.errors import InputError
from slowpath.engine.objects import ProgramInfo
from slowpath.insights.blocks.counted import UNREACHED, Module, count, load
from slowpath.insights.blocks.exact.steps import language
from slowpath.insights.blocks.learnt.words import Describer
from slowpath.insights.blocks.predictions.question import Question
from slowpath.programs.sources import Clang
from slowpath.work.stopping import Stopping


class Pair(NamedTuple):
    """A block."""

    program: str
    block: str
    words: list[str]
    instructions: int
    packet: int  # accesses that the card makes
    state: int
    unknown: int
    predicted_packet: int  # accesses as LLVM's language has them
    predicted_state: int
    refused: bool  # the card lacks something in it


def pairs(file: str, flags: tuple[str, ...] = ()) -> Iterator[Pair]:
    """The blocks of all programs of a file that the code generator takes."""
    question = Question(file, None, "call", Clang(flags))
    module = load(question, language(file, question.clang))
    for program in module.programs:
        with contextlib.suppress(InputError):
            yield from _of(question, module, program)


def _of(question: Question, module: Module, program: ProgramInfo) -> Iterator[Pair]:
    done = count(question, module, program, Stopping())
    traced = module.language.traced(program.name, ["context"])
    rows = {one["name"]: one for one in done["functions"]}
    for one in traced.values():
        counted = {row["name"]: row for row in rows[one.function.shown]["blocks"]}
        for said in Describer(one).said():
            row = counted[said.block]
            if any(each["what"] == UNREACHED for each in row["refused"]):
                continue  # nobody knows what it takes
            yield Pair(
                program.name,
                said.block,
                list(said.words),
                int(row["instructions"]),
                *(row["accesses"]["packet"], row["accesses"]["state"], row["accesses"]["unknown"]),
                *(said.packet, said.state),
                bool(row["refused"]),
            )
