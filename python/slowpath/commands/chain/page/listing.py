"""The blocks of a program's graphs before and after: instructions, source lines, decisions."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from slowpath.commands.chain.documents import Dropped, SourceLine
from slowpath.commands.chain.page.graphs import Block, Graph, Instruction, Pair
from slowpath.commands.chain.page.reasons import Reasons
from slowpath.commands.chain.page.shapes import arrows, block_id, counted
from slowpath.html.elements import Content, Html, element, join
from slowpath.html.flow import column

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
