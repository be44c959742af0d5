"""Instructions of the card for each block of a function, with how often it ran over a trace.

The module that the code generator's instructions are of, after the passes for BPF, is the one that
runs: no block has to be looked up in another compilation.
"""

from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from slowpath.cli.errors import InputError
from slowpath.insights.blocks.predictions.documents import PredictedProgram
from slowpath.insights.blocks.predictions.question import Question
from slowpath.insights.blocks.traced.rows import Executed, Ran
from slowpath.insights.errands import attempt
from slowpath.insights.porting.documents import CountsReport
from slowpath.insights.porting.running import run_source
from slowpath.insights.porting.setting import Allowance, Setting
from slowpath.insights.preparation.sources import Source
from slowpath.programs.sources import Clang
from slowpath.work.jobs import Message
from slowpath.work.stopping import Stopping

if TYPE_CHECKING:
    from slowpath.insights.preparation.functions import Function
    from slowpath.insights.preparation.metadata import Metadata

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
    from slowpath.insights.blocks.counted import count, load
    from slowpath.insights.blocks.exact.layout import linked
    from slowpath.insights.blocks.exact.steps import language

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
    from slowpath.insights.blocks.plain.steps import for_here

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
    from slowpath.insights.blocks.traced.inlined import lines, shares

    said, refused = dict[str, _Blocks](), dict[str, None]()
    for symbol, function in zip(symbols, program["functions"], strict=True):
        blocks = function["blocks"]
        costs = [int(one["instructions"]) + (one["call_instructions"] or 0) for one in blocks]
        own = functions[symbol]
        said[symbol] = costs, shares(own, metadata), lines(own, metadata)
        refused.update((each["what"], None) for one in blocks for each in one["refused"])
    return said, list(refused)
