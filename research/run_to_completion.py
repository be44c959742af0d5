"""Models run-to-completion functions that use several accelerators.

Waiting at one accelerator, or for memory, delays the function's return to the other accelerators,
which serve other clients meanwhile. The model assumes:

- While the function is away, an accelerator serves requests of other clients without pause,
  starting when the function's request ends. As in round-robin queues, the function is served after
  the request in progress. So it waits for the rest of this request (`time_distributions.py`).
  Several other clients count as one client whose request takes their full round.
- A request takes `least`, plus `grain` for each match; the number of matches is random.
- From one accelerator, the function is away during its requests and waits at other accelerators,
  and for the rest of a packet's time. This rest has a normal distribution with the relative
  deviation `scatter`.
- The effect of clients that pause is as in `contention/accelerators.py`.

Co-runs with clients that always have a request identify these parameters, for one accelerator at a
time. `scatter` is the value that best explains the slowdown of the function. Further delay in
co-runs, such as contention for memory, is a line over the round time of the other clients. The
identification needs no measurement with several accelerators. Mean waits and their distributions
are iterated until they converge.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.accelerators import (
    CoRun,
    IdentificationError,
    Others,
    Waits,
    others_round_time,
    wait_per_packet,
    waits_of,
)
from time_distributions import (
    STEPS,
    convolved,
    fixed,
    mean,
    normal_times,
    poisson_times,
    residual_time,
)

Floats = NDArray[np.float64]

_SPAN = 3.0
"""Range of time distributions, relative to a packet's solo time plus one round of other clients."""
_TURNS = 100
_WHOLE_TURNS = 10
_PART = 0.3
"""Weight of a new wait once `_WHOLE_TURNS` iterations are done. Without scatter, waits may
oscillate.
"""
_TWO = 2
_SAME = 1e-4
_SCATTERS = np.linspace(0.0, 0.4, 21)


class UnsettledError(ArithmeticError):
    """The iteration that computes waits at several accelerators does not converge."""


class Accelerator(NamedTuple):
    """An accelerator that a function uses once for each packet, with measurements of its use."""

    own: float  # mean request time of the function
    least: float  # time of a request without matches
    grain: float  # time per match; 0 if requests have a constant time
    runs: Sequence[CoRun]  # co-runs with clients that always have a request


class Completion(NamedTuple):
    """A run-to-completion function, with the parameters of the model."""

    solo: float
    accelerators: Sequence[Accelerator]
    scatter: float  # relative deviation of the time spent outside accelerators
    rest: Sequence[Waits]  # unexplained delay in co-runs as a line, by accelerator


def completion(solo: float, accelerators: Sequence[Accelerator]) -> Completion:
    """Find the parameters of a function from its solo throughput and from co-runs.

    Raises:
        IdentificationError: if requests take longer than a packet, or co-runs do not identify the
            function.
    """
    if solo <= 0 or 1 / solo <= sum(one.own for one in accelerators):
        raise IdentificationError("its requests take longer than all of a packet does")
    measured = [waits_of(solo, one.runs) for one in accelerators]
    plain = Completion(solo, accelerators, 0.0, [])
    tried = []
    for scatter in _SCATTERS.tolist():
        function = plain._replace(scatter=scatter)
        unexplained = [
            Waits(waits.round_time, waits.wait - _expected(function, at, waits))
            for at, waits in enumerate(measured)
        ]
        rest = [_line(one) for one in unexplained]
        errors = [
            one.wait - line.at(one.round_time) for one, line in zip(unexplained, rest, strict=True)
        ]
        tried.append((sum(float(one @ one) for one in errors), function._replace(rest=rest)))
    return min(tried, key=lambda one: one[0])[1]


def _line(rest: Waits) -> Waits:
    """Fit a line to waits by least squares.

    Beyond the first and last round time of the data, the wait is constant.
    """
    if len(np.unique(rest.round_time)) < _TWO:
        raise IdentificationError("two co-runs with different request times are needed")
    ends = np.array([rest.round_time[0], rest.round_time[-1]])
    scale = ends[1]
    slope, level = np.polyfit(rest.round_time / scale, rest.wait, 1)
    return Waits(ends, level + slope * ends / scale)


