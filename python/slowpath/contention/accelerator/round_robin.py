"""Throughput of clients of round-robin accelerators.

Queues are visited in turn; a visit serves one request, or none and takes no time where the queue is
empty. Let x be how many rounds there are per unit of time while something waits. A queue whose
requests arrive more slowly than x never holds on to more than it can get rid of: it is served at
the rate of its arrivals. Any other queue is served once in each round. The accelerator is busy all
the time if any queue is of that kind, so x is the solution of

    sum over clients j of  n_j t_j min(rate_j / n_j, x)  =  1

or every client gets what arrives, if that takes no more than all the time. The left side is
continuous, rises with x and is piecewise linear, so x is found by sorting. Means over long times
depend on nothing but mean rates and times (as in polling systems with one request per visit).
With all rates infinite it is Eq. 2 of the paper, with one finite rate below x its Eq. 8.

Times are of one request, in any unit; throughputs are in its reciprocal. The paper writes the last
form of Eq. 2, and Eq. 6, with squares of queue numbers; they follow from its Eq. 1 (a round takes
sum n_j t_j, in which each queue is served once) only without the squares, since T_solo = 1 / t
whatever n is. For one queue each, as in all its measurements, both are the same. We take Eq. 1.

What arrives at an accelerator is what the other stages let through, so the accelerators depend on
each other; the rounds of each are found in turn, given those of the others, until nothing changes.
The paper has one accelerator at a time, and all clients saturating it.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def throughputs(queues: Floats, request_time: Floats, rate: Floats) -> Floats:
    """What each client gets done.

    Args:
        queues: how many queues each client has, > 0; clients are the last axis.
        request_time: of one request of each client, > 0.
        rate: requests that arrive of each client, >= 0; infinite for one that always has more.

    Returns:
        Requests per unit of time, in the common shape of the arguments.
    """
    queues, request_time, rate = np.broadcast_arrays(queues, request_time, rate)
    level = rounds(queues, request_time, rate)[..., None]
    return np.asarray(np.minimum(rate, queues * level))


def rounds(queues: Floats, request_time: Floats, rate: Floats) -> Floats:
    """Rounds per unit of time, without the axis of clients; infinite where nobody has to wait."""
    weight = queues * request_time  # time that a client takes of a round
    each = rate / queues  # arrivals at each queue
    order = np.argsort(each, axis=-1, kind="stable")
    weight = np.take_along_axis(weight, order, axis=-1)
    each = np.take_along_axis(each, order, axis=-1)
    finite = np.where(np.isfinite(each), each, 0.0)
    taken = np.cumsum(weight * finite, axis=-1)
    below = np.concatenate([np.zeros_like(taken[..., :1]), taken[..., :-1]], axis=-1)
    above = np.cumsum(weight[..., ::-1], axis=-1)[..., ::-1]
    # If clients from k on are those that wait, they share what the others leave.
    slower = np.concatenate([np.zeros_like(each[..., :1]), finite[..., :-1]], axis=-1)
    levels = np.maximum((1 - below) / above, slower)  # those that wait are served no less often
    waits = levels < each
    first = np.argmax(waits, axis=-1)[..., None]
    found = np.take_along_axis(levels, first, axis=-1)[..., 0]
    return np.asarray(np.where(waits.any(axis=-1), found, np.inf))


def round_time(queues: Floats, request_time: Floats) -> Floats:
    """How long a round takes when no queue is ever empty (Eq. 1); clients are the last axis."""
    return np.asarray((queues * request_time).sum(axis=-1))


def equilibrium(queues: Floats, request_time: Floats) -> Floats:
    """Throughput of each client when no queue is ever empty (Eq. 2, 6); shape of the arguments."""
    return np.asarray(queues / round_time(queues, request_time)[..., None])


def beside_one(request_time: Floats, other_time: Floats, other_rate: Floats) -> Floats:
    """Throughput beside a client that is not saturating (Eq. 8)."""
    return np.asarray((1 - other_rate * other_time) / request_time)


_ROUNDS = 1000
_SAME = 1e-12


class UnsettledError(ArithmeticError):
    """Accelerators whose loads depend on each other and do not settle."""


def pipelines(queues: Floats, request_time: Floats, rate: Floats) -> Floats:
    """Throughput of pipelines.

    Args:
        queues: `[accelerator, client]`; 0 where a client does not use an accelerator.
        request_time: `[accelerator, client]`, per packet.
        rate: `[client]`, what its other stages let through; infinite if they limit nothing.

    Returns:
        Packets per unit of time, `[client]`.

    Raises:
        UnsettledError: when no state is found in which all loads agree.
    """
    level = np.full(len(queues), np.inf)
    for _ in range(_ROUNDS):
        before = level.copy()
        for at in range(len(queues)):
            level[at] = _rounds(at, queues, request_time, rate, level)
        if np.isclose(level, before, rtol=_SAME, atol=0).all():
            return np.minimum(rate, _allowed(queues, level))
    raise UnsettledError(f"{len(queues)} accelerators do not settle within {_ROUNDS} rounds")


def _rounds(at: int, queues: Floats, request_time: Floats, rate: Floats, level: Floats) -> float:
    """Rounds of one accelerator, given those of the others."""
    used = queues[at] > 0
    if not used.any():
        return np.inf
    others = np.arange(len(queues)) != at
    arriving = np.minimum(rate, _allowed(queues[others], level[others]))
    return float(rounds(queues[at, used], request_time[at, used], arriving[used]))


def _allowed(queues: Floats, level: Floats) -> Floats:
    """What accelerators let through of each client."""
    served = np.full(queues.shape, np.inf)
    np.multiply(queues, level[:, None], out=served, where=queues > 0)
    return np.asarray(served.min(axis=0, initial=np.inf))
