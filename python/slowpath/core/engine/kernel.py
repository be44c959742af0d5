"""Programs in the running kernel: timed paths, live packets, traces, refusals."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypedDict

from slowpath import _core
from slowpath.core.engine.errors import as_text
from slowpath.core.engine.objects import Subject
from slowpath.core.errors import DisagreementError, InputError, UnavailableError

Refusal = InputError
"""What functions here raise when the kernel does not do what it is asked for."""


class RewrittenRefusedError(InputError):
    """The kernel's verifier refuses a rewritten program, and not the original."""


@contextmanager
def of_the_kernel() -> Iterator[None]:
    """What the kernel refuses is an error that says so."""
    try:
        yield
    except _core.Error as problem:
        raise InputError("the running kernel", str(problem)) from None


Kernel = _core.Kernel
"""The running kernel; from `open_kernel`."""


def open_kernel() -> Kernel:
    """The running kernel, to load programs into.

    Raises:
        UnavailableError: when it loads and runs none for this process; it says what is missing.
    """
    try:
        return _core.Kernel.open()
    except _core.Error as problem:
        raise UnavailableError(str(problem)) from None


Station = _core.Station
"""The thread that programs are timed on; from `open_station`."""
Case = _core.Case
"""A path that can be timed; from `prepare_case`."""
Stretch = _core.Stretch  # a part of a path, with the case that ends where it does
Load = _core.Load
"""Paths in the kernel; from `load_cases` or `load_cold`."""


def open_station(kernel: Kernel, cpu: int | None) -> Station:
    """A thread to time programs on, on this CPU where that is possible.

    Raises:
        UnavailableError: when this machine has no network namespaces for us.
    """
    try:
        return _core.Station(kernel, cpu)
    except _core.Error as problem:
        raise UnavailableError(str(problem)) from None


def prepare_case(
    station: Station,
    subject: Subject,
    witness: str,
    instructions: int | None,
    maps: str | None = None,
) -> Case:
    """Finds out how a path can be timed; the witness is JSON.

    `maps` is the text of `--maps`, where that was known when the path was found.

    Raises:
        DisagreementError: when the kernel does something else than the interpreter.
        InputError: when the kernel does not take the path, or not again and again.
    """
    try:
        return station.prepare(subject.object, subject.program, witness, instructions, maps)
    except _core.Error as problem:
        report = getattr(problem, "report", None)
        if report is not None:
            raise DisagreementError(as_text(subject.file), str(problem), report) from None
        raise InputError(as_text(subject.file), str(problem)) from None


def cut_case(station: Station, case: Case) -> tuple[list[Stretch], list[int]]:
    """Cuts a path into stretches; also the instructions at which it could not be cut.

    Raises:
        InputError: when its instructions are not known, or the kernel refuses the cut program.
    """
    with of_the_kernel():
        return _core.stretches(station, case)


def load_cases(station: Station, cases: Sequence[Case]) -> Load:
    """Loads paths anew.

    Raises:
        InputError: when the kernel does not take one of them.
    """
    with of_the_kernel():
        return station.load(list(cases))


def sample(station: Station, load: Load, subject: int, repeat: int) -> tuple[int, int, int]:
    """Times a path of a load, or what has a negative number, in one call with so many runs.

    What it returns: nanoseconds of all runs, how many these are, and what the last one returned.

    Raises:
        InputError: when the kernel does not run it.
    """
    with of_the_kernel():
        return station.sample(load, subject, repeat)


Later = _core.Later  # what packets do that come behind a first one
Cold = _core.Cold
"""A path that many flows take; from `cool_case`."""


def cool_case(station: Station, case: Case, cache_bytes: int) -> Cold:
    """Many flows that take the path of a case and touch more memory than the last-level cache has.

    Raises:
        InputError: when there are none, with the reason.
    """
    with of_the_kernel():
        return station.cool(case, cache_bytes)


def load_cold(station: Station, cases: Sequence[Cold]) -> Load:
    """Loads cold paths anew, each followed by an empty program that gets the same packets.

    Raises:
        InputError: when the kernel does not take one of them.
    """
    with of_the_kernel():
        return station.load_cold(list(cases))


LiveCase = _core.LiveCase
"""A path that live packets take; from `prepare_live_case`."""
LiveLoad = _core.LiveLoad
"""Such paths in the kernel; from `load_live_cases`."""


