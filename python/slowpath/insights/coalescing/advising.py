"""The advised layout of an element, with all that is said about it."""

from collections.abc import Sequence

from slowpath.insights.coalescing.c_struct import c_struct
from slowpath.insights.coalescing.documents import ComparedLayout, ElementLayout, Pack, TouchedBlock
from slowpath.insights.coalescing.layout import (
    Order,
    accesses,
    offsets,
    size_of,
    weighted,
    windows,
)
from slowpath.insights.coalescing.optimum import by_clusters, layout
from slowpath.insights.coalescing.problem import Element, Variable
from slowpath.insights.coalescing.reading import Described

WIDTH = 16
"""Bytes of an access where nobody says."""


def advise(described: Described, width: int) -> ElementLayout:
    """The order with the fewest accesses, no worse than any of those that it is compared with."""
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
    """Of each block, windows that it touches."""
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
