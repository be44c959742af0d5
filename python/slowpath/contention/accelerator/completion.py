"""Functions that run to completion and ask several accelerators.

While such a function waits at one accelerator, or memory makes it slow, it comes back to the others
later, and finds them at another point of what they do meanwhile. Assumed is:

- an accelerator serves the requests of others one after the other while the function is away, from
  the end of its own request on, and the function is next when the one at hand is done, as with
  queues that are served round robin (several others are as one whose requests are a round of
  theirs); so it waits for what is left of that (`renewal.py`);
- requests take `least`, and `grain` for each match, of which there happen to be more and fewer;
- the function is away for its own requests and waits elsewhere, and for what is left of its time,
  which scatters (normal): its deviation is one number, `scatter`;
- others that pause are waited for as often as in `waiting.py`.

All this is identified from co-runs with clients that always have requests, one accelerator at a
time: `scatter` is what explains best how much slower the function was there. What co-runs have
beyond what is expected, such as what the others take of memory, is a line over the time of a round
of theirs. Nothing is measured of accelerators together. Mean waits and their distributions are
found in turn until nothing changes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.accelerator import waiting
from slowpath.contention.accelerator.round_robin import UnsettledError
from slowpath.contention.accelerator.service import CoRun, IdentificationError
from slowpath.contention.accelerator.waiting import Others, Waits, taken, waited, waits_of

Floats = NDArray[np.float64]

_SPAN = 3.0
"""Times are followed to so many rounds of a packet in which everybody has requests."""
_TURNS = 100
_WHOLE_TURNS = 10
_PART = 0.3
"""Waits that jump to and fro, where nothing scatters, are mixed with those of the turn before."""
_TWO = 2
_SAME = 1e-4
_SCATTERS = np.linspace(0.0, 0.4, 21)


class Accelerator(NamedTuple):
    """An accelerator that a function asks once for each packet."""

    own: float  # mean request time of the function
    least: float  # of a request without any match
    grain: float  # of each match; 0 where requests of one size take the same time
    runs: Sequence[CoRun]  # of the function beside others that always have requests


class Completion(NamedTuple):
    """A function that runs to completion."""

    solo: float
    accelerators: Sequence[Accelerator]
    scatter: float  # share of the time that it does not spend at accelerators
    rest: Sequence[Waits]  # by accelerator: what co-runs have beyond what is expected, a line


def completion(solo: float, accelerators: Sequence[Accelerator]) -> Completion:
    """The function that explains its co-runs.

    Raises:
        IdentificationError: when accelerators take more than all of its time, or co-runs are none.
    """
    if solo <= 0 or 1 / solo <= sum(one.own for one in accelerators):
        raise IdentificationError("its requests take longer than all of a packet does")
    measured = [waits_of(solo, one.runs) for one in accelerators]
    plain = Completion(solo, accelerators, 0.0, [])
    tried = []
    for scatter in _SCATTERS.tolist():
        function = plain._replace(scatter=scatter)
        beyond = [
            Waits(these.taken, these.wait - _expected(function, at, these))
            for at, these in enumerate(measured)
        ]
        rest = [_line(one) for one in beyond]
        off = [one.wait - line.at(one.taken) for one, line in zip(beyond, rest, strict=True)]
        tried.append((sum(float(one @ one) for one in off), function._replace(rest=rest)))
    return min(tried, key=lambda one: one[0])[1]


def _line(rest: Waits) -> Waits:
    """The line with the least squares; beyond its ends it is as there."""
    if len(np.unique(rest.taken)) < _TWO:
        raise IdentificationError("two co-runs with different request times are needed")
    ends = np.array([rest.taken[0], rest.taken[-1]])
    scale = ends[1]
    slope, level = np.polyfit(rest.taken / scale, rest.wait, 1)
    return Waits(ends, level + slope * ends / scale)


def beside_all(function: Completion, elsewhere: Floats, others: Sequence[Others]) -> Floats:
    """Throughput beside others at all of its accelerators, and with contention elsewhere.

    Args:
        function: the function.
        elsewhere: time that contention for anything else adds to a packet, by row.
        others: for each accelerator, its other clients by row.

    Returns:
        Packets per unit of time, by row.

    Raises:
        UnsettledError: when no state is found in which all waits agree.
    """
    elsewhere = np.maximum(elsewhere, 0.0)
    alone = 1 / function.solo + elsewhere
    theirs = [taken(one) for one in others]
    step = _SPAN / waiting.STEPS * (alone + sum(theirs))
    requests = [_requests(*pair, step) for pair in zip(function.accelerators, others, strict=True)]
    waits = np.zeros((len(others), len(alone)))
    spread = [waiting.fixed(np.zeros_like(alone)) for _ in others]
    for turn in range(_TURNS):
        before, part = waits.copy(), 1.0 if turn < _WHOLE_TURNS else _PART
        for at, one in enumerate(function.accelerators):
            left = waiting.left(_away(function, at, elsewhere, spread, step), requests[at])
            rest = function.rest[at].at(theirs[at])
            full = np.maximum(waiting.mean(left) * step + rest, 0.0)
            without = alone + waits.sum(axis=0) - waits[at]
            new = waited(without, np.full_like(alone, one.own), full, others[at])
            waits[at] += part * (new - waits[at])
            often = np.divide(new, full, out=np.zeros_like(full), where=full > 0)[:, None]
            spread[at] += part * (often * left - spread[at])
            spread[at][:, 0] += part * (1 - often[:, 0])
        if (np.abs(waits - before) <= _SAME * alone).all():
            return np.asarray(1 / (alone + waits.sum(axis=0)))
    raise UnsettledError(f"{len(others)} accelerators do not settle within {_TURNS} turns")


def _expected(function: Completion, at: int, measured: Waits) -> Floats:
    """Its wait at one accelerator in co-runs there, nobody being anywhere else."""
    time = measured.taken
    step = _SPAN / waiting.STEPS * (1 / function.solo + time)
    one = function.accelerators[at]
    requests = waiting.counted(time / step, one.least / step, one.grain / step)
    nowhere = [waiting.fixed(np.zeros_like(time)) for _ in function.accelerators]
    away = _away(function, at, np.zeros_like(time), nowhere, step)
    return waiting.mean(waiting.left(away, requests)) * step


def _away(
    function: Completion, at: int, elsewhere: Floats, waits: Sequence[Floats], step: Floats
) -> Floats:
    """How long the function is away from an accelerator."""
    itself = 1 / function.solo - sum(one.own for one in function.accelerators) + elsewhere
    found = waiting.scattered(itself / step, function.scatter * itself / step)
    for number, one in enumerate(function.accelerators):
        if number != at:
            own = waiting.counted(one.own / step, one.least / step, one.grain / step)
            found = waiting.together(waiting.together(found, own), waits[number])
    return found


def _requests(accelerator: Accelerator, others: Others, step: Floats) -> Floats:
    """A round of others' requests; of nobody's, any time."""
    there = np.where(others.rate > 0, others.queues, 0.0)
    found = waiting.fixed(np.where(there.any(axis=-1), 0.0, 1.0))
    for client in range(there.shape[-1]):
        number = there[:, client]
        time = number * others.request_time[:, client]
        least = np.minimum(number * accelerator.least, time)
        each = waiting.counted(time / step, least / step, accelerator.grain / step)
        found = waiting.together(found, each)
    return found
