"""Writes a comparison as JSON or CSV."""

from collections.abc import Iterator

from slowpath.core import engine
from slowpath.core.formats import json_items
from slowpath.core.printable import csv_line
from slowpath.core.schema.results import Result
from slowpath.diff.columns import (
    NAMES,
    NOT_AVAILABLE,
    NUMBER_SUFFIXES,
    NUMBERS,
    TEXT_SUFFIXES,
    TEXTS,
    Row,
    Value,
    change_of,
    within_error,
)
from slowpath.diff.documents import ChangedLine, ComparedProgram, StoppedProgram
from slowpath.diff.lines import Changes, LineChange
from slowpath.diff.report import Report

CSV_COLUMNS = (
    *NAMES,
    "file_a",
    "program_a",
    "change",
    *(f"{name}{suffix}" for name in NUMBERS for suffix in NUMBER_SUFFIXES),
    *(f"{name}{suffix}" for name in TEXTS for suffix in TEXT_SUFFIXES),
    "within_error",
)


def json_lines(report: Report) -> Iterator[str]:
    """Return the lines of the JSON document, one for each program."""
    head = {**engine.head("diff", "diff"), "old": report.old, "new": report.new}
    programs = map(_program, report.rows, report.changes)
    failures: list[StoppedProgram] = [
        {
            "program": failure.row.pair.name,
            "expression": failure.text,
            "reason": failure.reason,
            "reproduce": command,
        }
        for failure, command in zip(report.failures, report.reproduce, strict=True)
    ]
    return json_items(head, "results", programs, {"failures": failures})


def _program(row: Row, changes: Changes | None) -> ComparedProgram:
    return {
        "change": change_of(row),
        "values": row.values,
        "assumptions_a": _assumed(row.pair.old),
        "assumptions_b": _assumed(row.pair.new),
        "within_error": within_error(row.pair),
        "component": None if changes is None else changes.component,
        "lines": None if changes is None else [_line(line) for line in changes.lines],
    }


def _assumed(result: Result | None) -> list[str]:
    return [] if result is None else result["assumptions"]


def _line(line: LineChange) -> ChangedLine:
    old, new = line.old, line.new
    return {
        "function": line.function,
        "text": line.text,
        "file_a": None if old is None else old.file,
        "line_a": None if old is None else old.line,
        "runs_a": None if old is None else old.runs,
        "cost_a": None if old is None else old.cost,
        "file_b": None if new is None else new.file,
        "line_b": None if new is None else new.line,
        "runs_b": None if new is None else new.runs,
        "cost_b": None if new is None else new.cost,
        "cost_diff": line.diff,
    }


def csv_lines(report: Report) -> Iterator[str]:
    """Yield a header and one row for each program."""
    yield csv_line(CSV_COLUMNS)
    for row in report.rows:
        values: dict[str, Value] = {"change": change_of(row)} | row.values
        values["within_error"] = " ".join(within_error(row.pair))
        cells = (values.get(column) for column in CSV_COLUMNS)
        yield csv_line([NOT_AVAILABLE if value is None else value for value in cells])
