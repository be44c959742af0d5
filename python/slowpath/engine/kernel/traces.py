"""Packets of capture files on their way through a program."""

import json
from typing import TypedDict

from slowpath import _core
from slowpath.cli.errors import InputError
from slowpath.engine.errors import as_text
from slowpath.engine.kernel.refusals import of_the_kernel
from slowpath.engine.kernel.stations import Station
from slowpath.engine.objects import Subject

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
