"""Formats the comparison of two versions as text, Markdown, JSON or CSV."""

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from slowpath.bounds.report_path import format_time
from slowpath.bounds.report_rates import format_cycles
from slowpath.core import engine
from slowpath.core.formats import json_items
from slowpath.core.printable import csv_line, one_line
from slowpath.core.review import markdown_code, markdown_text
from slowpath.core.schema.derived import cost_words, entries_words, is_found, verdict_of
from slowpath.core.schema.results import Result
from slowpath.core.terminal import Line, grid
from slowpath.diff.changes import (
    NAMES,
    NOT_AVAILABLE,
    NUMBER_SUFFIXES,
    NUMBERS,
    TEXT_SUFFIXES,
    TEXTS,
    Changes,
    LineChange,
    Place,
    Row,
    Value,
    also_changed,
    cell,
    change_of,
    summary,
    within_error,
)
from slowpath.diff.documents import ChangedLine, ComparedProgram, StoppedProgram
from slowpath.diff.filters import Failure

_SUFFIXES = ("_a", "_b", "_diff", "_pct")
_STYLES = {"worse": "red", "better": "green", "unknown": "red"}


class Report(NamedTuple):
    """A comparison of OLD and NEW with everything that reports show."""

    old: str  # file
    new: str
    rows: list[Row]  # rows to show
    changes: list[Changes | None]  # changed lines of each row
    failures: list[Failure]  # of all programs
    reproduce: list[str]  # a command for each failure
    limit: int  # maximum number of lines per direction of change
    compared: bool = True  # true if any program, even a hidden one, has a guarantee on both sides


def column_names(metric: str) -> tuple[str, ...]:
    """Return the names of the columns in the table of programs."""
    return ("program", *(f"{metric}{suffix}" for suffix in _SUFFIXES), "change", "also changed")


def row_cells(rows: Sequence[Row]) -> list[list[str]]:
    """Return the cells of each row for the table of programs.

    If several programs have the same name, the cell also has the file.
    """
    names = Counter(row.pair.name for row in rows)
    cells = []
    for row in rows:
        name = row.pair.name if names[row.pair.name] == 1 else row.pair.label
        values = (cell(row, f"{row.metric}{suffix}") for suffix in _SUFFIXES)
        cells.append([name, *values, change_of(row), also_changed(row)])
    return cells


def row_groups(rows: Sequence[Row]) -> dict[tuple[str, str], list[int]]:
    """Return the indices of rows by target and metric; each group gets its own table."""
    groups = dict[tuple[str, str], list[int]]()
    for at, row in enumerate(rows):
        groups.setdefault((row.pair.measured["target"], row.metric), []).append(at)
    return groups


def summary_words(report: Report) -> str:
    """Return a text with the number of programs by change, such as `1 worse, 2 same`."""
    return summary(report.rows) + ("" if report.compared else "; nothing was compared")


def table(report: Report) -> Iterator[Line]:
    """Yield the lines of the comparison as text."""
    yield Line(f"{report.old} -> {report.new}: {summary_words(report)}", "bold")
    for (target, metric), members in row_groups(report.rows).items():
        rows = [report.rows[at] for at in members]
        yield Line("")
        yield Line(f"on {target}")
        columns = column_names(metric)
        lines = grid(columns, row_cells(rows), right=columns[1:5], margin="")
        yield next(lines)
        for row, line in zip(rows, lines, strict=True):
            yield line._replace(style=_STYLES.get(change_of(row), ""))
    for text in remarks(report.rows):
        yield Line(one_line(text))
    for row, changes in zip(report.rows, report.changes, strict=True):
        yield from _line_tables(row, changes, report.limit)


def remarks(rows: Sequence[Row]) -> Iterator[str]:
    """Yield sentences that explain the values in the table."""
    yield from _lonely(rows)
    yield from _bounds(rows)
    yield from _machines(rows)
    yield from _errors(rows)
    yield from _assumptions(rows)


