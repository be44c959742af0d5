"""Request time as a line over the match ratio (Eq. 5), and its identification.

The accelerator reads each byte and reports each match, of which there are as many as ratio x bytes.
Where rows tell the size of packets, t0 and a are lines over it; the paper's have one size.

At equilibrium 1 / T = t + (n_c t_c) / n, by Eq. 1: a line over the time n_c t_c that the known
client takes of a round. Two co-runs solve it; more show how well it holds.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.tables.profiles import AcceleratorProfile
from slowpath.core.errors import InputError

Floats = NDArray[np.float64]
_ROUNDING = 1e-9
_CONFIDENCE = 0.95
"""That request times fall is believed where scatter makes them fall in one of 20 cases at most."""


class RequestTime(NamedTuple):
    """Request time of a function on an accelerator."""

    base: float  # without any match
    per_match: float  # for each match per MB
    lowest: float  # match ratios that were measured
    highest: float
    spread: float | None  # standard deviation of relative residuals; None where there are none
    per_byte: float = 0.0  # of the packet; these two are 0 where sizes were not measured
    per_match_and_byte: float = 0.0
    sizes: tuple[float, float] = (0.0, math.inf)  # least and most that were measured

    def at(self, mtbr: Floats, size: Floats) -> Floats:
        """At match ratios, in matches per MB, of packets of these sizes, in bytes.

        Sizes beyond those that were measured are taken as at their ends.
        """
        size = np.clip(size, *self.sizes)
        base = self.base + self.per_byte * size
        return np.asarray(base + (self.per_match + self.per_match_and_byte * size) * mtbr)

    def outside(self, mtbr: Floats) -> NDArray[np.bool_]:
        """Which match ratios are beyond those that were measured."""
        return np.asarray((mtbr < self.lowest) | (mtbr > self.highest))

    def scaled(self, factor: float) -> "RequestTime":
        """Of an accelerator that takes so many times as long."""
        return self._replace(
            base=self.base * factor,
            per_match=self.per_match * factor,
            per_byte=self.per_byte * factor,
            per_match_and_byte=self.per_match_and_byte * factor,
        )

    def words(self) -> str:
        """As a formula."""
        if not self.per_byte and not self.per_match_and_byte:
            return f"{self.base:.4g} + {self.per_match:.4g} x matches/MB"
        base = f"{self.base:.4g} + {self.per_byte:.4g} x bytes"
        return (
            f"{base} + ({self.per_match:.4g} + {self.per_match_and_byte:.4g} x bytes) x matches/MB"
        )


def fit_request_time(profile: AcceleratorProfile) -> RequestTime:
    """The lines with the least squares of relative differences.

    Where requests with more matches take less time by no more than scatter explains (of an
    accelerator whose times do not depend on matches, half of all lines fall), time is constant.

    Raises:
        InputError: when requests with more matches take less time, or those with none no time, or
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
    """Whether a line falls by more than the scatter around it explains (t test of its slope)."""
    from scipy.special import stdtrit

    rest = design @ found - 1
    free = len(rest) - len(found)
    if free <= 0:
        return True
    variance = float(rest @ rest) / free * np.linalg.inv(design.T @ design)[1, 1]
    return bool(-found[1] > stdtrit(free, _CONFIDENCE) * math.sqrt(variance))


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
