"""The shapes of a program's graphs before and after, side by side and on the same scale."""

from slowpath.commands.chain.page.graphs import Block, Graph, Pair
from slowpath.html.elements import Html, element
from slowpath.html.flow import Arrow, Box, Flow, Shape, key, picture, shape

_HEIGHT = 700.0  # that the larger picture has at most, in pixels, unless boxes get too small
_SMALLEST = 0.35
_COPY = 40  # instructions that the box of the original in a rewritten program is as high as
_BEFORE = {
    "kept": "as it was",
    "changed": "changed",
    "gone": "run through, but nothing of it is left",
    "unreached": "no packet gets there",
}
_AFTER = {
    "guard": "checks what the rest relies on",
    "original": "the program as it was written",
}


def block_id(name: str, side: str, number: int) -> str:
    """What the box of a block is called in the page."""
    return f"{name}-{side}-{number}"


def arrows(graph: Graph) -> list[Arrow]:
    """The ways between blocks. What leaves a block that no packet gets to is never taken."""
    return [
        Arrow(number, way["to"], way["never"] or block["part"] == "unreached")
        for number, block in enumerate(graph["blocks"])
        for way in block["next"]
    ]


def flow_of(graph: Graph, name: str | None, side: str) -> Flow:
    """A graph to be drawn; `name` is that of the list of blocks that clicks lead to, if any."""
    boxes = [
        Box(
            min(block["slots"], _COPY) if block["part"] == "original" else block["slots"],
            block["part"],
            _words(number, block),
            None if name is None else f"#{block_id(name, side, number)}",
        )
        for number, block in enumerate(graph["blocks"])
    ]
    return Flow(boxes, arrows(graph))


def _words(number: int, block: Block) -> str:
    what = _BEFORE.get(block["part"]) or _AFTER[block["part"]]
    return f"#{number}: {counted(block['slots'], 'instruction')}, {what}"


def counted(number: int, what: str) -> str:
    """`1 block`, `2 blocks`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def shapes(name: str, pair: Pair) -> list[Html]:
    """The pictures of both, or of the original where there is nothing else."""
    sides = [("before", pair["before"]), ("after", pair["after"])]
    drawn = [
        (side, shape(flow_of(graph, name, side))) for side, graph in sides if graph is not None
    ]
    scale = common_scale([one for _, one in drawn], _HEIGHT)
    return [picture(one, f"the control-flow graph {side}", scale=scale) for side, one in drawn]


def common_scale(drawn: list[Shape], height: float) -> float:
    """The scale on which all fit, as far as boxes can still be told apart."""
    tallest = max(one.size[1] for one in drawn)
    return min(1.0, max(_SMALLEST, height / tallest))


def heading(side: str, graph: Graph) -> str:
    """How large a graph is."""
    slots = sum(block["slots"] for block in graph["blocks"] if block["part"] != "original")
    count = sum(block["part"] != "original" for block in graph["blocks"])
    copy = "" if slots == graph["slots"] else ", and the original"
    return f"{side}: {counted(slots, 'instruction')}, {counted(count, 'block')}{copy}".capitalize()


def legend(pair: Pair) -> Html:
    """What the colours mean that are there."""
    after = pair["after"]["blocks"] if pair["after"] else []
    used = {block["part"] for block in (*pair["before"]["blocks"], *after)}
    keys = [key(kind, words) for kind, words in {**_BEFORE, **_AFTER}.items() if kind in used]
    return element("p", *keys)
