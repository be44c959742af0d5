"""Computes the positions of nodes and edges in a layered drawing of a directed graph.

The steps are those of Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical
System Structures" (1981): layers, order within layers, positions. Edges that pass layers on their
way to the same node share one trunk, so that a hundred checks with a common target do not become a
hundred lines. Time and space thus grow with the number of layers, not of edges.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

_ROUNDS = 8  # rounds of the order in layers and of positions; each goes down and up again
_STRAIGHT = 8.0  # weight of trunks in positions, to keep them straight; nodes have weight 1


class Node(NamedTuple):
    """Width and height of a node."""

    width: float
    height: float


class Gaps(NamedTuple):
    """Distances in a drawing: between nodes, between layers, and the width of a trunk.

    A trunk is a line that several edges share.
    """

    across: float
    down: float
    trunk: float


class Place(NamedTuple):
    """A point of the drawing. | For a node, it is the middle of the upper edge."""

    x: float
    y: float


class Line(NamedTuple):
    """A line of the drawing, which one or more edges of the graph share.

    It runs down to the next layer. The line of an edge that closes a cycle runs up on the right
    side instead.
    """

    points: tuple[Place, ...]
    edges: tuple[int, ...]  # numbers of the edges


class Layout(NamedTuple):
    """Positions of the nodes and lines of a graph, and the size of the drawing."""

    width: float
    height: float
    places: list[Place]
    lines: list[Line]


def layered(nodes: Sequence[Node], edges: Sequence[tuple[int, int]], gaps: Gaps) -> Layout:
    """Compute the drawing of a graph.

    Edges are pairs of node numbers, and node 0 is at the top.
    """
    if not nodes:
        return Layout(0, 0, [], [])
    back = _back_edges(len(nodes), edges)
    forward = [number for number in range(len(edges)) if number not in back]
    ranks = _ranks(len(nodes), [edges[number] for number in forward])
    pieces, trunks = _pieces(edges, forward, ranks)
    layers = _layers([*ranks, *(rank for _, rank in trunks)])
    below, above = _neighbours(len(nodes) + len(trunks), pieces)
    _order(layers, below, above)
    widths = [*(one.width for one in nodes), *(gaps.trunk for _ in trunks)]
    x = _x_positions(layers, (below, above), widths, gaps.across, len(nodes))
    tops = _tops(layers, nodes, gaps.down)
    places = [Place(x[number], tops[rank]) for number, rank in enumerate(ranks)]
    heights = [
        max((nodes[n].height for n in layer if n < len(nodes)), default=0) for layer in layers
    ]
    lines = _lines(places, pieces, (ranks, x, trunks), (nodes, tops, heights))
    right = max(place.x + node.width / 2 for place, node in zip(places, nodes, strict=True))
    right = max([right, *x[len(nodes) :]])
    for number in sorted(back):
        right += gaps.across
        lines.append(_upward(nodes, places, edges[number], number, right))
    return Layout(right, tops[-1] + heights[-1], places, lines)


def _back_edges(count: int, edges: Sequence[tuple[int, int]]) -> set[int]:
    """Return the numbers of edges that close cycles, found by depth-first search from node 0.

    `count` is the number of nodes.
    """
    leaving = [list[int]() for _ in range(count)]
    for number, (start, _) in enumerate(edges):
        leaving[start].append(number)
    back, state = set[int](), [0] * count  # 1: on the current path, 2: done
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        way = [(root, iter(leaving[root]))]
        while way:
            at, left = way[-1]
            following = next(left, None)
            if following is None:
                state[at] = 2
                way.pop()
                continue
            end = edges[following][1]
            if state[end] == 1:
                back.add(following)
            elif not state[end]:
                state[end] = 1
                way.append((end, iter(leaving[end])))
    return back


def _ranks(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each node: directly below its lowest predecessor, or 0 without one.

    `count` is the number of nodes; the graph must not have cycles.
    """
    leaving, waiting = [list[int]() for _ in range(count)], [0] * count
    for start, end in edges:
        leaving[start].append(end)
        waiting[end] += 1
    ranks, ready = [0] * count, [number for number in range(count) if not waiting[number]]
    while ready:
        at = ready.pop()
        for end in leaving[at]:
            ranks[end] = max(ranks[end], ranks[at] + 1)
            waiting[end] -= 1
            if not waiting[end]:
                ready.append(end)
    return ranks


def _pieces(
    edges: Sequence[tuple[int, int]], forward: Sequence[int], ranks: Sequence[int]
) -> tuple[dict[tuple[int, int], list[int]], list[tuple[int, int]]]:
    """Split edges into pieces that each lead to the next layer; return pieces and trunks.

    A trunk carries all edges to one node through one layer; it is a pair of this node and this
    layer. Trunks have numbers after those of the nodes. A piece is a key of two such numbers, its
    start and its end; the value lists the numbers of the edges that share it.
    """
    pieces, trunks = dict[tuple[int, int], list[int]](), dict[tuple[int, int], int]()
    for number in forward:
        start, end = edges[number]
        at = start
        for rank in range(ranks[start] + 1, ranks[end]):
            trunk = trunks.setdefault((end, rank), len(ranks) + len(trunks))
            pieces.setdefault((at, trunk), []).append(number)
            at = trunk
        pieces.setdefault((at, end), []).append(number)
    return pieces, list(trunks)


