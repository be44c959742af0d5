"""Search for the best segments of a curve.

The searches return the best segments for each number of segments and each sum of ranks. Every
criterion that weighs the loss against these two numbers has its optimum among the results.

`dynamic` uses dynamic programming: the best m segments up to a point are the best m - 1 up to an
earlier point, and one more (Bellman 1961), here for each sum of ranks. `exhaustive` has the same
result, and takes n times as long for each further segment.
"""

from collections.abc import Iterator
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

import numpy as np

from slowpath.models.costs import Costs, Piece
from slowpath.models.template import Floats, Indices


class Segmentation(NamedTuple):
    """Segments that cover all points, with their deviance, or their error for rule `margins`."""

    loss: float
    pieces: tuple[Piece, ...]


Frontier: TypeAlias = dict[tuple[int, int], Segmentation]
"""Best segments by number of segments and sum of ranks."""


def dynamic(costs: Costs, most: int) -> Frontier:
    """Return the best segments, for up to `most` segments."""
    loss, which = costs.cheapest()
    size, top = len(costs.cuts), max(costs.ranks)
    best: Floats = np.full((most * top + 1, size), np.inf)  # by sum of ranks and last cut
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
            frontier[number, int(ranks)] = Segmentation(float(best[ranks, size - 1]), pieces)
    return frontier


def _trace(
    costs: Costs, which: Indices, steps: list[tuple[Indices, Indices]], ranks: int
) -> tuple[Piece, ...]:
    """Reconstruct the segments up to the end with a sum of ranks."""
    pieces, end = [], len(costs.cuts) - 1
    for came_from, by_rank in reversed(steps):
        begin, place = int(came_from[ranks, end]), int(by_rank[ranks, end])
        template = int(which[place, begin, end])
        pieces.append(Piece(costs.cuts[begin], costs.cuts[end], template))
        end, ranks = begin, ranks - costs.ranks[place]
    return tuple(reversed(pieces))


MOST = 3
"""Maximum number of segments of an exhaustive search."""


def exhaustive(costs: Costs, most: int) -> Frontier:
    """Return the best segments, for up to `most` segments, and at most `MOST`."""
    loss, which = costs.cheapest()
    last = len(costs.cuts) - 1
    frontier: Frontier = {}
    for number in range(1, min(most, MOST) + 1):
        bounds = _bounds(last, number)
        if not len(bounds):
            continue
        for places in product(range(len(costs.ranks)), repeat=number):
            whole = sum(
                loss[place][bounds[:, at], bounds[:, at + 1]] for at, place in enumerate(places)
            )
            least = int(np.argmin(whole))
            found = float(np.asarray(whole)[least])
            ranks = sum(costs.ranks[place] for place in places)
            known = frontier.get((number, ranks))
            if np.isfinite(found) and (known is None or found < known.loss):
                pieces = tuple(_pieces(costs, which, bounds[least], places))
                frontier[number, ranks] = Segmentation(found, pieces)
    return frontier


def _bounds(last: int, number: int) -> Indices:
    """Return all ways to cut a curve into `number` segments: indices of cuts, with both ends."""
    inner = list(combinations(range(1, last), number - 1))
    return np.array([(0, *between, last) for between in inner], dtype=np.intp)


def _pieces(
    costs: Costs, which: Indices, bounds: Indices, places: tuple[int, ...]
) -> Iterator[Piece]:
    for at, place in enumerate(places):
        begin, end = int(bounds[at]), int(bounds[at + 1])
        yield Piece(costs.cuts[begin], costs.cuts[end], int(which[place, begin, end]))
