"""Analysis and compilation of programs, with progress messages."""

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
"""A report of an analysis: its kind, then its values. See `Run.take`."""


class Options(NamedTuple):
    """Options of an analysis except the target; fields of the engine's options.

    They are passed to the engine as a dictionary with these names.
    """

    metric: str | None = None  # None: first metric of the target
    cores: int | None = None  # None: all cores of the target
    unroll: list[str] = []  # noqa: RUF012 - `160`, or `10@LOCATION`; never changed
    paths: int | None = 1  # None: all
    mtu: int | None = None  # bytes without frame check sequence; None: maximum that can arrive
    receive: str | None = None  # receiving environment; None: any device
    entries: int | None = None  # entries in each map that has room for them; None: one
    deadline_seconds: float | None = None
    memory_bytes: int | None = None  # limit of the process; None: share of free memory, or none
    assume: str | None = None  # TOML text
    maps: str | None = None  # TOML or JSON text
    set: list[str] = []  # noqa: RUF012 - NAME=VALUE; never changed
    map_abi: str | None = None  # interface of compiled programs to maps; None: the default
    path_details: int = 0  # number of paths with the details that only text reports show
    code: bool = False  # true: all instructions of the program in the detail


class Progress(NamedTuple):
    """Progress of an analysis."""

    value: float  # bound of the metric: bit/s, packets/s, or a count
    seconds: float
    candidates: int
    nogoods: int
    paths: int  # satisfiable paths found; from the first one on, `value` is exact


class Outcome(NamedTuple):
    """The result of an analysis."""

    result: Result
    text: str  # the result as JSON text of the engine
    detail: Detail


def compile_messages(
    subject: Subject, target: Target, options: Options, stopping: Stopping, *, verify: bool
) -> Iterator[Message]:
    """Compile a program of a BPF object for the card that `target` describes.

    The first message has the compiled program. With `verify`, the second message has the result of
    the comparison with the source (`docs/json.md`). A deadline or a request to stop ends the
    comparison with the results so far.

    Raises:
        InputError: if the object cannot be read, the card cannot run the program, or the
            compilation was stopped.
    """
    stop = _core.Stop(options.deadline_seconds, options.memory_bytes)
    subject = subject._replace(file=as_text(subject.file))
    asked = (subject, target, options._asdict(), stop)
    with errors_as_file_errors(subject.file), stopping.calling(stop.set):
        yield ("compiled", _core.compile_program(*asked))
        if verify:
            yield ("verified", _core.verify_program(*asked))


class RefusedError(Exception):
    """The card cannot run a program; lists all reasons that could be found."""

    def __init__(self, refusals: "list[Refusal]", instructions: list[list[int]]) -> None:
        """Store the instructions of each refusal; an empty list stands for the whole program."""
        super().__init__(refusals[0]["reason"])
        self.refusals = refusals
        self.instructions = instructions


def compiled(subject: Subject, target: Target, options: Options, stopping: Stopping) -> "Compiled":
    """Compile a program of a BPF object for the card.

    Raises:
        RefusedError: if the card cannot run the program.
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
    """State of a running analysis."""

    def __init__(self) -> None:
        self.news = Progress(0.0, 0.0, 0, 0, 0)
        self.stage = ""  # current stage, such as "unrolling the program"
        self.so_far: str | None = None  # the result if the analysis ended now, as JSON text

    def take(self, message: Message) -> tuple[str, str] | None:
        """Update the state from a message; return result and detail, as JSON, if it has them."""
        match message:
            case ("stage", stage):
                self.stage = stage
            case ("bound", value, seconds, candidates, nogoods):
                self.news = _updated(self.news, value, seconds, candidates, nogoods)
            case ("path", index):
                self.news = self.news._replace(paths=index)
            case ("so far", text):
                self.so_far = text
            case ("result", text, detail):
                return text, detail
        return None


def messages(
    subject: Subject, target: Target, options: Options, stopping: Stopping
) -> Iterator[Message]:
    """Analyse a program and yield progress messages; the last message is the result."""
    asked = (as_text(subject.file), *subject[1:], target, options._asdict())
    analysis = _core.Analysis(*asked)
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
    """Return the outcome from the JSON texts of a result and its detail."""
    return Outcome(json.loads(text), text, json.loads(detail))


def _updated(
    news: Progress, value: float, seconds: float, candidates: int, nogoods: int
) -> Progress:
    # Once a path is found, later bounds are for the remaining paths, not for the program.
    if not news.paths:
        news = news._replace(value=value)
    return news._replace(seconds=seconds, candidates=candidates, nogoods=nogoods)
