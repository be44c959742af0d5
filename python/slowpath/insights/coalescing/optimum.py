"""The best order of variables: exactly where that takes seconds, else a good one and a bound."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from slowpath.insights.coalescing import exact
from slowpath.insights.coalescing.clusters import access_vectors, clustered, clusters
from slowpath.insights.coalescing.exact import best_order
from slowpath.insights.coalescing.layout import Order, Weighted, accesses, weighted
from slowpath.insights.coalescing.problem import Element
from slowpath.insights.coalescing.search import cost, good_order, tidied

_MOST_CLUSTERS = 16
"""That are tried where no number is said."""


class Layout(NamedTuple):
    """An order, and how sure it is that none is better."""

    order: Order
    accesses: Fraction
    """For each packet."""
    bound: Fraction
    """No order takes fewer."""
    proven: bool


def layout(
    element: Element, width: int, known: Sequence[Order] = (), most: int = exact.MOST
) -> Layout:
    """The order of the variables for which blocks take the fewest accesses of a width.

    Args:
        element: variables and blocks.
        width: bytes that an access fetches, from a multiple of them.
        known: orders than which the result must be no worse; it is no worse than the source's.
        most: steps that the exact search may take.
    """
    of = weighted(element, width)
    source: Order = range(len(element.variables))
    good = good_order(of, [source, *known])
    found = best_order(of, cost(of, good), most)
    order = tidied(of, good if found.order is None else found.order)
    least = accesses(of, order)
    return Layout(
        order,
        Fraction(least, of.unit),
        Fraction(least if found.proven else found.bound, of.unit),
        found.proven or found.bound == least,
    )


def by_clusters(element: Element, width: int, k: int | None = None) -> Order:
    """The order of the published way; of the number of clusters that does best, if none is said."""
    vectors = access_vectors(element)
    of: Weighted = weighted(element, width)
    several = range(1, min(len(vectors), _MOST_CLUSTERS) + 1) if k is None else (k,)
    orders = [clustered(clusters(vectors, each)) for each in several]
    return min(orders, key=lambda order: accesses(of, order))
