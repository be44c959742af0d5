"""Runs the command `slowpath insights coalescing`."""

from argparse import Namespace
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from slowpath.core import engine
from slowpath.core.errors import ExitCode
from slowpath.core.formats import Reporter
from slowpath.insights.layout import search
from slowpath.insights.layout.documents import (
    CoalescingReport,
    ComparedLayout,
    ElementLayout,
    Pack,
    TouchedBlock,
)
from slowpath.insights.layout.problem import (
    Described,
    Element,
    MergedElement,
    Order,
    Variable,
    accesses,
    offsets,
    read_elements,
    size_of,
    weighted,
    windows,
)
from slowpath.insights.layout.report import c_struct
from slowpath.insights.layout.search import (
    access_vectors,
    best_order,
    clustered,
    clusters,
    cost,
    good_order,
    tidied,
)

_MOST_CLUSTERS = 16
"""Maximum number of clusters to try if the file states no number."""


class Layout(NamedTuple):
    """The best order of variables that was found, with a lower bound for all orders."""

    order: Order
    accesses: Fraction
    """Memory accesses per packet with this order."""
    bound: Fraction
    """Lower bound of the accesses per packet of any order."""
    proven: bool


def layout(
    element: Element, width: int, known: Sequence[Order] = (), max_steps: int = search.MAX_STEPS
) -> Layout:
    """Return the order of variables with the fewest accesses.

    Args:
        element: variables and blocks of code.
        width: bytes that an access fetches, and alignment of an access.
        known: orders to start from; the result is no worse than these and the source's order.
        max_steps: maximum number of steps of the exact search.
    """
    merged = weighted(element, width)
    source: Order = range(len(element.variables))
    good = good_order(merged, [source, *known])
    found = best_order(merged, cost(merged, good), max_steps)
    order = tidied(merged, good if found.order is None else found.order)
    least = accesses(merged, order)
    return Layout(
        order,
        Fraction(least, merged.unit),
        Fraction(least if found.proven else found.bound, merged.unit),
        found.proven or found.bound == least,
    )


def by_clusters(element: Element, width: int, k: int | None = None) -> Order:
    """Return the order of the published clustering, with `k` clusters.

    If `k` is None, the number of clusters with the fewest accesses is chosen.
    """
    vectors = access_vectors(element)
    merged: MergedElement = weighted(element, width)
    cluster_counts = range(1, min(len(vectors), _MOST_CLUSTERS) + 1) if k is None else (k,)
    orders = [clustered(clusters(vectors, each)) for each in cluster_counts]
    return min(orders, key=lambda order: accesses(merged, order))


WIDTH = 16
"""Default access width in bytes."""


def advise(described: Described, width: int) -> ElementLayout:
    """Return the order of variables with the fewest accesses, compared with other orders."""
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
    after, before = (
        _accesses_by_block(element, variables, width),
        _accesses_by_block(element, element.variables, width),
    )
    blocks: list[TouchedBlock] = [
        {"block": one.name, "weight": one.weight, "accesses": now, "before": then}
        for one, now, then in zip(element.blocks, after, before, strict=True)
    ]
    weight = sum(one.weight for one in element.blocks)
    total_accesses = float(found.accesses)
    return {
        "element": element.name,
        "verdict": "optimal" if found.proven else "stopped",
        "accesses": total_accesses,
        "accesses_per_block": total_accesses / weight if weight else None,
        "bound": float(found.bound),
        "size_bytes": size_of(variables),
        "members": [
            {"variable": one.name, "offset": at, "size_bytes": one.size}
            for one, at in zip(variables, offsets(variables), strict=True)
        ],
        "packs": packs,
        "blocks": blocks,
        "compared": [
            _compared(element, title, order, width, total_accesses)
            for title, order in others.items()
        ],
        "struct": c_struct(element, variables, width, packs, blocks),
    }


def _accesses_by_block(element: Element, variables: Sequence[Variable], width: int) -> list[int]:
    """Return, for each block of code, the number of windows that it touches with this order."""
    windows_of = dict(zip((one.name for one in variables), windows(variables, width), strict=True))
    return [
        len({at for name in block.touches for at in windows_of[name]}) for block in element.blocks
    ]


def _packs(element: Element, variables: Sequence[Variable], width: int) -> list[Pack]:
    found = list[Pack]()
    placed_variables = [*zip(variables, offsets(variables), windows(variables, width), strict=True)]
    for at in range(max((part.stop for _, _, part in placed_variables), default=0)):
        ends_in_window = {
            one.name: begin + one.size for one, begin, part in placed_variables if at in part
        }
        blocks = [
            one for one in element.blocks if any(name in ends_in_window for name in one.touches)
        ]
        ends = [
            ends_in_window[name] for one in blocks for name in one.touches if name in ends_in_window
        ]
        begin = at * width
        found.append(
            {
                "offset": begin,
                "fetch_bytes": min(max(ends) - begin, width) if ends else 0,
                "variables": [*ends_in_window],
                "blocks": [one.name for one in blocks],
            }
        )
    return found


def _compared(
    element: Element, title: str, order: Order, width: int, total_accesses: float
) -> ComparedLayout:
    merged = weighted(element, width)
    each = accesses(merged, order) / merged.unit
    return {
        "layout": title,
        "accesses": each,
        "saved": 1 - total_accesses / each if each else None,
        "order": [element.variables[at].name for at in order],
    }


def run(given: Namespace, reporter: Reporter) -> ExitCode:
    """Find orders of variables for the elements of a file, and report them.

    Raises:
        InputError: when the file cannot be read or is invalid.
    """
    found = read_elements(given.file)
    width = given.width or found.width or WIDTH
    report: CoalescingReport = {
        **engine.head("insights coalescing", "coalescing"),
        "file": given.file,
        "width": width,
        "results": [advise(one, width) for one in found.elements],
    }
    reporter.write(report)
    return ExitCode.FINE
