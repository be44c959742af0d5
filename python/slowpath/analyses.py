"""Analyses programs one after the other, whatever is then done with the results.

It knows what a result is and who is to blame for a failure; the commands know what to do with it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from slowpath import engine
from slowpath.exit_codes import ExitCode
from slowpath.kernels import Kernels
from slowpath.plan import Plan, Task, Wishes
from slowpath.printable import json_line
from slowpath.progress import live_line
from slowpath.results import NO_DETAIL, Detail, Result, failed_result, refusal_text
from slowpath.terminal import error, note


class Work(NamedTuple):
    """What is to be analysed, and how."""

    files: Sequence[str]
    wishes: Wishes
    options: engine.Options  # but for target and metric, which every program has its own
    btf: str | None
    reproduce: list[str]  # options that repeat this work, target and metric left out
    option_files: Mapping[str, str]  # options that name a file, such as --assume, and its name


class Analysed(NamedTuple):
    """A program and what is known of it now."""

    task: Task
    result: Result
    text: str  # the result as JSON
    detail: Detail
    interrupted: bool  # the user wants no more


def note_remarks(plan: Plan) -> None:
    """Says on standard error which programs are left out, or taken for XDP."""
    for file, remark in plan.remarks:
        note(f"note: {file}: {remark}")


def analyse_all(
    work: Work, tasks: Sequence[Task], kernels: Kernels, *, interrupted: bool = False
) -> Iterator[Analysed]:
    """Analyses every program; a failure does not stop the rest, an interrupt does."""
    for task in tasks:
        if interrupted:
            outcome = _failure(task, "interrupted before it was analysed", "interrupted")
        else:
            outcome = _analyse(work, task, kernels)
        interrupted = interrupted or outcome.interrupted
        yield Analysed(task, outcome.result, outcome.text, outcome.detail, interrupted)


def _analyse(work: Work, task: Task, kernels: Kernels) -> engine.Outcome:
    if task.error is not None:
        return _failure(task, task.error)
    choice = engine.Choice(0, None)
    if task.program is not None:
        kernel = kernels.for_program(needed=task.program.needs_kernel)
        choice = engine.Choice(task.program.number, kernel)
    target = task.target
    options = work.options._replace(
        target=target.text, target_is_text=target.is_text, metric=task.metric
    )
    try:
        with live_line(task.label, task.metric) as show:
            return engine.analyse(task.file, task.data, options, show, choice)
    except engine.EngineError as defect:
        return _failure(task, f"internal error: {defect}; please report it")


def _failure(task: Task, message: str, stopped: str | None = None) -> engine.Outcome:
    result = failed_result(task.file, task.target.name, task.metric, message)
    if task.program is not None:
        program = task.program
        result |= {"section": program.section, "program": program.name, "kind": program.kind}
    return engine.Outcome(result, json_line(result), NO_DETAIL | {"stopped": stopped}, False)


def judge(analysed: Analysed) -> ExitCode:
    """What the exit code says of an analysis by itself."""
    if analysed.detail["usage"]:
        return ExitCode.USAGE
    if analysed.result["error"] is None:
        return ExitCode.FINE
    return ExitCode.INPUT if analysed.detail["stopped"] is None else ExitCode.UNDECIDED


class Unmatched:
    """Says on standard error which limits of `--unroll` are about lines of no program."""

    def __init__(self) -> None:
        self._pieces: set[str] | None = None

    def add(self, analysed: Analysed) -> None:
        """Takes note of the limits that a program has no code for."""
        pieces = set(analysed.detail["unmatched"])
        if analysed.result["error"] is not None and not pieces:
            return  # it may have failed before anybody looked
        self._pieces = pieces if self._pieces is None else self._pieces & pieces

    def complain(self) -> ExitCode:
        """Says it at the end."""
        for piece in sorted(self._pieces or ()):
            error(f"--unroll {piece}", "no program that was analysed has code at this line")
        return ExitCode.USAGE if self._pieces else ExitCode.FINE


class Complaints:
    """Says on standard error why programs could not be analysed."""

    def __init__(self, work: Work, say: Callable[[str, str], None] = error) -> None:
        """Has `say` say it: of which file, and what."""
        self._work = work
        self._say = say
        self._said = set[tuple[str, str]]()

    def add(self, analysed: Analysed) -> None:
        """Says it once, where several programs fail for the same reason: a file of an option."""
        if analysed.result["error"] is None:
            return
        complaint = self._blamed(analysed.task, analysed.result["error"])
        if complaint in self._said:
            return
        self._said.add(complaint)
        self._say(*complaint)
        name = "" if analysed.task.program is None else f"{analysed.task.program.name}: "
        for refusal in (analysed.result["refusals"] or [])[1:]:
            note(f"note: {analysed.task.file}: {name}also {refusal_text(refusal)}")

    def _blamed(self, task: Task, message: str) -> tuple[str, str]:
        """The file to blame and the message; the engine knows files of options by the option."""
        for option, name in self._work.option_files.items():
            if message.startswith(f"{option}:"):
                return name, name + message.removeprefix(option)
        if task.program is None:
            return task.file, message
        return task.file, f"{task.program.name}: {message}"
