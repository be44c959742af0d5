"""Paths of programs in the running kernel, timed."""

from collections.abc import Sequence

from slowpath import _core
from slowpath.cli.errors import DisagreementError, InputError, UnavailableError
from slowpath.engine.errors import as_text
from slowpath.engine.kernel.refusals import of_the_kernel
from slowpath.engine.objects import Subject

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
