"""Waiting time of run-to-completion functions.

A queue that is never empty waits for all others in each round (Eq. 1). A function with other work
between its requests overlaps some of this work with service of the others, and waits for the rest.
While others are served, it waits for a share k of the time, for any load. With rho the share of
time in which the accelerator serves others,

    T  =  T_solo (1 - k rho)

This line ends where others get all the time that the function leaves, rho = 1 - T t (with t the
time of its own request). The share k depends on the length of the others' requests. It is measured
in co-runs with clients that always have a request. The paper has such a line (Figure 4), but uses
Eq. 2 for its end.

Mixes with one client that always has a request, and no other competitor, show the added time of a
packet. Their traffic differs, so the added time is taken to be the same. Neighbouring co-runs are
averaged, as waits scatter more than throughputs. If these waits predict left-out mixes no better
than a whole round of the client's requests does (Eq. 1), the whole round is used.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.accelerator.round_robin import throughputs
from slowpath.contention.accelerator.service import CoRun, IdentificationError
from slowpath.contention.tables.columns import TRAFFIC_NAMES
from slowpath.contention.tables.profiles import Clients, CoRuns, Mixes, Query

Floats = NDArray[np.float64]

_TWO = 2
_HALVINGS = 50


class Waits(NamedTuple):
    """Waiting time of a request, by the round time of clients that always have a request."""

    taken: Floats  # round time of these clients, ascending
    wait: Floats

    def at(self, taken: Floats) -> Floats:
        """Return the wait, interpolated between measured values, constant outside their range."""
        return np.asarray(np.interp(taken, self.taken, self.wait))


class Others(NamedTuple):
    """Other clients of an accelerator, on the last axis."""

    queues: Floats
    request_time: Floats
    rate: Floats  # requests per unit of time; infinite if always pending, 0 for no client


def measured_waits(solo: float, runs: Sequence[CoRun]) -> Waits:
    """Return the waits of requests, from co-runs with clients that always have a request.

    Raises:
        IdentificationError: if co-runs are all alike, or the function does not wait.
    """
    taken, wait = waits_of(solo, runs)
    if len(np.unique(taken)) < _TWO:
        raise IdentificationError("two co-runs with different request times are needed")
    if wait[-1] <= max(wait[0], 0.0):
        reason = "longer requests of the other do not slow the function"
        raise IdentificationError(f"{reason}: it does not wait for the accelerator")
    # Waits increase with the round time; any decrease is noise.
    return Waits(taken, np.maximum.accumulate(np.maximum(wait, 0.0)))


def waits_of(solo: float, runs: Sequence[CoRun]) -> Waits:
    """Return the measured time that clients with pending requests add to a packet, by round time.

    Raises:
        IdentificationError: if a time or throughput is not positive.
    """
    if solo <= 0 or any(min(run) <= 0 for run in runs):
        raise IdentificationError("queues, request times and throughputs have to be above zero")
    found = sorted((run.queues * run.request_time, 1 / run.throughput - 1 / solo) for run in runs)
    taken, wait = np.array(found).reshape(-1, 2).T
    return Waits(taken, wait)


def others_round_time(others: Others) -> Floats:
    """Return the time that others take in a round in which all of them have a request, by row."""
    there = np.where(others.rate > 0, others.queues * others.request_time, 0.0)
    return np.asarray(there.sum(axis=-1))


def wait_per_packet(alone: Floats, request_time: Floats, wait: Floats, others: Others) -> Floats:
    """Return the time per packet in which a function waits for its requests.

    Args:
        alone: time of a packet without waits here, by row.
        request_time: time of its own requests, by row.
        wait: waiting time if others always had a request, by row.
        others: other clients, by row.
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
    """Return the share of time in which others are served, at this throughput of the function."""
    queues = np.concatenate([np.ones_like(others.queues[..., :1]), others.queues], axis=-1)
    time = np.concatenate([request_time[..., None], others.request_time], axis=-1)
    rate = np.concatenate([throughput[..., None], others.rate], axis=-1)
    # Others cannot take the function's own share: its requests wait, but are never rejected.
    left = np.maximum(1 - throughput * request_time, 0.0)
    served = throughputs(queues, time, rate)[..., 1:] * others.request_time
    return np.asarray(np.minimum(served.sum(axis=-1), left))


_POINTS = 8
"""Maximum number of groups of averaged co-runs."""
_JUDGED = 4
"""Least number of different round times to judge waits; all but the ends are left out in turn."""
_TINY = 1e-300
_MOST = 0.999
"""Maximum share of a packet's time for its own request."""


def co_runs_of(mixes: Mixes) -> CoRuns | None:
    """Return the mixes that show waiting times; None without such mixes."""
    contention = [values for name, values in mixes.columns.items() if name not in TRAFFIC_NAMES]
    alone = ~np.any(contention, axis=0)
    some = mixes.where(alone & (mixes.queues > 0) & np.isinf(mixes.rate))
    if not some.rows:
        return None
    return CoRuns(
        some.origin, some.rows, some.queues, some.request_time, some.alone, some.throughput
    )


def waits_by(runs: CoRuns) -> Waits | None:
    """Return the waits in co-runs; None without waits, or if whole rounds predict better."""
    round_time, added = runs.queues * runs.request_time, 1 / runs.throughput - 1 / runs.alone
    found = _waits(round_time, added)
    if found is None or len(np.unique(round_time)) < _JUDGED:
        return found
    inside = (round_time > round_time.min()) & (round_time < round_time.max())
    off, whole = np.zeros(0), np.zeros(0)
    for at in np.flatnonzero(inside):
        others = round_time != round_time[at]
        without = _waits(round_time[others], added[others])
        if without is None:
            return None
        said = np.array([float(without.at(round_time[at])), round_time[at]])
        errors = np.abs(1 / (1 / runs.alone[at] + said) / runs.throughput[at] - 1)
        off, whole = np.append(off, errors[0]), np.append(whole, errors[1])
    return found if off.mean() < whole.mean() else None


def _waits(round_time: Floats, added: Floats) -> Waits | None:
    """Return the waits by round time, from the added times."""
    order = np.argsort(round_time, kind="stable")
    groups = np.array_split(order, min(len(order), _POINTS))
    # Only the added time matters; the solo time of a packet is arbitrary here.
    packet = 2 * max(float(np.abs(added).max()), _TINY)
    runs = [
        CoRun(1.0, float(round_time[one].mean()), 1 / (packet + float(added[one].mean())))
        for one in groups
    ]
    try:
        return measured_waits(1 / packet, runs)
    except IdentificationError:
        return None


def waits_in(waits: Waits, query: Query, alone: Floats, own: Floats) -> Floats:
    """Return the waiting time per packet, by row.

    Args:
        waits: waiting times of the function.
        query: the other clients of the accelerator.
        alone: solo time of a packet.
        own: time of its own request.
    """
    clients = query.clients
    if clients is None:
        queued = np.zeros(len(alone)) if query.queued is None else query.queued
        rate = np.where(queued > 0, np.inf, 0.0)[:, None]
        clients = Clients(np.ones_like(rate), np.maximum(queued, _TINY)[:, None], rate)
    others = Others(*clients)
    there = others_round_time(others)
    found = wait_per_packet(alone, np.minimum(own, _MOST * alone), waits.at(there), others)
    return np.where(there > 0, np.maximum(found, 0.0), 0.0)
