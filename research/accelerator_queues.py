"""Finds a function's number of queues and request time at a round-robin accelerator, from co-runs.

In a co-run, the function shares the accelerator with a known client. The throughput T of a function
with n queues and request time t satisfies 1 / T = t + (n_c t_c) / n (Wu et al., Eq. 1). In each
round, the known client with n_c queues and request time t_c takes the time n_c t_c. So 1 / T is a
line over this time. Two co-runs determine the line; further co-runs show its error.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slowpath.contention.accelerators import CoRun, IdentificationError

_TWO = 2
_WHOLE = 0.15
"""Maximum relative distance between the result and a whole number of queues. If it is larger,
another resource limits the function.
"""


class Identified(NamedTuple):
    """Number of queues and request time of a function at an accelerator, found from co-runs."""

    queues: float  # estimate, a whole number except for noise
    request_time: float
    residual: float | None  # maximum relative error of a throughput; None for two co-runs

    @property
    def whole_queues(self) -> int:
        """The positive whole number nearest to the number of queues."""
        return max(round(self.queues), 1)


def identify(runs: Sequence[CoRun]) -> Identified:
    """Find the number of queues and the request time of a function from co-runs.

    Raises:
        IdentificationError: if there are too few different co-runs, or the accelerator is not the
            only bottleneck.
    """
    if any(min(run) <= 0 for run in runs):
        raise IdentificationError("queues, request times and throughputs have to be above zero")
    round_times = np.array([run.queues * run.request_time for run in runs])
    if len(np.unique(round_times)) < _TWO:
        raise IdentificationError("two co-runs with different request times are needed")
    inverse = np.array([1 / run.throughput for run in runs])
    # Rows are divided by their target, to minimise relative differences.
    design = np.column_stack([1 / inverse, round_times / inverse])
    (time, slope), *_ = np.linalg.lstsq(design, np.ones(len(runs)), rcond=None)
    if slope <= 0:
        reason = "longer requests of the other do not slow the function"
        raise IdentificationError(f"{reason}: the accelerator does not limit it")
    if time <= 0:
        reason = "its throughput falls by more than the requests of the other take"
        raise IdentificationError(f"{reason}: something else than the accelerator limits it")
    errors = np.abs(design @ np.array([time, slope]) - 1)
    residual = float(errors.max()) if len(runs) > _TWO else None
    found = Identified(float(1 / slope), float(time), residual)
    if abs(found.queues - found.whole_queues) > _WHOLE * found.whole_queues:
        reason = f"the co-runs say {found.queues:.2f} queues, which is no whole number"
        raise IdentificationError(f"{reason}: the accelerator is not all that limits it")
    return found
