"""Control-flow graphs of a program before and after rewriting, for the HTML page."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from slowpath.chain.documents import Fact
from slowpath.chain.facts import because, fact_text, maps_text
from slowpath.chain.report_types import Block, Dropped, Graph, Instruction, Pair, SourceLine
from slowpath.core.html.elements import Content, Html, element, join
from slowpath.core.html.flow import Arrow, Box, Flow, Shape, column, key, picture, shape
from slowpath.core.printable import one_line


class Reasons:
    """The facts about a program's packets, as text for each byte and property."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._bytes, self._others, self._length = dict[int, str](), dict[int, list[str]](), ""
        self._around = list[str]()
        self._assumed = {fact_text(fact) for fact in facts if fact["assumed"]}
        self._assumed_bytes = set[int]()
        for fact in facts:
            match fact["kind"]:
                case "bytes":
                    value, first = fact["value"], fact["offset"]
                    pairs = (value[at : at + 2] for at in range(0, len(value), 2))
                    own = dict(enumerate(pairs, first))
                    self._bytes |= own
                    self._assumed_bytes |= own.keys() if fact["assumed"] else set()
                case "bits":
                    self._others.setdefault(fact["offset"], []).append(fact_text(fact))
                case "length":
                    self._length = fact_text(fact)
                case "headroom" | "metadata":
                    self._around.append(fact_text(fact))
                case "values" | "equal":
                    fields = [fact["offset"]]
                    fields += [fact["other"]] if fact["kind"] == "equal" else []
                    for offset in fields:
                        for byte in range(offset, offset + fact["bytes"]):
                            self._others.setdefault(byte, []).append(fact_text(fact))

    def of(self, dropped: Dropped) -> str:
        """Return the facts behind a change: `bytes 12-13 = 86dd; 106 to 3768 bytes`, or `-`."""
        parts = list(dict.fromkeys(self._of_bytes(list(dropped["bytes"]))))
        if dropped["length"]:
            parts.append(self._said(self._length) if self._length else "length")
        if dropped["room"]:
            parts += self._around or ["room"]
        if dropped["maps"]:
            parts.append(one_line(f"{maps_text(dropped['maps'])} as given"))
        return "; ".join(parts) or "-"

    def _of_bytes(self, offsets: list[int]) -> Iterator[str]:
        """Yield the facts about bytes; a fact about several bytes is repeated for each."""
        while offsets:
            first = offsets.pop(0)
            if first not in self._bytes:
                plain: Dropped = {**_NOTHING, "bytes": [first]}
                yield from map(self._said, self._others.get(first) or [because(plain)])
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
            where = f"byte {first}" if first == last else f"bytes {first}-{last}"
            yield f"{where} = {value}{' (assumed)' if is_assumed else ''}"

    def _said(self, fact: str) -> str:
        return f"{fact} (assumed)" if fact in self._assumed else fact


_NOTHING: Dropped = {
    "slot": 0,
    "instruction": "",
    "line": None,
    "change": "",
    "bytes": [],
    "length": False,
    "room": False,
    "maps": [],
}


_HEIGHT = 700.0  # maximum height of the taller picture in pixels, unless boxes get too small
_SMALLEST = 0.35
_COPY = 40  # maximum height of the box of the original in a rewritten program, in instructions
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
    """Return the HTML id of a block."""
    return f"{name}-{side}-{number}"


def arrows(graph: Graph) -> list[Arrow]:
    """Return the edges of a graph; edges from an unreachable block count as never taken."""
    return [
        Arrow(number, way["to"], way["never"] or block["part"] == "unreached")
        for number, block in enumerate(graph["blocks"])
        for way in block["next"]
    ]


