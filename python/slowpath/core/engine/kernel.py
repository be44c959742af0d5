"""Runs programs in the running kernel, to measure times, run packets, and test rewritten programs.

Functions with a timing thread (`Station`) raise an `InputError` if the kernel rejects a request.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from slowpath import _core
from slowpath.core import codes
from slowpath.core.codes import Code
from slowpath.core.engine import as_text, errors_as_file_errors
from slowpath.core.engine.analyses import POLL_SECONDS, BackgroundWork, StageProgress
from slowpath.core.engine.objects import Object, Subject
from slowpath.core.engine.report_types import RehearsalReport, TraceReport
from slowpath.core.errors import DisagreementError, InputError, UnavailableError
from slowpath.core.jobs import Stopping

Refusal = InputError
"""The error that functions of this module raise if the kernel rejects a request."""


class RewrittenRefusedError(InputError):
    """The kernel's verifier rejects a rewritten program, but accepts the original."""


def errors_as_kernel_errors() -> AbstractContextManager[None]:
    """Convert engine errors into errors that name `the running kernel` in place of a file.

    Raises:
        StoppedError: if the user interrupted the work.
        InputError: if the kernel rejects a request.
    """
    return errors_as_file_errors("the running kernel")


Kernel = _core.Kernel
"""The running kernel, as `open_kernel` returns it."""


def open_kernel() -> Kernel:
    """Open the running kernel, so that programs can be loaded into it.

    Raises:
        UnavailableError: if this process cannot load and run programs; the error gives the reason.
    """
    try:
        return _core.Kernel.open()
    except _core.Error as problem:
        raise UnavailableError(Code(problem.code), str(problem)) from None


Station = _core.Station
"""A thread that times programs, as `open_station` returns it."""
Case = _core.Case
"""A path that can be timed, as `prepare_case` returns it."""
Stretch = _core.Stretch
"""A part of a path, with a case that runs the path up to the end of this part."""
Load = _core.Load
"""Paths that are loaded into the kernel, as `load_cases` and `load_cold` return them."""


def open_station(kernel: Kernel, cpu: int | None) -> Station:
    """Start a thread that times programs in the kernel.

    It is pinned to `cpu` if possible; None leaves the choice to the engine.

    Raises:
        UnavailableError: if this process cannot create network namespaces.
    """
    try:
        return _core.Station(kernel, cpu)
    except _core.Error as problem:
        raise UnavailableError(Code(problem.code), str(problem)) from None


def prepare_case(
    station: Station,
    subject: Subject,
    witness: str,
    instructions: int | None,
    maps: str | None = None,
) -> Case:
    """Run an execution path of a program in the kernel and find a way to time it repeatedly.

    Args:
        station: The thread that times programs.
        subject: The program.
        witness: Witness of the path, as JSON.
        instructions: Number of instructions of the path; None if it is unknown.
        maps: Content of the file of `--maps`, if the path was found with this option.

    Raises:
        DisagreementError: if kernel and interpreter behave differently.
        InputError: if the kernel does not take the path, or cannot take it repeatedly.
    """
    try:
        return station.prepare(subject.object, subject.program, witness, instructions, maps)
    except _core.Error as problem:
        report = getattr(problem, "report", None)
        if report is not None:
            raise DisagreementError(as_text(subject.file), str(problem), report) from None
        raise InputError(Code(problem.code), as_text(subject.file), str(problem)) from None


def cut_case(station: Station, case: Case) -> tuple[list[Stretch], list[int]]:
    """Cut an execution path into pieces (stretches) that can be timed separately.

    Also return the instructions at which the path cannot be cut.

    Raises:
        InputError: if the path's instructions are unknown, or the kernel rejects the cut program.
    """
    with errors_as_kernel_errors():
        return _core.stretches(station, case)


def load_cases(station: Station, cases: Sequence[Case]) -> Load:
    """Load execution paths into the kernel, ready to be timed. Each path gets its own maps."""
    with errors_as_kernel_errors():
        return station.load(list(cases))


def sample(station: Station, load: Load, subject: int, repeat: int) -> tuple[int, int, int]:
    """Time one of the loaded execution paths, in one call of `repeat` runs.

    `subject` is the index of the path in `load`; negative indices stand for reference programs.

    Returns:
        Total nanoseconds, number of runs, and return value of the last run.
    """
    with errors_as_kernel_errors():
        return station.sample(load, subject, repeat)


SubsequentPackets = _core.Later  # behaviour of the packets after the first one
Cold = _core.Cold
"""A path with many flows, so that their map elements are not in caches; see `find_cold_case`."""


def find_cold_case(station: Station, case: Case, cache_bytes: int) -> Cold:
    """Find packet flows that together exceed the last-level cache when they take a given path.

    Map elements of such flows are not in the cache, so the path runs with cold caches.
    `cache_bytes` is the size of the cache.

    Raises:
        InputError: if no such flows were found; the error gives the reason.
    """
    with errors_as_kernel_errors():
        return station.cool(case, cache_bytes)


