"""Counts the SmartNIC instructions of each block, together with its runs over a packet trace.

The same LLVM module runs over the trace and is compiled for the SmartNIC, after the passes for BPF.
So both see the same blocks, and no mapping between compilations is needed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.core.jobs import Message, Stopping
from slowpath.core.programs.sources import Clang
from slowpath.insights.blocks.documents import Question
from slowpath.insights.source.functions import Block, Function
from slowpath.insights.source.metadata import Metadata
from slowpath.insights.source.sources import Source, is_support
from slowpath.insights.source.unit import CompiledUnit, UnitWorker
from slowpath.insights.trace import RunLimits, RunSettings
from slowpath.insights.trace.documents import CountsReport
from slowpath.insights.trace.running import counted, run_unit

if TYPE_CHECKING:
    from slowpath.insights.blocks.counted import CountedProgram

_DIGITS = 6


Inlined = list[tuple[list[str], float]]
"""Sets of nested inlined functions in a block, each with its share of the block's instructions.

A set is a sorted list of the functions' symbols.
"""


def shares(function: Function, metadata: Metadata) -> dict[str, Inlined]:
    """Return the inlined functions of each block, with their shares of the block's instructions.

    Keys are the decimal numbers of blocks as strings; blocks without inlined code are missing.
    Nested inlined functions form one set, so that each instruction counts once.
    """
    return {
        str(number): found
        for number, block in enumerate(function.blocks)
        if (found := _of_block(block, metadata, function.name))
    }


def lines(function: Function, metadata: Metadata) -> list[list[tuple[str, int, float]]]:
    """Return the source lines of each block, as (file, line, share of the block's instructions).

    Lines of slowpath's headers are left out.
    """
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


class ExecutedBlock(NamedTuple):
    """A basic block that ran over the trace, with its runs per packet and instructions per run."""

    symbol: str
    """Symbol of the block's function in the module that ran."""
    file: str
    """File in which the block starts; empty if unknown."""
    line: int
    """Line at which the block starts; 0 if unknown."""
    support: bool
    """True for blocks of slowpath's headers."""
    per_packet: float
    """Number of runs of the block per packet."""
    instructions: float
    """Number of instructions in one run of the block."""
    within: Sequence[tuple[frozenset[str], float]]
    """Sets of nested inlined functions, each with its share of the block's instructions."""
    lines: Mapping[tuple[str, int], float]
    """Share of the block's instructions by file and line of the source."""

    def share(self, symbols: frozenset[str]) -> float:
        """Return the share (0 to 1) of the block's instructions that belong to `symbols`.

        These are symbols of functions: the block's own function, or functions inlined in it.
        """
        if self.symbol in symbols:
            return 1.0
        return sum(share for inside, share in self.within if inside & symbols)


class Executed(NamedTuple):
    """All blocks that ran over a packet trace, with their instructions.

    These are instructions of the SmartNIC if they could be counted, else LLVM instructions.
    """

    blocks: list[ExecutedBlock]
    on_card: bool
    """True if instructions are those of the card; false if they are LLVM instructions."""
    why: str
    """Reason why card instructions could not be counted; empty if they could."""
    refused: list[str]
    """Operations that the card lacks, which the instruction counts do not include."""

    def lacking(self) -> str:
        """Return a text that lists the operations that the SmartNIC lacks.

        It names the first few of `refused` and the number of the others. Semicolons separate them,
        as their names have commas.
        """
        left = len(self.refused) - _SHOWN
        return "; ".join([*self.refused[:_SHOWN], *([f"{left} more"] if left > 0 else [])])

    def instructions(self, symbols: frozenset[str] | None = None) -> float:
        """Return the number of instructions per packet.

        With `symbols`, count only the functions with these symbols, without their callees.
        """
        return sum(
            one.instructions * one.per_packet * (1.0 if symbols is None else one.share(symbols))
            for one in self.blocks
        )


_Blocks = tuple[
    list[int], dict[str, list[tuple[list[str], float]]], list[list[tuple[str, int, float]]]
]
"""For each block of a function: instructions, shares of inlined functions, and shares of lines."""


class Trace(NamedTuple):
    """A packet trace, with the settings and limits for running it, and counts of a first run."""

    file: str
    setting: RunSettings
    allowed: RunLimits
    counts: CountsReport
    """Counts of a run of the source that was compiled for this machine."""


def executed(source: Source, clang: Clang, trace: Trace, stopping: Stopping) -> Executed:
    """Run a function over a packet trace, and return its blocks with their SmartNIC instructions.

    Raises:
        InputError: when the function cannot be counted, or does not run.
        StoppedError: when the time is too short.
    """
    seconds, memory = trace.allowed
    programs = bool(source.support)
    if not source.compiled and not programs:
        raise InputError(
            codes.NOT_PREDICTABLE, source.file, "clang cannot compile this file for BPF"
        )
    until = None if seconds is None else monotonic() + seconds
    if programs:
        ran = frozenset(one["symbol"] for one in trace.counts["functions"])
        count = partial(_count_programs, Question(source.file, None, "call", clang, "exact"), ran)
    else:
        count = partial(_count, Question(source.file, trace.setting.entry, "call", clang, "exact"))
    run = partial(_run, source.file, trace)
    found = list[Message]()
    with UnitWorker(source.file, memory, stopping, count, run) as worker:
        stopped = worker.run(count, seconds, found.append)
        if stopped is not None or not found:
            raise InputError(
                codes.STOPPED_AT_DEADLINE,
                source.file,
                f"{stopped or 'stopped'} before the function was counted",
            )
        _, symbol, text, costs_by_symbol, refused = found[0]
        if programs:  # `counts` already has the blocks of the counted module
            return Executed(_rows(trace.counts, costs_by_symbol), True, "", refused)
        left = None if until is None else max(until - monotonic(), 0.1)
        report = counted(source.file, worker, run, left, symbol, text).report
    if report["traffic"] == trace.counts["traffic"] and report["fate"] != trace.counts["fate"]:
        reason = "the function compiled for BPF treats these packets differently"
        raise InputError(
            codes.RUN_FAILED, source.file, f"{reason}, so it relies on undefined behaviour of C"
        )
    return Executed(_rows(report, costs_by_symbol), True, "", refused)


def _run(
    file: str, trace: Trace, seconds: float | None, stopping: Stopping, *counted: str
) -> Iterator[Message]:
    """Run a function over the packets of a trace, in the worker process; yield the results.

    `counted` has two texts: the symbol of the function, and the LLVM IR from which its SmartNIC
    instructions were counted.
    """
    symbol, text = counted
    unit = CompiledUnit(Source(file, text.encode(), "text", compiled=False))
    setting = trace.setting._replace(entry=symbol)
    return run_unit(unit, trace.file, setting, seconds, stopping)


def in_llvm(counts: CountsReport, why: str) -> Executed:
    """Return the blocks of a run over a trace, with LLVM instead of SmartNIC instructions.

    `why` is the reason why SmartNIC instructions could not be counted.
    """
    rows = [
        ExecutedBlock(
            *(one["symbol"], one["file"], one["line"], one["support"]),
            *(one["per_packet"], one["instructions"], []),
            {(one["file"], one["line"]): 1.0} if one["line"] else {},
        )
        for one in counts["blocks"]
    ]
    return Executed(rows, False, why, [])


def _rows(counts: CountsReport, costs_by_symbol: dict[str, _Blocks]) -> list[ExecutedBlock]:
    """Combine the runs of blocks over a trace with their SmartNIC instructions.

    `counts` has the runs, and `costs_by_symbol` the instructions by function. Other functions are
    left out.
    """
    found = []
    for one in counts["blocks"]:
        if one["symbol"] not in costs_by_symbol:
            continue
        costs, within, lines = costs_by_symbol[one["symbol"]]
        number = one["number"]
        found.append(
            ExecutedBlock(
                *(one["symbol"], one["file"], one["line"], one["support"], one["per_packet"]),
                costs[number],
                [(frozenset(names), share) for names, share in within.get(str(number), [])],
                {(file, line): share for file, line, share in lines[number]},
            )
        )
    return found


def _count_programs(
    question: Question, ran: frozenset[str], _seconds: float | None, stopping: Stopping
) -> Iterator[Message]:
    """Count the SmartNIC instructions of XDP programs in the worker process.

    Only programs with symbols in `ran` are counted. Yield one message of the same form as `_count`.
    """
    from slowpath.insights.blocks.counted import count, load
    from slowpath.insights.source.bpf_steps import compile_to_ir

    module = load(question, compile_to_ir(question.file, question.clang))
    functions = module.language.functions
    costs, lacks = dict[str, _Blocks](), dict[str, None]()
    for program in module.programs:
        if program.name not in ran:
            continue
        costed = count(question, module, program, stopping)
        costs_by_symbol, refused = _costs(costed, functions, module.language.metadata)
        costs.update(costs_by_symbol)
        lacks.update(dict.fromkeys(refused))
    if not costs:
        raise InputError(codes.OBJECT_WITHOUT_PROGRAMS, question.file, "no XDP program ran")
    yield "counted", "", "", costs, list(lacks)


def _count(question: Question, _seconds: float | None, stopping: Stopping) -> Iterator[Message]:
    """Count the SmartNIC instructions of a function in the worker process.

    Yield one message: the function's symbol, the LLVM IR to run, the costs of blocks, and the
    operations that the SmartNIC lacks.
    """
    from slowpath.insights.blocks.functions import count_entry, load_plain
    from slowpath.insights.source.bpf_steps import for_host

    plain = load_plain(question)
    if len(plain.entries) != 1:
        reasons = [one["reason"] for _, one in plain.others]
        raise InputError(
            codes.NOT_PREDICTABLE,
            question.file,
            reasons[0] if reasons else "the file has several entry functions",
        )
    [entry] = plain.entries
    costed = count_entry(question, plain, entry, stopping)
    functions, metadata = plain.language.functions, plain.language.metadata
    costs_by_symbol, refused = _costs(costed, functions, metadata)
    text = for_host(plain.read)
    yield "counted", entry.function.name, text, costs_by_symbol, refused


def _costs(
    program: "CountedProgram",
    functions: Mapping[str, "Function"],
    metadata: "Metadata",
) -> tuple[dict[str, _Blocks], list[str]]:
    """Return the SmartNIC instructions of blocks by function symbol, from the counts of a program.

    Also return the operations that the SmartNIC lacks.
    """
    costs_by_symbol, refused = dict[str, _Blocks](), dict[str, None]()
    for symbol, function in zip(program.symbols, program.program["functions"], strict=True):
        blocks = function["blocks"]
        costs = [int(one["instructions"]) + (one["call_instructions"] or 0) for one in blocks]
        own = functions[symbol]
        costs_by_symbol[symbol] = costs, shares(own, metadata), lines(own, metadata)
        refused.update((each["what"], None) for one in blocks for each in one["refused"])
    return costs_by_symbol, list(refused)
