"""Segments by trying all places for cuts, as the paper does up to three segments.

It answers what `dynamic` answers, and takes n times as long for each further segment.
"""

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from slowpath.models.search.costs import Costs, Piece
from slowpath.models.search.frontier import Found, Frontier
from slowpath.models.templates.batch import Indices

MOST = 3
"""Segments that can be searched so."""


def exhaustive(costs: Costs, most: int) -> Frontier:
    """The best segments, up to so many, and no more than `MOST`."""
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
                frontier[number, ranks] = Found(found, pieces)
    return frontier


def _bounds(last: int, number: int) -> Indices:
    """All ways to cut into so many segments: the numbers of the cuts, with both ends."""
    inner = list(combinations(range(1, last), number - 1))
    return np.array([(0, *between, last) for between in inner], dtype=np.intp)


def _pieces(
    costs: Costs, which: Indices, bounds: Indices, places: tuple[int, ...]
) -> Iterator[Piece]:
    for at, place in enumerate(places):
        begin, end = int(bounds[at]), int(bounds[at + 1])
        yield Piece(costs.cuts[begin], costs.cuts[end], int(which[place, begin, end]))
