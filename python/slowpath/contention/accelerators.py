"""Models functions that share an accelerator: request times, throughput and waiting times.

A match is an occurrence of one of the accelerator's patterns (regular expressions) in the packets;
the match ratio is the number of matches per MB.

**Request time** is a line over the match ratio (Eq. 5): the accelerator reads each byte and reports
each match. If the measured packets have several sizes, t0 and a of Eq. 5 are lines over the size;
the paper has one size.

**Throughput of clients of round-robin accelerators.** Queues are visited in turn. A visit serves
one request; a visit to an empty queue takes no time. Let x be the number of rounds per unit of
time while a request waits. A queue whose requests arrive more slowly than x never builds up: its
served rate is its arrival rate. Any other queue is served once in each round. If such a queue
exists, the accelerator is always busy, so x is the solution of

    sum over clients j of  n_j t_j min(rate_j / n_j, x)  =  1

with n_j queues and request time t_j of client j. Otherwise the accelerator has enough time, and
each client gets the rate of its arrivals. The left side is continuous, increasing and piecewise
linear, so sorting finds x. Long-term means depend only on mean rates and times (as in polling
systems with one request per visit). With infinite rates this is Eq. 2 of the paper; with one
finite rate below x, its Eq. 8.

Times are of one request, in any unit; throughputs are in its reciprocal. The paper writes the last
form of Eq. 2, and Eq. 6, with squares of queue numbers. Its Eq. 1 (a round takes sum n_j t_j, and
serves each queue once) implies them only without the squares, since T_solo = 1 / t for any n. With
one queue for each client, as in all measurements of the paper, both are equal. We use Eq. 1.

**Waiting time of run-to-completion functions.** A queue that is never empty waits for all others
in each round (Eq. 1). A function with other work between its requests overlaps some of this work
with service of the others, and waits for the rest. It waits for a fixed share k of the time in
which others are served, at any load. With rho the share of time in which the accelerator serves
others,

    T  =  T_solo (1 - k rho)

This line ends where others get all the time that the function leaves, rho = 1 - T t (with t the
function's own request time). The share k depends on the length of the others' requests. It is
measured in co-runs with clients that always have a request. The paper has such a line (Figure 4),
but computes its end by Eq. 2.

Mixes with one client that always has a request, and no other competitor, show the time that waits
add to a packet. The added time is assumed not to depend on the traffic. Co-runs with similar round
times are averaged, as waits scatter more than throughputs. If these waits predict held-out mixes
no better than a whole round of the client's requests does (Eq. 1), the whole round is used.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.columns import (
    TRAFFIC_NAMES,
    AcceleratorProfile,
    Clients,
    CoRuns,
    Mixes,
    Query,
)
from slowpath.core import codes
from slowpath.core.arrays import Floats, Mask
from slowpath.core.errors import InputError


def throughputs(queues: Floats, request_time: Floats, rate: Floats) -> Floats:
    """Return the throughput of each client of a shared accelerator that serves queues in turn.

    Args:
        queues: number of queues of each client, > 0; clients are the last axis.
        request_time: time of one request of each client, > 0.
        rate: arrival rate of each client's requests, >= 0; infinite if it always has a request.

    Returns:
        Requests per unit of time, in the common shape of the arguments.
    """
    queues, request_time, rate = np.broadcast_arrays(queues, request_time, rate)
    level = rounds(queues, request_time, rate)[..., None]
    return np.asarray(np.minimum(rate, queues * level))


def rounds(queues: Floats, request_time: Floats, rate: Floats) -> Floats:
    """Return how often per unit of time the accelerator visits all its queues.

    The arguments are those of `throughputs`; the result has their axes except the one for clients.
    It is infinite if no client's requests have to wait.
    """
    weight = queues * request_time  # time of a client in a round
    each = rate / queues  # arrivals at each queue
    order = np.argsort(each, axis=-1, kind="stable")
    weight = np.take_along_axis(weight, order, axis=-1)
    each = np.take_along_axis(each, order, axis=-1)
    finite = np.where(np.isfinite(each), each, 0.0)
    taken = np.cumsum(weight * finite, axis=-1)
    below = np.concatenate([np.zeros_like(taken[..., :1]), taken[..., :-1]], axis=-1)
    above = np.cumsum(weight[..., ::-1], axis=-1)[..., ::-1]
    # If the clients from k on wait, they share the time that the others leave.
    slower = np.concatenate([np.zeros_like(each[..., :1]), finite[..., :-1]], axis=-1)
    levels = np.maximum((1 - below) / above, slower)  # waiting queues are served at least as often
    waits = levels < each
    first = np.argmax(waits, axis=-1)[..., None]
    found = np.take_along_axis(levels, first, axis=-1)[..., 0]
    return np.asarray(np.where(waits.any(axis=-1), found, np.inf))


_ROUNDING = 1e-9
_CONFIDENCE = 0.95
"""Required confidence before fitted request times count as falling with the match ratio. Noise
alone exceeds it in at most one of 20 cases.
"""


class RequestTime(NamedTuple):
    """Time that an accelerator needs for a request, by match ratio and packet size."""

    base: float  # time without matches
    per_match: float  # time for each match per MB
    lowest: float  # lowest measured match ratio
    highest: float  # highest measured match ratio
    spread: float | None  # standard deviation of relative residuals; None without residuals
    per_byte: float = 0.0  # time for each byte of the packet; 0 if all packets have one size
    per_match_and_byte: float = 0.0  # 0 if all packets have one size
    sizes: tuple[float, float] = (0.0, math.inf)  # least and greatest measured packet size

    def at(self, mtbr: Floats, size: Floats) -> Floats:
        """Return request times for match ratios `mtbr` (matches per MB) and packet sizes in bytes.

        Sizes outside the measured range are replaced by the nearest measured size.
        """
        size = np.clip(size, *self.sizes)
        base = self.base + self.per_byte * size
        return np.asarray(base + (self.per_match + self.per_match_and_byte * size) * mtbr)

    def outside(self, mtbr: Floats) -> Mask:
        """Return true for each match ratio (matches per MB) that is outside the measured range."""
        return np.asarray((mtbr < self.lowest) | (mtbr > self.highest))

    def scaled(self, factor: float) -> "RequestTime":
        """Return a copy in which all request times are multiplied by a factor."""
        return self._replace(
            base=self.base * factor,
            per_match=self.per_match * factor,
            per_byte=self.per_byte * factor,
            per_match_and_byte=self.per_match_and_byte * factor,
        )

    def formula(self) -> str:
        """Return the formula of the request time as text."""
        if not self.per_byte and not self.per_match_and_byte:
            return f"{self.base:.4g} + {self.per_match:.4g} x matches/MB"
        base = f"{self.base:.4g} + {self.per_byte:.4g} x bytes"
        return (
            f"{base} + ({self.per_match:.4g} + {self.per_match_and_byte:.4g} x bytes) x matches/MB"
        )


def fit_request_time(profile: AcceleratorProfile) -> RequestTime:
    """Fit the request time as a line over the match ratio, by least squares of relative errors.

    If the fitted time falls with the match ratio, but noise explains the fall, the result is a
    constant. Where the time does not depend on matches, noise makes half of all fitted lines fall.

    Raises:
        InputError: if times fall with the match ratio, the time without matches is negative, or
            there are too few different sizes and match ratios.
    """
    mtbr, size = profile.mtbr, profile.size
    ones = np.ones(len(mtbr))
    sized = size is not None and float(np.ptp(size)) > 0
    terms = [ones, mtbr] if size is None or not sized else [ones, mtbr, size, mtbr * size]
    design = np.column_stack(terms) / profile.request_time[:, None]
    file = profile.origin.files[0]
    scale = np.abs(design).max(axis=0, initial=0.0)
    scale[scale == 0] = 1.0
    found, _, rank, _ = np.linalg.lstsq(design / scale, ones, rcond=None)
    if sized and rank < len(terms):
        reason = (
            "request times of several packet sizes need at least two match ratios for each of "
            "two sizes; measure more"
        )
        raise InputError(codes.PROFILE_INSUFFICIENT, file, reason)
    found = found / scale
    if not sized and found[1] < 0 and not _falls(design, found):
        design = design[:, :1]
        found = np.array([design[:, 0].sum() / (design[:, 0] @ design[:, 0])])
    rest = design @ found - 1
    free = len(rest) - len(found)
    base, per_match, per_byte, both = (*found.tolist(), 0.0, 0.0, 0.0)[:4]
    time = RequestTime(
        base,
        per_match,
        float(mtbr.min()),
        float(mtbr.max()),
        math.sqrt(float(rest @ rest) / free) if free > 0 else None,
        per_byte,
        both,
    )
    sizes = np.zeros(1)
    if sized and size is not None:
        sizes = np.unique(size)
        time = time._replace(sizes=(float(sizes[0]), float(sizes[-1])))
    without, slope = time.at(np.zeros(1), sizes), per_match + both * sizes
    slack = _ROUNDING * float(profile.request_time.min())
    if slope.min() * mtbr.max() < -slack:
        raise InputError(
            codes.PROFILE_INSUFFICIENT,
            file,
            "request times fall as the match ratio grows, which is impossible; "
            "check whether columns are swapped",
        )
    if without.min() < -slack:
        reason = "the line through the request times is below zero at a match ratio of zero"
        raise InputError(
            codes.PROFILE_INSUFFICIENT, file, f"{reason}; measure smaller match ratios"
        )
    if sized:
        return time
    return time._replace(base=max(base, 0.0), per_match=max(per_match, 0.0))


def _falls(design: Floats, found: Floats) -> bool:
    """Return true if a fitted line falls by more than the scatter of the points explains.

    This is a t test of the slope. `design` has the terms of each point divided by its time, and
    `found` the fitted coefficients.
    """
    from scipy.special import stdtrit

    rest = design @ found - 1
    free = len(rest) - len(found)
    if free <= 0:
        return True
    variance = float(rest @ rest) / free * np.linalg.inv(design.T @ design)[1, 1]
    return bool(-found[1] > stdtrit(free, _CONFIDENCE) * math.sqrt(variance))


class IdentificationError(ValueError):
    """Measurements beside other clients of the accelerator do not determine waiting times."""


class CoRun(NamedTuple):
    """A measurement of a function beside a client that keeps the accelerator busy."""

    queues: float  # queues of the client
    request_time: float  # request time of the client
    throughput: float  # throughput of the function


_HALVINGS = 50


class Waits(NamedTuple):
    """Measured waiting times of a function at an accelerator, as a function of the round time.

    The round time is the time in which the accelerator serves each queue of the other clients once.
    The other clients always have a request.
    """

    round_time: Floats  # round time of these clients, ascending
    wait: Floats

    def at(self, round_time: Floats) -> Floats:
        """Return waiting times for round times, interpolated linearly.

        Outside the measured round times, the waiting time is constant.
        """
        return np.asarray(np.interp(round_time, self.round_time, self.wait))


class Others(NamedTuple):
    """The other clients of an accelerator, in arrays whose last axis is the client."""

    queues: Floats
    request_time: Floats
    rate: Floats  # requests per unit of time; infinite if always pending, 0 for no client


def measured_waits(solo: float, runs: Sequence[CoRun]) -> Waits:
    """Derive a function's waiting times from runs beside clients that keep the accelerator busy.

    `solo` is the throughput of the function alone. The result has a waiting time for each round
    time: the time in which the accelerator serves each queue of the other clients once.

    Raises:
        IdentificationError: if the co-runs are all alike, or the function does not wait.
    """
    taken, wait = waits_of(solo, runs)
    if len(np.unique(taken)) < 2:  # noqa: PLR2004 - ends of a line
        raise IdentificationError(
            "the co-runs must have at least two different request times "
            "of the other client; measure more"
        )
    if wait[-1] <= max(wait[0], 0.0):
        reason = "the function is not slower beside longer requests of the other client"
        raise IdentificationError(
            f"{reason}, so it does not wait for the accelerator; check the measurements"
        )
    # Waits increase with the round time; any decrease is noise.
    return Waits(taken, np.maximum.accumulate(np.maximum(wait, 0.0)))


def waits_of(solo: float, runs: Sequence[CoRun]) -> Waits:
    """Return the time that busy clients of the accelerator add to each packet, without smoothing.

    The result has one waiting time for each measured round time, the time in which the accelerator
    serves each queue of the clients once. `solo` is the throughput of the function alone.

    Raises:
        IdentificationError: if a time or throughput is not positive.
    """
    if solo <= 0 or any(min(run) <= 0 for run in runs):
        raise IdentificationError(
            "numbers of queues, request times and throughputs must be above zero"
        )
    found = sorted((run.queues * run.request_time, 1 / run.throughput - 1 / solo) for run in runs)
    taken, wait = np.array(found).reshape(-1, 2).T
    return Waits(taken, wait)


def others_round_time(others: Others) -> Floats:
    """Return the time in which the accelerator serves each queue of the other clients once, by row.

    Clients that send no requests do not count.
    """
    present = np.where(others.rate > 0, others.queues * others.request_time, 0.0)
    return np.asarray(present.sum(axis=-1))


def wait_per_packet(alone: Floats, request_time: Floats, wait: Floats, others: Others) -> Floats:
    """Return the time that a function waits for the accelerator per packet, by row.

    Args:
        alone: time of a packet without waits at this accelerator, by row.
        request_time: time of the function's own request, by row.
        wait: waiting time if the other clients always had a request, by row.
        others: other clients of the accelerator, by row.
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
    """Return the share of time, at most 1, in which the accelerator serves the other clients.

    `throughput` is the rate of the function's own requests, `request_time` the time of one of them.
    """
    queues = np.concatenate([np.ones_like(others.queues[..., :1]), others.queues], axis=-1)
    time = np.concatenate([request_time[..., None], others.request_time], axis=-1)
    rate = np.concatenate([throughput[..., None], others.rate], axis=-1)
    # Others cannot take the function's own share: its requests wait, but are all served.
    left = np.maximum(1 - throughput * request_time, 0.0)
    served = throughputs(queues, time, rate)[..., 1:] * others.request_time
    return np.asarray(np.minimum(served.sum(axis=-1), left))