def load_cold(station: Station, cases: Sequence[Cold]) -> Load:
    """Load paths with cold caches into the kernel, ready to be timed.

    After each path comes an empty program that runs on the same packets, as a reference.
    """
    with errors_as_kernel_errors():
        return station.load_cold(list(cases))


LiveCase = _core.LiveCase
"""A path that live packets take, as `prepare_live_case` returns it."""
LiveLoad = _core.LiveLoad
"""Paths with live packets, loaded into the kernel; from `load_live_cases`."""


def prepare_live_case(station: Station, file: str, case: Case, batch: int) -> LiveCase:
    """Prepare to time a path on live packets, which are sent on after the program has run.

    Check that live packets in batches of `batch` take the same path as before. `file` is the
    program's name in errors.

    Raises:
        InputError: if they take another path, or the kernel does not support live packets.
    """
    try:
        return _core.LiveCase(station, case, batch)
    except _core.Error as problem:
        raise InputError(Code(problem.code), as_text(file), str(problem)) from None


def load_live_cases(station: Station, cases: Sequence[LiveCase]) -> LiveLoad:
    """Load execution paths for timing on live packets; each path gets its own network devices."""
    with errors_as_kernel_errors():
        return _core.LiveLoad(station, list(cases))


def sample_live(
    station: Station, load: LiveLoad, indices: tuple[int, int], frames: int, batch: int
) -> tuple[int, int, int, int]:
    """Time a path, or its reference program, on `frames` live packets in batches of `batch`.

    `indices` has two indices: that of the path, and that of the program to time for it.

    Returns:
        Nanoseconds until all packets were sent; numbers of sent, arrived and dropped packets.
    """
    with errors_as_kernel_errors():
        return load.sample(station, indices, frames, batch)


class OfferedTrial(NamedTuple):
    """Numbers of packets in a test at one send rate: sent, received, and lost, with latencies."""

    due: int  # packets that were due: `late` and `sent`
    late: int  # not sent, because the sender was too late
    sent: int
    refused: int  # no room in the queue in front of the program
    kept: int  # not sent back by the program
    lost_back: int  # no room in the queue of the receiver
    unmarked: int  # returned without a valid mark
    received: int
    nanoseconds: int  # time of sending
    latencies: list[int]
    """Latencies of received packets in nanoseconds: minimum, 50, 90, 99 and 99.9 %, maximum."""


OfferedLoad = _core.OfferedLoad
"""A program on a virtual device with a sender of packets, from `open_offered_load`."""


def open_offered_load(
    kernel: Kernel, subject: Subject, witness: str, cpus: tuple[int, int], *, native: bool
) -> OfferedLoad:
    """Attach a program to a virtual device, to which packets can be sent at chosen rates.

    Args:
        kernel: The running kernel.
        subject: The program.
        witness: Packet and content of the maps, as JSON.
        cpus: CPU that sends and receives packets, and CPU of the program.
        native: True if the program runs in the driver of the device.

    Raises:
        UnavailableError: if this process lacks rights, or the machine lacks something else.
        InputError: if the kernel rejects the program.
    """
    object_, number = subject.object, subject.program
    try:
        return _core.OfferedLoad(kernel, object_, number, witness, cpus, native)
    except _core.Error as problem:
        if problem.kind == "unavailable":
            raise UnavailableError(Code(problem.code), str(problem)) from None
        raise InputError(Code(problem.code), as_text(subject.file), str(problem)) from None


def offer(load: OfferedLoad, rate: float | None, seconds: float) -> OfferedTrial:
    """Send packets for some seconds at a rate in packets a second; for None, as fast as possible.

    Raises:
        InputError: if the kernel does not send or count packets.
    """
    with errors_as_kernel_errors():
        counts, latencies = load.trial(rate, seconds)
    return OfferedTrial(*counts, latencies)


Busy = _core.Busy
"""A loop of constant work whose time shows disturbances of the CPU; from `load_busy`."""


def load_busy(station: Station) -> Busy:
    """Load a loop of constant work (busy loop); its time shows when other work disturbs the CPU."""
    with errors_as_kernel_errors():
        return station.load_busy()


def sample_busy(station: Station, busy: Busy, repeat: int) -> tuple[int, int, int]:
    """Time the busy loop in one call of `repeat` runs.

    Return total nanoseconds, number of runs, and return value, as `sample` does.
    """
    with errors_as_kernel_errors():
        return station.sample_busy(busy, repeat)


Pace = _core.Pace
"""Programs that measure the speed of the CPU; from `load_pace`."""


def load_pace(station: Station) -> Pace:
    """Load programs with chains of additions, which measure the current speed of the CPU."""
    with errors_as_kernel_errors():
        return station.load_pace()


