"""Runs the command `slowpath insights blocks`."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

from slowpath.core import codes, engine
from slowpath.core.errors import ExitCode, InputError, StoppedError
from slowpath.core.formats import Reporter
from slowpath.core.jobs import Message, Stopping, heeding_signals
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
from slowpath.insights.output import stop_warnings
from slowpath.insights.source.bpf_steps import compile_to_ir, programs
from slowpath.insights.source.sources import CPLUSPLUS, is_source, may_have_programs
from slowpath.insights.source.unit import UnitWorker, require_llvmlite


def run(options: Namespace, reporter: Reporter) -> ExitCode:
    """Predict the card instructions of each block in a file, and print the report.

    Raises:
        InputError: when the file cannot be read, compiled or used.
        OptionError: when an option is invalid.
        StoppedError: when the time is too short for any result.
        UnavailableError: when llvmlite is missing.
    """
    require_llvmlite()
    limits = read_limits(options)
    question = Question(options.file, options.entry, options.map_abi, limits.clang, options.model)
    with heeding_signals() as stopping:
        report = examine(question, limits.seconds, limits.memory, stopping)
    reporter.write(report, warnings=stop_warnings(options.file, report["stopped"]))
    return ExitCode.FINE


def predictions(question: Question, stopping: Stopping) -> Iterator[PredictedProgram | Uncounted]:
    """Yield predictions for a source's programs, or for its functions that take packets.

    Raises:
        InputError: when the source cannot be read or compiled, lacks the requested function, or no
            program can be predicted.
        StoppedError: when `stopping` asks to stop.
    """
    reasons, predicted = list[str](), False
    for one in _attempts(question, stopping):
        if "functions" in one:
            predicted = True
        else:
            reasons.append(f"{one['entry']}: {one['reason']}")
        yield one
    if not predicted:
        raise InputError(codes.NOT_PREDICTABLE, question.file, reasons[0], reasons[1:])


def _attempts(question: Question, stopping: Stopping) -> Iterator[PredictedProgram | Uncounted]:
    text, problem = None, None
    try:
        text = _with_programs(question)
    except StoppedError:
        raise
    except InputError as found:
        problem = found
    if text is None:
        yield from _without_programs(question, problem, stopping)
    elif question.way == "learnt":
        yield from predicted_programs(question)
    else:
        for one in counted_programs(question, text, stopping):
            if "functions" in one:
                yield one
            else:
                yield from _else_learnt(question, one, partial(_alone, question, one["entry"]))


def _alone(question: Question, entry: str) -> list[PredictedProgram]:
    return list(predicted_programs(question._replace(entry=entry)))


def _without_programs(
    question: Question, first: InputError | None, stopping: Stopping
) -> Iterator[PredictedProgram | Uncounted]:
    """Yield predictions for the functions of a source without BPF programs.

    `first` is the error if the source seems to have programs, but does not compile for BPF.

    Raises:
        InputError: `first` if no function takes packets either; else the error of the prediction.
        StoppedError: when `stopping` asks to stop.
    """
    try:
        plain = load_plain(question)
    except StoppedError:
        raise
    except InputError as problem:
        if first is not None:
            raise first from None
        yield from _as_llvmlite_reads(question, problem)
        return
    if first is not None and not plain.entries:
        raise first
    yield from _of_functions(question, plain, stopping)


def _as_llvmlite_reads(question: Question, problem: InputError) -> Iterator[PredictedProgram]:
    """Yield predictions for a source that clang cannot compile but llvmlite may be able to read.

    `problem` is the error of clang. If the question asks for `exact` counts, there is no
    prediction.

    Raises:
        InputError: `problem` if `exact` forbids the model, or the prediction fails, too.
        StoppedError: when the deadline passes first.
    """
    if question.way == "exact":
        raise problem
    try:
        predicted = list(predicted_programs(question))
    except StoppedError:
        raise
    except InputError:
        raise problem from None
    reason = problem.reason.partition("; the command: ")[0]
    for one in predicted:
        yield {**one, "why": reason if question.way == "auto" else None}


def _of_functions(
    question: Question, plain: Plain, stopping: Stopping
) -> Iterator[PredictedProgram | Uncounted]:
    """Yield counts or predictions for the functions of a source without BPF programs."""
    learnt = partial(_learnt, question, plain, cache(partial(_lowered, question, plain)))
    if question.way == "learnt":
        for name in plain.roots:
            yield from learnt(name)
        return
    for one in counted_functions(question, plain, stopping):
        if isinstance(one, dict):
            yield one
        else:
            symbol, uncounted = one
            yield from _else_learnt(question, uncounted, partial(learnt, symbol))


def _lowered(question: Question, plain: Plain) -> Lowered:
    """Compile plain functions to BPF without wrappers.

    This takes time, so callers do it only when a prediction needs it.
    """
    return loaded(question, Prepared(plain.read, for_bpf=False))


def _learnt(
    question: Question, plain: Plain, module: Callable[[], Lowered], symbol: str
) -> list[PredictedProgram]:
    """Return the prediction for the function `symbol`, wrapped as a program if possible."""
    for entry in plain.entries:
        if entry.function.name != symbol:
            continue
        try:
            return [predict_entry(question, plain, entry, models())]
        except StoppedError:
            raise
        except InputError:
            break
    return [predict(module(), symbol, models())]


def _else_learnt(
    question: Question, uncounted: Uncounted, learnt: Callable[[], list[PredictedProgram]]
) -> Iterator[PredictedProgram | Uncounted]:
    """Yield the predictions of learnt models for a program that could not be counted exactly.

    `learnt` computes them. If the user wants exact counts only, yield `uncounted` instead, which
    has the reason for the failure.
    """
    if question.way == "exact":
        yield uncounted
        return
    try:
        predicted = learnt()
    except StoppedError:
        raise
    except InputError as problem:
        reason = f"{uncounted['reason']}; {problem.reason}"
        yield {"entry": uncounted["entry"], "reason": reason}
        return
    for one in predicted:
        yield {**one, "why": uncounted["reason"]}


def _with_programs(question: Question) -> str | None:
    """Return the LLVM IR for BPF of a C source with BPF programs.

    If the user wants predictions of the learnt model only, return it for any C source that compiles
    for BPF. Return None if the source has only plain functions, or needs the headers of this
    machine.

    Raises:
        InputError: when a source that seems to have programs does not compile.
        StoppedError: when the deadline passes first.
    """
    if Path(question.file).suffix in CPLUSPLUS:
        return None
    seem = may_have_programs(question.file)
    try:
        text = compile_to_ir(question.file, question.clang)
    except StoppedError:
        raise
    except InputError:
        if seem:
            raise
        return None
    return text if question.way == "learnt" or seem or programs(text) else None


def examine(
    question: Question, seconds: float | None, memory: int | None, stopping: Stopping
) -> BlocksReport:
    """Predict the card instructions of each block in a file, in a worker process.

    Raises:
        InputError: when the file cannot be read or compiled, lacks the requested function, or no
            program can be predicted.
        StoppedError: when the work stops before the first result.
    """
    report: BlocksReport = {
        **engine.head("insights blocks", "blocks"),
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
        raise StoppedError(
            codes.STOPPED_AT_DEADLINE,
            question.file,
            f"{stopped} before a function was predicted; allow more time with --deadline",
        )
    report["stopped"] = stopped
    return report
