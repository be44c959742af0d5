"""Draws the control-flow graph of a program, with the chosen path lit."""

from collections.abc import Sequence

from slowpath.bounds.page_anchors import Anchors
from slowpath.bounds.page_paths import Way
from slowpath.core.html.explorer import graph
from slowpath.core.html.flow import Arrow, Box, Flow, key
from slowpath.core.html.page import Html, element
from slowpath.core.schema.results import Detail


def graph_section(detail: Detail, ways: Sequence[Way], anchors: Anchors) -> Html | None:
    """Return the section with the picture; None if the blocks are not known."""
    if not detail["blocks"]:
        return None
    blocks = len(detail["blocks"])
    words = (
        f"{blocks:,} basic blocks. The height of a box is its number of instructions; "
        "consecutive blocks share a box. Click a box to go to its code."
    )
    return element(
        "section",
        element("h2", "Control flow"),
        element("p", key("onpath", "on the chosen path"), key("offpath", "not on it")),
        element("p", words, class_="soft small"),
        graph(_flow(detail, ways, anchors)),
        id=f"{anchors.name}-graph",
    )


def _flow(detail: Detail, ways: Sequence[Way], anchors: Anchors) -> Flow:
    blocks = detail["blocks"]
    numbers = {block["first"]: at for at, block in enumerate(blocks)}
    run = {way.number: set(way.instructions()) for way in ways}
    taken = {way.number: set(_edges(way)) for way in ways}
    boxes, arrows = list[Box](), list[Arrow]()
    for at, block in enumerate(blocks):
        own = block["instructions"] or [block["first"]]
        lit = " ".join(f"l{number}" for number, known in run.items() if known & set(own))
        link = next(filter(None, map(anchors.of_instruction, own)), None)
        title = f"block {anchors.place_text(own[0])}, {len(own)} instructions"
        boxes.append(
            Box(len(own), f"box {lit}".strip(), title, None if link is None else f"#{link}")
        )
        for following in block["next"]:
            edge = (block["first"], following)
            classes = tuple(f"k k{number}" for number, known in taken.items() if edge in known)
            arrows.append(Arrow(at, numbers[following], lit=classes))
    return Flow(boxes, arrows)


def _edges(way: Way) -> Sequence[tuple[int, int]]:
    if way.path is None:
        return []
    return [(start, end) for start, end in way.path["edges"]]
