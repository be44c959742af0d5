"""By an information criterion: what a model gets wrong, against what it takes to write it down.

The criterion is Schwarz's (BIC): the surprise of the points (see `search.evidence`) and k ln n. A
place where the curve is cut is a parameter that is found by trying all of them, and counts for more
than one (Zhang and Siegmund 2007). `bench/fit_recovery.py` and `bench/fit_curves.py` show both
sides: a more frugal rule finds known models as well, and a less frugal one sees segments in noise;
real curves, which no template fits exactly, would take the latter.
"""

import math

from slowpath.models.search.frontier import Found, Frontier

CUT = 2.0
"""So many parameters a cut counts for."""
PREDICTIONS = 0.5
"""What a parameter costs where only predictions count, however many points there are."""


def score(found: Found, segments: int, ranks: int, points: int, each: float) -> float:
    """The criterion; the least one is best. Infinite where nothing is left to tell the spread."""
    size = ranks + CUT * (segments - 1)
    return found.loss + size * each if size + 2 < points else math.inf


def best(frontier: Frontier, points: int, segments: int | None, each: float | None = None) -> Found:
    """The model with the least criterion, of those with so many segments.

    Where there are none, of those with the number that is closest to it; where there are too few
    points for the criterion, the one of the lowest rank. `each` is what a parameter costs instead.
    """
    price = math.log(points) if each is None else each
    counts = {number for number, _ in frontier}
    only = None if segments is None else min(counts, key=lambda number: abs(number - segments))
    sizes = [size for size in frontier if only is None or size[0] == only]

    def order(size: tuple[int, int]) -> tuple[float, int]:
        segments, ranks = size
        return score(frontier[size], segments, ranks, points, price), sum(size)

    return frontier[min(sizes, key=order)]
