"""Analyses and compiles programs with the compiled engine, and passes its progress on."""

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from slowpath import _core
from slowpath.core.engine import as_text, errors_as_file_errors
from slowpath.core.engine.objects import Subject
from slowpath.core.engine.targets import Target
from slowpath.core.jobs import Stopping
from slowpath.core.schema.results import Detail, Result

if TYPE_CHECKING:
    from slowpath.core.schema.compiled import Compiled

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
    entries: int | None = None  # entries in maps, for times in cold caches; None: full maps
    entries_of: dict[str, int] = {}  # noqa: RUF012 - the same for single maps; never changed
    foreign_cpu: str | None = None  # CPU of another family than the machine of the target
    deadline_seconds: float | None = None
    memory_bytes: int | None = None  # limit of the process; None: share of free memory, or none
    assume: str | None = None  # content of the file of `--assume`
    maps: str | None = None  # content of the file of `--maps`
    set: list[str] = []  # noqa: RUF012 - NAME=VALUE; never changed
    map_abi: str | None = None  # interface of compiled programs to maps; None: the default
    path_details: int = 0  # number of paths that get the details for text reports
    code: bool = False  # true: add all instructions of the program to the detail
    certificate: bool = False  # true: prove the guarantee again, for a certificate


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
    complete: bool = False  # true: the same on each machine, because no limit affected it
    certificate: str | None = None  # claims and proofs as JSON; None: not requested, or none
    no_certificate: str | None = None  # reason why a requested certificate was not made


class Answer(NamedTuple):
    """The result of an analysis as JSON texts, before parsing."""

    text: str
    detail: str  # details for reports
    complete: bool  # as in `Outcome`
    certificate: str | None = None  # as in `Outcome`
    no_certificate: str | None = None  # as in `Outcome`


def compile_messages(
    subject: Subject, target: Target, options: Options, stopping: Stopping, *, verify: bool
) -> Iterator[Message]:
    """Compile a BPF program for the SmartNIC that `target` describes, and yield the result.

    The first message has the compiled program. With `verify`, a second message has the result of
    comparing it with the BPF program (`docs/reference/json.md`). A deadline or a stop request ends
    the comparison early, with its results so far.

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


class Unresolved(NamedTuple):
    """Facts that an object does not state, for a program that is compiled before linking."""

    kernel_calls: list[tuple[str, int, str]]
    """Calls of functions outside the object: caller, 8-byte slot of the call in it, and callee."""
    verified: bool
    """False for a program that the kernel's verifier might reject."""


class StandIn(NamedTuple):
    """An instruction in place of a BPF instruction that the SmartNIC cannot execute."""

    function: str
    slot: int  # index in the function
    reason: str
    accesses_memory: bool


class CardProgram(NamedTuple):
    """A program compiled for the SmartNIC, in which stand-ins replace unsupported instructions."""

    compiled: "Compiled"
    functions: list[tuple[str, int | None]]  # names with first slots; None: not compiled
    stand_ins: list[StandIn]


def compiled_with_stand_ins(
    subject: Subject,
    target: Target,
    options: Options,
    unresolved: Unresolved,
    stopping: Stopping,
) -> CardProgram:
    """Compile a program for a SmartNIC; replace instructions that it cannot execute by stand-ins.

    Raises:
        InputError: if stand-ins do not help, or the compilation was stopped.
    """
    stop = _core.Stop(options.deadline_seconds, options.memory_bytes)
    subject = subject._replace(file=as_text(subject.file))
    with errors_as_file_errors(subject.file), stopping.calling(stop.set):
        text, functions, stand_ins = _core.compile_with_stand_ins(
            subject, target, options._asdict(), *unresolved, stop
        )
    return CardProgram(json.loads(text), functions, [StandIn(*one) for one in stand_ins])


class Run:
    """The state of a running analysis: stage, progress, and results so far."""

    def __init__(self) -> None:
        self.progress = Progress(0.0, 0.0, 0, 0, 0)
        self.stage = ""  # current stage, such as "unrolling the program"
        self.partial_result: str | None = None  # JSON of the result if the analysis ended now

    def take(self, message: Message) -> Answer | None:
        """Update the state with a message of the analysis.

        Return the result if this is the last message, else None.
        """
        match message:
            case ("stage", stage):
                self.stage = stage
            case ("bound", value, seconds, candidates, nogoods):
                # Once a path is found, later bounds are only for the remaining paths.
                value = self.progress.value if self.progress.paths else value
                self.progress = Progress(value, seconds, candidates, nogoods, self.progress.paths)
            case ("path", index):
                self.progress = self.progress._replace(paths=index)
            case ("so far", text):
                self.partial_result = text
            case ("result", *answer):
                return Answer(*answer)
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
                case _core.Result() as result:
                    made = (result.certificate, result.no_certificate)
                    yield ("result", result.json, result.detail, result.complete, *made)
                    return


def outcome(answer: Answer) -> Outcome:
    """Parse the JSON texts of an analysis result and of its details for reports."""
    text, detail, complete, certificate, no_certificate = answer
    result, details = json.loads(text), json.loads(detail)
    return Outcome(result, text, details, complete, certificate, no_certificate)


def checked_certificate(
    subject: Subject, target: Target, options: Options, claims: str, stopping: Stopping
) -> Iterator[Message]:
    """Check the claims of a certificate about a program; yield the result as JSON text.

    `options` are those with which the certificate was made, with the limits of this check.

    Raises:
        InputError: if the claims do not hold, the program cannot be read, or the check was stopped.
    """
    stop = _core.Stop(options.deadline_seconds, options.memory_bytes)
    subject = subject._replace(file=as_text(subject.file))
    with errors_as_file_errors(subject.file), stopping.calling(stop.set):
        yield (
            "checked",
            _core.check_certificate(subject, target, options._asdict(), claims, stop),
        )


def exported_proofs(
    subject: Subject, target: Target, options: Options, claims: str, stopping: Stopping
) -> Iterator[Message]:
    """Yield the proofs of a certificate as pairs of texts, in the formats DIMACS and LRAT.

    Raises:
        InputError: if the certificate does not fit the program, or the work was stopped.
    """
    stop = _core.Stop(options.deadline_seconds, options.memory_bytes)
    subject = subject._replace(file=as_text(subject.file))
    with errors_as_file_errors(subject.file), stopping.calling(stop.set):
        for texts in _core.export_proofs(subject, target, options._asdict(), claims, stop):
            yield ("proof", *texts)


T = TypeVar("T")
POLL_SECONDS = 0.1
"""Seconds between two updates of the current stage."""


class StageProgress(NamedTuple):
    """Current stage of work in the compiled engine, and the amount of work done in it."""

    subject: str  # such as the name of a program; empty: unknown
    stage: str  # such as `rewriting`; empty: unknown
    done: int  # completed units of the stage
    unit: str  # unit of `done`; empty: nothing is counted


class BackgroundWork(Generic[T]):
    """A function call that runs on a background thread."""

    def __init__(self, work: Callable[[], T]) -> None:
        import threading

        self._done = list[T]()
        self._failed = list[BaseException]()

        def run() -> None:
            try:
                self._done.append(work())
            except BaseException as problem:  # noqa: BLE001 - `result` raises it
                self._failed.append(problem)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds` for the end of the call; return true if it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> T:
        """Return the result of the ended call, or raise its exception."""
        if self._failed:
            raise self._failed[0]
        return self._done[0]
