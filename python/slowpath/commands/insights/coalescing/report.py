"""Layouts as text, CSV and C."""

from collections.abc import Iterator

from slowpath.cli.printable import csv_line, one_line
from slowpath.cli.terminal import Line
from slowpath.commands.insights.numbers import number
from slowpath.insights.coalescing.documents import CoalescingReport, ElementLayout
from slowpath.insights.numbers import percent
from slowpath.report.grid import grid

COLUMNS = (
    "element",
    "variable",
    "offset",
    "size_bytes",
    "pack",
    "element_accesses",
    "element_bound",
    "verdict",
)


def layout_csv(report: CoalescingReport) -> Iterator[str]:
    """A line for each variable, in the advised order; `pack` is the window that it begins in."""
    yield csv_line(COLUMNS)
    for element in report["elements"]:
        said = (element["accesses"], element["bound"], element["verdict"])
        for one in element["members"]:
            where = (one["offset"], one["size_bytes"], one["offset"] // report["width"])
            yield csv_line((element["element"], one["variable"], *where, *said))


def layout_c(report: CoalescingReport) -> Iterator[Line]:
    """The structs."""
    yield Line("#include <stdint.h>")
    for element in report["elements"]:
        yield Line("")
        yield from _struct(element)


def layout_text(report: CoalescingReport) -> Iterator[Line]:
    """Of each element, accesses by order and block, and the struct."""
    for at, element in enumerate(report["elements"]):
        if at:
            yield Line("")
        yield Line(one_line(f"{element['element']}: {_headline(element, report['width'])}"), "bold")
        yield Line("")
        yield from _orders(element)
        yield Line("")
        yield from _blocks(element)
        yield Line("")
        yield from _struct(element)


def _headline(element: ElementLayout, width: int) -> str:
    found = f"{number(element['accesses'])} accesses of {width} bytes for each packet"
    if element["verdict"] == "optimal":
        return f"{found}; no order takes fewer"
    return f"{found}; the search was stopped, none takes fewer than {number(element['bound'])}"


def _orders(element: ElementLayout) -> Iterator[Line]:
    columns = ("order", "accesses", "saved by the advised one")
    rows = [("advised", number(element["accesses"]), "")]
    rows += [
        (one["layout"], number(one["accesses"]), percent(one["saved"]))
        for one in element["compared"]
    ]
    yield from grid(columns, rows, right=columns[1:])


def _blocks(element: ElementLayout) -> Iterator[Line]:
    columns = ("block", "runs", "accesses", "in the source's order", "saved")
    rows = [
        (
            one["block"],
            f"{one['weight']:g}",
            str(one["accesses"]),
            str(one["before"]),
            number((one["before"] - one["accesses"]) * one["weight"]),
        )
        for one in element["blocks"]
    ]
    yield from grid(columns, rows, right=columns[1:])


def _struct(element: ElementLayout) -> Iterator[Line]:
    return map(Line, element["struct"].splitlines())