def beside(solo: Floats, request_time: Floats, waits: Waits, others: Others) -> Floats:
    """Return the throughput of a function at one accelerator, without other contention.

    Args:
        solo: Solo throughput, by row.
        request_time: Time of the function's requests, by row.
        waits: Waiting time of the function's requests, by round time of the other clients.
        others: Other clients, by row.

    Returns:
        Packets per unit of time, by row.
    """
    alone = 1 / solo
    wait = waits.at(others_round_time(others))
    return np.asarray(1 / (alone + wait_per_packet(alone, request_time, wait, others)))


def beside_all(function: Completion, elsewhere: Floats, others: Sequence[Others]) -> Floats:
    """Return the throughput of a function at several accelerators, with other contention.

    Args:
        function: The function.
        elsewhere: Delay of a packet by contention for other resources, by row.
        others: Other clients at each accelerator, by row.

    Returns:
        Packets per unit of time, by row.

    Raises:
        UnsettledError: if the waits do not converge.
    """
    elsewhere = np.maximum(elsewhere, 0.0)
    alone = 1 / function.solo + elsewhere
    round_times = [others_round_time(one) for one in others]
    step = _SPAN / STEPS * (alone + sum(round_times))
    requests = [_requests(*pair, step) for pair in zip(function.accelerators, others, strict=True)]
    waits = np.zeros((len(others), len(alone)))
    spread = [fixed(np.zeros_like(alone)) for _ in others]
    for turn in range(_TURNS):
        before, part = waits.copy(), 1.0 if turn < _WHOLE_TURNS else _PART
        for at, one in enumerate(function.accelerators):
            left = residual_time(_away(function, at, elsewhere, spread, step), requests[at])
            rest = function.rest[at].at(round_times[at])
            full = np.maximum(mean(left) * step + rest, 0.0)
            elsewhere_time = alone + waits.sum(axis=0) - waits[at]
            new = wait_per_packet(elsewhere_time, np.full_like(alone, one.own), full, others[at])
            waits[at] += part * (new - waits[at])
            often = np.divide(new, full, out=np.zeros_like(full), where=full > 0)[:, None]
            spread[at] += part * (often * left - spread[at])
            spread[at][:, 0] += part * (1 - often[:, 0])
        if (np.abs(waits - before) <= _SAME * alone).all():
            return np.asarray(1 / (alone + waits.sum(axis=0)))
    raise UnsettledError(f"{len(others)} accelerators do not settle within {_TURNS} turns")


def _expected(function: Completion, at: int, measured: Waits) -> Floats:
    """Return the predicted waits in co-runs whose clients use only the accelerator `at`."""
    time = measured.round_time
    step = _SPAN / STEPS * (1 / function.solo + time)
    one = function.accelerators[at]
    requests = poisson_times(time / step, one.least / step, one.grain / step)
    nowhere = [fixed(np.zeros_like(time)) for _ in function.accelerators]
    away = _away(function, at, np.zeros_like(time), nowhere, step)
    return mean(residual_time(away, requests)) * step


def _away(
    function: Completion, at: int, elsewhere: Floats, waits: Sequence[Floats], step: Floats
) -> Floats:
    """Return the distribution of the time between leaving the accelerator `at` and returning to it.

    `elsewhere` is the delay by other contention, and `step` the length of a time step.
    """
    itself = 1 / function.solo - sum(one.own for one in function.accelerators) + elsewhere
    found = normal_times(itself / step, function.scatter * itself / step)
    for number, one in enumerate(function.accelerators):
        if number != at:
            own = poisson_times(one.own / step, one.least / step, one.grain / step)
            found = convolved(convolved(found, own), waits[number])
    return found


def _requests(accelerator: Accelerator, others: Others, step: Floats) -> Floats:
    """Return the distribution of the time that one round of other clients' requests takes.

    Without other clients, it is arbitrary. `step` is the length of a time step.
    """
    queues = np.where(others.rate > 0, others.queues, 0.0)
    found = fixed(np.where(queues.any(axis=-1), 0.0, 1.0))
    for client in range(queues.shape[-1]):
        number = queues[:, client]
        time = number * others.request_time[:, client]
        least = np.minimum(number * accelerator.least, time)
        each = poisson_times(time / step, least / step, accelerator.grain / step)
        found = convolved(found, each)
    return found
