"""Draws control-flow graphs, as small pictures or as columns of blocks with arrows.

A picture has boxes without text; their height grows with the number of instructions. The boxes of a
column can be opened and closed, so its arrows consist of pieces that stretch with the boxes.

In a column, all arrows to one box run along one vertical line, its lane. This keeps the number of
lines small. The shortest arrows are in the lanes next to the boxes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from slowpath.core.html import Content, Html, element, join
from slowpath.core.html.layered import Gaps, Layout, Line, Node, layered


class Lane(NamedTuple):
    """A vertical line next to the column of boxes; all arrows to one box share it."""

    target: int  # number of the box
    sources: tuple[int, ...]  # numbers of the boxes where the arrows start, ascending
    track: int  # position of the lane; 0 is next to the boxes

    @property
    def first(self) -> int:
        """Number of the uppermost box beside the lane."""
        return min(self.target, self.sources[0])

    @property
    def last(self) -> int:
        """Number of the lowest box beside the lane."""
        return max(self.target, self.sources[-1])


def lanes(arrows: Mapping[int, Sequence[int]]) -> list[Lane]:
    """Choose a lane for each box with arrows to it, so that lanes do not overlap.

    `arrows` maps the number of each target box to the numbers of the boxes where its arrows start.
    A lane's `track` is its horizontal position.
    """
    plain = [Lane(target, tuple(sorted(set(found))), 0) for target, found in arrows.items()]
    plain.sort(key=lambda lane: (lane.last - lane.first, lane.first))
    taken, placed = list[set[int]](), list[Lane]()
    for lane in plain:
        boxes = set(range(lane.first, lane.last + 1))
        track = next((at for at, used in enumerate(taken) if not used & boxes), len(taken))
        if track == len(taken):
            taken.append(set())
        taken[track] |= boxes
        placed.append(lane._replace(track=track))
    return sorted(placed, key=lambda lane: (lane.first, lane.track))


_WIDTH, _LEAST, _MOST = 22.0, 5.0, 160.0  # boxes in pictures: width, least and greatest height
_GAPS = Gaps(7.0, 9.0, 1.0)
_MARGIN = 4.0
_FIRST, _DISTANCE, _GUTTER = 12, 7, 110  # pixels: first track, between tracks, all tracks at most


class Box(NamedTuple):
    """A box of the drawing, which stands for a basic block of instructions."""

    size: int  # number of instructions
    kind: str  # CSS class, which sets the colour
    tooltip: str
    link: str | None = None  # URL that a click opens


class Arrow(NamedTuple):
    """An edge from one box to another, by their numbers."""

    start: int
    end: int
    never: bool = False  # true: no packet takes the edge
    lit: tuple[str, ...] = ()  # CSS classes; the picture has a line of each class over the edge


class Flow(NamedTuple):
    """A control-flow graph to draw, as boxes and arrows between them."""

    boxes: Sequence[Box]
    arrows: Sequence[Arrow]


class Shape(NamedTuple):
    """A control-flow graph with the positions of its boxes in a picture."""

    flow: Flow
    layout: Layout

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the picture, with its margins."""
        return self.layout.width + 2 * _MARGIN, self.layout.height + 2 * _MARGIN


def shape(flow: Flow) -> Shape:
    """Compute the positions of a graph's boxes.

    Boxes of one kind that form a chain become one box.
    """
    collapsed = _collapsed(flow)
    nodes = [Node(_WIDTH, _height(box)) for box in collapsed.boxes]
    edges = [(arrow.start, arrow.end) for arrow in collapsed.arrows]
    return Shape(collapsed, layered(nodes, edges, _GAPS))


def _height(box: Box) -> float:
    return min(max(_LEAST, 1.0 * box.size), _MOST)


def picture(shape: Shape, words: str, *, scale: float = 1.0, style: str | None = None) -> Html:
    """Draw a graph as SVG; `words` is its text alternative for screen readers.

    With a style sheet, `style`, the result is a complete SVG file.
    """
    (boxes, arrows), layout = shape.flow, shape.layout
    width, height = shape.size
    parts = [_lines(layout.lines, arrows, never=True), _lines(layout.lines, arrows, never=False)]
    parts += _lit_lines(layout.lines, arrows)
    for box, place in zip(boxes, layout.places, strict=True):
        rect = element(
            "rect",
            element("title", box.tooltip) if box.tooltip else None,
            x=place.x - _WIDTH / 2,
            y=place.y,
            width=_WIDTH,
            height=_height(box),
            rx=2,
            class_=box.kind,
        )
        # The text beside the picture has the same links, so the Tab key skips those of the picture.
        if box.link is not None:
            rect = element("a", rect, href=box.link, aria_label=box.tooltip, tabindex=-1)
        parts.append(rect)
    origin = f"{-_MARGIN:g} {-_MARGIN:g} {width:.1f} {height:.1f}"
    wide, high = round(scale * width), round(scale * height)
    return element(
        "svg",
        element("title", words),
        None if style is None else Html(f"<style>{style}</style>"),
        *parts,
        xmlns=None if style is None else "http://www.w3.org/2000/svg",
        viewBox=origin,
        # In a page, its style sheet would override width and height attributes.
        style=f"width: {wide}px; height: {high}px" if style is None else None,
        width=None if style is None else wide,
        height=None if style is None else high,
        class_="flow",
        # The role `img` would hide the links from screen readers.
        role="img" if all(box.link is None for box in boxes) else "group",
    )


