"""The command `slowpath insights blocks`: card instructions, block by block."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

from slowpath.core import engine
from slowpath.core.errors import ExitCode, InputError, StoppedError
from slowpath.core.formats import Reporter
from slowpath.core.jobs import Message
from slowpath.core.jobs.stopping import Stopping, heeding_signals
from slowpath.core.programs.sources import provenance
from slowpath.insights.blocks.counted import counted_programs
from slowpath.insights.blocks.documents import (
    TARGET,
    BlocksReport,
    PredictedProgram,
    Question,
    Uncounted,
)
from slowpath.insights.blocks.functions import Plain, counted_functions, load_plain
from slowpath.insights.blocks.lowering import Prepared
from slowpath.insights.blocks.predicted import (
    Lowered,
    loaded,
    models,
    predict,
    predict_entry,
    predicted_programs,
)
from slowpath.insights.options import read_limits
from slowpath.insights.output import warn
from slowpath.insights.source.bpf_steps import compile_to_ir, programs
from slowpath.insights.source.sources import CPLUSPLUS, is_source, may_have_programs
from slowpath.insights.source.unit import UnitWorker, require_llvmlite


def run(given: Namespace, reporter: Reporter) -> ExitCode:
    """Predict the blocks of a file, and print the report.

    Raises:
        InputError: when the file cannot be read, compiled or used.
        OptionError: when an option is invalid.
        StoppedError: when the time was too short for any result.
        UnavailableError: when llvmlite is missing.
    """
    require_llvmlite()
    limits = read_limits(given)

    question = Question(given.file, given.entry, given.map_abi, limits.clang, given.model)
    with heeding_signals() as stopping:
        report = examine(question, limits.seconds, limits.memory, stopping)
    reporter.write(report)
    if report["stopped"] is not None:
        warn(given.file, f"stopped ({report['stopped']}) before all was predicted")
    return ExitCode.FINE


def predictions(asked: Question, stopping: Stopping) -> Iterator[PredictedProgram | Uncounted]:
    """Predict the programs of a source, or its functions that take packets, one by one.

    Raises:
        InputError: when the source cannot be read or compiled, has no such entry, or no program
            can be predicted.
        StoppedError: when `stopping` asks to stop.
    """
    reasons, some = list[str](), False
    for one in _said(asked, stopping):
        if "functions" in one:
            some = True
        else:
            reasons.append(f"{one['entry']}: {one['reason']}")
        yield one
    if not some:
        raise InputError(asked.file, reasons[0], reasons[1:])


def _said(asked: Question, stopping: Stopping) -> Iterator[PredictedProgram | Uncounted]:
    text, problem = None, None
    try:
        text = _with_programs(asked)
    except StoppedError:
        raise
    except InputError as found:
        problem = found
    if text is None:
        yield from _without_programs(asked, problem, stopping)
    elif asked.way == "learnt":
        yield from predicted_programs(asked)
    else:
        for one in counted_programs(asked, text, stopping):
            if "functions" in one:
                yield one
            else:
                yield from _else_learnt(asked, one, partial(_alone, asked, one["entry"]))


def _alone(asked: Question, entry: str) -> list[PredictedProgram]:
    return list(predicted_programs(asked._replace(entry=entry)))


def _without_programs(
    asked: Question, first: InputError | None, stopping: Stopping
) -> Iterator[PredictedProgram | Uncounted]:
    """Predict the functions of a source without programs.

    `first` is the error of a source that seems to have programs, but does not compile for BPF.

    Raises:
        InputError: `first` if no function takes packets either; else any other error.
        StoppedError: when `stopping` asks to stop.
    """
    try:
        plain = load_plain(asked)
    except StoppedError:
        raise
    except InputError as problem:
        if first is not None:
            raise first from None
        yield from _as_read_here(asked, problem)
        return
    if first is not None and not plain.entries:
        raise first
    yield from _of_functions(asked, plain, stopping)


def _as_read_here(asked: Question, problem: InputError) -> Iterator[PredictedProgram]:
    """Predict a source that clang does not read, but perhaps the LLVM of llvmlite.

    Raises:
        InputError: `problem` if the model must not be used, or fails, too.
        StoppedError: when the time is over before.
    """
    if asked.way == "exact":
        raise problem
    try:
        said = list(predicted_programs(asked))
    except StoppedError:
        raise
    except InputError:
        raise problem from None
    reason = problem.reason.partition("; the command: ")[0]
    for one in said:
        yield {**one, "why": reason if asked.way == "auto" else None}


def _of_functions(
    asked: Question, plain: Plain, stopping: Stopping
) -> Iterator[PredictedProgram | Uncounted]:
    learnt = partial(_learnt, asked, plain, cache(partial(_lowered, asked, plain)))
    if asked.way == "learnt":
        for name in plain.roots:
            yield from learnt(name)
        return
    for one in counted_functions(asked, plain, stopping):
        if isinstance(one, dict):
            yield one
        else:
            symbol, why = one
            yield from _else_learnt(asked, why, partial(learnt, symbol))


def _lowered(asked: Question, plain: Plain) -> Lowered:
    """Lower functions without wrappers; the caller delays this until the model needs it."""
    return loaded(asked, Prepared(plain.read, for_bpf=False))


def _learnt(
    asked: Question, plain: Plain, module: Callable[[], Lowered], symbol: str
) -> list[PredictedProgram]:
    """Predict a function, wrapped as a program if possible."""
    for entry in plain.entries:
        if entry.function.name != symbol:
            continue
        try:
            return [predict_entry(asked, plain, entry, models())]
        except StoppedError:
            raise
        except InputError:
            break
    return [predict(module(), symbol, models())]


def _else_learnt(
    asked: Question, why: Uncounted, learnt: Callable[[], list[PredictedProgram]]
) -> Iterator[PredictedProgram | Uncounted]:
    """Predict a program that could not be counted, if the model may be used."""
    if asked.way == "exact":
        yield why
        return
    try:
        said = learnt()
    except StoppedError:
        raise
    except InputError as problem:
        yield {"entry": why["entry"], "reason": f"{why['reason']}; {problem.reason}"}
        return
    for one in said:
        yield {**one, "why": why["reason"]}


def _with_programs(asked: Question) -> str | None:
    """Return the LLVM IR for BPF of a source with programs, or if the model is requested.

    Return None if the source has only plain functions, or needs the headers of this machine.

    Raises:
        InputError: when a source that seems to have programs does not compile.
        StoppedError: when the time is over before.
    """
    if Path(asked.file).suffix in CPLUSPLUS:
        return None
    seem = may_have_programs(asked.file)
    try:
        text = compile_to_ir(asked.file, asked.clang)
    except StoppedError:
        raise
    except InputError:
        if seem:
            raise
        return None
    return text if asked.way == "learnt" or seem or programs(text) else None


def examine(
    question: Question, seconds: float | None, memory: int | None, stopping: Stopping
) -> BlocksReport:
    """Predict the blocks of a file in a worker process.

    Raises:
        InputError: when the file cannot be read or compiled, has no such entry, or no program can
            be predicted.
        StoppedError: when the work stopped before the first result.
    """
    report: BlocksReport = {
        "slowpath": engine.version(),
        **provenance(compiled=is_source(question.file)),
        "file": question.file,
        "target": TARGET,
        "map_abi": question.map_abi,
        "programs": [],
        "uncounted": [],
        "stopped": None,
    }

    def take(message: Message) -> None:
        match message:
            case ("program", program):
                report["programs"].append(program)
            case ("uncounted", one):
                report["uncounted"].append(one)

    def work(_seconds: float | None, stopping: Stopping) -> Iterator[Message]:
        for one in predictions(question, stopping):
            yield ("program" if "functions" in one else "uncounted"), one

    with UnitWorker(question.file, memory, stopping, work) as worker:
        stopped = worker.run(work, seconds, take)
    if stopped is not None and not report["programs"] and not report["uncounted"]:
        raise StoppedError(question.file, f"{stopped} before any of it was predicted")
    report["stopped"] = stopped
    return report
