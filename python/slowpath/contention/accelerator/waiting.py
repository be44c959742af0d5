"""What functions that run to completion wait for at an accelerator: one request, then the packet.

A queue that is never empty waits for all others in each round (Eq. 1). A function that does other
things between its requests does part of them while others are served, and waits for the rest of
that. While others are served it waits for a share k of the time, whatever their load: so with rho
the share of time in which the accelerator serves them,

    T  =  T_solo (1 - k rho)

which falls in a line until they have all that the function leaves, rho = 1 - T t (with t the time
of its own request). k depends on how long the others' requests are, and shows in co-runs with
clients that always have some. The paper has such a line (Figure 4), but takes Eq. 2 for its end.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.accelerator.identification import CoRun, IdentificationError
from slowpath.contention.accelerator.round_robin import throughputs

Floats = NDArray[np.float64]

_TWO = 2
_HALVINGS = 50


class Waits(NamedTuple):
    """How long a request waits for clients that always have requests, by what they take."""

    taken: Floats  # time that they take of a round, rising
    wait: Floats

    def at(self, taken: Floats) -> Floats:
        """The wait: by lines between what was measured, and as at the ends beyond."""
        return np.asarray(np.interp(taken, self.taken, self.wait))


class Others(NamedTuple):
    """Other clients of an accelerator, on the last axis."""

    queues: Floats
    request_time: Floats
    rate: Floats  # requests that arrive; infinite where there always are some, 0 where nobody is


def measured_waits(solo: float, runs: Sequence[CoRun]) -> Waits:
    """How long requests wait, from co-runs with clients that always have requests.

    Raises:
        IdentificationError: when co-runs are all alike, or the function does not wait.
    """
    taken, wait = waits_of(solo, runs)
    if len(np.unique(taken)) < _TWO:
        raise IdentificationError("two co-runs with different request times are needed")
    if wait[-1] <= max(wait[0], 0.0):
        reason = "longer requests of the other do not slow the function"
        raise IdentificationError(f"{reason}: it does not wait for the accelerator")
    # Waits do not fall; what does is noise.
    return Waits(taken, np.maximum.accumulate(np.maximum(wait, 0.0)))


def waits_of(solo: float, runs: Sequence[CoRun]) -> Waits:
    """What co-runs with clients that always have requests add to a packet, as measured.

    Raises:
        IdentificationError: when a time or throughput is none.
    """
    if solo <= 0 or any(min(run) <= 0 for run in runs):
        raise IdentificationError("queues, request times and throughputs have to be above zero")
    found = sorted((run.queues * run.request_time, 1 / run.throughput - 1 / solo) for run in runs)
    taken, wait = np.array(found).reshape(-1, 2).T
    return Waits(taken, wait)


def beside(solo: Floats, request_time: Floats, waits: Waits, others: Others) -> Floats:
    """Throughput of a function that waits for its requests, with contention for nothing else.

    Args:
        solo: throughput alone, by row.
        request_time: of its own requests, by row.
        waits: how long they wait.
        others: by row. Several are taken as one whose requests are as long as all of theirs.

    Returns:
        Packets per unit of time, by row.
    """
    alone = 1 / solo
    wait = waits.at(taken(others))
    return np.asarray(1 / (alone + waited(alone, request_time, wait, others)))


def taken(others: Others) -> Floats:
    """Time that others take of a round in which all of them have a request, by row."""
    there = np.where(others.rate > 0, others.queues * others.request_time, 0.0)
    return np.asarray(there.sum(axis=-1))


def waited(alone: Floats, request_time: Floats, wait: Floats, others: Others) -> Floats:
    """Time of each packet in which a function waits for its requests.

    Args:
        alone: time of a packet if it did not wait here, by row.
        request_time: of its own requests, by row.
        wait: how long it would wait if others always had requests, by row.
        others: by row.
    """
    solo, full = 1 / alone, 1 / (alone + wait)
    share = (1 - full / solo) / (1 - full * request_time)
    least, most = np.zeros_like(solo), solo.copy()
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        possible = solo * (1 - share * _busy(middle, request_time, others))
        least = np.where(possible >= middle, middle, least)
        most = np.where(possible >= middle, most, middle)
    return np.asarray(2 / (least + most) - alone)


def _busy(throughput: Floats, request_time: Floats, others: Others) -> Floats:
    """Share of time in which others are served, beside this throughput."""
    queues = np.concatenate([np.ones_like(others.queues[..., :1]), others.queues], axis=-1)
    time = np.concatenate([request_time[..., None], others.request_time], axis=-1)
    rate = np.concatenate([throughput[..., None], others.rate], axis=-1)
    # The function gets its turn whatever others want: it waits, and is not turned away.
    left = np.maximum(1 - throughput * request_time, 0.0)
    served = throughputs(queues, time, rate)[..., 1:] * others.request_time
    return np.asarray(np.minimum(served.sum(axis=-1), left))
