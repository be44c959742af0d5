"""Advice as text and CSV."""

import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from slowpath.core.printable import csv_line, one_line
from slowpath.core.terminal import Line, grid
from slowpath.insights.advice.documents import AdviceGiven, AdviceReport
from slowpath.insights.advice.statics import StaticLoop, StaticStructure
from slowpath.insights.demands.documents import CardUse
from slowpath.insights.output import percent, quantity

_COLUMNS = (
    "rank",
    "kind",
    "title",
    "what",
    "file",
    "line",
    "before",
    "after",
    "unit",
    "saved_cycles",
    "effect",
    "certainty",
    "reason",
    "sure",
)
_CYCLES = "a packet's cycles"
_SHARES = {"cores": "a packet's time on cores", "neighbour": "the time between packets"}
"""What effects are shares of, where not of cycles."""
_EACH = 6
"""Numbers of cores that are shown: multiples of this, and the advised one."""
_MEGA = 1e6
_WIDTH = 96
CYCLES = "cycles for each packet"
NOTES = "Notes on what was counted, which cores and neighbours rest on, too"


def advice_csv(report: AdviceReport) -> Iterator[str]:
    """A line for each piece of advice."""
    yield csv_line(_COLUMNS)
    for rank, one in enumerate(report["advice"], 1):
        place = (one["title"], one["what"], one["file"], one["line"])
        numbers = (one["before"], one["after"], one["unit"], one["saved_cycles"], one["effect"])
        yield csv_line(
            (rank, one["kind"], *place, *numbers, one["certainty"], one["reason"], one["sure"])
        )


def advice_text(report: AdviceReport) -> Iterator[Line]:
    """What to change, then what could not be said, and what all of it rests on."""
    yield Line(one_line(headline(report)), "bold")
    for rank, one in enumerate(report["advice"], 1):
        yield Line("")
        yield from _piece(rank, one)
    if report["unsaid"]:
        yield Line("")
        yield Line("Not known:", "bold")
        for said in unsaid(report):
            yield from _wrapped(said, "  - ", "    ")
    if report["traffic"] is not None and report["traffic"]["notes"]:
        yield Line("")
        yield Line(f"{NOTES}:", "bold")
        for note in report["traffic"]["notes"]:
            yield from _wrapped(note, "  - ", "    ")
    for table in card_tables(report["card"]):
        yield Line("")
        yield Line(table.heading)
        yield from grid(table.titles, table.rows, right=table.titles[1:])
    yield Line("")
    yield from _source(report)
    if report["assumptions"]:
        yield Line("")
        said = "; ".join(report["assumptions"])
        text = f"The order assumes {said}. Each effect is of that change alone; they do not add up."
        yield from _wrapped(text, "", "")


def unsaid(report: AdviceReport) -> list[str]:
    """What could not be said, a line for each reason."""
    reasons = dict[tuple[str, str], list[str]]()
    for gap in report["unsaid"]:
        reasons.setdefault((gap["why"], gap["remedy"]), []).append(gap["what"])
    return [
        f"{'; '.join(what)}: {why}{f' ({remedy})' if remedy else ''}"
        for (why, remedy), what in reasons.items()
    ]


class CardTable(NamedTuple):
    """A table of what is said of the card: names of rows, then numbers."""

    heading: str
    titles: tuple[str, ...]
    rows: list[tuple[str, ...]]


def card_tables(card: CardUse | None) -> Iterator[CardTable]:
    """Throughput by cores, and beside others; nothing where nothing is known of it."""
    if card is not None:
        titles: tuple[str, ...] = ("cores", "million packets/s", "from", "to")
        yield CardTable("Predicted throughput by cores", titles, _curve_rows(card))
        titles = ("neighbour", "keeps", "from", "to", "the other keeps")
        heading = "Predicted beside others, with 30 cores each"
        yield CardTable(heading, titles, _beside_rows(card))