def _layers(ranks: Sequence[int]) -> list[list[int]]:
    layers = [list[int]() for _ in range(max(ranks) + 1)]
    for number, rank in enumerate(ranks):
        layers[rank].append(number)
    return layers


def _neighbours(
    count: int, pieces: Iterable[tuple[int, int]]
) -> tuple[list[list[int]], list[list[int]]]:
    below, above = [list[int]() for _ in range(count)], [list[int]() for _ in range(count)]
    for start, end in pieces:
        below[start].append(end)
        above[end].append(start)
    return below, above


def _order(layers: list[list[int]], below: list[list[int]], above: list[list[int]]) -> None:
    """Sort each layer in place, by the mean position of each node's neighbours in the next layer.

    Layers are passed alternately downwards and upwards; this reduces crossings of edges.
    """
    place = dict[int, float]()
    for layer in layers:
        place |= {number: float(at) for at, number in enumerate(layer)}
    for turn in range(2 * _ROUNDS):
        near = above if turn % 2 == 0 else below
        for layer in layers if turn % 2 == 0 else reversed(layers):
            middle = {
                number: _middle([place[one] for one in near[number]], place[number])
                for number in layer
            }
            layer.sort(key=lambda number: (middle[number], place[number]))
            place |= {number: float(at) for at, number in enumerate(layer)}


def _middle(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _x_positions(
    layers: Sequence[Sequence[int]],
    neighbours: tuple[list[list[int]], list[list[int]]],
    widths: Sequence[float],
    gap: float,
    nodes: int,
) -> list[float]:
    """Return the x position of the centre of each node and trunk, close to those of its neighbours.

    The leftmost edge of the drawing has the position 0.
    """
    x = [0.0] * len(widths)
    for layer in layers:
        free = 0.0
        for number in layer:
            x[number] = free + widths[number] / 2
            free += widths[number] + gap
    below, above = neighbours
    for turn in range(2 * _ROUNDS):
        near = above if turn % 2 == 0 else below
        for layer in layers if turn % 2 == 0 else reversed(layers):
            targets, weights = list[float](), list[float]()
            for number in layer:
                # Align trunks with trunks and nodes with nodes, if possible.
                alike = [one for one in near[number] if (one >= nodes) == (number >= nodes)]
                targets.append(_middle([x[one] for one in alike or near[number]], x[number]))
                weights.append(_STRAIGHT if alike and number >= nodes else 1.0)
            distances = [(widths[one] + widths[other]) / 2 + gap for one, other in pairwise(layer)]
            for number, at in zip(layer, _spread(targets, weights, distances), strict=True):
                x[number] = at
    left = min(at - width / 2 for at, width in zip(x, widths, strict=True))
    return [at - left for at in x]


def _spread(targets: list[float], weights: list[float], distances: list[float]) -> list[float]:
    """Find the positions nearest to `targets` (weighted least squares) that keep minimum distances.

    The method is isotonic regression: neighbours that are out of order are pooled.
    """
    offsets = [0.0]
    for distance in distances:
        offsets.append(offsets[-1] + distance)
    pools = list[tuple[float, float, int]]()  # mean, weight, number of members
    for target, weight, offset in zip(targets, weights, offsets, strict=True):
        mean, total, count = target - offset, weight, 1
        while pools and pools[-1][0] > mean:
            other_mean, other_weight, members = pools.pop()
            mean = (mean * total + other_mean * other_weight) / (total + other_weight)
            total, count = total + other_weight, count + members
        pools.append((mean, total, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _tops(layers: Sequence[Sequence[int]], nodes: Sequence[Node], gap: float) -> list[float]:
    tops, free = list[float](), 0.0
    for layer in layers:
        tops.append(free)
        free += gap + max((nodes[one].height for one in layer if one < len(nodes)), default=0)
    return tops


def _lines(
    places: Sequence[Place],
    pieces: dict[tuple[int, int], list[int]],
    positions: tuple[Sequence[int], Sequence[float], Sequence[tuple[int, int]]],
    rows: tuple[Sequence[Node], Sequence[float], Sequence[float]],
) -> list[Line]:
    """Convert pieces of edges, as `_pieces` returns them, to lines of the drawing.

    A piece that starts at a trunk first passes through the layer of the trunk.
    """
    (ranks, x, trunks), (nodes, tops, heights) = positions, rows
    lines = list[Line]()
    for (start, end), numbers in pieces.items():
        if start < len(nodes):
            rank, top = ranks[start], places[start].y + nodes[start].height
        else:
            rank = trunks[start - len(nodes)][1]
            top = tops[rank]
        upright = Place(x[start], top), Place(x[start], tops[rank] + heights[rank])
        to = Place(x[end], tops[rank + 1])
        points = upright if upright[0] != upright[1] else upright[:1]
        lines.append(Line((*points, to), tuple(numbers)))
    return lines


def _upward(
    nodes: Sequence[Node],
    places: Sequence[Place],
    edge: tuple[int, int],
    number: int,
    x: float,
) -> Line:
    """Return the line of an edge that closes a cycle; it leads up on the right of all nodes.

    `x` is the position of the line's vertical part, and `number` that of the edge.
    """
    start, end = edge
    down, up = places[start].y + nodes[start].height * 0.8, places[end].y + nodes[end].height * 0.2
    leaves, reaches = (places[one].x + nodes[one].width / 2 for one in edge)
    points = (Place(leaves, down), Place(x, down), Place(x, up), Place(reaches, up))
    return Line(points, (number,))
