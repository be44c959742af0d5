"""Draws the control-flow graphs of a program before and after rewriting, for the HTML page."""

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path

from slowpath.chain.documents import Fact
from slowpath.chain.facts import fact_text, maps_text, range_text
from slowpath.chain.report_types import Block, Dropped, Graph, Instruction, Pair, SourceLine
from slowpath.core.html import Content, Html, element, join
from slowpath.core.html.flow import Arrow, Box, Flow, column, key, picture, shape
from slowpath.core.printable import one_line


class Reasons:
    """Texts of the facts that justify changes, by packet byte or other property of packets."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._bytes = dict[int, str]()  # value of each constant byte, in hexadecimal
        self._others = dict[int, list[str]]()  # other facts about each byte
        self._length = ""
        self._room = list[str]()
        self._assumed = {fact_text(fact) for fact in facts if fact["assumed"]}
        self._assumed_bytes = set[int]()
        for fact in facts:
            match fact["kind"]:
                case "bytes":
                    value, first = fact["value"], fact["offset"]
                    pairs = (value[at : at + 2] for at in range(0, len(value), 2))
                    constant = dict(enumerate(pairs, first))
                    self._bytes |= constant
                    self._assumed_bytes |= constant.keys() if fact["assumed"] else set()
                case "bits":
                    self._others.setdefault(fact["offset"], []).append(fact_text(fact))
                case "length":
                    self._length = fact_text(fact)
                case "headroom" | "metadata":
                    self._room.append(fact_text(fact))
                case "values" | "equal":
                    fields = [fact["offset"]]
                    fields += [fact["other"]] if fact["kind"] == "equal" else []
                    for offset in fields:
                        for byte in range(offset, offset + fact["bytes"]):
                            self._others.setdefault(byte, []).append(fact_text(fact))

    def of(self, dropped: Dropped) -> str:
        """Return the facts that justify a change, such as `bytes 12-13 = 86dd; 106 to 3768 bytes`.

        Return `-` if there are none.
        """
        parts = list(dict.fromkeys(self._of_bytes(list(dropped["bytes"]))))
        if dropped["length"]:
            parts.append(self._marked(self._length) if self._length else "length")
        if dropped["room"]:
            parts += self._room or ["room"]
        if dropped["maps"]:
            parts.append(one_line(f"given content of {maps_text(dropped['maps'])}"))
        return "; ".join(parts) or "-"

    def _of_bytes(self, offsets: list[int]) -> Iterator[str]:
        """Yield the facts about packet bytes at these offsets.

        A fact about several bytes may be repeated.
        """
        while offsets:
            first = offsets.pop(0)
            if first not in self._bytes:
                yield from map(self._marked, self._others.get(first) or [f"byte {first}"])
                continue
            value, last = self._bytes[first], first
            is_assumed = first in self._assumed_bytes
            while (
                offsets
                and offsets[0] == last + 1
                and offsets[0] in self._bytes
                and (offsets[0] in self._assumed_bytes) == is_assumed
            ):
                last = offsets.pop(0)
                value += self._bytes[last]
            where = range_text(first, last - first + 1)
            yield f"{where} = {value}{' (assumed)' if is_assumed else ''}"

    def _marked(self, fact: str) -> str:
        """Append `(assumed)` to the text of a fact if the user assumed it."""
        return f"{fact} (assumed)" if fact in self._assumed else fact


_HEIGHT = 700.0  # maximum height of a picture in pixels, unless the scale is `_SMALLEST`
_SMALLEST = 0.35  # minimum scale of a picture, so that boxes stay legible
_COPY = 40  # maximum height of the box of the original in a rewritten program, in instructions
_BEFORE = {
    "kept": "unchanged",
    "changed": "changed",
    "gone": "executed before, now removed",
    "unreached": "not reached by packets",
}
_AFTER = {
    "guard": "checks facts that the rest relies on",
    "original": "original program",
}


def _block_id(name: str, side: str, number: int) -> str:
    """Return the HTML id of a basic block.

    `name` is the id of the section, `side` is `before` or `after` rewriting.
    """
    return f"{name}-{side}-{number}"


def _arrows(graph: Graph) -> list[Arrow]:
    """Return the edges of a control-flow graph for drawing.

    Edges that no packet takes are marked.
    """
    return [
        Arrow(number, way["to"], way["never"] or block["part"] == "unreached")
        for number, block in enumerate(graph["blocks"])
        for way in block["next"]
    ]


def flow_of(graph: Graph, name: str | None, side: str) -> Flow:
    """Return a control-flow graph in the form that can be drawn.

    Boxes are links to the listing in the section `name`; None: no links. `side` is `before` or
    `after` rewriting.
    """
    boxes = [
        Box(
            min(block["slots"], _COPY) if block["part"] == "original" else block["slots"],
            block["part"],
            _box_title(number, block),
            None if name is None else f"#{_block_id(name, side, number)}",
        )
        for number, block in enumerate(graph["blocks"])
    ]
    return Flow(boxes, _arrows(graph))


def _box_title(number: int, block: Block) -> str:
    part = _BEFORE.get(block["part"]) or _AFTER[block["part"]]
    return f"#{number}: {counted(block['slots'], 'instruction')}, {part}"


def counted(number: int, noun: str) -> str:
    """Format a count with its noun, such as `1 block` or `2 blocks`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def shapes(name: str, pair: Pair) -> list[Html]:
    """Return pictures of the control-flow graphs before and after rewriting, at the same scale.

    If the program was not rewritten, return only the picture of the original.
    """
    drawn = [(side, shape(flow_of(graph, name, side))) for side, graph in _sides(pair)]
    tallest = max(one.size[1] for _, one in drawn)
    scale = min(1.0, max(_SMALLEST, _HEIGHT / tallest))
    return [picture(one, f"the control-flow graph {side}", scale=scale) for side, one in drawn]


