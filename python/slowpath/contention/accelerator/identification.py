"""Queues and request time of a function, from co-runs with a client of known ones (paper, 4.1.1).

At equilibrium 1 / T = t + (n_c t_c) / n, by Eq. 1: a line over the time n_c t_c that the known
client takes of a round. Two co-runs solve it; more show how well it holds.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_TWO = 2
_WHOLE = 0.15
"""Queues are whole; further off, something else limits the function."""


class IdentificationError(ValueError):
    """Co-runs that say nothing of queues; the text says why."""


class CoRun(NamedTuple):
    """A function beside a client that always has requests, both saturating the accelerator."""

    queues: float  # of the client
    request_time: float  # of the client
    throughput: float  # of the function


class Identified(NamedTuple):
    """What a function is to the accelerator."""

    queues: float  # as measured; whole but for noise
    request_time: float
    residual: float | None  # largest relative difference of a throughput; None of two co-runs

    @property
    def whole_queues(self) -> int:
        """The nearest number of queues that there can be."""
        return max(round(self.queues), 1)


def identify(runs: Sequence[CoRun]) -> Identified:
    """Queues and request time of the function.

    Raises:
        IdentificationError: when the co-runs are too few, all alike, or not at equilibrium.
    """
    if any(min(run) <= 0 for run in runs):
        raise IdentificationError("queues, request times and throughputs have to be above zero")
    taken = np.array([run.queues * run.request_time for run in runs])
    if len(np.unique(taken)) < _TWO:
        raise IdentificationError("two co-runs with different request times are needed")
    inverse = np.array([1 / run.throughput for run in runs])
    # Relative differences count: rows divided by what they should be.
    design = np.column_stack([1 / inverse, taken / inverse])
    (time, slope), *_ = np.linalg.lstsq(design, np.ones(len(runs)), rcond=None)
    if slope <= 0:
        reason = "longer requests of the other do not slow the function"
        raise IdentificationError(f"{reason}: the accelerator does not limit it")
    if time <= 0:
        reason = "its throughput falls by more than the requests of the other take"
        raise IdentificationError(f"{reason}: something else than the accelerator limits it")
    off = np.abs(design @ np.array([time, slope]) - 1)
    residual = float(off.max()) if len(runs) > _TWO else None
    found = Identified(float(1 / slope), float(time), residual)
    if abs(found.queues - found.whole_queues) > _WHOLE * found.whole_queues:
        reason = f"the co-runs say {found.queues:.2f} queues, which is no whole number"
        raise IdentificationError(f"{reason}: the accelerator is not all that limits it")
    return found
