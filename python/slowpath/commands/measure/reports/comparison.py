"""Comparisons as text for people."""

from collections.abc import Iterator, Sequence

from slowpath.cli.terminal import Line
from slowpath.measurements.documents import ComparedPath, ComparedVersions
from slowpath.report.grid import grid

_COLUMNS = ("path", "old ns", "new ns", "ratio", "95 % interval", "")
_RIGHT = {"old ns", "new ns", "ratio"}


def comparison_report(comparison: Sequence[ComparedVersions]) -> Iterator[Line | str]:
    """A table for each pair of programs, and what it comes to."""
    for compared in comparison:
        yield ""
        yield Line(f"{compared['old']} and {compared['new']}, in turns", "bold")
        yield from grid(_COLUMNS, [_cells(row) for row in compared["paths"]], right=_RIGHT)
        if compared["conclusion"] is not None:
            yield ""
            yield Line(f"  {compared['conclusion']}", "bold")


def _cells(row: ComparedPath) -> list[str]:
    low, high = row["low"], row["high"]
    between = "" if low is None or high is None else f"{low:.3f} to {high:.3f}"
    told = {True: "different", False: "no difference shown", None: "not measured"}
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