def _sides(pair: Pair) -> list[tuple[str, Graph]]:
    """Return the graphs before and, if the program was rewritten, after rewriting."""
    sides = [("before", pair["before"]), ("after", pair["after"])]
    return [(side, graph) for side, graph in sides if graph is not None]


def heading(side: str, graph: Graph) -> str:
    """Return the heading of a graph, with its numbers of instructions and blocks.

    A program with a guard also contains a copy of the original. The heading mentions the copy, but
    does not count its instructions and blocks.
    """
    blocks = [block for block in graph["blocks"] if block["part"] != "original"]
    slots = sum(block["slots"] for block in blocks)
    copy = "" if slots == graph["slots"] else ", and the original"
    size = f"{counted(slots, 'instruction')}, {counted(len(blocks), 'block')}"
    return f"{side}: {size}{copy}".capitalize()


def legend(pair: Pair) -> Html:
    """Return the legend of the colours in the pictures of control-flow graphs."""
    after = pair["after"]["blocks"] if pair["after"] else []
    used = {block["part"] for block in (*pair["before"]["blocks"], *after)}
    keys = [key(kind, words) for kind, words in {**_BEFORE, **_AFTER}.items() if kind in used]
    return element("p", *keys)


_OPEN = 400  # maximum number of listed instructions for which changed blocks start open
_DECISIONS = {"always taken", "never taken", "decided by the way there"}


def listings(name: str, pair: Pair, reasons: Reasons) -> list[Html]:
    """Return the listings of a program's basic blocks before and after rewriting.

    If the program was not rewritten, return only the first one.
    """
    return [_Listing(name, side, graph, pair, reasons).column() for side, graph in _sides(pair)]


