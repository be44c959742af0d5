"""Summarises repeated runs of programs, and formats tables as aligned text, Markdown and CSV."""

import csv
import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from measure import Program, Run

Value = str | int | float | None
Row = dict[str, Value]

SVG_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "slowpath", "font.size": 9}
"""Style of matplotlib for small, reproducible files: text stays text, and ids do not vary."""
COUNTS = ["candidates", "sat", "unsat", "nogoods", "solver_checks"]


def row(program: Program, runs: list[Run]) -> Row:
    """Return the table row of a program: medians over its runs.

    Counts, unlike times, are equal in all runs.
    """
    first = runs[0]
    stats = first.result["stats"]
    cells: Row = {"program": program.name, "status": first.status}
    seconds = median(runs, lambda run: run.seconds)
    cells["seconds"] = seconds
    cells["seconds_least"] = min(run.seconds for run in runs)
    cells["seconds_most"] = max(run.seconds for run in runs)
    cells["engine_seconds"] = median(runs, lambda run: run.result["stats"]["seconds"])
    cells["solver_seconds"] = median(runs, lambda run: run.result["stats"]["solver_seconds"])
    cells["megabytes"] = median(runs, lambda run: run.megabytes)
    cells.update({name: stats.get(name) for name in COUNTS})
    cells["paths"] = len(first.result["paths"])
    cells["published_seconds"] = program.published_seconds
    cells["ratio"] = None
    if program.published_seconds and first.status == "exact":
        cells["ratio"] = program.published_seconds / seconds
    return cells


def median(runs: list[Run], figure: Callable[[Run], float]) -> float:
    """Return the median of a value over several runs; `figure` extracts the value from a run."""
    return statistics.median(figure(run) for run in runs)


class Column(NamedTuple):
    """A column of a table: its heading, the key of its values in rows, and the number format."""

    heading: str
    key: str
    digits: int | None = None  # after the point; None: unformatted


def cell(value: Value, digits: int | None) -> str:
    """Format a value for a table with `digits` digits after the decimal point."""
    if value is None:
        return ""
    if isinstance(value, float) and math.isinf(value):
        return "not finished"
    if isinstance(value, float) and digits is not None:
        return f"{value:,.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _texts(rows: list[Row], columns: list[Column]) -> list[list[str]]:
    body = [[cell(row[c.key], c.digits) for c in columns] for row in rows]
    return [[c.heading for c in columns], *body]


def aligned(rows: list[Row], columns: list[Column]) -> str:
    """Format a table with aligned columns, for terminals."""
    texts = _texts(rows, columns)
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = []
    for line in texts:
        cells = [
            text.rjust(width) if at else text.ljust(width)
            for at, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def markdown(rows: list[Row], columns: list[Column]) -> str:
    """Format a table as Markdown."""
    heading, *body = _texts(rows, columns)
    rule = ["---"] + ["---:"] * (len(columns) - 1)
    return "\n".join(f"| {' | '.join(line)} |" for line in [heading, rule, *body])


def write_csv(path: Path, rows: list[Row]) -> None:
    """Write table rows to a CSV file, with all columns; numbers have six digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for one in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in one.items()})
