"""Comparisons as text for people."""

from collections.abc import Iterator, Sequence

from slowpath.cli.printable import csv_line
from slowpath.cli.terminal import Line
from slowpath.measurements.documents import ComparedPath, ComparedVersions, MeasuredProgram
from slowpath.report.grid import grid

_COLUMNS = ("path", "old ns", "new ns", "ratio", "95 % interval", "")
_CSV = ("old", "new", "path", "old_ns", "new_ns", "ratio", "low", "high", "significant", "error")
_RIGHT = {"old ns", "new ns", "ratio"}


def comparison_report(comparison: Sequence[ComparedVersions]) -> Iterator[Line | str]:
    """A table for each pair of programs, and what it comes to."""
    for compared in comparison:
        yield ""
        yield Line(f"{compared['old']} and {compared['new']}, in turns", "bold")
        yield from grid(_COLUMNS, [_cells(row) for row in compared["paths"]], right=_RIGHT)
        for row in compared["paths"]:
            if row["error"] is not None:
                yield f"  {row['path']} was not compared: {row['error']}"
        if compared["conclusion"] is not None:
            yield ""
            yield Line(f"  {compared['conclusion']}", "bold")


def comparison_csv(
    comparison: Sequence[ComparedVersions], records: Sequence[MeasuredProgram], old: str
) -> Iterator[str]:
    """A header and a row for each comparison; of a program without any, one with the reason.

    `old` is the old file.
    """
    yield csv_line(_CSV)
    named = set[str]()
    for compared in comparison:
        named |= {compared["old"], compared["new"]}
        for row in compared["paths"]:
            told = [row[key] for key in _CSV[2:]]  # type: ignore[literal-required]
            yield csv_line([compared["old"], compared["new"], *told])
    for record in records:
        name = f"{record['file']}:{record['program']}" if record["program"] else record["file"]
        if name not in named:
            sides = [name, None] if record["file"] == old else [None, name]
            why = record["error"] or "the other file has no program of this name"
            yield csv_line([*sides, *[None] * (len(_CSV) - len(sides) - 1), why])


def _cells(row: ComparedPath) -> list[str]:
    low, high = row["low"], row["high"]
    between = "" if low is None or high is None else f"{low:.3f} to {high:.3f}"
    told = {True: "different", False: "no difference shown", None: "not compared"}
    return [
        row["path"],
        _number(row["old_ns"], 1),
        _number(row["new_ns"], 1),
        _number(row["ratio"], 3),
        between,
        told[row["significant"]],
    ]


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
