"""Request time as a line over the match ratio (Eq. 5).

The accelerator reads each byte and reports each match; their number is match ratio x bytes. For
rows with several packet sizes, t0 and a are lines over the size; the paper has one size.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.tables.profiles import AcceleratorProfile
from slowpath.core.errors import InputError

Floats = NDArray[np.float64]
_ROUNDING = 1e-9
_CONFIDENCE = 0.95
"""Confidence for falling request times: noise alone makes them fall in at most one of 20 cases."""


class RequestTime(NamedTuple):
    """Request time of a function at an accelerator."""

    base: float  # time without matches
    per_match: float  # time for each match per MB
    lowest: float  # lowest measured match ratio
    highest: float  # highest measured match ratio
    spread: float | None  # standard deviation of relative residuals; None without residuals
    per_byte: float = 0.0  # per byte of the packet; this and the next are 0 with a single size
    per_match_and_byte: float = 0.0
    sizes: tuple[float, float] = (0.0, math.inf)  # least and greatest measured packet size

    def at(self, mtbr: Floats, size: Floats) -> Floats:
        """Return the time at match ratios in matches per MB, and packet sizes in bytes.

        Sizes outside the measured range are clipped to it.
        """
        size = np.clip(size, *self.sizes)
        base = self.base + self.per_byte * size
        return np.asarray(base + (self.per_match + self.per_match_and_byte * size) * mtbr)

    def outside(self, mtbr: Floats) -> NDArray[np.bool_]:
        """Return true for match ratios outside the measured range."""
        return np.asarray((mtbr < self.lowest) | (mtbr > self.highest))

    def scaled(self, factor: float) -> "RequestTime":
        """Return the request time multiplied by a factor."""
        return self._replace(
            base=self.base * factor,
            per_match=self.per_match * factor,
            per_byte=self.per_byte * factor,
            per_match_and_byte=self.per_match_and_byte * factor,
        )

    def words(self) -> str:
        """Return the formula."""
        if not self.per_byte and not self.per_match_and_byte:
            return f"{self.base:.4g} + {self.per_match:.4g} x matches/MB"
        base = f"{self.base:.4g} + {self.per_byte:.4g} x bytes"
        return (
            f"{base} + ({self.per_match:.4g} + {self.per_match_and_byte:.4g} x bytes) x matches/MB"
        )


def fit_request_time(profile: AcceleratorProfile) -> RequestTime:
    """Fit the lines by least squares of relative differences.

    If times fall with the match ratio by no more than noise explains, the time is constant. If the
    times of an accelerator do not depend on matches, half of all fitted lines fall.

    Raises:
        InputError: if times fall with the match ratio, the time without matches is negative, or
            there are too few different sizes and match ratios.
    """
    mtbr, size = profile.mtbr, profile.size
    ones = np.ones(len(mtbr))
    sized = size is not None and float(np.ptp(size)) > 0
    terms = [ones, mtbr] if size is None or not sized else [ones, mtbr, size, mtbr * size]
    design = np.column_stack(terms) / profile.request_time[:, None]
    file = profile.origin.files[0]
    scale = np.abs(design).max(axis=0, initial=0.0)
    scale[scale == 0] = 1.0
    found, _, rank, _ = np.linalg.lstsq(design / scale, ones, rcond=None)
    if sized and rank < len(terms):
        reason = "request times of several sizes take two match ratios of each of two sizes"
        raise InputError(file, f"{reason} at least")
    found = found / scale
    if not sized and found[1] < 0 and not _falls(design, found):
        design = design[:, :1]
        found = np.array([design[:, 0].sum() / (design[:, 0] @ design[:, 0])])
    rest = design @ found - 1
    free = len(rest) - len(found)
    base, per_match, per_byte, both = (*found.tolist(), 0.0, 0.0, 0.0)[:4]
    time = RequestTime(
        base,
        per_match,
        float(mtbr.min()),
        float(mtbr.max()),
        math.sqrt(float(rest @ rest) / free) if free > 0 else None,
        per_byte,
        both,
    )
    sizes = np.zeros(1)
    if sized and size is not None:
        sizes = np.unique(size)
        time = time._replace(sizes=(float(sizes[0]), float(sizes[-1])))
    without, slope = time.at(np.zeros(1), sizes), per_match + both * sizes
    slack = _ROUNDING * float(profile.request_time.min())
    if slope.min() * mtbr.max() < -slack:
        raise InputError(file, "requests with more matches take less time; are the columns right?")
    if without.min() < -slack:
        reason = "the line through the request times is below zero without matches"
        raise InputError(file, f"{reason}; measure smaller match ratios")
    if sized:
        return time
    return time._replace(base=max(base, 0.0), per_match=max(per_match, 0.0))


def _falls(design: Floats, found: Floats) -> bool:
    """Return true if a line falls by more than its scatter explains (t test of its slope)."""
    from scipy.special import stdtrit

    rest = design @ found - 1
    free = len(rest) - len(found)
    if free <= 0:
        return True
    variance = float(rest @ rest) / free * np.linalg.inv(design.T @ design)[1, 1]
    return bool(-found[1] > stdtrit(free, _CONFIDENCE) * math.sqrt(variance))


class IdentificationError(ValueError):
    """Co-runs that do not identify the function; the text gives the reason."""


class CoRun(NamedTuple):
    """A function beside a client that always has a request; both saturate the accelerator."""

    queues: float  # queues of the client
    request_time: float  # request time of the client
    throughput: float  # throughput of the function
