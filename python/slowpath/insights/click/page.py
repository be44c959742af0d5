"""Writes the report on a Click configuration as an HTML page."""

from collections.abc import Sequence

from slowpath.core.html import Column, Content, Html, download, element, facts, page, table
from slowpath.core.quantities import number
from slowpath.core.terminal import first_few
from slowpath.insights.advice.page import advice_section
from slowpath.insights.click.documents import GraphReport
from slowpath.insights.click.report import (
    TITLES,
    assumptions_text,
    graph_csv,
    headline,
    missing_text,
    notes_of,
    rows,
)

_FEW = 8


def graph_page(report: GraphReport) -> str:
    """Return the text of an HTML page with the elements, their counts, and the advice."""
    name = report["file"].rpartition("/")[2]
    data = download("\n".join(graph_csv(report)) + "\n", "elements.csv", "as CSV")
    parts: list[Content] = [
        element("h1", f"Elements of {name}"),
        element("p", headline(report), ". ", data),
        _numbers(report),
        _elements(report),
        _list("Elements that do not run", [missing_text(one) for one in report["missing"]]),
        *(_piece(report, rank) for rank in range(len(report["advice"]))),
        _connections(report),
        _list("Notes", notes_of(report)),
    ]
    about = f"slowpath {report['slowpath']}."
    if report["assumptions"]:
        about = f"{assumptions_text(report)} {about}"
    return page(f"Elements of {name}", *parts, element("footer", about), broad=True)


def _numbers(report: GraphReport) -> Html | None:
    traffic = report["traffic"]
    if traffic is None:
        return None
    return facts(
        ("packets", f"{traffic['packets']:,}"),
        ("LLVM instructions for each packet", number(traffic["instructions_per_packet"])),
        ("cycles for each packet (assumed prices)", number(traffic["cycles"])),
        ("bytes of state", f"{traffic['state_bytes']:,}"),
    )


def _elements(report: GraphReport) -> Html:
    columns = [Column(one, number=at > 1) for at, one in enumerate(TITLES)]
    made = table(columns, rows(report), stack=True)
    return element("section", element("h2", "Elements"), made)


def _piece(report: GraphReport, at: int) -> Html:
    one = report["advice"][at]
    named = one["elements"]
    of = element("span", first_few(named, _FEW)) if named else None
    return advice_section(at + 1, one["given"], of)


def _connections(report: GraphReport) -> Html:
    columns = (Column("from"), Column("output"), Column("to"), Column("input"), Column("direction"))
    lines = [
        (one["start"], str(one["output"]), one["end"], str(one["input"]), one["direction"])
        for one in report["connections"]
    ]
    made = table(columns, lines, stack=True)
    return element("section", element("h2", "Connections"), made, class_="unprinted")


def _list(title: str, lines: Sequence[str]) -> Html | None:
    if not lines:
        return None
    items = [element("li", one) for one in lines]
    return element("section", element("h2", title), element("ul", *items))