def pace(station: Station, programs: Pace, repeat: int) -> tuple[float, float]:
    """Measure the nanoseconds of one addition; return two values.

    The first is for a chain, in which each addition needs the result of the previous one. The
    second is for independent additions. Both are differences between calls of `repeat` runs, which
    can be negative if other work disturbed the CPU.
    """
    with errors_as_kernel_errors():
        return station.pace(programs, repeat)


Trace = _core.Trace
"""Packets of a capture file that are run through a program; `open_trace` returns it."""


def open_trace(station: Station, subject: Subject, file: str, maps: str | None) -> Trace:
    """Open a packet capture, to run its packets through a program in the kernel.

    `maps` is the text of the file of `--maps`, with initial content of maps. All other maps stay as
    the kernel creates them.

    Raises:
        InputError: if the file is not a capture file, the program cannot be run, or a map rejects
            its content.
    """
    try:
        return _core.Trace(station, subject.object, subject.program, file, maps)
    except _core.Error as problem:
        raise InputError(Code(problem.code), as_text(subject.file), str(problem)) from None


def advance_trace(station: Station, trace: Trace, milliseconds: int) -> bool:
    """Run further packets of a capture for about `milliseconds`; return true if some may be left.

    Raises:
        InputError: if a packet cannot be run.
    """
    with errors_as_kernel_errors():
        return trace.advance(station, milliseconds)


def report_trace(trace: Trace) -> TraceReport:
    """Return the results for the packets of a capture that have run so far."""
    report: TraceReport = json.loads(trace.report())
    return report


class Stage(NamedTuple):
    """A program that packets pass in a chain before they reach the tested program."""

    object: Object
    program: int  # number in the object
    results: list[int]  # return values that pass the packet on
    maps: str = ""  # the `maps` of a witness, as JSON; empty: as the kernel creates them


class Rehearsed(NamedTuple):
    """A rewritten program to test, its original, and the programs before it in the chain."""

    upstream: Sequence[Stage]  # in the order in which packets pass them
    original: tuple[Object, int]  # object of the program, and its number in the object
    rewritten: bytes  # object file with one XDP program, or with one of the original's name
    seeds: Sequence[bytes]  # packets that get through the chain; the tests send mutations of them
    maps: str = ""  # content of maps for both programs, as in `Stage`
    covers: str = ""  # test inputs as JSON: packets in hexadecimal, each with `maps` of a witness
    rewritten_maps: str = ""  # content of maps that only the rewritten program has
    assumed: Sequence[str] = ()  # facts, in words, about all packets that arrive at the chain


class Rehearsing(NamedTuple):
    """Options for testing a rewritten program against its original; such a test is a rehearsal."""

    packets: int = 100_000  # number of packets that have to reach both programs
    arbitrary: bool = False  # true: also send this number of packets directly to both programs
    rounds: int = 15  # rounds of timing both programs; 0: no timing
    frames: int = 0  # frames that have to reach both programs on virtual Ethernet, per XDP mode
    receive: str | None = None  # receiving environment, which selects XDP modes; None: all modes
    deadline_seconds: float | None = None


def rehearse(
    kernel: Kernel,
    chain: Rehearsed,
    rehearsing: Rehearsing,
    stopping: Stopping,
    look: Callable[[StageProgress], None] = lambda _: None,
) -> RehearsalReport:
    """Compare the original and the rewritten program on packets in the kernel, and time both.

    First, both programs run directly on the test inputs in `covers`. Then both run on packets that
    the upstream programs pass on. A deadline or a stop request ends the rehearsal early, with its
    results so far (key `ended`). `look` gets the current stage ten times a second.

    Raises:
        RewrittenRefusedError: if the kernel's verifier rejects only the rewritten program.
        InputError: if the verifier rejects another program (with its message), a map rejects its
            content, or the rewritten program does not run packets that the original runs.
    """
    packets, arbitrary, rounds, frames, receive, seconds = rehearsing
    stop = _core.Stop(seconds, None)
    stages: list[tuple[Object, int, list[int], str]] = list(chain.upstream)
    packets_and_maps = (list(chain.seeds), chain.maps, chain.covers)
    programs = (stages, chain.original, chain.rewritten, *packets_and_maps)
    others = (chain.rewritten_maps, list(chain.assumed), frames, receive)
    with errors_as_kernel_errors(), stopping.calling(stop.set):
        running = BackgroundWork(
            lambda: _core.rehearse(kernel, *programs, packets, arbitrary, rounds, stop, *others)
        )
        try:
            while not running.wait(POLL_SECONDS):
                look(StageProgress(*stop.doing))
        except BaseException:
            stop.set()
            raise
        text = running.result()
    report: RehearsalReport = json.loads(text)
    if refused := report.get("refused"):
        raise RewrittenRefusedError(codes.REWRITING_REJECTED, "the running kernel", refused)
    return report
