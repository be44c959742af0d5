"""What a function keeps beside another one on the same card, by draws of what both need."""

from typing import NamedTuple

import numpy as np

from slowpath.insights.colocation.groups import CORES
from slowpath.insights.demands.draws import Draws
from slowpath.insights.functions.functions import Array
from slowpath.insights.network.closed import Demands, solve


class Kept(NamedTuple):
    """Shares of the throughput alone, shape (draws, functions)."""

    own: Array
    others: Array  # what neighbours keep


def beside(own: Draws, others: Draws) -> Kept:
    """What functions keep beside others, each on its 30 cores; one by one, by the same fits."""
    alone = [_rates([one])[..., 0] for one in (own, others)]
    both = _rates([own, others])
    return Kept(both[..., 0] / alone[0], both[..., 1] / alone[1])


def _rates(classes: list[Draws]) -> Array:
    """Throughput of functions on the card together, shape (draws, functions, classes)."""
    first = classes[0]
    found = np.zeros((*first.waiting.shape, len(classes)))
    for one, queueing in enumerate(first.queueing):
        these = np.flatnonzero(first.fit == one)
        if not len(these):
            continue
        waiting = np.stack([part.waiting[these] for part in classes], 2)
        computing = np.stack([part.computing[these] for part in classes], 2)
        shared = np.stack([part.shared[these] for part in classes], 2)
        needed = Demands(
            waiting.reshape(-1, len(classes)),
            computing.reshape(-1, len(classes)),
            shared.reshape(-1, len(classes), shared.shape[-1]),
            queueing,
        )
        rates = solve(needed, np.full(needed.waiting.shape, float(CORES)))
        found[these] = rates.reshape(len(these), -1, len(classes))
    return found
