"""Runs analyses in the compiled engine: the only module that imports it.

It knows no command line and prints nothing.
"""

import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NamedTuple

from slowpath import _core
from slowpath.inputs import InputError
from slowpath.objects import BpfObject
from slowpath.rates import Metric
from slowpath.results import Detail, Result


class EngineError(Exception):
    """The engine ended without a result: a defect of slowpath, not of the program."""


@dataclass(frozen=True)
class Options:
    """What an analysis is asked for."""

    target: str  # name of a built-in target, or a description when `target_is_text`
    target_is_text: bool
    metric: Metric
    cores: int | None  # None: as many as the target has
    unroll: list[str]  # `160`, or `10@LOCATION`
    paths: int | None  # None: all
    mtu: int  # bytes, Ethernet header included, frame check sequence not
    deadline_seconds: float | None
    assume: str | None  # TOML text


class Progress(NamedTuple):
    """How far an analysis is."""

    bitrate_bps: float
    packetrate_pps: float
    seconds: float
    candidates: int
    nogoods: int
    paths: int  # satisfiable ones found; from the first one on, the rates are exact and stay


class Outcome(NamedTuple):
    """The result of an analysis."""

    result: Result
    detail: Detail
    interrupted: bool


class KernelTypes(NamedTuple):
    """BTF of the kernel that programs are for."""

    file: str
    data: bytes


def version() -> str:
    """The version of slowpath."""
    return _core.version()


def target_names() -> list[str]:
    """Names of the built-in targets."""
    return _core.target_names()


def target_text(name: str) -> str | None:
    """The description of a built-in target, or None when there is none of that name."""
    return _core.target_text(name)


def check_target(text: str) -> list[str]:
    """What is wrong with a target description; empty when nothing is."""
    return _core.check_target(text)


def show(file: str, data: bytes, kernel: KernelTypes | None) -> BpfObject:
    """What the BPF object in `data` contains; `file` names it.

    Raises:
        InputError: when the object or the kernel's types cannot be read.
    """
    try:
        text = _core.show(_as_text(file), data, None if kernel is None else kernel.data)
    except ValueError as problem:
        reason = str(problem)
        if kernel is not None and reason.startswith("--btf: "):
            raise InputError(kernel.file, reason.removeprefix("--btf: ")) from None
        raise InputError(file, reason) from None
    shown: BpfObject = json.loads(text)
    return shown


def analyse(
    file: str,
    data: bytes,
    options: Options,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Outcome:
    """Analyses the program in `data`; `file` names it in messages.

    An interrupt (Ctrl-C) ends the analysis with the bound reached so far; a second one raises
    `KeyboardInterrupt`.

    Raises:
        EngineError: when the engine fails without a result.
    """
    analysis = _core.Analysis(
        _as_text(file),
        data,
        target=options.target,
        target_is_text=options.target_is_text,
        metric=options.metric,
        cores=options.cores,
        unroll=options.unroll,
        paths=options.paths,
        mtu=options.mtu,
        deadline_seconds=options.deadline_seconds,
        assume=options.assume,
    )
    news = Progress(0.0, 0.0, 0.0, 0, 0, 0)
    with _interrupts_call(analysis.stop) as interrupted:
        for event in analysis:
            match event:
                case _core.Bound():
                    news = _updated(news, event)
                    on_progress(news)
                case _core.Result():
                    return Outcome(
                        json.loads(event.json), json.loads(event.detail), interrupted.is_set()
                    )
                case _core.Path():
                    news = news._replace(paths=event.index)
                    on_progress(news)
    raise EngineError("the engine ended without a result")


def _as_text(file: str) -> str:
    """The name of a file, which need not be Unicode."""
    return file.encode(errors="backslashreplace").decode()


def _updated(news: Progress, bound: _core.Bound) -> Progress:
    """Once a path is found, later bounds are about the paths that are left, not the program."""
    if not news.paths:
        news = news._replace(bitrate_bps=bound.bitrate_bps, packetrate_pps=bound.packetrate_pps)
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
