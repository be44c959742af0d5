"""Waiting time of functions that run to completion.

While a function is away, an accelerator serves the requests of others one after the other; the
function's own is next when that at hand is done. The ends of requests are a renewal process that
begins when the function leaves (W. Feller, An Introduction to Probability Theory II, chapter XI):
u(k), how likely one ends in step k, is the sum of all powers of the distribution of request times;
an age at return, and so what is left, follow from u, from these and from how long it is away.

Distributions are of whole steps, `[row, step]`, of which each row has `STEPS`, of a length of its
own; what is longer counts as the last one.

A queue that is never empty waits for all others in each round (Eq. 1). A function that does other
things between its requests does part of them while others are served, and waits for the rest of
that. While others are served it waits for a share k of the time, whatever their load: so with rho
the share of time in which the accelerator serves them,

    T  =  T_solo (1 - k rho)

which falls in a line until they have all that the function leaves, rho = 1 - T t (with t the time
of its own request). k depends on how long the others' requests are, and shows in co-runs with
clients that always have some. The paper has such a line (Figure 4), but takes Eq. 2 for its end.

Mixes with one client that always has requests, and nobody else, tell how much longer a packet then
takes. They are of different traffic, so it is the time that is added which is taken as the same,
and neighbours are taken together, as waits scatter more than throughputs. Where the waits of
`accelerator/waiting.py` predict mixes that are left out no better than a whole round of the
client's requests does (Eq. 1), that is what is added.
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

STEPS = 2048
_SIZE = 4 * STEPS
_DAMPED = 1e-8
"""What is left at the end of the circle of a transform of a series that does not end by itself."""
_DEVIATIONS = 8.0
_FAR = 6.0


def fixed(time: Floats) -> Floats:
    """A time in steps, by row, that is always the same: split between two steps, the mean right."""
    time = np.clip(time, 0.0, STEPS - 1.0)
    below = np.minimum(time.astype(int), STEPS - 2)
    found = np.zeros((len(time), STEPS))
    rows = np.arange(len(time))
    found[rows, below] = 1 - (time - below)
    found[rows, below + 1] = time - below
    return found


def scattered(time: Floats, deviation: Floats) -> Floats:
    """Times about a mean, in steps, by row (normal; none is below zero)."""
    off = np.arange(STEPS) - time[:, None]
    width = np.maximum(deviation, 1e-3)[:, None]
    found = np.exp(-0.5 * (np.clip(off / width, -_FAR, _FAR)) ** 2)
    found *= np.abs(off) < _FAR * width
    sure = deviation < 1
    found[sure] = fixed(time[sure])
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def counted(mean: Floats, least: Floats, grain: Floats) -> Floats:
    """Times of `least`, and of `grain` for each of so many as there happen to be (Poisson).

    Args:
        mean: of all, in steps, by row.
        least: what takes so long whatever there is.
        grain: what each takes; 0 where times do not scatter.
    """
    number = np.where(grain > 0, (mean - least) / np.where(grain > 0, grain, 1.0), 0.0)
    number = np.maximum(number, 0.0)
    most = int(np.ceil(number.max(initial=0.0) + _DEVIATIONS * np.sqrt(number.max(initial=0.0))))
    chance = np.exp(-number)
    found = chance[:, None] * fixed(mean - number * grain)
    for count in range(1, most + 2):
        chance = chance * number / count
        found += chance[:, None] * fixed(mean + (count - number) * grain)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def together(first: Floats, second: Floats) -> Floats:
    """One time after the other, which know nothing of each other."""
    both = np.fft.rfft(first, _SIZE) * np.fft.rfft(second, _SIZE)
    found = np.maximum(np.fft.irfft(both, _SIZE)[:, : 2 * STEPS], 0.0)
    found[:, STEPS - 1] += found[:, STEPS:].sum(axis=1)
    return found[:, :STEPS]


def mean(times: Floats) -> Floats:
    """In steps, by row."""
    return np.asarray(times @ np.arange(STEPS))


def left(away: Floats, requests: Floats) -> Floats:
    """What is left of the request at hand, when somebody comes back.

    Args:
        away: how long somebody is away; a request of others begins when it begins.
        requests: how long these take; not always less than a step.
    """
    # Damped, the series of ends dies out before the circle closes.
    damp = _DAMPED ** (np.arange(STEPS) / _SIZE)
    ends = np.fft.irfft(1 / (1 - np.fft.rfft(requests * damp, _SIZE)), _SIZE)[:, :STEPS] / damp
    age = _apart(ends, away)
    found = np.maximum(_apart(age, requests), 0.0)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _apart(first: Floats, second: Floats) -> Floats:
    """By how much the second is beyond the first, where it is."""
    both = np.conj(np.fft.rfft(first, _SIZE)) * np.fft.rfft(second, _SIZE)
    return np.fft.irfft(both, _SIZE)[:, :STEPS]


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


_POINTS = 8
"""Co-runs are taken together such that no more are left."""
_JUDGED = 4
"""So many different co-runs can judge waits: those between the ends are left out in turn."""
_TINY = 1e-300
_MOST = 0.999
"""The share of a packet's time that its own request takes, at most."""


def co_runs_of(mixes: Mixes) -> CoRuns | None:
    """The mixes that tell of waits; None where there are none."""
    contention = [values for name, values in mixes.columns.items() if name not in TRAFFIC_NAMES]
    alone = ~np.any(contention, axis=0)
    some = mixes.where(alone & (mixes.queues > 0) & np.isinf(mixes.rate))
    if not some.rows:
        return None
    return CoRuns(
        some.origin, some.rows, some.queues, some.request_time, some.alone, some.throughput
    )


def waits_by(runs: CoRuns) -> Waits | None:
    """The waits that co-runs show; None where they show none, or whole rounds are nearer."""
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
    """Waits by the time of a round, from what was added."""
    order = np.argsort(round_time, kind="stable")
    groups = np.array_split(order, min(len(order), _POINTS))
    # Only what is added counts, whatever a packet takes alone.
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
    """What waiting adds to a packet, by row.

    Args:
        waits: of the function.
        query: who else is at the accelerator.
        alone: time of a packet alone.
        own: time of its own request.
    """
    clients = query.clients
    if clients is None:
        queued = np.zeros(len(alone)) if query.queued is None else query.queued
        rate = np.where(queued > 0, np.inf, 0.0)[:, None]
        clients = Clients(np.ones_like(rate), np.maximum(queued, _TINY)[:, None], rate)
    others = Others(*clients)
    there = taken(others)
    found = waited(alone, np.minimum(own, _MOST * alone), waits.at(there), others)
    return np.where(there > 0, np.maximum(found, 0.0), 0.0)
