"""A comparison for machines, JSON and CSV; `docs/json.md` describes both."""

from collections.abc import Iterator

from slowpath import engine
from slowpath.cli.printable import csv_line, json_line
from slowpath.cli.terminal import Line
from slowpath.commands.diff.columns import (
    NAMES,
    NUMBER_SUFFIXES,
    NUMBERS,
    TEXT_SUFFIXES,
    TEXTS,
    Row,
    Value,
    change_of,
)
from slowpath.commands.diff.format import NOT_AVAILABLE
from slowpath.commands.diff.lines import Changes, LineChange, Place
from slowpath.commands.diff.report import Report
from slowpath.schema.results import Result

CSV_COLUMNS = (
    *NAMES,
    "file_a",
    "program_a",
    "change",
    *(f"{name}{suffix}" for name in NUMBERS for suffix in NUMBER_SUFFIXES),
    *(f"{name}{suffix}" for name in TEXTS for suffix in TEXT_SUFFIXES),
)


def json_lines(report: Report) -> Iterator[Line]:
    """One document, a line for each program."""
    sides = json_line({"old": report.old, "new": report.new})[1:-1]
    yield Line(f'{{"slowpath": {json_line(engine.version())}, {sides}, "programs": [')
    for at, (row, changes) in enumerate(zip(report.rows, report.changes, strict=True)):
        yield Line(("," if at else "") + json_line(_program(row, changes)))
    failures = [
        {
            "program": failure.row.pair.name,
            "expression": failure.gate.text,
            "reason": failure.reason,
            "reproduce": command,
        }
        for failure, command in zip(report.failures, report.reproduce, strict=True)
    ]
    yield Line(f'], "failures": {json_line(failures)}}}')


def _program(row: Row, changes: Changes | None) -> dict[str, object]:
    return {
        "change": change_of(row),
        "values": row.values,
        "assumptions_a": _assumed(row.pair.old),
        "assumptions_b": _assumed(row.pair.new),
        "component": None if changes is None else changes.component,
        "lines": None if changes is None else [_line(line) for line in changes.lines],
    }


def _assumed(result: Result | None) -> list[str]:
    return [] if result is None else result["assumptions"]


def _line(line: LineChange) -> dict[str, object]:
    sides: dict[str, object] = {"function": line.function, "text": line.text}
    for side, place in (("a", line.old), ("b", line.new)):
        sides |= {f"{key}_{side}": value for key, value in _side(place).items()}
    return sides | {"cost_diff": line.diff}


def _side(place: Place | None) -> dict[str, Value]:
    if place is None:
        return {"file": None, "line": None, "runs": None, "cost": None}
    return {"file": place.file, "line": place.line, "runs": place.runs, "cost": place.cost}


def csv_lines(report: Report) -> Iterator[Line]:
    """A header and one row for each program."""
    yield Line(csv_line(CSV_COLUMNS))
    for row in report.rows:
        values = {"change": change_of(row)} | row.values
        cells = (values.get(column) for column in CSV_COLUMNS)
        yield Line(csv_line([NOT_AVAILABLE if value is None else value for value in cells]))