class _Listing:
    """The listing of a program's basic blocks, before or after rewriting."""

    def __init__(self, name: str, side: str, graph: Graph, pair: Pair, reasons: Reasons) -> None:
        self._name, self._side, self._graph = name, side, graph
        self._lines, self._reasons = pair["lines"], reasons
        self._dropped = dict[int, list[Dropped]]()
        for one in pair["dropped"] if side == "before" else []:
            self._dropped.setdefault(one["slot"], []).append(one)
        listed = (
            len(block["instructions"]) for block in graph["blocks"] if block["part"] == "changed"
        )
        self._opens = side == "after" or sum(listed) <= _OPEN

    def column(self) -> Html:
        rows = [self._block(number, one) for number, one in enumerate(self._graph["blocks"])]
        return column(rows, _arrows(self._graph))

    def _block(self, number: int, block: Block) -> Html:
        block_id, kind = _block_id(self._name, self._side, number), f"block {block['part']}"
        if block["part"] == "original":
            words = f"original program, {counted(block['slots'], 'instruction')}"
            inside = element("p", element("b", f"#{number}"), f" {words}")
            return element("div", inside, id=block_id, class_=kind)
        head = [
            element("b", f"#{number}"),
            f" {counted(block['slots'], 'instruction')}",
            self._source_range(block),
        ]
        if block["part"] == "guard":
            head.append(" · guard")
        summary = element("summary", *head)
        shown = self._opens and block["part"] in {"kept", "changed", "guard"}
        body = join(*self._body(block["instructions"]))
        opened = "" if shown else None
        # Links must be outside of the summary, which is a button.
        listing = element("details", summary, body, open=opened)
        return element("div", listing, self._end(block), id=block_id, class_=kind)

    def _source_range(self, block: Block) -> str:
        """Return the range of a block's source lines, such as ` · a.c:12`.

        Empty for several files.
        """
        lines = [
            self._lines[one["line"]] for one in block["instructions"] if one["line"] is not None
        ]
        files = {line["file"] for line in lines}
        if len(files) != 1:
            return ""
        numbers = [line["line"] for line in lines]
        first, last = min(numbers), max(numbers)
        span = f"{first}" if first == last else f"{first}–{last}"  # noqa: RUF001 - from, to
        return f" · {Path(files.pop()).name}:{span}"

    def _end(self, block: Block) -> Html | None:
        """Return the condition and the successors of a block that ends in a branch.

        None for others.
        """
        successors = {edge["way"]: edge["to"] for edge in block["next"]}
        if "taken" not in successors:
            return None
        last = block["instructions"][-1]
        condition = last["text"].partition(" goto ")[0]
        links: list[Content] = [self._link(successors["taken"])]
        if "otherwise" in successors:
            links += [", else ", self._link(successors["otherwise"])]
        notes = [
            element("span", f" {_change_text(one, self._reasons)}", class_="why")
            for one in self._dropped.get(last["slot"], [])
            if one["change"] in _DECISIONS
        ]
        code = element("code", condition)
        if last["fate"] == "gone":
            code = element("code", element("s", condition))
        elif notes:
            # The branch stays because the kernel's verifier learns from it.
            notes.append(element("span", ", but kept for the verifier", class_="why"))
        return element("span", code, " → ", *links, *notes, class_="end")

    def _link(self, number: int) -> Html:
        return element("a", f"#{number}", href=f"#{_block_id(self._name, self._side, number)}")

    def _body(self, instructions: Sequence[Instruction]) -> Iterator[Html]:
        """Yield the instructions of a block, grouped under their source lines."""
        for line, group in groupby(instructions, key=lambda one: one["line"]):
            if line is not None:
                yield _source(self._lines[line])
            rows = ((self._row(one), Html("\n")) for one in group)
            yield element("pre", join(*chain.from_iterable(rows)))

    def _row(self, one: Instruction) -> Html:
        """Format an instruction of a listing: slot number, instruction, and notes.

        Notes are the change to the instruction, or its slot number in the original program.
        """
        tag = {"gone": "s", "changed": "u"}.get(one["fate"] or "", "span")
        number = element("i", f"{one['slot']:5} ")
        text = element(tag, one["text"]) if tag != "span" else join(one["text"])
        notes = "".join(
            f"  {_change_text(change, self._reasons)}"
            for change in self._dropped.get(one["slot"], [])
            if change["change"] not in _DECISIONS
        )
        origin = one["origin"]
        if origin is not None:
            notes = f"  ← {origin}"
        return join(number, text, element("i", notes) if notes else None)


def _source(line: SourceLine) -> Html:
    place = f"{Path(line['file']).name}:{line['line']}"
    return element("p", place, "  ", element("code", line["text"]), class_="src")


def _change_text(one: Dropped, reasons: Reasons) -> str:
    """Format a change to an instruction, with the facts that justify it."""
    why = reasons.of(one)
    return one["change"] if why == "-" else f"{one['change']}: {why}"
