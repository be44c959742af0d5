"""Analyses and compiles programs with the engine, and passes on its progress messages."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from slowpath import _core
from slowpath.core.engine.errors import as_text, errors_as_file_errors
from slowpath.core.engine.objects import Subject
from slowpath.core.engine.targets import Target
from slowpath.core.jobs.stopping import Stopping
from slowpath.core.schema.results import Detail, Result

if TYPE_CHECKING:
    from slowpath.core.schema.compiled import Compiled
    from slowpath.core.schema.results import Refusal


Message = tuple[Any, ...]
"""A message of an analysis: its type, followed by its values. `Run.take` lists all types."""


class Options(NamedTuple):
    """Options of an analysis; the target is passed separately.

    The engine gets them as a dictionary with the names of these fields.
    """

    metric: str | None = None  # None: first metric of the target
    cores: int | None = None  # None: all cores of the target
    unroll: list[str] = []  # noqa: RUF012 - `160`, or `10@LOCATION`; never changed
    paths: int | None = 1  # None: all
    mtu: int | None = None  # bytes of the longest packet, without frame check; None: any
    receive: str | None = None  # receiving environment; None: any device
    entries: int | None = None  # entries in each map that has room for them; None: one
    deadline_seconds: float | None = None
    memory_bytes: int | None = None  # limit of the process; None: share of free memory, or none
    assume: str | None = None  # content of the file of `--assume`
    maps: str | None = None  # content of the file of `--maps`
    set: list[str] = []  # noqa: RUF012 - NAME=VALUE; never changed
    map_abi: str | None = None  # interface of compiled programs to maps; None: the default
    path_details: int = 0  # number of paths that get the details for text reports
    code: bool = False  # true: add all instructions of the program to the detail


class Progress(NamedTuple):
    """Progress of a running analysis: its bound so far, and the effort of the search."""

    value: float  # bound of the metric: bit/s, packets/s, or a count
    seconds: float  # since the start of the search
    candidates: int  # paths tried
    nogoods: int  # sets of arcs that exclude paths
    paths: int  # satisfiable paths found; `value` is exact once there is one


class Outcome(NamedTuple):
    """The result of an analysis: bound and witness, and details for reports."""

    result: Result
    text: str  # the result as the engine's JSON
    detail: Detail


def compile_messages(
    subject: Subject, target: Target, options: Options, stopping: Stopping, *, verify: bool
) -> Iterator[Message]:
    """Compile a program of a BPF object for the SmartNIC that `target` describes.

    The first message has the compiled program. With `verify`, a second message has the result of
    comparing it with the BPF program (`docs/json.md`). A deadline or a stop request ends the
    comparison early, with its results so far.

    Raises:
        InputError: if the object cannot be read, the SmartNIC cannot run the program, or the
            compilation was stopped.
    """
    stop = _core.Stop(options.deadline_seconds, options.memory_bytes)
    subject = subject._replace(file=as_text(subject.file))
    arguments = (subject, target, options._asdict(), stop)
    with errors_as_file_errors(subject.file), stopping.calling(stop.set):
        yield ("compiled", _core.compile_program(*arguments))
        if verify:
            yield ("verified", _core.verify_program(*arguments))


class RefusedError(Exception):
    """The SmartNIC cannot run a program; the error has all reasons."""

    def __init__(self, refusals: "list[Refusal]", instructions: list[list[int]]) -> None:
        """Store the reasons and, for each reason, the numbers of the instructions it concerns.

        The list is empty if a reason concerns the whole program.
        """
        super().__init__(refusals[0]["reason"])
        self.refusals = refusals
        self.instructions = instructions


def compiled(subject: Subject, target: Target, options: Options, stopping: Stopping) -> "Compiled":
    """Compile a program of a BPF object for the SmartNIC that `target` describes.

    Raises:
        RefusedError: if the SmartNIC cannot run the program.
        InputError: if the object cannot be read, or the compilation was stopped.
    """
    stop = _core.Stop(options.deadline_seconds, options.memory_bytes)
    file = as_text(subject.file)
    with errors_as_file_errors(file), stopping.calling(stop.set):
        try:
            text = _core.compile_program(
                subject._replace(file=file), target, options._asdict(), stop
            )
        except _core.Error as problem:
            if problem.refusals:
                raise RefusedError(problem.refusals, problem.refused) from None
            raise
    document: Compiled = json.loads(text)
    return document


class Run:
    """The state of a running analysis, which its progress messages update."""

    def __init__(self) -> None:
        self.progress = Progress(0.0, 0.0, 0, 0, 0)
        self.stage = ""  # current stage, such as "unrolling the program"
        self.partial_result: str | None = None  # JSON of the result if the analysis ended now

    def take(self, message: Message) -> tuple[str, str] | None:
        """Update the state by a message.

        Return the JSON texts of result and detail after the last message, None after others.
        """
        match message:
            case ("stage", stage):
                self.stage = stage
            case ("bound", value, seconds, candidates, nogoods):
                # Once a path is found, later bounds are for the remaining paths.
                value = self.progress.value if self.progress.paths else value
                self.progress = Progress(value, seconds, candidates, nogoods, self.progress.paths)
            case ("path", index):
                self.progress = self.progress._replace(paths=index)
            case ("so far", text):
                self.partial_result = text
            case ("result", text, detail):
                return text, detail
        return None


def messages(
    subject: Subject, target: Target, options: Options, stopping: Stopping
) -> Iterator[Message]:
    """Analyse a program and yield progress messages; the last message is the result."""
    analysis = _core.Analysis(as_text(subject.file), *subject[1:], target, options._asdict())
    stage = ""
    with stopping.calling(analysis.stop):
        for event in analysis:
            if analysis.stage != stage:
                stage = analysis.stage
                yield ("stage", stage)
            match event:
                case _core.Bound(
                    value=value, seconds=seconds, candidates=candidates, nogoods=nogoods
                ):
                    yield ("bound", value, seconds, candidates, nogoods)
                case _core.Path(index=index):
                    yield ("path", index)
                case _core.SoFar(json=text):
                    yield ("so far", text)
                case _core.Result(json=text, detail=detail):
                    yield ("result", text, detail)
                    return


def outcome(text: str, detail: str) -> Outcome:
    """Parse the JSON texts of an analysis result and of its details for reports."""
    return Outcome(json.loads(text), text, json.loads(detail))