def _lonely(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence for each program that only OLD or only NEW has."""
    for row in rows:
        program = f"{row.pair.name} of {row.pair.present['file']}"
        if row.pair.old is None:
            yield f"{program} is new: OLD has no program with this name"
        elif row.pair.new is None:
            yield f"{program} is gone: NEW has no program with this name"


def _bounds(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence that explains the marks `>=` and `<=`, and why the searches stopped."""
    stopped = dict[str, None]()
    for row in rows:
        for side, result in (("OLD", row.pair.old), ("NEW", row.pair.new)):
            guarantee = None if result is None else result["guarantee"]
            if guarantee is not None and not is_found(guarantee):
                stopped[f"{side} of {row.pair.name}: {guarantee['stopped']}"] = None
    if stopped:
        yield (
            ">= and <= mark bounds of a stopped search; the exact guarantee may be better: "
            f"{'; '.join(stopped)}"
        )


def _machines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence for each program whose times are for different machines or settings."""
    for row in rows:
        old, new = (None if side is None else side["estimate"] for side in row.pair)
        if old is None or new is None or row.pair.same_machine:
            continue
        one, other = (
            f"{side['machine']}, measured {side['date']}, {entries_words(side['cold'])}"
            for side in (old, new)
        )
        yield f"times of {row.pair.name} are not compared: OLD is for {one}, but NEW for {other}"


def _errors(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence for each estimated time that changed by no more than its error."""
    for row in rows:
        for name in within_error(row.pair):
            old, new = (
                format_time(side["estimate"][name.removesuffix("_ns")])  # type: ignore[literal-required]
                for side in row.pair
                if side is not None and side["estimate"] is not None
            )
            yield (
                f"the change of {name} of {row.pair.name} lies within the interval of its error: "
                f"{old} before, {new} after"
            )


def _assumptions(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the assumptions of all guarantees.

    Those of both OLD and NEW come first for each program.
    """
    verdicts = [verdict_of(side) for row in rows for side in row.pair if side is not None]
    if "conditional" in verdicts:
        yield "(if) marks guarantees that are exact under their assumptions"
    for row in rows:
        old, new = row.pair
        assumed = [[] if side is None else side["assumptions"] for side in row.pair]
        both = [text for text in assumed[0] if text in assumed[1]]
        for text in both:
            yield f"OLD and NEW of {row.pair.name} assume: {text}"
        only = "only " if old is not None and new is not None else ""
        for side, texts in zip(("OLD", "NEW"), assumed, strict=True):
            for text in texts:
                if text not in both:
                    yield f"{only}{side} of {row.pair.name} assumes: {text}"


LINE_COLUMNS = ("cost_a", "cost_b", "diff", "runs_a", "runs_b", "line_a", "line_b", "code")


def _line_tables(row: Row, changes: Changes | None, limit: int) -> Iterator[Line]:
    for title, lines in titled_lines(row, changes, limit):
        yield Line("")
        yield Line(one_line(title), "bold")
        right = LINE_COLUMNS[:5]
        yield from grid(LINE_COLUMNS, [line_cells(line) for line in lines], right=right)


def titled_lines(
    row: Row, changes: Changes | None, limit: int
) -> Iterator[tuple[str, list[LineChange]]]:
    """Yield the source lines with higher cost, then those with lower cost, each list with a title.

    A list has at most `limit` lines.
    """
    if changes is None or not limit:
        return
    what = cost_words(changes.component, row.pair.measured["metric"])
    for word, lines in (
        ("rose", changes.dearer(len(changes.lines))),
        ("fell", changes.cheaper(len(changes.lines))),
    ):
        if lines:
            total = format_cycles(abs(sum(line.diff for line in lines)))
            cut = f", the first {limit} of {len(lines)}" if len(lines) > limit else ""
            title = f"{row.pair.name}: lines whose cost {word} on the slowest path"
            yield f"{title}: {total} {what}{cut}", lines[:limit]


def line_cells(line: LineChange) -> list[str]:
    """Return the cells of a changed source line for a table with `LINE_COLUMNS`."""
    sides = (line.old, line.new)
    return [
        *("-" if side is None else format_cycles(side.cost) for side in sides),
        f"{'+' if line.diff > 0 else '-'}{format_cycles(abs(line.diff))}",
        *("-" if side is None else str(side.runs) for side in sides),
        *map(_place, sides),
        line.text.strip(),
    ]


def _place(place: Place | None) -> str:
    return "-" if place is None else str(place)


def markdown(report: Report) -> Iterator[Line]:
    """Yield the lines of the comparison in GitHub's Markdown, for a comment on a pull request."""
    verdict = "gate failed, " if report.failures else ""
    yield Line(f"### slowpath: {verdict}{summary_words(report)}")
    yield Line("")
    yield Line(f"{markdown_code(report.old)} → {markdown_code(report.new)}")
    for failure, command in zip(report.failures, report.reproduce, strict=True):
        yield Line("")
        yield Line(f"- {markdown_code(failure.row.pair.name)}: {markdown_text(failure.reason)}")
        yield Line(f"  <br>Reproduce: {markdown_code(command)}")
    for (target, metric), members in row_groups(report.rows).items():
        yield Line("")
        yield Line(f"On {markdown_code(target)}:")
        yield Line("")
        columns = column_names(metric)
        cells = row_cells([report.rows[at] for at in members])
        yield from _markdown_table(columns, cells, right=columns[1:5], code=columns[0])
    notes = list(remarks(report.rows))
    if notes:
        yield Line("")
    for text in notes:
        yield Line(f"- {markdown_text(text)}")
    yield from _details(report)


def _details(report: Report) -> Iterator[Line]:
    """Yield the source lines whose cost changed as Markdown, in collapsed sections."""
    for row, changes in zip(report.rows, report.changes, strict=True):
        for title, lines in titled_lines(row, changes, report.limit):
            yield Line("")
            yield Line(f"<details><summary>{escape(one_line(title), quote=False)}</summary>")
            yield Line("")
            cells = [line_cells(line) for line in lines]
            right, code = LINE_COLUMNS[:5], LINE_COLUMNS[-1]
            yield from _markdown_table(LINE_COLUMNS, cells, right=right, code=code)
            yield Line("")
            yield Line("</details>")


def _markdown_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str], code: str
) -> Iterator[Line]:
    yield Line(f"| {' | '.join(columns)} |")
    yield Line(f"|{'|'.join(' ---: ' if name in right else ' --- ' for name in columns)}|")
    for row in rows:
        cells = (
            (markdown_code(value) if name == code else markdown_text(value)).replace("|", "\\|")
            for name, value in zip(columns, row, strict=True)
        )
        yield Line(f"| {' | '.join(cells)} |")


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
    """Return the lines of the JSON document; each program is on its own line."""
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
    """Yield the lines of a CSV report: a header and one row for each program."""
    yield csv_line(CSV_COLUMNS)
    for row in report.rows:
        values: dict[str, Value] = {"change": change_of(row)} | row.values
        values["within_error"] = " ".join(within_error(row.pair))
        cells = (values.get(column) for column in CSV_COLUMNS)
        yield csv_line([NOT_AVAILABLE if value is None else value for value in cells])