def _lines(lines: Sequence[Line], arrows: Sequence[Arrow], *, never: bool) -> Html:
    """Draw the edges that packets can take; with `never`, draw those that no packet takes."""
    drawn = [
        "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in line.points)
        for line in lines
        if all(arrows[number].never for number in line.edges) is never
    ]
    return element("path", d="".join(drawn), class_="way never" if never else "way")


def _lit_lines(lines: Sequence[Line], arrows: Sequence[Arrow]) -> Iterator[Html]:
    """Draw highlighted edges: for each CSS class in `Arrow.lit`, a line over its edges."""
    for kind in dict.fromkeys(kind for arrow in arrows for kind in arrow.lit):
        drawn = [
            "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in line.points)
            for line in lines
            if any(kind in arrows[number].lit for number in line.edges)
        ]
        yield element("path", d="".join(drawn), class_=f"lit {kind}")


def _collapsed(flow: Flow) -> Flow:
    """Merge boxes of one kind that always run directly after each other."""
    leaving, arriving = [list[int]() for _ in flow.boxes], [list[int]() for _ in flow.boxes]
    for start, end, *_ in flow.arrows:
        leaving[start].append(end)
        arriving[end].append(start)
    head = list(range(len(flow.boxes)))
    sizes = [box.size for box in flow.boxes]
    for number, box in enumerate(flow.boxes):
        at = number
        while head[at] != at:
            at = head[at]
        (*_, end) = leaving[number] or [number]
        follows = len(leaving[number]) == 1 and len(arriving[end]) == 1 and end > number
        if follows and flow.boxes[end].kind == box.kind:
            head[end] = at
            sizes[at] += flow.boxes[end].size
    roots = [at for at in range(len(head)) if head[at] == at]
    places = {number: at for at, number in enumerate(roots)}

    def root(at: int) -> int:
        while head[at] != at:
            at = head[at]
        return places[at]

    boxes = [flow.boxes[at]._replace(size=sizes[at]) for at in roots]
    left = [
        arrow._replace(start=root(arrow.start), end=root(arrow.end))
        for arrow in flow.arrows
        if head[arrow.end] == arrow.end
    ]
    return Flow(boxes, left)


# --- as a column ---------------------------------------------------------------------------------


def column(rows: Sequence[Html], arrows: Sequence[Arrow]) -> Html:
    """Arrange boxes in a column, with the arrows between them on the left.

    An arrow to the next box needs no lane.
    """
    to, near = dict[int, list[int]](), set[int]()
    live = {(arrow.start, arrow.end) for arrow in arrows if not arrow.never}
    for start, end, *_ in arrows:
        if end == start + 1:
            near.add(start)
        else:
            to.setdefault(end, []).append(start)
    found = lanes(to)
    tracks = 1 + max((lane.track for lane in found), default=-1)
    distance = min(_DISTANCE, max(2, _GUTTER // max(tracks, 1)))
    passing = [list[Lane]() for _ in rows]
    for lane in found:
        for at in range(lane.first, lane.last + 1):
            passing[at].append(lane)
    width = f"width: {_FIRST + distance * tracks + 4}px" if tracks else "width: 0"
    made = []
    for at, row in enumerate(rows):
        pieces = [
            piece
            for lane in passing[at]
            for piece in _pieces(lane, at, _FIRST + distance * lane.track, live)
        ]
        kind = None if (at, at + 1) in live else "n"
        below = element("b", class_=kind) if at in near else None
        gutter = element("div", *pieces, class_="gutter", style=width)
        made.append(element("div", gutter, element("div", row, below, class_="cell"), class_="row"))
    return element("div", *made, class_="column")


def _pieces(lane: Lane, at: int, place: int, live: set[tuple[int, int]]) -> Iterator[Html]:
    """Yield the lines that draw a lane on the left of box number `at`.

    They are a vertical line, and horizontal lines for arrows that start or end at the box. `place`
    is the position of the lane in pixels. Lines that only belong to arrows not in `live`, which no
    packet takes, get the CSS class `n`.
    """
    above, below = lane.first < at, lane.last > at
    arrives, leaves = at == lane.target, at in lane.sources
    if above:
        part = "" if below else "m" if leaves else "a"
    else:
        part = "s" if not below else "z" if arrives else "e"
    passes = [
        one
        for one in lane.sources
        if arrives or (one <= at < lane.target) or (lane.target < at <= one)
    ]
    alive = any((one, lane.target) in live for one in passes)
    never = "" if alive else " n"
    yield _piece(f"{part}{never}".strip(), f"right: {place}px")
    if arrives:
        yield _piece(f"i{never}", f"width: {place}px")
    if leaves:
        never = "" if (at, lane.target) in live else " n"
        yield _piece(f"o{never}", f"width: {place}px")


def _piece(kind: str, style: str) -> Html:
    return element("i", class_=kind or None, style=style)


def key(kind: str, words: Content) -> Html:
    """Return a legend entry: the colour of the CSS class `kind`, and its meaning (`words`)."""
    return element("span", join(element("i", class_=f"swatch {kind}"), words), class_="meaning")
