"""By margins, as the paper has it (Eq. 3): of models about as good, the one of the lowest rank.

Eq. 3 compares two models, and whether one is "about as good" as another is not transitive: what it
leaves of many depends on their order. Here all are compared with the one of the least error, which
is the same for any order. The paper's rank of several segments is a mean (Eq. 4), so that further
segments cost nothing.
"""

from typing import NamedTuple

import numpy as np

from slowpath.models.search.costs import Costs, Piece
from slowpath.models.search.frontier import Found
from slowpath.models.templates.batch import Floats, Indices


class Margins(NamedTuple):
    """How much worse a simpler model may be."""

    relative: float
    least: float

    def above(self, error: float) -> float:
        """The largest error that is about as good as this one."""
        return error + max(error * self.relative, self.least)


def best(costs: Costs, margins: Margins, most: int, segments: int | None) -> Found:
    """The model that the rule selects, of those with up to so many segments."""
    error, chosen = _templates(costs, margins)
    found = _combined(costs, error, chosen, most)
    counts = {number for number, _ in found}
    only = None if segments is None else min(counts, key=lambda number: abs(number - segments))
    left = {size: one for size, one in found.items() if only is None or size[0] == only}
    limit = margins.above(min(one.loss for one in left.values()))
    good = [size for size in left if left[size].loss <= limit]
    return left[min(good, key=lambda size: (size[1], left[size].loss, size[0]))]


def _templates(costs: Costs, margins: Margins) -> tuple[Floats, Indices]:
    """For each segment, the error and the template that the rule selects."""
    ranks = np.array([template.rank for template in costs.templates])
    least = costs.errors.min(axis=0)
    limit = least + np.maximum(least * margins.relative, margins.least)
    good = costs.errors <= limit
    with np.errstate(invalid="ignore"):  # no function is good enough for some segments
        order = np.where(good, ranks[:, None] + costs.errors / (1 + 2 * limit), np.inf)
    chosen = order.argmin(axis=0)
    return costs.errors[chosen, np.arange(len(costs.pairs))], chosen


def _combined(
    costs: Costs, error: Floats, chosen: Indices, most: int
) -> dict[tuple[int, int], Found]:
    """For each number of segments and each sum of ranks over points, the least error (Eq. 4)."""
    size, points = len(costs.cuts), costs.cuts[-1]
    ranks = [template.rank for template in costs.templates]
    top = max(ranks) * points + 1
    best: Floats = np.full((size, top), np.inf)
    best[0, 0] = 0.0
    steps: list[Indices] = []
    found = {}
    for number in range(1, most + 1):
        now, came_by = np.full_like(best, np.inf), np.full(best.shape, -1)
        for pair, (at, to) in enumerate(costs.pairs):
            length = costs.cuts[to] - costs.cuts[at]
            shift = length * ranks[chosen[pair]]
            whole = best[at, : top - shift] + error[pair] * length / points
            better = whole < now[to, shift:]
            now[to, shift:][better] = whole[better]
            came_by[to, shift:][better] = pair
        steps.append(came_by)
        best = now
        for rank in np.flatnonzero(np.isfinite(best[size - 1])):
            pieces = _trace(costs, chosen, steps, int(rank))
            found[number, int(rank)] = Found(float(best[size - 1, rank]), pieces)
    return found


def _trace(costs: Costs, chosen: Indices, steps: list[Indices], rank: int) -> tuple[Piece, ...]:
    pieces, to = [], len(costs.cuts) - 1
    for came_by in reversed(steps):
        pair = int(came_by[to, rank])
        at = costs.pairs[pair][0]
        begin, end = costs.cuts[at], costs.cuts[to]
        pieces.append(Piece(begin, end, int(chosen[pair])))
        to, rank = at, rank - (end - begin) * costs.templates[chosen[pair]].rank
    return tuple(reversed(pieces))
