"""Live packets through programs, timed."""

from collections.abc import Sequence

from slowpath import _core
from slowpath.cli.errors import InputError
from slowpath.engine.errors import as_text
from slowpath.engine.kernel.refusals import of_the_kernel
from slowpath.engine.kernel.stations import Case, Station

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