def prepare_live_case(station: Station, file: str, case: Case, batch: int) -> LiveCase:
    """Finds out whether live packets take a path, so many at a time; `file` names the program.

    Raises:
        InputError: when they do not, or the kernel makes none.
    """
    try:
        return _core.LiveCase(station, case, batch)
    except _core.Error as problem:
        raise InputError(as_text(file), str(problem)) from None


def load_live_cases(station: Station, cases: Sequence[LiveCase]) -> LiveLoad:
    """Loads paths anew, with devices of their own.

    Raises:
        InputError: when the kernel does not take one of them.
    """
    with of_the_kernel():
        return _core.LiveLoad(station, list(cases))


def sample_live(
    station: Station, load: LiveLoad, asked: tuple[int, int], frames: int, batch: int
) -> tuple[int, int, int, int]:
    """Times a subject of a path on so many packets in one call, so many at a time.

    What it returns: nanoseconds, how many packets these were, how many arrived, how many found no
    room.

    Raises:
        InputError: when the kernel does not run them.
    """
    with of_the_kernel():
        return load.sample(station, asked, frames, batch)


Busy = _core.Busy
"""A loop that tells whether something disturbs the CPU; from `load_busy`."""


def load_busy(station: Station) -> Busy:
    """Loads the busy loop.

    Raises:
        InputError: when the kernel does not take it.
    """
    with of_the_kernel():
        return station.load_busy()


def sample_busy(station: Station, busy: Busy, repeat: int) -> tuple[int, int, int]:
    """Times the busy loop in one call; see `sample`.

    Raises:
        InputError: when the kernel does not run it.
    """
    with of_the_kernel():
        return station.sample_busy(busy, repeat)


Pace = _core.Pace
"""Programs that tell how fast the CPU itself is; from `load_pace`."""


def load_pace(station: Station) -> Pace:
    """Loads programs that tell how fast the CPU of a station is.

    Raises:
        InputError: when the kernel does not take one of them.
    """
    with of_the_kernel():
        return station.load_pace()


def pace(station: Station, programs: Pace, repeat: int) -> tuple[float, float]:
    """Nanoseconds of an addition that waits for the one before, and of one that waits for none.

    They are timed in calls with so many runs, and are differences: less than nothing where the CPU
    was disturbed.

    Raises:
        InputError: when the kernel does not run them.
    """
    with of_the_kernel():
        return station.pace(programs, repeat)


Trace = _core.Trace
"""A trace on its way through a program; from `open_trace`."""


class TraceFault(TypedDict):
    """Packets whose path is not known, for one reason."""

    packets: int
    first: int | None
    what: str | None
    report: str | None


class TracePath(TypedDict):
    """A path that packets of a trace take."""

    path: str
    packets: int
    instructions: int
    action: int
    first: int
    kept: int | None


class TraceMap(TypedDict):
    """What a map held before the first packet."""

    name: str
    entries: int | None
    others: int


class TraceReport(TypedDict):
    """What is known of a trace: `slowpath_measure::TraceReport`."""

    format: str
    packets: int
    truncated: int
    uncertain: int
    converted: TraceFault
    refused: TraceFault
    undecided: TraceFault
    disagreements: TraceFault
    complete: bool
    ended: str | None
    maps: list[TraceMap]
    paths: list[TracePath]
    taken: list[int | None]


def open_trace(station: Station, subject: Subject, file: str, maps: str | None) -> Trace:
    """Opens a capture file for a program; `maps` is the text of `--maps`.

    Maps that it does not name are as the kernel makes them.

    Raises:
        InputError: when it is no capture file, the program cannot be run, or a map does not take
            its content.
    """
    try:
        return _core.Trace(station, subject.object, subject.program, file, maps)
    except _core.Error as problem:
        raise InputError(as_text(subject.file), str(problem)) from None


def advance_trace(station: Station, trace: Trace, milliseconds: int) -> bool:
    """Runs packets of a trace for about so long; whether there may be more.

    Raises:
        InputError: when nothing can be run any more.
    """
    with of_the_kernel():
        return trace.advance(station, milliseconds)


def report_trace(trace: Trace) -> TraceReport:
    """What is known of a trace by now."""
    report: TraceReport = json.loads(trace.report())
    return report
