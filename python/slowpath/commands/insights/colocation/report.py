"""Pairs and their scores as text, CSV and JSON."""

from collections.abc import Iterator

from slowpath.cli.printable import csv_line, one_line
from slowpath.cli.terminal import Line
from slowpath.insights.colocation.documents import SCORES, ColocationReport, Group, Pair
from slowpath.insights.numbers import percent
from slowpath.report.grid import grid

_NEAR = 0.01
"""Pairs that differ by less, of the better one, are as good as the same."""


def colocation_csv(report: ColocationReport) -> Iterator[Line | str]:
    """A line for each pair, in the order of members."""
    yield csv_line(("group", "first", "second", *SCORES))
    for group in report["groups"]:
        for pair in group["pairs"]:
            numbers = (pair["throughput_total"], pair["throughput_average"])
            later = (pair["latency_total"], pair["latency_average"])
            yield csv_line((group["group"], pair["first"], pair["second"], *numbers, *later))


def colocation_text(report: ColocationReport) -> Iterator[Line | str]:
    """The friendliest pair of each group, and what others would lose."""
    yield Line(one_line(f"{report['query']}: {_learnt(report)}"), "bold")
    yield Line("")
    columns = ("group", "alone", "share the card", "keep", "as good", "keep the least", "")
    rows = [_row(group) for group in report["groups"]]
    yield from grid(columns, rows, right=("keep",))
    yield Line("")
    yield Line(
        "Predicted. What a pair keeps is its throughput over that of both alone; pairs within 1 % "
        "are as good."
    )


def _row(group: Group) -> tuple[str, ...]:
    best, *others = sorted(group["pairs"], key=lambda one: -one["throughput_total"])
    near = [
        one for one in others if one["throughput_total"] >= (1 - _NEAR) * best["throughput_total"]
    ]
    return (
        group["group"],
        "measured" if group["measured_alone"] else "predicted",
        _members(best),
        percent(best["throughput_total"]),
        ", ".join(map(_members, near)),
        f"{_members(others[-1])} ({percent(others[-1]['throughput_total'])})",
        f"unusual: {', '.join(group['unusual'])}" if group["unusual"] else "",
    )


def _members(pair: Pair) -> str:
    return f"{pair['first']}-{pair['second']}"


def _learnt(report: ColocationReport) -> str:
    count = report["learnt_from"]
    if report["train"] is not None:
        return f"learnt from {count} groups of {report['train']}"
    return f"model of {count} published groups"
