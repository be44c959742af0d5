"""Throughput of clients of a round-robin accelerator at any arrival rates, exactly.

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
