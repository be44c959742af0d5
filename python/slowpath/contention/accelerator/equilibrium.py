"""Throughput on an accelerator in the two cases that the paper has: Eq. 1, 2, 6 and 8.

Times are of one request, in any unit; throughputs are in its reciprocal. The paper writes the last
form of Eq. 2, and Eq. 6, with squares of queue numbers; they follow from its Eq. 1 (a round takes
sum n_j t_j, in which each queue is served once) only without the squares, since T_solo = 1 / t
whatever n is. For one queue each, as in all its measurements, both are the same. We take Eq. 1.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def round_time(queues: Floats, request_time: Floats) -> Floats:
    """How long a round takes when no queue is ever empty (Eq. 1); clients are the last axis."""
    return np.asarray((queues * request_time).sum(axis=-1))


def equilibrium(queues: Floats, request_time: Floats) -> Floats:
    """Throughput of each client when no queue is ever empty (Eq. 2, 6); shape of the arguments."""
    return np.asarray(queues / round_time(queues, request_time)[..., None])


def beside_one(request_time: Floats, other_time: Floats, other_rate: Floats) -> Floats:
    """Throughput beside a client that is not saturating (Eq. 8)."""
    return np.asarray((1 - other_rate * other_time) / request_time)
