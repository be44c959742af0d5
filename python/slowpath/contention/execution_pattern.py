"""The execution pattern of a function: detected, declared or assumed.

The paper chooses the equation that fits better. We also give a confidence: how often the same
equation wins when the co-runs are resampled with replacement.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.composition import Pattern

Floats = NDArray[np.float64]
Source = Literal["given", "detected", "declared", "assumed"]

_DRAWS = 2000
_SURE = 0.9
_FEWEST = 3
_EQUAL = 1e-9


class Detected(NamedTuple):
    """An execution pattern detected from co-runs."""

    pattern: Pattern | None  # None if the confidence is too low
    confidence: float  # confidence in the pattern that fits better, as a share
    pipeline_error: float  # mean relative error of Eq. 3
    run_to_completion_error: float  # mean relative error of Eq. 4
    co_runs: int


class Reason(NamedTuple):
    """The reason for the execution pattern of a model."""

    source: Source
    declared: Pattern | None = None  # pattern in the record of the profile
    detected: Detected | None = None  # None without suitable co-runs


def better_of(off_p: Floats, off_r: Floats) -> Detected:
    """Detect the pattern from the relative errors of both, first pipeline, then run-to-completion.

    Returns:
        The pattern, or none if fewer than 90 % of the resamples agree. The random seed is fixed.
    """
    count = len(off_p)
    better: Pattern = "pipeline" if off_p.sum() <= off_r.sum() else "run-to-completion"
    confidence = 0.5
    if count >= _FEWEST:
        drawn = np.random.default_rng(0).integers(count, size=(_DRAWS, count))
        gain = (off_r - off_p)[drawn].mean(axis=1)  # above zero: pipeline fits better
        wins = np.mean(gain > _EQUAL) + np.mean(np.abs(gain) <= _EQUAL) / 2
        confidence = float(wins if better == "pipeline" else 1 - wins)
    sure = better if confidence >= _SURE else None
    errors = [float(off.mean()) if count else 0.0 for off in (off_p, off_r)]
    return Detected(sure, confidence, errors[0], errors[1], count)
