"""The page of a chain: its programs in a table, and a part about each of them."""

from collections.abc import Iterator
from typing import NamedTuple

from slowpath.commands.chain.documents import ChainReport
from slowpath.commands.chain.facts import decided
from slowpath.commands.chain.page.graphs import Graphs
from slowpath.commands.chain.page.program import anchor, graph_parts, program_section
from slowpath.commands.chain.page.reasons import Reasons
from slowpath.commands.chain.report import COLUMNS, RIGHT, fused_lines, program_row
from slowpath.html.elements import Content, Html, element
from slowpath.html.page import facts, page
from slowpath.html.tables import Column, table

_FACTS = [
    Column("program"),
    Column("instructions", number=True),
    Column("facts", number=True),
    Column("decided branches", number=True),
]


class Written(NamedTuple):
    """The objects that were written."""

    files: list[str | None]  # of each program
    whole: str | None  # of all as one


def chain_page(label: str, report: ChainReport, graphs: Graphs, written: Written | None) -> str:
    """The text of the page; nothing was written where only facts were looked for."""
    title = f"{'Chain' if len(report['programs']) > 1 else 'Program'}: {label}"
    parts: list[Content] = [_head(title, report), _overview(report, written)]
    both = zip(report["programs"], graphs["programs"], strict=True)
    parts += [program_section(number, *one) for number, one in enumerate(both, 1)]
    parts += _fused(report, graphs, written)
    words = (
        f"Written by slowpath {report['slowpath']}. Instructions are slots of 8 bytes. The page "
        "needs no network."
    )
    return page(title, *parts, element("footer", words), broad=True)


def _head(title: str, report: ChainReport) -> Html:
    known = facts(
        ("programs", str(len(report["programs"]))),
        ("took", f"{report['seconds']:.2f} s"),
        ("stopped", report["stopped"]),
    )
    return element("header", element("h1", title), known)


def _overview(report: ChainReport, written: Written | None) -> Html:
    """Programs before and after."""
    if written is None:
        columns = _FACTS
        cells: list[tuple[str, ...]] = [
            (
                one["name"],
                str(one["instructions_before"]),
                str(len(one["facts"])),
                str(len(list(decided(one["dropped"])))),
            )
            for one in report["programs"]
        ]
    else:
        columns = [Column(name, number=name in RIGHT, wide=name == "object") for name in COLUMNS]
        both = zip(report["programs"], written.files, strict=True)
        cells = [program_row(program, file) for program, file in both]
    rows = [
        [element("a", name, href=f"#{anchor(number)}"), *rest]
        for number, (name, *rest) in enumerate(cells, 1)
    ]
    return element("section", element("h2", "Overview"), table(columns, rows), id="overview")


def _fused(report: ChainReport, graphs: Graphs, written: Written | None) -> Iterator[Html]:
    """All programs as one."""
    whole = None if written is None else written.whole
    told = [element("p", line) for line in fused_lines(report, whole)]
    if not told:
        return
    pair = graphs["fused"]
    shown = [] if pair is None else graph_parts("fused", pair, Reasons([]))
    yield element("section", element("h2", "All as one"), *told, *shown, id="fused")
