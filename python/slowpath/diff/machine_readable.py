"""A comparison as JSON and CSV.

The types here are what the JSON Schema of it derives from.
"""

from collections.abc import Iterator
from typing import TypedDict

from slowpath.core.engine import identity
from slowpath.core.printable import csv_line, json_line
from slowpath.core.schema.results import Result
from slowpath.core.terminal import Line
from slowpath.diff.columns import (
    NAMES,
    NOT_AVAILABLE,
    NUMBER_SUFFIXES,
    NUMBERS,
    TEXT_SUFFIXES,
    TEXTS,
    Change,
    Row,
    Value,
    change_of,
)
from slowpath.diff.lines import Changes, LineChange
from slowpath.diff.report import Report

CSV_COLUMNS = (
    *NAMES,
    "file_a",
    "program_a",
    "change",
    *(f"{name}{suffix}" for name in NUMBERS for suffix in NUMBER_SUFFIXES),
    *(f"{name}{suffix}" for name in TEXTS for suffix in TEXT_SUFFIXES),
)


class ChangedLine(TypedDict):
    """A source line whose cost differs; an instruction, where there are no source lines."""

    function: str | None
    """The function of the program that executes it; null where it is not known."""
    text: str
    """Text of the line; empty when the objects do not have it."""
    file_a: str | None
    """In OLD: its file; null for an instruction, and where OLD does not have it on its path."""
    line_a: int | None
    """Its number, or that of the instruction; null where OLD does not have it on its path."""
    runs_a: int | None
    """How often the path executes it; null where OLD does not have it on its path."""
    cost_a: float | None
    """What that costs; null where OLD does not have it on its path."""
    file_b: str | None
    """In NEW, as `file_a`."""
    line_b: int | None
    """In NEW, as `line_a`."""
    runs_b: int | None
    """In NEW, as `runs_a`."""
    cost_b: float | None
    """In NEW, as `cost_a`."""
    cost_diff: float
    """By how much it got dearer. All of these together are the difference of the paths' costs."""


class ComparedProgram(TypedDict):
    """A program of both sides, or of one."""

    change: Change
    """Of the guarantee. `new` and `gone` for programs that one side does not have; `unknown` when
    one could not be analysed."""
    values: dict[str, Value]
    """The columns below, by name; null is N/A."""
    assumptions_a: list[str]
    """What the guarantee of OLD depends on."""
    assumptions_b: list[str]
    """What the guarantee of NEW depends on."""
    component: str | None
    """What the costs of `lines` are of; null with `lines`."""
    lines: list[ChangedLine] | None
    """Every source line that costs more or less than before. Null when a side has no `profile` or
    no program."""


class StoppedProgram(TypedDict):
    """A program that a `--fail-on` stops."""

    program: str
    """Its name, or `OLD -> NEW` where the names differ."""
    expression: str
    """The `--fail-on`."""
    reason: str
    """Why it stops it, one line."""
    reproduce: str
    """The command that shows it again."""


def json_lines(report: Report) -> Iterator[Line]:
    """One document, a line for each program."""
    sides = json_line({"old": report.old, "new": report.new})[1:-1]
    yield Line(f'{{"slowpath": {json_line(identity.version())}, {sides}, "programs": [')
    for at, (row, changes) in enumerate(zip(report.rows, report.changes, strict=True)):
        yield Line(("," if at else "") + json_line(_program(row, changes)))
    failures: list[StoppedProgram] = [
        {
            "program": failure.row.pair.name,
            "expression": failure.gate.text,
            "reason": failure.reason,
            "reproduce": command,
        }
        for failure, command in zip(report.failures, report.reproduce, strict=True)
    ]
    yield Line(f'], "failures": {json_line(failures)}}}')


def _program(row: Row, changes: Changes | None) -> ComparedProgram:
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


def csv_lines(report: Report) -> Iterator[Line]:
    """A header and one row for each program."""
    yield Line(csv_line(CSV_COLUMNS))
    for row in report.rows:
        values = {"change": change_of(row)} | row.values
        cells = (values.get(column) for column in CSV_COLUMNS)
        yield Line(csv_line([NOT_AVAILABLE if value is None else value for value in cells]))
