"""Segments by dynamic programming: as good as trying all, in time linear in their number.

The best m segments up to a point are the best m - 1 up to an earlier one, and one more (Bellman
1961); here for each sum of ranks.
"""

import numpy as np

from slowpath.models.search.costs import Costs, Piece
from slowpath.models.search.frontier import Found, Frontier
from slowpath.models.templates.batch import Floats, Indices


def dynamic(costs: Costs, most: int) -> Frontier:
    """The best segments, up to so many."""
    loss, which = costs.cheapest()
    size, top = len(costs.cuts), max(costs.ranks)
    best: Floats = np.full((most * top + 1, size), np.inf)  # by sum of ranks, and where they end
    best[0, 0] = 0.0
    steps: list[tuple[Indices, Indices]] = []
    frontier: Frontier = {}
    for number in range(1, most + 1):
        now = np.full_like(best, np.inf)
        came_from = np.zeros(best.shape, dtype=np.intp)
        by_rank = np.zeros(best.shape, dtype=np.intp)
        for place, rank in enumerate(costs.ranks):
            sums = range((number - 1) * costs.ranks[0], (number - 1) * top + 1)
            window = best[sums.start : sums.stop]
            whole = window[:, :, None] + loss[place][None]
            where = whole.argmin(axis=1)
            least = np.take_along_axis(whole, where[:, None, :], axis=1)[:, 0]
            target = slice(sums.start + rank, sums.stop + rank)
            better = least < now[target]
            now[target] = np.where(better, least, now[target])
            came_from[target] = np.where(better, where, came_from[target])
            by_rank[target] = np.where(better, place, by_rank[target])
        steps.append((came_from, by_rank))
        best = now
        for ranks in np.flatnonzero(np.isfinite(best[:, size - 1])):
            pieces = _trace(costs, which, steps, int(ranks))
            frontier[number, int(ranks)] = Found(float(best[ranks, size - 1]), pieces)
    return frontier


def _trace(
    costs: Costs, which: Indices, steps: list[tuple[Indices, Indices]], ranks: int
) -> tuple[Piece, ...]:
    """The segments that lead to the end with a sum of ranks."""
    pieces, end = [], len(costs.cuts) - 1
    for came_from, by_rank in reversed(steps):
        begin, place = int(came_from[ranks, end]), int(by_rank[ranks, end])
        template = int(which[place, begin, end])
        pieces.append(Piece(costs.cuts[begin], costs.cuts[end], template))
        end, ranks = begin, ranks - costs.ranks[place]
    return tuple(reversed(pieces))
