"""Analysis and compilation of programs, with progress messages."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from slowpath import _core
from slowpath.core.engine.errors import as_text, of_file
from slowpath.core.engine.objects import Subject
from slowpath.core.engine.targets import Target
from slowpath.core.jobs.stopping import Stopping
from slowpath.core.schema.results import Detail, Result

if TYPE_CHECKING:
    from slowpath.core.schema.compiled import Compiled
    from slowpath.core.schema.results import Refusal


Message = tuple[Any, ...]
"""What an analysis reports: a word, and what belongs to it. See `Run.take`."""


class Options(NamedTuple):
    """What an analysis is asked for, but for the target: fields of the engine's options.

    They cross the border as one value; nothing between here and there names them again.
    """

    metric: str | None = None  # None: the target's first
    cores: int | None = None  # None: as many as the target has
    unroll: list[str] = []  # noqa: RUF012 - `160`, or `10@LOCATION`; nobody changes it
    paths: int | None = 1  # None: all
    mtu: int | None = None  # bytes, without frame check sequence; None: the greatest that arrives
    receive: str | None = None  # how packets arrive; None: as on any device
    entries: int | None = None  # of each map with room for so many; None: one
    deadline_seconds: float | None = None
    memory_bytes: int | None = None  # of the process; None: a share of what is free, or no limit
    assume: str | None = None  # TOML text
    maps: str | None = None  # TOML or JSON text
    set: list[str] = []  # noqa: RUF012 - NAME=VALUE; nobody changes it
    map_abi: str | None = None  # how compiled programs reach maps; None: the default
    path_details: int = 0  # of so many paths, what only human reports show
    code: bool = False  # all instructions of the program, in the detail


class Progress(NamedTuple):
    """How far an analysis is."""

    value: float  # of the metric: bit/s, packets/s, or a count
    seconds: float
    candidates: int
    nogoods: int
    paths: int  # satisfiable ones found; from the first one on, the value is exact and stays


class Outcome(NamedTuple):
    """The result of an analysis."""

    result: Result
    text: str  # the result, as the JSON that the engine wrote
    detail: Detail


def compile_messages(
    subject: Subject, target: Target, options: Options, stopping: Stopping, *, verify: bool
) -> Iterator[Message]:
    """Compiles a program of a BPF object for the card, whose description the target is.

    The first message has what was compiled, the second one whether that does the same on the card,
    if it is to be verified: `docs/json.md`. An end of time, or being asked to stop, ends a
    verification with what is known by then.

    Raises:
        InputError: when the object cannot be read, the card cannot run the program, or it has to
            stop before it was compiled.
    """
    stop = _core.Stop(options.deadline_seconds, options.memory_bytes)
    subject = subject._replace(file=as_text(subject.file))
    asked = (subject, target, options._asdict(), stop)
    with of_file(subject.file), stopping.calling(stop.set):
        yield ("compiled", _core.compile_program(*asked))
        if verify:
            yield ("verified", _core.verify_program(*asked))


class RefusedError(Exception):
    """The card lacks something for a program: all of it that can be told at once."""

    def __init__(self, refusals: "list[Refusal]", instructions: list[list[int]]) -> None:
        """`instructions` are, for each of `refusals`, all of its; none for the whole program."""
        super().__init__(refusals[0]["reason"])
        self.refusals = refusals
        self.instructions = instructions


def compiled(subject: Subject, target: Target, options: Options, stopping: Stopping) -> "Compiled":
    """A program of a BPF object, compiled for the card.

    Raises:
        RefusedError: when the card cannot run it.
        InputError: when the object cannot be read, or it has to stop before it was compiled.
    """
    stop = _core.Stop(options.deadline_seconds, options.memory_bytes)
    file = as_text(subject.file)
    with of_file(file), stopping.calling(stop.set):
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
    """What is known of an analysis that runs."""

    def __init__(self) -> None:
        self.news = Progress(0.0, 0.0, 0, 0, 0)
        self.stage = ""  # what is being done, such as "unrolling the program"
        self.so_far: str | None = None  # the result if it ended now, as JSON

    def take(self, message: Message) -> tuple[str, str] | None:
        """Learns from a message; the result and its detail, as JSON, if that is what it is."""
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
    """Analyses a program, and says how far it is; the last message is the result."""
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
    """The outcome that a result in JSON, and its detail, are."""
    return Outcome(json.loads(text), text, json.loads(detail))


def _updated(
    news: Progress, value: float, seconds: float, candidates: int, nogoods: int
) -> Progress:
    """Once a path is found, later bounds are about the paths that are left, not the program."""
    if not news.paths:
        news = news._replace(value=value)
    return news._replace(seconds=seconds, candidates=candidates, nogoods=nogoods)
