"""Card instructions of each block, with block counts from a trace.

The module that the code generator's instructions are of, after the passes for BPF, is the one that
runs: no block has to be looked up in another compilation.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import NamedTuple

from slowpath.core.errors import InputError
from slowpath.core.jobs.job import Message
from slowpath.core.jobs.stopping import Stopping
from slowpath.core.programs.sources import Clang
from slowpath.insights.blocks.documents import PredictedProgram, Question
from slowpath.insights.source.framework import is_support
from slowpath.insights.source.functions import Block, Function
from slowpath.insights.source.metadata import Metadata
from slowpath.insights.source.sources import Source
from slowpath.insights.source.unit import attempt
from slowpath.insights.trace.documents import CountsReport
from slowpath.insights.trace.request import Allowance, Setting
from slowpath.insights.trace.running import run_source

_DIGITS = 6


Inlined = list[tuple[list[str], float]]
"""Functions that an instruction is of, by symbols in order, and the share of those that are."""


def shares(function: Function, metadata: Metadata) -> dict[str, Inlined]:
    """By number of a block, whose code its instructions are, where it is not the function's own.

    A function that was inlined into another stands with that one: each instruction counts once.
    """
    return {
        str(number): found
        for number, block in enumerate(function.blocks)
        if (found := _of_block(block, metadata, function.name))
    }


def lines(function: Function, metadata: Metadata) -> list[list[tuple[str, int, float]]]:
    """Of each block, files and lines, those of headers left out, with their shares of it."""
    found = []
    for block in function.blocks:
        places = [metadata.line(one.place) for one in block.instructions if one.place is not None]
        known = Counter(one for one in places if one is not None)
        whole = known.total()
        found.append(
            [
                (line.file, line.line, round(times / whole, _DIGITS))
                for line, times in sorted(known.items())
                if not is_support("", line.file)
            ]
        )
    return found


def _of_block(block: Block, metadata: Metadata, own: str) -> Inlined:
    located, found = 0, Counter[tuple[str, ...]]()
    for one in block.instructions:
        around = set() if one.place is None else metadata.around(one.place)
        if around:
            located += 1
            found[tuple(sorted(around - {own}))] += 1
    return [
        (list(names), round(times / located, _DIGITS))
        for names, times in sorted(found.items())
        if names
    ]


_SHOWN = 4


class Ran(NamedTuple):
    """A block, as often as it ran."""

    symbol: str
    """Of the function that it is in, in the module that ran."""
    file: str
    """Where it begins; empty where nothing says it."""
    line: int
    """The same; 0 where nothing says it."""
    support: bool
    """Whether it is of the headers."""
    per_packet: float
    """Runs for each packet."""
    instructions: float
    """Of one run."""
    within: Sequence[tuple[frozenset[str], float]]
    """Functions that were inlined there, each in the one before, and the share of the block's
    instructions that is of all of them."""
    lines: Mapping[tuple[str, int], float]
    """By file and line of the source, its share of them."""

    def share(self, symbols: frozenset[str]) -> float:
        """How much of it belongs to some functions."""
        if self.symbol in symbols:
            return 1.0
        return sum(share for inside, share in self.within if inside & symbols)


class Executed(NamedTuple):
    """All blocks of a run."""

    blocks: list[Ran]
    on_card: bool
    """Whether instructions were counted in code for the card; else they are of LLVM's language."""
    why: str
    """Why they were not counted for the card; empty where they were."""
    refused: list[str]
    """What the card has not, and that is in no number of instructions."""

    def lacking(self, between: str) -> str:
        """The first few of `refused`, with this between them, and how many more there are."""
        left = len(self.refused) - _SHOWN
        return between.join([*self.refused[:_SHOWN], *([f"{left} more"] if left > 0 else [])])

    def instructions(self, symbols: frozenset[str] | None = None) -> float:
        """For each packet: of all functions, or of some, what they call left out."""
        return sum(
            one.instructions * one.per_packet * (1.0 if symbols is None else one.share(symbols))
            for one in self.blocks
        )


_Blocks = tuple[
    list[int], dict[str, list[tuple[list[str], float]]], list[list[tuple[str, int, float]]]
]
"""Of the blocks of a function: instructions, shares of functions, and of lines."""


class Trace(NamedTuple):
    """Packets, how they arrive, and what may be spent on them."""

    file: str
    setting: Setting
    allowed: Allowance
    usual: CountsReport
    """What the run of the source as it is compiled for this machine has counted."""


