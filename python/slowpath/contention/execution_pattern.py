"""The execution pattern of a function: detected, declared or assumed.

The paper takes the equation that fits better. We also say how sure that is: how often the same
equation wins when co-runs are drawn again with replacement.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.composition import Pattern, pipeline, run_to_completion
from slowpath.contention.profiling.folder import RECORD
from slowpath.core.errors import InputError
from slowpath.core.inputs import read_text

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


_PATTERNS = get_args(Pattern)


class Declared(NamedTuple):
    """A pattern, and the record that has it."""

    file: str
    pattern: Pattern


def declared_by(named: Sequence[str]) -> Declared | None:
    """What the records in folders say of the pattern; None where none does.

    Raises:
        InputError: when a record cannot be used, or two contradict each other.
    """
    found: Declared | None = None
    for name in named:
        file = str(Path(name) / RECORD)
        pattern = _declared(file) if Path(file).is_file() else None
        if pattern is None:
            continue
        if found is not None and found.pattern != pattern:
            raise InputError(file, f"declares {pattern}; {found.file} declares {found.pattern}")
        found = found or Declared(file, pattern)
    return found


def _declared(file: str) -> Pattern | None:
    """What a record says; None where it is of an older slowpath."""
    try:
        record: Any = json.loads(read_text(file))
    except (ValueError, RecursionError) as problem:
        raise InputError(file, f"is not JSON: {problem}") from None
    if not isinstance(record, dict):
        raise InputError(file, "is no record of a profile: should be an object")
    pattern = record.get("pattern")
    if pattern is not None and pattern not in _PATTERNS:
        raise InputError(file, f"pattern: {str(pattern)[:40]!r} is none of {', '.join(_PATTERNS)}")
    return cast("Pattern | None", pattern)
