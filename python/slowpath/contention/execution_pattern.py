"""The execution pattern of a function: detected, declared or assumed.

The paper takes the equation that fits better. We also say how sure that is: how often the same
equation wins when co-runs are drawn again with replacement.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.composition import Pattern, pipeline, run_to_completion

Floats = NDArray[np.float64]
Source = Literal["given", "detected", "declared", "assumed"]

_DRAWS = 2000
_SURE = 0.9
_FEWEST = 3
_EQUAL = 1e-9


class Detected(NamedTuple):
    """An execution pattern."""

    pattern: Pattern | None  # None where the co-runs do not tell
    confidence: float  # of the pattern that fits better, a share
    pipeline_error: float  # mean relative difference of Eq. 3
    run_to_completion_error: float  # and of Eq. 4
    co_runs: int


class Reason(NamedTuple):
    """Why a model has its execution pattern."""

    source: Source
    declared: Pattern | None = None  # by the record of the profile
    detected: Detected | None = None  # None where no co-runs could tell


def detect(parts: Floats, solo: Floats, measured: Floats) -> Detected:
    """The pattern that explains co-runs.

    Args:
        parts: throughput with contention for each resource alone, `[resource, co-run]`.
        solo: throughput without any, `[co-run]`.
        measured: throughput with contention for all of them, `[co-run]`.

    Returns:
        The pattern, or none where fewer than 90 % of the draws agree; draws are the same each time.
    """
    return better_of(
        np.abs(pipeline(parts, solo) / measured - 1),
        np.abs(run_to_completion(parts, solo) / measured - 1),
    )


def better_of(off_p: Floats, off_r: Floats) -> Detected:
    """The pattern that explains co-runs, by how far off either is: a pipeline, run-to-completion.

    Returns:
        As `detect`.
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
