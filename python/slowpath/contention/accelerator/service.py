"""Request time as a line over the match ratio (Eq. 5): t = t0 + a m."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.cli.errors import InputError
from slowpath.contention.tables.profiles import AcceleratorProfile

Floats = NDArray[np.float64]
_TWO = 2
_ROUNDING = 1e-9


class RequestTime(NamedTuple):
    """Request time of a function on an accelerator."""

    base: float  # without any match
    per_match: float  # for each match per MB
    lowest: float  # match ratios that were measured
    highest: float
    spread: float | None  # standard deviation of relative residuals; None of two points

    def at(self, mtbr: Floats) -> Floats:
        """At match ratios, in matches per MB."""
        return np.asarray(self.base + self.per_match * mtbr)

    def outside(self, mtbr: Floats) -> NDArray[np.bool_]:
        """Which match ratios are beyond those that were measured."""
        return np.asarray((mtbr < self.lowest) | (mtbr > self.highest))


def fit_request_time(profile: AcceleratorProfile) -> RequestTime:
    """The line with the least squares of relative differences.

    Raises:
        InputError: when requests with more matches take less time, or those with none no time.
    """
    weight = 1 / profile.request_time
    design = np.column_stack([weight, weight * profile.mtbr])
    (base, per_match), *_ = np.linalg.lstsq(design, np.ones(len(weight)), rcond=None)
    file = profile.origin.files[0]
    slack = _ROUNDING * float(profile.request_time.min())
    if per_match * profile.mtbr.max() < -slack:
        raise InputError(file, "requests with more matches take less time; are the columns right?")
    if base < -slack:
        reason = "the line through the request times is below zero without matches"
        raise InputError(file, f"{reason}; measure smaller match ratios")
    rest = design @ np.array([base, per_match]) - 1
    free = len(rest) - _TWO
    spread = math.sqrt(float(rest @ rest) / free) if free > 0 else None
    lowest, highest = float(profile.mtbr.min()), float(profile.mtbr.max())
    return RequestTime(max(float(base), 0.0), max(float(per_match), 0.0), lowest, highest, spread)