def flow_of(graph: Graph, name: str | None, side: str) -> Flow:
    """Return a graph to draw; `name` is the id prefix of the listing that boxes link to, if any."""
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
    """Format a count with its noun: `1 block`, `2 blocks`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def shapes(name: str, pair: Pair) -> list[Html]:
    """Return the pictures of both graphs, or of the original alone."""
    sides = [("before", pair["before"]), ("after", pair["after"])]
    drawn = [
        (side, shape(flow_of(graph, name, side))) for side, graph in sides if graph is not None
    ]
    scale = common_scale([one for _, one in drawn], _HEIGHT)
    return [picture(one, f"the control-flow graph {side}", scale=scale) for side, one in drawn]


def common_scale(drawn: list[Shape], height: float) -> float:
    """Return the scale that fits all pictures to `height`, limited so that boxes stay legible."""
    tallest = max(one.size[1] for one in drawn)
    return min(1.0, max(_SMALLEST, height / tallest))


def heading(side: str, graph: Graph) -> str:
    """Return the heading of a graph with its size."""
    slots = sum(block["slots"] for block in graph["blocks"] if block["part"] != "original")
    count = sum(block["part"] != "original" for block in graph["blocks"])
    copy = "" if slots == graph["slots"] else ", and the original"
    return f"{side}: {counted(slots, 'instruction')}, {counted(count, 'block')}{copy}".capitalize()


def legend(pair: Pair) -> Html:
    """Return the legend of the colours in use."""
    after = pair["after"]["blocks"] if pair["after"] else []
    used = {block["part"] for block in (*pair["before"]["blocks"], *after)}
    keys = [key(kind, words) for kind, words in {**_BEFORE, **_AFTER}.items() if kind in used]
    return element("p", *keys)


_OPEN = 400  # maximum number of listed instructions for which changed blocks start open
_DECISIONS = {"always taken", "never taken", "decided by the way there"}


def listings(name: str, pair: Pair, reasons: Reasons) -> list[Html]:
    """Return the block-by-block listings of both programs, or of the original alone."""
    sides = [("before", pair["before"]), ("after", pair["after"])]
    return [
        _Listing(name, side, graph, pair, reasons).column()
        for side, graph in sides
        if graph is not None
    ]


class _Listing:
    """The listing of one side (before or after)."""

    def __init__(self, name: str, side: str, graph: Graph, pair: Pair, reasons: Reasons) -> None:
        self._name, self._side, self._graph = name, side, graph
        self._lines, self._reasons = pair["lines"], reasons
        self._dropped = dict[int, list[Dropped]]()
        for one in pair["dropped"] if side == "before" else []:
            self._dropped.setdefault(one["slot"], []).append(one)
        told = (
            len(block["instructions"]) for block in graph["blocks"] if block["part"] == "changed"
        )
        self._opens = side == "after" or sum(told) <= _OPEN

    def column(self) -> Html:
        rows = [self._block(number, one) for number, one in enumerate(self._graph["blocks"])]
        return column(rows, arrows(self._graph))

    def _block(self, number: int, block: Block) -> Html:
        called, kind = block_id(self._name, self._side, number), f"block {block['part']}"
        if block["part"] == "original":
            words = f"original program, {counted(block['slots'], 'instruction')}"
            inside = element("p", element("b", f"#{number}"), f" {words}")
            return element("div", inside, id=called, class_=kind)
        head = [
            element("b", f"#{number}"),
            f" {counted(block['slots'], 'instruction')}",
            self._where(block),
        ]
        if block["part"] == "guard":
            head.append(" · guard")
        summary = element("summary", *head, self._end(block))
        shown = self._opens and block["part"] in {"kept", "changed", "guard"}
        body = join(*self._body(block["instructions"]))
        return element("details", summary, body, id=called, class_=kind, open="" if shown else None)

    def _where(self, block: Block) -> str:
        """Return the source lines of a block: ` · a.c:12`."""
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
        """Return the successors of a block with the branch condition, if it ends in a branch."""
        ways = {way["way"]: way for way in block["next"]}
        if "taken" not in ways:
            return None
        last = block["instructions"][-1]
        condition = last["text"].partition(" goto ")[0]
        said: list[Content] = [self._link(ways["taken"]["to"])]
        if "otherwise" in ways:
            said += [", else ", self._link(ways["otherwise"]["to"])]
        notes = [
            element("span", f" {_said(one, self._reasons)}", class_="why")
            for one in self._dropped.get(last["slot"], [])
            if one["change"] in _DECISIONS
        ]
        code = element("code", condition)
        if last["fate"] == "gone":
            code = element("code", element("s", condition))
        elif notes:
            # The branch stays because the kernel's verifier learns from it.
            notes.append(element("span", ", but still there", class_="why"))
        return element("span", code, " → ", *said, *notes, class_="end")

    def _link(self, number: int) -> Html:
        return element("a", f"#{number}", href=f"#{block_id(self._name, self._side, number)}")

    def _body(self, instructions: Sequence[Instruction]) -> Iterator[Html]:
        """Yield instructions, grouped under their source lines."""
        start = 0
        for at, one in enumerate(instructions, 1):
            if at < len(instructions) and instructions[at]["line"] == one["line"]:
                continue
            if one["line"] is not None:
                yield _source(self._lines[one["line"]])
            yield element("pre", join(*self._rows(instructions[start:at])))
            start = at

    def _rows(self, instructions: Sequence[Instruction]) -> Iterator[Content]:
        for one in instructions:
            yield _row(one, self._dropped, self._reasons)
            yield Html("\n")


def _source(line: SourceLine) -> Html:
    place = f"{Path(line['file']).name}:{line['line']}"
    return element("p", place, "  ", element("code", line["text"]), class_="src")


def _row(one: Instruction, dropped: Mapping[int, list[Dropped]], reasons: Reasons) -> Html:
    """Return an instruction with its number and its change, or the original slot."""
    tag = {"gone": "s", "changed": "u"}.get(one["fate"] or "", "span")
    number = element("i", f"{one['slot']:5} ")
    text = element(tag, one["text"]) if tag != "span" else join(one["text"])
    notes = "".join(
        f"  {_said(one, reasons)}"
        for one in dropped.get(one["slot"], [])
        if one["change"] not in _DECISIONS
    )
    origin = one["origin"]
    if origin is not None:
        notes = f"  ← {origin}"
    return join(number, text, element("i", notes) if notes else None)


def _said(one: Dropped, reasons: Reasons) -> str:
    """Format the change to an instruction, with the facts behind it."""
    why = reasons.of(one)
    return one["change"] if why == "-" else f"{one['change']}: {why}"
