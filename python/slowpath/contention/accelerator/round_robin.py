"""Throughput of clients of round-robin accelerators.

Queues are visited in turn. A visit serves one request; a visit to an empty queue takes no time. Let
x be the number of rounds per unit of time while a request waits. A queue whose requests arrive more
slowly than x never builds up: it is served at the rate of its arrivals. Any other queue is served
once in each round. If such a queue exists, the accelerator is always busy, so x is the solution of

    sum over clients j of  n_j t_j min(rate_j / n_j, x)  =  1

Otherwise the accelerator has enough time, and each client gets the rate of its arrivals. The left
side is continuous, increasing and piecewise linear, so sorting finds x. Long-term means depend only
on mean rates and times (as in polling systems with one request per visit). With infinite rates this
is Eq. 2 of the paper; with one finite rate below x, its Eq. 8.

Times are of one request, in any unit; throughputs are in its reciprocal. The paper writes the last
form of Eq. 2, and Eq. 6, with squares of queue numbers. Its Eq. 1 (a round takes sum n_j t_j, and
serves each queue once) implies them only without the squares, since T_solo = 1 / t for any n. With
one queue each, as in all measurements of the paper, both are equal. We use Eq. 1.

The arrivals at an accelerator are the output of other stages, so accelerators depend on each other.
The rounds of each one are computed from those of the others, until they converge. The paper models
one accelerator at a time, saturated by all clients.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def throughputs(queues: Floats, request_time: Floats, rate: Floats) -> Floats:
    """Return the throughput of each client.

    Args:
        queues: number of queues of each client, > 0; clients are the last axis.
        request_time: time of one request of each client, > 0.
        rate: arrival rate of each client, >= 0; infinite if it always has a request.

    Returns:
        Requests per unit of time, in the common shape of the arguments.
    """
    queues, request_time, rate = np.broadcast_arrays(queues, request_time, rate)
    level = rounds(queues, request_time, rate)[..., None]
    return np.asarray(np.minimum(rate, queues * level))


def rounds(queues: Floats, request_time: Floats, rate: Floats) -> Floats:
    """Return the rounds per unit of time, without the client axis; infinite if no client waits."""
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


def round_time(queues: Floats, request_time: Floats) -> Floats:
    """Return the time of a round if no queue is ever empty (Eq. 1); clients are the last axis."""
    return np.asarray((queues * request_time).sum(axis=-1))


def equilibrium(queues: Floats, request_time: Floats) -> Floats:
    """Return the throughput of each client if no queue is ever empty (Eq. 2, 6).

    The result has the shape of the arguments.
    """
    return np.asarray(queues / round_time(queues, request_time)[..., None])


def beside_one(request_time: Floats, other_time: Floats, other_rate: Floats) -> Floats:
    """Return the throughput beside a client that does not saturate the accelerator (Eq. 8)."""
    return np.asarray((1 - other_rate * other_time) / request_time)


_ROUNDS = 1000
_SAME = 1e-12


class UnsettledError(ArithmeticError):
    """An iteration over accelerators that depend on each other, without convergence."""


def pipelines(queues: Floats, request_time: Floats, rate: Floats) -> Floats:
    """Return the throughput of pipelines.

    Args:
        queues: `[accelerator, client]`; 0 if a client does not use an accelerator.
        request_time: `[accelerator, client]`, per packet.
        rate: `[client]`, limit by other stages; infinite if they do not limit it.

    Returns:
        Packets per unit of time, `[client]`.

    Raises:
        UnsettledError: if the loads of accelerators do not converge.
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
    """Return the rounds of one accelerator, given those of the others."""
    used = queues[at] > 0
    if not used.any():
        return np.inf
    others = np.arange(len(queues)) != at
    arriving = np.minimum(rate, _allowed(queues[others], level[others]))
    return float(rounds(queues[at, used], request_time[at, used], arriving[used]))


def _allowed(queues: Floats, level: Floats) -> Floats:
    """Return the rate at which accelerators serve each client."""
    served = np.full(queues.shape, np.inf)
    np.multiply(queues, level[:, None], out=served, where=queues > 0)
    return np.asarray(served.min(axis=0, initial=np.inf))
