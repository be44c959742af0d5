"""Runs analyses in the compiled engine: the only module that imports it.

It knows no command line and prints nothing.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from slowpath import _core
from slowpath.cli.inputs import InputError, StoppedError
from slowpath.schema.results import Detail, Refusal, Result, refusal_text
from slowpath.work.stopping import Stopping, heeding_signals


class EngineError(Exception):
    """The engine ended without a result: a defect of slowpath, not of the program."""


Message = tuple[Any, ...]
"""What an analysis reports: a word, and what belongs to it. See `Run.take`."""


class Options(NamedTuple):
    """What an analysis is asked for."""

    target: str  # name of a built-in target, or a description when `target_is_text`
    target_is_text: bool
    metric: str
    cores: int | None  # None: as many as the target has
    unroll: list[str]  # `160`, or `10@LOCATION`
    paths: int | None  # None: all
    mtu: int  # bytes, Ethernet header included, frame check sequence not
    deadline_seconds: float | None
    memory_bytes: int | None  # of the process; None: a share of what is free, or no limit
    assume: str | None  # TOML text
    maps: str | None  # TOML or JSON text
    map_abi: str | None  # how compiled programs reach maps; None: the default
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
    interrupted: bool


class Content(Protocol):
    """What is in a file, from `load_content`."""


class Kernel(Protocol):
    """Types of the kernel that programs are for, from `load_kernel`."""


class Depth(NamedTuple):
    """How much to say about an object."""

    listing: bool
    deadline_seconds: float  # for the loops of one program
    memory_bytes: int | None  # of the process


class Choice(NamedTuple):
    """Which program of an object, and the kernel that it is for."""

    program: int
    kernel: Kernel | None


class Choices(NamedTuple):
    """Which programs of an object, and the kernel that they are for."""

    programs: list[int]
    kernel: Kernel | None


class Subject(NamedTuple):
    """A program."""

    file: str  # names it in messages
    data: bytes  # what is in the file
    choice: Choice
    content: Content | None = None  # the same, read already


class ProgramInfo(NamedTuple):
    """A program of an object, for choosing."""

    number: int  # in the object
    section: str
    name: str
    kind: str
    needs_kernel: bool  # whether it depends on the types of the kernel that it runs on


def version() -> str:
    """The version of slowpath."""
    return _core.version()


def target_names() -> list[str]:
    """Names of the built-in targets."""
    return _core.target_names()


def target_text(name: str) -> str | None:
    """The description of a built-in target, or None when there is none of that name."""
    return _core.target_text(name)


def target_counters(target: str, *, is_text: bool) -> list[str] | None:
    """The metrics of a target that counts events; None for other targets and for what is none."""
    return _core.target_counters(target, is_text)


def target_compiles(target: str, *, is_text: bool) -> bool:
    """Whether programs of objects are compiled for a target; False for what is none."""
    return _core.target_compiles(target, is_text)


def check_target(text: str) -> list[str]:
    """What is wrong with a target description; empty when nothing is."""
    return _core.check_target(text)


def load_content(data: bytes) -> "Content":
    """The content of a file, read as far as its programs have it in common."""
    return _core.File(data)


def load_kernel(file: str, data: bytes) -> Kernel:
    """The types (BTF) of a kernel; `file` names them.

    Raises:
        InputError: when they cannot be read.
    """
    try:
        return _core.Kernel(data)
    except ValueError as problem:
        raise InputError(file, str(problem).removeprefix("--btf: ")) from None


def programs(file: str, data: bytes) -> list[ProgramInfo] | None:
    """The programs of the BPF object in `data`; None when it is no object.

    Raises:
        InputError: when it is an object that cannot be read.
    """
    try:
        found = _core.programs(data)
    except ValueError as problem:
        raise InputError(file, str(problem)) from None
    if found is None:
        return None
    return [ProgramInfo(p.index, p.section, p.name, p.kind, p.needs_kernel) for p in found]


def show(file: str, data: bytes, choices: Choices, depth: Depth, stopping: Stopping) -> str:
    """What the chosen programs of the BPF object in `data` contain, as JSON; `file` names it.

    Raises:
        InputError: when the object cannot be read.
    """
    stop = _core.Stop(None, depth.memory_bytes)
    try:
        with stopping.calling(stop.set):
            return _core.show(
                _as_text(file),
                data,
                choices.programs,
                _as_core(choices.kernel),
                stop,
                listing=depth.listing,
                deadline_seconds=depth.deadline_seconds,
            )
    except ValueError as problem:
        raise InputError(file, str(problem)) from None


class Compilation(NamedTuple):
    """What a compilation is asked for."""

    map_abi: str | None
    deadline_seconds: float | None
    memory_bytes: int | None
    verify: bool
    mtu: int  # of the verification: longest packet in bytes, Ethernet header included


def compile_messages(
    subject: Subject, wanted: Compilation, stopping: Stopping
) -> Iterator[Message]:
    """Compiles a program of a BPF object for the card.

    The first message has what was compiled, the second one whether that does the same on the card,
    if it is to be verified: `docs/json.md`. An end of time, or being asked to stop, ends a
    verification with what is known by then.

    Raises:
        InputError: when the object cannot be read, the card cannot run the program, or it has to
            stop before it was compiled.
    """
    file, data, choice, _ = subject
    stop = _core.Stop(wanted.deadline_seconds, wanted.memory_bytes)
    program = (_as_text(file), data, choice.program, _as_core(choice.kernel), stop)
    abi = wanted.map_abi
    try:
        with stopping.calling(stop.set):
            yield ("compiled", _core.compile_program(*program, map_abi=abi))
            if wanted.verify:
                text = _core.verify_program(*program, mtu=wanted.mtu, map_abi=abi)
                yield ("verified", text)
    except ValueError as problem:
        if stop.reason is not None:
            raise StoppedError(file, problem.args[0]) from None
        raise _refused(file, problem) from None


def _refused(file: str, problem: ValueError) -> InputError:
    """The error of a program that is not compiled: the first reason, and all others."""
    reason, *rest = problem.args
    refusals: list[Refusal] = json.loads(rest[0]) if rest else []
    return InputError(file, reason, [refusal_text(refusal) for refusal in refusals[1:]])


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


def messages(subject: Subject, options: Options, stopping: Stopping) -> Iterator[Message]:
    """Analyses a program, and says how far it is; the last message is the result."""
    file, data, choice, content = subject
    analysis = _core.Analysis(
        _as_text(file),
        content if isinstance(content, _core.File) else _core.File(data),
        choice.program,
        _as_core(choice.kernel),
        target=options.target,
        target_is_text=options.target_is_text,
        metric=options.metric,
        cores=options.cores,
        unroll=options.unroll,
        paths=options.paths,
        mtu=options.mtu,
        deadline_seconds=options.deadline_seconds,
        memory_bytes=options.memory_bytes,
        assume=options.assume,
        maps=options.maps,
        map_abi=options.map_abi,
        path_details=options.path_details,
        code=options.code,
    )
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


def analyse(
    file: str,
    data: bytes,
    options: Options,
    on_progress: Callable[[Progress], None] = lambda _: None,
    choice: Choice = Choice(0, None),  # noqa: B008 - immutable
) -> Outcome:
    """Analyses a program in `data`, in this process; `file` names it in messages.

    An interrupt (Ctrl-C) ends the analysis with the bound reached so far; a second one raises
    `KeyboardInterrupt`.

    Raises:
        EngineError: when the engine fails without a result.
    """
    run = Run()
    with heeding_signals() as stopping:
        for message in messages(Subject(file, data, choice), options, stopping):
            done = run.take(message)
            if done is not None:
                return outcome(*done, interrupted=stopping.asked)
            if message[0] in {"bound", "path"}:
                on_progress(run.news)
    raise EngineError("the engine ended without a result")


def outcome(text: str, detail: str, *, interrupted: bool) -> Outcome:
    """The outcome that a result in JSON, and its detail, are."""
    return Outcome(json.loads(text), text, json.loads(detail), interrupted)


def _as_core(kernel: Kernel | None) -> _core.Kernel | None:
    if kernel is None or isinstance(kernel, _core.Kernel):
        return kernel
    raise TypeError("types of a kernel come from load_kernel")


def _as_text(file: str) -> str:
    """The name of a file, which need not be Unicode."""
    return file.encode(errors="backslashreplace").decode()


def _updated(
    news: Progress, value: float, seconds: float, candidates: int, nogoods: int
) -> Progress:
    """Once a path is found, later bounds are about the paths that are left, not the program."""
    if not news.paths:
        news = news._replace(value=value)
    return news._replace(seconds=seconds, candidates=candidates, nogoods=nogoods)
