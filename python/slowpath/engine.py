"""Runs analyses in the compiled engine: the only module that imports it.

It knows no command line and prints nothing.
"""

import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from slowpath import _core
from slowpath.inputs import InputError
from slowpath.results import Detail, Refusal, Result, refusal_text

if TYPE_CHECKING:
    from slowpath.compile_result import Compiled, Verification
    from slowpath.objects import BpfObject


class EngineError(Exception):
    """The engine ended without a result: a defect of slowpath, not of the program."""


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


class Kernel(Protocol):
    """Types of the kernel that programs are for, from `load_kernel`."""


class Depth(NamedTuple):
    """How much to say about an object."""

    listing: bool
    deadline_seconds: float  # for the loops of one program


class Choice(NamedTuple):
    """Which program of an object, and the kernel that it is for."""

    program: int
    kernel: Kernel | None


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


def show(
    file: str,
    data: bytes,
    chosen: list[int],
    kernel: Kernel | None,
    depth: Depth,
) -> "BpfObject":
    """What the chosen programs of the BPF object in `data` contain; `file` names it.

    Raises:
        InputError: when the object cannot be read.
    """
    try:
        text = _core.show(
            _as_text(file),
            data,
            chosen,
            _as_core(kernel),
            listing=depth.listing,
            deadline_seconds=depth.deadline_seconds,
        )
    except ValueError as problem:
        raise InputError(file, str(problem)) from None
    shown: BpfObject = json.loads(text)
    return shown


def compile_program(file: str, data: bytes, choice: Choice, map_abi: str | None) -> "Compiled":
    """A program of the BPF object in `data` as the card runs it; `file` names the object.

    Raises:
        InputError: when the object cannot be read, or the card cannot run the program.
    """
    try:
        text = _core.compile_program(
            _as_text(file), data, choice.program, _as_core(choice.kernel), map_abi=map_abi
        )
    except ValueError as problem:
        raise _refused(file, problem) from None
    compiled: Compiled = json.loads(text)
    return compiled


def _refused(file: str, problem: ValueError) -> InputError:
    """The error of a program that is not compiled: the first reason, and all others."""
    reason, *rest = problem.args
    refusals: list[Refusal] = json.loads(rest[0]) if rest else []
    return InputError(file, reason, [refusal_text(refusal) for refusal in refusals[1:]])


class Effort(NamedTuple):
    """How far a verification goes."""

    mtu: int  # longest packet in bytes, Ethernet header included
    deadline_seconds: float | None


def verify_program(
    file: str, data: bytes, choice: Choice, map_abi: str | None, effort: Effort
) -> "Verification":
    """Whether a program of the BPF object in `data` does the same on the card.

    An interrupt (Ctrl-C) ends it with what is known by then; a second one raises
    `KeyboardInterrupt`.

    Raises:
        InputError: as `compile_program`.
    """
    stop = _core.Stop()
    try:
        with _interrupts_call(stop.set):
            text = _core.verify_program(
                _as_text(file),
                data,
                choice.program,
                _as_core(choice.kernel),
                stop,
                mtu=effort.mtu,
                deadline_seconds=effort.deadline_seconds,
                map_abi=map_abi,
            )
    except ValueError as problem:
        raise _refused(file, problem) from None
    verification: Verification = json.loads(text)
    return verification


def analyse(
    file: str,
    data: bytes,
    options: Options,
    on_progress: Callable[[Progress], None] = lambda _: None,
    choice: Choice = Choice(0, None),  # noqa: B008 - immutable
) -> Outcome:
    """Analyses a program in `data`; `file` names it in messages.

    An interrupt (Ctrl-C) ends the analysis with the bound reached so far; a second one raises
    `KeyboardInterrupt`.

    Raises:
        EngineError: when the engine fails without a result.
    """
    analysis = _core.Analysis(
        _as_text(file),
        data,
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
        assume=options.assume,
        maps=options.maps,
        map_abi=options.map_abi,
        path_details=options.path_details,
        code=options.code,
    )
    news = Progress(0.0, 0.0, 0, 0, 0)
    with _interrupts_call(analysis.stop) as interrupted:
        for event in analysis:
            match event:
                case _core.Bound():
                    news = _updated(news, event)
                    on_progress(news)
                case _core.Result():
                    return _outcome(event, interrupted=interrupted.is_set())
                case _core.Path():
                    news = news._replace(paths=event.index)
                    on_progress(news)
    raise EngineError("the engine ended without a result")


def _outcome(event: _core.Result, *, interrupted: bool) -> Outcome:
    text = event.json
    return Outcome(json.loads(text), text, json.loads(event.detail), interrupted)


def _as_core(kernel: Kernel | None) -> _core.Kernel | None:
    if kernel is None or isinstance(kernel, _core.Kernel):
        return kernel
    raise TypeError("types of a kernel come from load_kernel")


def _as_text(file: str) -> str:
    """The name of a file, which need not be Unicode."""
    return file.encode(errors="backslashreplace").decode()


def _updated(news: Progress, bound: _core.Bound) -> Progress:
    """Once a path is found, later bounds are about the paths that are left, not the program."""
    if not news.paths:
        news = news._replace(value=bound.value)
    return news._replace(seconds=bound.seconds, candidates=bound.candidates, nogoods=bound.nogoods)


@contextmanager
def _interrupts_call(stop: Callable[[], None]) -> Iterator[threading.Event]:
    """Makes the first interrupt call `stop`, and later ones act as before.

    Yields an event that is set once an interrupt came. Nothing changes outside the main thread,
    where signals cannot be handled, and where interrupts are ignored (`nohup`).
    """
    interrupted = threading.Event()
    previous = signal.getsignal(signal.SIGINT)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or previous in (signal.SIG_IGN, None):
        yield interrupted
        return

    def handle(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, previous)
        interrupted.set()
        stop()

    signal.signal(signal.SIGINT, handle)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, previous)
