"""JSON and CSV output of a comparison.

The JSON Schema of the output is derived from the types in this module.
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
    """A source line whose cost differs, or an instruction if there are no source lines."""

    function: str | None
    """Function that contains the line; null if not known."""
    text: str
    """Text of the line; empty if the objects do not contain it."""
    file_a: str | None
    """File in OLD; null for an instruction, and if the line is not on OLD's path."""
    line_a: int | None
    """Line or instruction number in OLD; null if it is not on OLD's path."""
    runs_a: int | None
    """Number of executions on OLD's path; null if it is not on the path."""
    cost_a: float | None
    """Cost of these executions; null if it is not on OLD's path."""
    file_b: str | None
    """Same as `file_a`, for NEW."""
    line_b: int | None
    """Same as `line_a`, for NEW."""
    runs_b: int | None
    """Same as `runs_a`, for NEW."""
    cost_b: float | None
    """Same as `cost_a`, for NEW."""
    cost_diff: float
    """Increase of the cost. All these differences add up to the difference of the paths' costs."""


class ComparedProgram(TypedDict):
    """A program on both sides, or on one."""

    change: Change
    """Change of the guarantee: `new` or `gone` for a program on one side only; `unknown` if a side
    could not be analysed."""
    values: dict[str, Value]
    """Values of the columns below, by name; null is N/A."""
    assumptions_a: list[str]
    """Conditions for the guarantee of OLD."""
    assumptions_b: list[str]
    """Conditions for the guarantee of NEW."""
    component: str | None
    """Component that the costs of `lines` refer to; null if `lines` is null."""
    lines: list[ChangedLine] | None
    """Source lines whose cost changed; null if a side has no program or no `profile`."""


class StoppedProgram(TypedDict):
    """A program that fails a `--fail-on`."""

    program: str
    """Name of the program, or `OLD -> NEW` if the names differ."""
    expression: str
    """Expression of the `--fail-on`."""
    reason: str
    """Reason for the failure, in one line."""
    reproduce: str
    """Command that reproduces the failure."""


def json_lines(report: Report) -> Iterator[Line]:
    """Yield one JSON document with a line for each program."""
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
    """Yield a header and one row for each program."""
    yield Line(csv_line(CSV_COLUMNS))
    for row in report.rows:
        values = {"change": change_of(row)} | row.values
        cells = (values.get(column) for column in CSV_COLUMNS)
        yield Line(csv_line([NOT_AVAILABLE if value is None else value for value in cells]))
