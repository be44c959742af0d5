"""Entry point of `slowpath insights coalescing`."""

from argparse import Namespace
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from slowpath.core import engine
from slowpath.core.errors import ExitCode
from slowpath.core.formats import Reporter
from slowpath.insights.layout import exact
from slowpath.insights.layout.documents import ComparedLayout, ElementLayout, Pack, TouchedBlock
from slowpath.insights.layout.exact import best_order
from slowpath.insights.layout.heuristics import (
    access_vectors,
    clustered,
    clusters,
    cost,
    good_order,
    tidied,
)
from slowpath.insights.layout.problem import (
    Element,
    MergedElement,
    Order,
    Variable,
    accesses,
    offsets,
    size_of,
    weighted,
    windows,
)
from slowpath.insights.layout.reading import Described
from slowpath.insights.layout.report import c_struct

if TYPE_CHECKING:
    from slowpath.insights.layout.documents import CoalescingReport


_MOST_CLUSTERS = 16
"""Maximum number of clusters to try if the file does not state a number."""


class Layout(NamedTuple):
    """An order of variables, with a lower bound of all orders."""

    order: Order
    accesses: Fraction
    """Accesses for each packet."""
    bound: Fraction
    """Lower bound of the accesses of any order."""
    proven: bool


def layout(
    element: Element, width: int, known: Sequence[Order] = (), most: int = exact.MOST
) -> Layout:
    """Return the order of variables for which blocks need the fewest accesses.

    Args:
        element: variables and blocks.
        width: bytes that an access fetches, and their alignment.
        known: further orders; the result is no worse than any of them, nor than the source's.
        most: maximum number of steps of the exact search.
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
    """Return the order by the published clustering, with `k` or the best number of clusters."""
    vectors = access_vectors(element)
    of: MergedElement = weighted(element, width)
    several = range(1, min(len(vectors), _MOST_CLUSTERS) + 1) if k is None else (k,)
    orders = [clustered(clusters(vectors, each)) for each in several]
    return min(orders, key=lambda order: accesses(of, order))


WIDTH = 16
"""Default access width in bytes."""


def advise(described: Described, width: int) -> ElementLayout:
    """Return the order with the fewest accesses, no worse than any order in the comparison."""
    element = described.element
    others = {
        "source": [*range(len(element.variables))],
        "clusters": by_clusters(element, width, described.clusters),
    }
    if described.published is not None:
        others["published"] = described.published
    found = layout(element, width, [*others.values()])
    variables = [element.variables[at] for at in found.order]
    packs = _packs(element, variables, width)
    after, before = _taken(element, variables, width), _taken(element, element.variables, width)
    blocks: list[TouchedBlock] = [
        {"block": one.name, "weight": one.weight, "accesses": now, "before": then}
        for one, now, then in zip(element.blocks, after, before, strict=True)
    ]
    weight = sum(one.weight for one in element.blocks)
    taken = float(found.accesses)
    return {
        "element": element.name,
        "verdict": "optimal" if found.proven else "stopped",
        "accesses": taken,
        "accesses_per_block": taken / weight if weight else None,
        "bound": float(found.bound),
        "size_bytes": size_of(variables),
        "members": [
            {"variable": one.name, "offset": at, "size_bytes": one.size}
            for one, at in zip(variables, offsets(variables), strict=True)
        ],
        "packs": packs,
        "blocks": blocks,
        "compared": [
            _compared(element, title, order, width, taken) for title, order in others.items()
        ],
        "struct": c_struct(element, variables, width, packs, blocks),
    }


def _taken(element: Element, variables: Sequence[Variable], width: int) -> list[int]:
    """Return the number of windows that each block touches."""
    where = dict(zip((one.name for one in variables), windows(variables, width), strict=True))
    return [len({at for name in block.touches for at in where[name]}) for block in element.blocks]


def _packs(element: Element, variables: Sequence[Variable], width: int) -> list[Pack]:
    found = list[Pack]()
    those = [*zip(variables, offsets(variables), windows(variables, width), strict=True)]
    for at in range(max((part.stop for _, _, part in those), default=0)):
        inside = {one.name: begin + one.size for one, begin, part in those if at in part}
        by = [one for one in element.blocks if any(name in inside for name in one.touches)]
        ends = [inside[name] for one in by for name in one.touches if name in inside]
        begin = at * width
        found.append(
            {
                "offset": begin,
                "fetch_bytes": min(max(ends) - begin, width) if ends else 0,
                "variables": [*inside],
                "blocks": [one.name for one in by],
            }
        )
    return found


def _compared(
    element: Element, title: str, order: Order, width: int, taken: float
) -> ComparedLayout:
    of = weighted(element, width)
    each = accesses(of, order) / of.unit
    return {
        "layout": title,
        "accesses": each,
        "saved": 1 - taken / each if each else None,
        "order": [element.variables[at].name for at in order],
    }


def run(given: Namespace, reporter: Reporter) -> ExitCode:
    """Find orders of variables for the elements of a file, and report them.

    Raises:
        InputError: when the file cannot be read or is invalid.
    """
    report = _report(given)
    reporter.write(report)
    return ExitCode.FINE


def _report(given: Namespace) -> "CoalescingReport":
    from slowpath.insights.layout.reading import read_elements

    found = read_elements(given.file)
    width = given.width or found.width or WIDTH
    return {
        "slowpath": engine.version(),
        "file": given.file,
        "width": width,
        "elements": [advise(one, width) for one in found.elements],
    }