def _curve_rows(card: CardUse) -> list[tuple[str, ...]]:
    """Some numbers of cores, and the advised one."""
    return [
        (
            f"{one['cores']}{' (advised)' if one['cores'] == card['cores']['knee_cores'] else ''}"
            f"{' (not measured)' if one['outside'] else ''}",
            *(f"{one[end] / _MEGA:.3g}" for end in ("throughput_pps", "low_pps", "high_pps")),
        )
        for one in card["cores"]["points"]
        if one["cores"] % _EACH == 0 or one["cores"] == card["cores"]["knee_cores"]
    ]


def _beside_rows(card: CardUse) -> list[tuple[str, ...]]:
    """The neighbours, the best first."""
    return [
        (
            one["neighbour"],
            *(percent(one[end], 0) for end in ("kept", "low", "high", "others")),
        )
        for one in card["neighbours"]
    ]


def headline(report: AdviceReport) -> str:
    """What was looked at, and how many pieces of advice there are."""
    count = len(report["advice"])
    pieces = f"{count or 'no'} piece{'' if count == 1 else 's'} of advice"
    traffic = report["traffic"]
    if traffic is None:
        return f"{report['file']}: {pieces}; without a trace nothing is counted"
    ran = f"{traffic['entry']} on {traffic['packets']:,} packets of {traffic['file']}"
    return f"{report['file']}: {pieces} for {ran}"


def effect(one: AdviceGiven) -> str:
    """What it saves of a packet, in words."""
    if one["effect"] is None:
        return "effect not known"
    if one["before"] == 0:
        return "saves nothing on this trace"
    share = _SHARES.get(one["kind"], _CYCLES)
    if one["effect"] < 0:
        return f"costs about {percent(-one['effect'])} of {share}"
    return f"saves about {percent(one['effect'])} of {share}"


def numbers(one: AdviceGiven) -> str:
    """Before and after; empty where nothing was counted, or nothing is there."""
    if not one["before"] or one["after"] is None:
        return ""
    each = "" if one["kind"] == "neighbour" else " for each packet"
    return f"{one['before']:,.6g} -> {one['after']:,.6g} {one['unit']}{each}"


def place(one: AdviceGiven | StaticStructure | StaticLoop) -> str:
    """The line that it is about; empty where nothing says it."""
    return f"{one['file']}:{one['line']}" if one["line"] else ""


def state(report: AdviceReport) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Structures as a table; with a trace, also where they are now, and what accesses then cost."""
    titles: tuple[str, ...] = ("structure", "bytes", "declared")
    rows: list[tuple[str, ...]] = [
        (one["structure"], f"{one['size_bytes']:,}", place(one)) for one in report["structures"]
    ]
    if report["present"] is None:
        return titles, rows
    there = {
        one["structure"]: (one["level"], f"{one['cycles']:,.6g}")
        for one in report["present"]["structures"]
    }
    return (*titles, "now in", CYCLES), [(*row, *there.get(row[0], ("", ""))) for row in rows]


def _piece(rank: int, one: AdviceGiven) -> Iterator[Line]:
    yield Line(one_line(f"{rank}. {one['title']} ({effect(one)})"), "bold")
    for text in (place(one), f"Because {one['reason']}.", numbers(one)):
        if text:
            yield from _wrapped(text, "   ", "   ")
    yield from _wrapped(f"{one['certainty'].capitalize()}: {one['sure']}.", "   ", "   ")
    for line in one["code"].splitlines():
        yield Line(f"      {line.replace(chr(9), '    ')}")


def _source(report: AdviceReport) -> Iterator[Line]:
    """What the source says of itself."""
    size = sum(one["size_bytes"] for one in report["structures"])
    yield Line(
        f"State: {quantity(len(report['structures']), 'structure')}, {quantity(size, 'byte')}"
    )
    if report["structures"]:
        titles, rows = state(report)
        yield from grid(titles, rows, right=("bytes", CYCLES))
    if report["loops"]:
        yield Line("")
        yield Line(f"Loops: {len(report['loops'])}")
        loops = [(one["function"], place(one)) for one in report["loops"]]
        yield from grid(("function", "where"), loops)


def _wrapped(text: str, first: str, further: str) -> Iterator[Line]:
    lines = textwrap.wrap(
        one_line(text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )
    yield from map(Line, lines)
