"""Prints the report of `slowpath insights FILE` as text or CSV."""

import textwrap
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from slowpath.core.printable import csv_line, one_line
from slowpath.core.programs.sources import provenance_lines
from slowpath.core.quantities import about_percent, number, significant, with_interval
from slowpath.core.terminal import Line, grid
from slowpath.insights.advice.documents import AdviceGiven, AdviceReport
from slowpath.insights.advice.statics import StaticLoop, StaticStructure
from slowpath.insights.cores.assessment_documents import CardUse
from slowpath.insights.output import MEANS, percent, quantity

_COLUMNS = (
    *("rank", "kind", "title", "what", "file", "line", "before", "after", "unit"),
    *("saved_cycles", "effect", "certainty", "reason", "sure"),
)
_CYCLES = "a packet's cycles"
_SHARES = {"cores": "a packet's core time", "neighbour": "the time between packets"}
"""For each kind of advice, the quantity that the effect is a share of; otherwise `_CYCLES`."""
_CORE_STEP = 6
"""Tables have rows for multiples of this number of cores, and for the recommended number."""
_MEGA = 1e6
_DIGITS, _SHARE_DIGITS = 3, 2
"""Significant digits of estimates, and of estimated percentages."""
_WIDTH = 96
CYCLES = "cycles for each packet"
NOTES = "Notes on the counts; advice on cores and neighbours also uses these"


def advice_csv(report: AdviceReport) -> Iterator[str]:
    """Yield the lines of a CSV report: a header, and a line for each piece of advice."""
    yield csv_line(_COLUMNS)
    for rank, one in enumerate(report["advice"], 1):
        place = (one["title"], one["what"], one["file"], one["line"])
        numbers = (one["before"], one["after"], one["unit"], one["saved_cycles"], one["effect"])
        yield csv_line(
            (rank, one["kind"], *place, *numbers, one["certainty"], one["reason"], one["sure"])
        )


def advice_text(report: AdviceReport) -> Iterator[Line]:
    """Yield the lines of the text report: advice, missing advice, notes, tables and assumptions."""
    yield Line(one_line(headline(report)), "bold")
    for rank, one in enumerate(report["advice"], 1):
        yield Line("")
        yield from advice_lines(rank, one)
    if report["unsaid"]:
        yield Line("")
        yield Line("Advice that is not possible:", "bold")
        for line in gaps(report):
            yield from wrapped(line, "  - ", "    ")
    if report["traffic"] is not None and report["traffic"]["notes"]:
        yield Line("")
        yield Line(f"{NOTES}:", "bold")
        for note in report["traffic"]["notes"]:
            yield from wrapped(note, "  - ", "    ")
    for table in card_tables(report["card"]):
        yield Line("")
        yield Line(table.heading)
        yield from grid(table.titles, table.rows, right=table.titles[1:])
    yield Line("")
    yield from _source(report)
    if report["assumptions"]:
        yield Line("")
        yield from wrapped(order_text(report), "", "")
    yield from provenance_lines(report)


def order_text(report: AdviceReport) -> str:
    """Return sentences that state the assumptions on which the order of the advice relies."""
    assumed = "; ".join(report["assumptions"])
    alone = "Each effect is that of one change alone. Effects do not add up."
    means = "" if report["traffic"] is None else f" {MEANS}"
    return f"The order of the advice relies on these assumptions: {assumed}. {alone}{means}"


def gaps(report: AdviceReport) -> list[str]:
    """Return a text line for each reason why advice cannot be given.

    The line lists all missing advice with this reason, and the remedy.
    """
    reasons = dict[tuple[str, str], list[str]]()
    for gap in report["unsaid"]:
        reasons.setdefault((gap["why"], gap["remedy"]), []).append(gap["what"])
    return [
        f"{'; '.join(what)}: {why}{f' ({remedy})' if remedy else ''}"
        for (why, remedy), what in reasons.items()
    ]


class CardTable(NamedTuple):
    """A table of predicted throughput: names in the first column, numbers in the others."""

    heading: str
    titles: tuple[str, ...]
    rows: list[tuple[str, ...]]


def card_tables(card: CardUse | None) -> Iterator[CardTable]:
    """Yield tables of the throughput that a function is predicted to reach on the SmartNIC.

    One is by number of cores, the other by the function that shares the SmartNIC. Yield none if
    `card` is None.
    """
    if card is not None:
        titles: tuple[str, ...] = ("cores", "million packets/s", "from", "to")
        yield CardTable("Predicted throughput by number of cores", titles, _curve_rows(card))
        titles = ("neighbour", "keeps", "from", "to", "neighbour keeps")
        heading = "Predicted shares of solo throughput beside other functions, with 30 cores each"
        yield CardTable(heading, titles, _neighbour_rows(card))


