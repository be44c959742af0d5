"""Which mixes fit on a NIC."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from slowpath.cli.errors import InputError
from slowpath.contention.placement.known.fleet import Fleet
from slowpath.contention.placement.known.truth import Mix

Places = NDArray[np.intp]

MOST_MIXES = 200_000


def possible_mixes(fleet: Fleet, counts: Places | None = None) -> list[Mix]:
    """All that so many of each function can make together on a NIC, as far as cores go.

    Raises:
        InputError: when there are too many to look at.
    """
    found = list[Mix]()
    most = np.full(len(fleet.functions), fleet.cores) if counts is None else counts.copy()
    for mix in _mixes(fleet.sizes, most, 0, fleet.cores):
        if mix:
            found.append(mix)
        if len(found) > MOST_MIXES:
            reason = f"more than {MOST_MIXES:,} mixes of functions fit on a NIC"
            raise InputError(fleet.file, f"{reason}; this is for smaller fleets")
    return found


def _mixes(sizes: Sequence[int], counts: Places, first: int, free: int) -> Iterator[Mix]:
    yield ()
    for at in range(first, len(sizes)):
        if sizes[at] > free or not counts[at]:
            continue
        counts[at] -= 1
        for rest in _mixes(sizes, counts, at, free - sizes[at]):
            yield (at, *rest)
        counts[at] += 1
