"""Control-flow graphs of a program before and after rewriting, in the page."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypedDict

from slowpath.chain.documents import Dropped, Fact, SourceLine
from slowpath.chain.facts import because, fact_text, maps_text
from slowpath.core.html.elements import Content, Html, element, join
from slowpath.core.html.flow import Arrow, Box, Flow, Shape, column, key, picture, shape
from slowpath.core.printable import one_line


class Reasons:
    """The facts about the packets of a program."""

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
        """The facts in words: `bytes 12-13 = 86dd; 106 to 3768 bytes`; `-` if there are none."""
        parts = list(dict.fromkeys(self._of_bytes(list(dropped["bytes"]))))
        if dropped["length"]:
            parts.append(self._said(self._length) if self._length else "length")
        if dropped["room"]:
            parts += self._around or ["room"]
        if dropped["maps"]:
            parts.append(one_line(f"{maps_text(dropped['maps'])} as given"))
        return "; ".join(parts) or "-"

    def _of_bytes(self, offsets: list[int]) -> Iterator[str]:
        """What is known of bytes: a fact about several of them comes for each."""
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


class Instruction(TypedDict):
    """An instruction."""

    slot: int
    """Its number, in 8-byte slots."""
    text: str
    """The instruction."""
    line: int | None
    """Its source line, by its place in the list of lines."""
    fate: Literal["kept", "changed", "gone"] | None
    """What became of it, or whether it was there before; null in a guard."""
    origin: int | None
    """The slot of the original that it stands for; null in the original, and in a guard."""


class Way(TypedDict):
    """A way from one block to another."""

    to: int
    """The block, by its place in the list."""
    way: Literal["always", "taken", "otherwise"]
    """When it is taken."""
    never: bool
    """Whether no packet takes it."""


class Block(TypedDict):
    """Instructions that run one behind the other."""

    first: int
    """Its first slot."""
    slots: int
    """How many slots it has."""
    part: Literal["kept", "changed", "gone", "unreached", "guard", "original"]
    """What became of it, or what it belongs to."""
    instructions: list[Instruction]
    """Its instructions; none of `original`."""
    next: list[Way]
    """Where it leads."""


class Graph(TypedDict):
    """The blocks of a program."""

    blocks: list[Block]
    """In the order of their slots."""
    slots: int
    """How many 8-byte slots the program has."""


class Pair(TypedDict):
    """A program before and after."""

    lines: list[SourceLine]
    """Source lines, which instructions name."""
    before: Graph
    """As it was written."""
    after: Graph | None
    """As it was rewritten; null where only facts were looked for."""
    dropped: list[Dropped]
    """What became of instructions, and why."""


class Graphs(TypedDict):
    """The graphs of a chain's programs."""

    programs: list[Pair | None]
    """In the order of the chain's description; null for programs that stay as they were."""
    fused: Pair | None
    """Of all programs as one: as they were fused, and without what is there twice."""


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


_OPEN = 400  # instructions of a program, up to which changed blocks are open
_DECISIONS = {"always taken", "never taken", "decided by the way there"}


def listings(name: str, pair: Pair, reasons: Reasons) -> list[Html]:
    """Both programs, or the original where there is nothing else, block by block."""
    sides = [("before", pair["before"]), ("after", pair["after"])]
    return [
        _Listing(name, side, graph, pair, reasons).column()
        for side, graph in sides
        if graph is not None
    ]


class _Listing:
    """One side."""

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
        """The whole."""
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
        """The lines that it is made of: ` · a.c:12`."""
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
        """Where it leads, and by which branch."""
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
            # The kernel's verifier learns from it.
            notes.append(element("span", ", but still there", class_="why"))
        return element("span", code, " → ", *said, *notes, class_="end")

    def _link(self, number: int) -> Html:
        return element("a", f"#{number}", href=f"#{block_id(self._name, self._side, number)}")

    def _body(self, instructions: Sequence[Instruction]) -> Iterator[Html]:
        """Instructions behind their source lines."""
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
    """An instruction, with its number in front, and behind it what became of it, or was there."""
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
    """What became of an instruction, and for which facts."""
    why = reasons.of(one)
    return one["change"] if why == "-" else f"{one['change']}: {why}"
