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