_POINTS = 8
"""Maximum number of groups of co-runs with similar round times; the waits in a group are averaged.
"""
_JUDGED = 4
"""Minimum number of different round times for a cross-validation of waiting times. It never leaves
out the first and the last round time.
"""
_TINY = 1e-300
_MOST = 0.999
"""Maximum share of a packet's time that the function's own accelerator request may take."""


def co_runs_of(mixes: Mixes) -> CoRuns | None:
    """Return the measured mixes that determine waiting times at the accelerator.

    None if there are none. In these mixes, one client of the accelerator always has a request, and
    nothing else competes.
    """
    contention = [values for name, values in mixes.columns.items() if name not in TRAFFIC_NAMES]
    alone = ~np.any(contention, axis=0)
    some = mixes.where(alone & (mixes.queues > 0) & np.isinf(mixes.rate))
    if not some.rows:
        return None
    return CoRuns(
        some.origin, some.rows, some.queues, some.request_time, some.alone, some.throughput
    )


def waits_by(runs: CoRuns) -> Waits | None:
    """Return a function's waiting times, derived from runs beside a client that is always busy.

    Return None if the function does not wait. Also return None if Eq. 1 predicts its throughput
    better: it assumes that the function waits for whole rounds.
    """
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
        waits = np.array([float(without.at(round_time[at])), round_time[at]])
        errors = np.abs(1 / (1 / runs.alone[at] + waits) / runs.throughput[at] - 1)
        off, whole = np.append(off, errors[0]), np.append(whole, errors[1])
    return found if off.mean() < whole.mean() else None


def _waits(round_time: Floats, added: Floats) -> Waits | None:
    """Derive waiting times from the time that clients added to each packet, `added`.

    `round_time` is the time in which the accelerator serves each of the clients' queues once, for
    each measurement. Return None if the measurements do not determine waiting times.
    """
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
    """Return a function's waiting time per packet, for each row of a query.

    Args:
        waits: measured waiting times of the function.
        query: traffic, and the other clients of the accelerator, by row.
        alone: time of a packet if the function runs alone, by row.
        own: time of the function's own request to the accelerator, by row.
    """
    clients = query.clients
    if clients is None:
        queued = np.zeros(len(alone)) if query.queued is None else query.queued
        rate = np.where(queued > 0, np.inf, 0.0)[:, None]
        clients = Clients(np.ones_like(rate), np.maximum(queued, _TINY)[:, None], rate)
    others = Others(*clients)
    round_time = others_round_time(others)
    own = np.minimum(own, _MOST * alone)
    found = wait_per_packet(alone, own, waits.at(round_time), others)
    return np.where(round_time > 0, np.maximum(found, 0.0), 0.0)