def executed(source: Source, clang: Clang, trace: Trace, stopping: Stopping) -> Executed:
    """What ran, in instructions of the card.

    Raises:
        InputError: when the function cannot be counted, or does not run.
        StoppedError: when there was not enough time.
    """
    setting, allowed = trace.setting, trace.allowed
    programs = bool(source.support)
    if not source.compiled and not programs:
        raise InputError(source.file, "it is no source that clang compiles for BPF")
    until = None if allowed.seconds is None else monotonic() + allowed.seconds
    found = list[Message]()

    def work(_seconds: float | None, stopping: Stopping) -> Iterator[Message]:
        if programs:
            ran = frozenset(one["symbol"] for one in trace.usual["functions"])
            every = Question(source.file, None, "call", clang, "exact")
            return _count_programs(every, ran, stopping)
        return _count(Question(source.file, setting.entry, "call", clang, "exact"), stopping)

    limits = (allowed.seconds, allowed.memory)
    stopped = attempt(source.file, work, limits, stopping, found.append)
    if stopped is not None or not found:
        raise InputError(source.file, f"{stopped or 'stopped'} before it was counted")
    _, symbol, text, said, refused = found[0]
    if programs:  # what ran is what was counted
        return Executed(_rows(trace.usual, said), True, "", refused)
    same = Source(source.file, text.encode(), "text", compiled=False)
    left = None if until is None else max(until - monotonic(), 0.1)
    again = setting._replace(entry=symbol)
    run = run_source(same, trace.file, again, allowed._replace(seconds=left), stopping)
    same_packets = run.report["traffic"] == trace.usual["traffic"]
    if same_packets and run.report["fate"] != trace.usual["fate"]:
        reason = "as it is compiled for BPF, it does something else with these packets"
        raise InputError(source.file, f"{reason}: C leaves undefined what it relies on")
    return Executed(_rows(run.report, said), True, "", refused)


def in_llvm(counts: CountsReport, why: str) -> Executed:
    """The blocks of the run that counts accesses, in instructions of LLVM's language."""
    rows = [
        Ran(
            *(one["symbol"], one["file"], one["line"], one["support"]),
            *(one["per_packet"], one["instructions"], []),
            {(one["file"], one["line"]): 1.0} if one["line"] else {},
        )
        for one in counts["blocks"]
    ]
    return Executed(rows, False, why, [])


def _rows(counts: CountsReport, said: dict[str, _Blocks]) -> list[Ran]:
    """What nothing is said of is the framework's: a call of it is part of who calls."""
    found = []
    for one in counts["blocks"]:
        if one["symbol"] not in said:
            continue
        costs, within, lines = said[one["symbol"]]
        number = one["number"]
        found.append(
            Ran(
                *(one["symbol"], one["file"], one["line"], one["support"], one["per_packet"]),
                costs[number],
                [(frozenset(names), share) for names, share in within.get(str(number), [])],
                {(file, line): share for file, line, share in lines[number]},
            )
        )
    return found


def _count_programs(asked: Question, ran: frozenset[str], stopping: Stopping) -> Iterator[Message]:
    """The same of an XDP program, and of those that it calls last: all that `ran`, by symbol."""
    from slowpath.insights.blocks.block_map import linked
    from slowpath.insights.blocks.counted import count, load
    from slowpath.insights.source.bpf_steps import language

    module = load(asked, language(asked.file, asked.clang))
    functions = module.language.functions
    costs, lacks = dict[str, _Blocks](), dict[str, None]()
    for program in module.programs:
        if program.name not in ran:
            continue
        counted = count(asked, module, program, stopping)
        symbols = [name for name, _ in linked(program.name, module.layout)]
        said, refused = _costs(counted, symbols, functions, module.language.metadata)
        costs.update(said)
        lacks.update(dict.fromkeys(refused))
    if not costs:
        raise InputError(asked.file, "it has no XDP program that ran")
    yield "counted", "", "", costs, list(lacks)


def _count(asked: Question, stopping: Stopping) -> Iterator[Message]:
    """The other process: the entry's symbol, the module that runs, and what its blocks take."""
    from slowpath.insights.blocks.functions import count_entry, load_plain
    from slowpath.insights.source.bpf_steps import for_here

    plain = load_plain(asked)
    if len(plain.entries) != 1:
        reasons = [one["reason"] for _, one in plain.others]
        raise InputError(asked.file, reasons[0] if reasons else "it has several entries")
    [entry] = plain.entries
    counted = count_entry(asked, plain, entry, stopping)
    functions, metadata = plain.language.functions, plain.language.metadata
    said, refused = _costs(counted.program, counted.symbols, functions, metadata)
    text = for_here(plain.read)
    yield "counted", entry.function.name, text, said, refused


def _costs(
    program: PredictedProgram,
    symbols: Sequence[str],
    functions: Mapping[str, "Function"],
    metadata: "Metadata",
) -> tuple[dict[str, _Blocks], list[str]]:
    """What blocks take, by symbol of a function, and what the card has not."""
    said, refused = dict[str, _Blocks](), dict[str, None]()
    for symbol, function in zip(symbols, program["functions"], strict=True):
        blocks = function["blocks"]
        costs = [int(one["instructions"]) + (one["call_instructions"] or 0) for one in blocks]
        own = functions[symbol]
        said[symbol] = costs, shares(own, metadata), lines(own, metadata)
        refused.update((each["what"], None) for one in blocks for each in one["refused"])
    return said, list(refused)
