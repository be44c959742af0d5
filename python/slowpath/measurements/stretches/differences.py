"""What stretches take: differences between runs that end at different points.

A stretch takes what a path up to its end takes longer than the path up to its start. Both are
whole runs, so the stretches of a load add up to the path. A CPU works on several instructions at
once: work is counted in the stretch in which it delays the end, which may be a later one than that
of its instructions, and work that delays nothing takes nothing. So a stretch may take less than
nothing, within its interval.
"""

from collections.abc import Sequence
from typing import NamedTuple

from slowpath.measurements.timing.statistics import Estimate, estimate


class Beginnings(NamedTuple):
    """What one load said; None: all samples were disturbed. All beyond an empty program."""

    path: float | None  # ns of the path, without questions
    ends: Sequence[float | None]  # of it up to the end of each stretch, with questions


class Parts(NamedTuple):
    """What a path and its stretches take, in ns."""

    whole: Estimate | None
    asking: Estimate | None  # a question
    parts: list[Estimate | None]


def take_apart(loads: Sequence[Beginnings], questions: Sequence[int]) -> Parts:
    """What stretches take by independent loads.

    `questions` is how many a run up to the end of each stretch asks. What one takes is how much
    longer the path is with all of them, by their number; that is an average.
    """
    wholes, askings = list[float](), list[float]()
    found: list[list[float]] = [[] for _ in questions]
    for load in loads:
        asked = load.ends[-1] if load.ends else None
        if load.path is None or asked is None:
            continue
        asking = (asked - load.path) / questions[-1] if questions[-1] else 0.0
        wholes.append(load.path)
        askings.append(asking)
        start: float | None = 0.0
        for values, end, count in zip(found, load.ends, questions, strict=True):
            without = None if end is None else end - asking * count
            if without is not None and start is not None:
                values.append(without - start)
            start = without
    parts = [estimate(values) if values else None for values in found]
    if not wholes:
        return Parts(None, None, parts)
    return Parts(estimate(wholes), estimate(askings), parts)