def _curve_rows(card: CardUse) -> list[tuple[str, ...]]:
    """Return table rows with the predicted throughput for some numbers of cores.

    These are multiples of `_CORE_STEP`, and the recommended number.
    """
    return [
        (
            f"{one['cores']}{' (advised)' if one['cores'] == card['cores']['knee_cores'] else ''}"
            f"{' (not measured)' if one['outside'] else ''}",
            *with_interval(
                *(one[end] / _MEGA for end in ("throughput_pps", "low_pps", "high_pps"))
            ),
        )
        for one in card["cores"]["points"]
        if one["cores"] % _CORE_STEP == 0 or one["cores"] == card["cores"]["knee_cores"]
    ]


def _neighbour_rows(card: CardUse) -> list[tuple[str, ...]]:
    """Return a table row for each function that may share the SmartNIC, best ones first.

    The best one leaves the assessed function the largest share of its throughput.
    """
    return [
        (
            one["neighbour"],
            *(percent(one[end], 0) for end in ("kept", "low", "high", "others")),
        )
        for one in card["neighbours"]
    ]


def headline(report: AdviceReport) -> str:
    """Return the first line of the report: source, number of pieces of advice, and trace."""
    count = len(report["advice"])
    pieces = f"{count or 'no'} piece{'' if count == 1 else 's'} of advice"
    traffic = report["traffic"]
    if traffic is None:
        return (
            f"{report['file']}: {pieces}. Give a trace of packets with --pcap to count "
            "instructions and accesses."
        )
    run = f"{traffic['entry']} on {traffic['packets']:,} packets of {traffic['file']}"
    return f"{report['file']}: {pieces} for {run}"


def effect(one: AdviceGiven) -> str:
    """Describe the effect of a piece of advice, such as "saves about 20 % of the cycles"."""
    if one["effect"] is None:
        return "the effect is unknown"
    if one["before"] == 0:
        return "saves nothing on this trace"
    share = _SHARES.get(one["kind"], _CYCLES)
    if one["effect"] < 0:
        return f"costs about {about_percent(-one['effect'])} of {share}"
    return f"saves about {about_percent(one['effect'])} of {share}"


def numbers(one: AdviceGiven) -> str:
    """Return a text with the cost before and after the advised change, such as "12 -> 3 cycles".

    The text is empty without counts, or if no packet reached the code.
    """
    if not one["before"] or one["after"] is None:
        return ""
    each = "" if one["kind"] == "neighbour" else " for each packet"
    digits = _SHARE_DIGITS if one["unit"].startswith("%") else _DIGITS
    write = partial(significant, digits=digits) if one["certainty"] == "estimated" else number
    return f"{write(one['before'])} -> {write(one['after'])} {one['unit']}{each}"


def place(one: AdviceGiven | StaticStructure | StaticLoop) -> str:
    """Return the source location of the item as `file:line`; empty if unknown."""
    return f"{one['file']}:{one['line']}" if one["line"] else ""


def state(report: AdviceReport) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the titles and rows of a table of the program's structures.

    With a trace, the rows contain the present memory of each structure and the cost of its
    accesses.
    """
    titles: tuple[str, ...] = ("structure", "bytes", "declared")
    rows: list[tuple[str, ...]] = [
        (one["structure"], f"{one['size_bytes']:,}", place(one)) for one in report["structures"]
    ]
    if report["present"] is None:
        return titles, rows
    present = {
        one["structure"]: (one["level"], number(one["cycles"]))
        for one in report["present"]["structures"]
    }
    return (*titles, "now in", CYCLES), [(*row, *present.get(row[0], ("", ""))) for row in rows]


def advice_lines(rank: int, one: AdviceGiven) -> Iterator[Line]:
    """Yield the lines of a piece of advice: title, place, reason, numbers, certainty and code."""
    yield Line(one_line(f"{rank}. {one['title']} ({effect(one)})"), "bold")
    for text in (place(one), f"Reason: {one['reason']}.", numbers(one)):
        if text:
            yield from wrapped(text, "   ", "   ")
    yield from wrapped(f"{one['certainty'].capitalize()}: {one['sure']}.", "   ", "   ")
    for line in one["code"].splitlines():
        yield Line(f"      {line.replace(chr(9), '    ')}")


def _source(report: AdviceReport) -> Iterator[Line]:
    """Yield text tables of the structures and loops in the source."""
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


def wrapped(text: str, first: str, further: str) -> Iterator[Line]:
    """Yield a text as lines of limited width, with indentations of the first and other lines."""
    lines = textwrap.wrap(
        one_line(text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )
    yield from map(Line, lines)
