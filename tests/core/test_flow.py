"""Tests drawings of random control-flow graphs, in layers and as columns."""

import random
from collections.abc import Iterator
from itertools import combinations, pairwise

import pytest

from slowpath.core.html import element
from slowpath.core.html.flow import Arrow, Box, Flow, column, lanes, picture, shape
from slowpath.core.html.layered import Gaps, Node, layered
from test_html import HOSTILE, parsed, texts

GAPS = Gaps(7, 9, 1)


def graphs(count: int = 60) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Yield random control-flow graphs: the number of nodes, and the edges.

    The edges are about 90 % of those of a path through all nodes, and up to 39 random ones.
    """
    draw = random.Random(3)  # noqa: S311 - no secrets
    for _ in range(count):
        size = draw.randrange(1, 40)
        edges = [(at, at + 1) for at in range(size - 1) if draw.random() < 0.9]
        edges += [(draw.randrange(size), draw.randrange(size)) for _ in range(draw.randrange(40))]
        yield size, edges


def boxes_of(size: int, edges: list[tuple[int, int]]) -> Flow:
    draw = random.Random(size)  # noqa: S311 - no secrets
    boxes = [
        Box(draw.randrange(1, 60), draw.choice(["kept", "gone"]), f"box {at}", f"#b{at}")
        for at in range(size)
    ]
    return Flow(boxes, [Arrow(start, end, draw.random() < 0.3) for start, end in edges])


def test_nodes_have_room_and_edges_lead_down() -> None:
    for size, edges in graphs():
        draw = random.Random(size)  # noqa: S311 - no secrets
        nodes = [Node(22, draw.randrange(5, 80)) for _ in range(size)]
        layout = layered(nodes, edges, GAPS)
        places = layout.places
        for one, other in combinations(range(size), 2):
            across = abs(places[one].x - places[other].x) >= 22 + GAPS.across - 1e-6
            low, high = sorted((one, other), key=lambda node: places[node].y)
            assert across or places[low].y + nodes[low].height <= places[high].y, (size, edges)
        for place, node in zip(places, nodes, strict=True):
            assert node.width / 2 - 1e-6 <= place.x <= layout.width - node.width / 2 + 1e-6
            assert 0 <= place.y <= layout.height - node.height + 1e-6
        leading = [0] * len(edges)
        for line in layout.lines:
            assert all(0 <= point.x <= layout.width + 1e-6 for point in line.points)
            for number in line.edges:
                leading[number] += 1
        assert all(leading), "each edge is drawn"
        up = {end for start, end in edges if places[end].y <= places[start].y}
        assert up <= _closing_circles(size, edges), "only what closes a circle leads up"


def _closing_circles(size: int, edges: list[tuple[int, int]]) -> set[int]:
    """Return the nodes of a graph that are on a cycle."""
    found = set[int]()
    for node in range(size):
        seen, open_nodes = set[int](), [node]
        while open_nodes:
            at = open_nodes.pop()
            following = {end for start, end in edges if start == at} - seen
            seen |= following
            open_nodes += following
        if node in seen:
            found.add(node)
    return found


def test_checks_that_all_lead_to_one_end_have_one_trunk() -> None:
    count = 300
    edges = [(at, at + 1) for at in range(count)] + [(at, count) for at in range(count - 1)]
    layout = layered([Node(22, 5)] * (count + 1), edges, GAPS)
    assert len(layout.lines) < 4 * count
    assert layout.width < 100


def test_a_long_way_is_no_problem() -> None:
    count = 5000
    layout = layered([Node(22, 5)] * count, list(pairwise(range(count))), GAPS)
    assert {round(place.x, 6) for place in layout.places} == {11.0}
    assert layered([], [], GAPS).places == []


def test_lanes_do_not_meet() -> None:
    for _, edges in graphs():
        arrows = dict[int, list[int]]()
        for start, end in edges:
            arrows.setdefault(end, []).append(start)
        found = lanes(arrows)
        assert {lane.target: set(lane.sources) for lane in found} == {
            end: set(starts) for end, starts in arrows.items()
        }
        for one, other in combinations(found, 2):
            if one.track == other.track:
                assert one.last < other.first or other.last < one.first


def test_a_picture_has_all_instructions() -> None:
    for size, edges in graphs(20):
        flow = boxes_of(size, edges)
        drawn = shape(flow)
        assert sum(box.size for box in drawn.flow.boxes) == sum(box.size for box in flow.boxes)
        root = parsed(picture(drawn, "words"))
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        rects = list(root.iter("rect"))
        assert len(rects) == len(drawn.flow.boxes)
        for rect in rects:
            assert 0 <= float(rect.attrib["x"]) <= width - float(rect.attrib["width"])
            assert 0 <= float(rect.attrib["y"]) <= height - float(rect.attrib["height"])


def test_straight_runs_of_a_kind_are_one_box() -> None:
    kinds = ["kept", "kept", "gone", "gone", "kept"]
    boxes = [Box(at + 1, kind, "") for at, kind in enumerate(kinds)]
    arrows = [Arrow(0, 1), Arrow(1, 2), Arrow(2, 3), Arrow(3, 4), Arrow(4, 3)]
    drawn = shape(Flow(boxes, arrows)).flow
    # A box with a second predecessor is not merged into the box before it.
    assert [(box.size, box.kind) for box in drawn.boxes] == [
        (3, "kept"), (3, "gone"), (4, "gone"), (5, "kept"),
    ]  # fmt: skip
    assert [(one.start, one.end) for one in drawn.arrows] == [(0, 1), (1, 2), (2, 3), (3, 2)]


@pytest.mark.parametrize("never", [False, True])
def test_arrows_of_a_column_begin_and_end_at_their_boxes(never: bool) -> None:
    arrows = [Arrow(0, 1, never), Arrow(0, 3, never), Arrow(1, 3, never), Arrow(4, 2, never)]
    rows = [element("p", f"{at} {HOSTILE}") for at in range(5)]
    root = parsed(column(rows, arrows))
    found = root.findall("./div")
    assert len(found) == 5
    assert "<script>" in texts(root)
    kinds = [[one.attrib.get("class", "").split() for one in row.iter("i")] for row in found]
    plain = [sorted("".join(kind).removesuffix("n") for kind in row) for row in kinds]
    # Expected arrows beside each row: one starts; one passes, one starts; one passes, one arrives
    # from below; two arrive; one starts upwards.
    assert plain == [["e", "o"], ["", "o"], ["", "i", "z"], ["", "a", "i"], ["m", "o"]]
    assert all(("n" in kind) is never for row in kinds for kind in row)
    connected = [row.find("./div/b") is not None for row in found]
    assert connected == [True, False, False, False, False]
