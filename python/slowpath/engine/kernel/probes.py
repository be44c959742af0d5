"""Programs that tell what the CPU does while others are timed."""

from slowpath import _core
from slowpath.engine.kernel.refusals import of_the_kernel
from slowpath.engine.kernel.stations import Station

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
