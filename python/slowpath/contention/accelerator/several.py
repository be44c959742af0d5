"""Pipelines that share several accelerators, each limited by its slowest stage.

What arrives at an accelerator is what the other stages let through, so the accelerators depend on
each other; the rounds of each are found in turn, given those of the others, until nothing changes.
The paper has one accelerator at a time, and all clients saturating it.
"""

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.accelerator.round_robin import rounds

Floats = NDArray[np.float64]

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
