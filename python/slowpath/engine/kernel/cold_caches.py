"""Paths that many flows take, on cold caches."""

from collections.abc import Sequence

from slowpath import _core
from slowpath.engine.kernel.refusals import of_the_kernel
from slowpath.engine.kernel.stations import Case, Load, Station

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
