"""Text and CSV reports of traces."""

from collections.abc import Iterator, Sequence

from slowpath.core.printable import csv_line
from slowpath.core.terminal import Line, grid
from slowpath.measure.conclusions import rest_of, started_with
from slowpath.measure.documents import MeasuredProgram, MeasuredTrace, TracePath

_SHOWN = 31
"""Maximum number of paths in the table."""
_COLUMNS = (
    "path", "packets", "share", "instructions", "action", "ns/packet", "spread", "first", "",
)  # fmt: skip
_RIGHT = {"path", "packets", "share", "instructions", "ns/packet", "spread", "first"}
_CSV = (
    "file", "section", "program", "trace", "number", "path", "rank", "packets", "share",
    "instructions", "action", "first", "measured_packet", "measured_ns", "spread_ns", "low_ns",
    "high_ns", "program_ns", "runs", "arrangement", "drained", "error",
)  # fmt: skip
_OF_PROGRAM = 4


def trace_report(records: Sequence[MeasuredProgram]) -> Iterator[Line | str]:
    """Yield a table of paths and a conclusion for each program."""
    for record in records:
        trace = record["trace"]
        if trace is not None and trace["count"]:
            yield ""
            yield from _trace(record, trace)


def _trace(record: MeasuredProgram, trace: MeasuredTrace) -> Iterator[Line | str]:
    whole = "" if trace["complete"] else " read so far"
    paths = trace["paths"]
    yield Line(
        f"{trace['file']} through {record['program']}: {trace['count']:,} packets{whole}, "
        f"{len(paths)} paths",
        "bold",
    )
    started = started_with(trace)
    if started is not None:
        yield f"  {started}"
    shown = paths[:_SHOWN]
    slowest = trace["slowest"]
    if slowest is not None and slowest["path"] > _SHOWN:
        shown = [*shown, paths[slowest["path"] - 1]]
    rows = [_row(path, trace) for path in shown]
    yield from grid(_COLUMNS, rows, right=_RIGHT)
    if len(paths) > len(shown):
        rest = sum(path["packets"] for path in paths) - sum(path["packets"] for path in shown)
        yield f"  {len(paths) - len(shown)} more paths have {rest:,} packets."
    yield ""
    mix = trace["mix"]
    if mix is not None:
        low, high = mix["low_ns"], mix["high_ns"]
        between = "" if low is None or high is None else f" ({low:.1f} to {high:.1f})"
        rate = mix["packetrate_pps"] / 1e6
        yield f"  mean: {mix['mean_ns']:.1f} ns{between}, {rate:.2f} Mpps on one core"
    if trace["conclusion"] is not None:
        yield Line(f"  {trace['conclusion']}", "bold")
    for path in paths:
        if path["error"] is not None:
            yield f"  path {path['number']} was not timed: {path['error']}"
    rest_said = rest_of(trace)
    for warning in [*trace["warnings"], *([] if rest_said is None else [rest_said])]:
        yield Line(f"  warning: {warning}", "yellow")


def _row(path: TracePath, trace: MeasuredTrace) -> list[str]:
    value, spread = path["measured_ns"], path["spread_ns"]
    slowest = trace["slowest"]
    marks = [] if path["rank"] is None else [f"the analysis has it as path {path['rank']}"]
    if slowest is not None and slowest["path"] == path["number"] and len(trace["paths"]) > 1:
        marks.insert(0, "most instructions")
    return [
        str(path["number"]),
        f"{path['packets']:,}",
        f"{path['share']:.2%}",
        str(path["instructions"]),
        path["action"],
        "" if value is None else f"{value:.1f}",
        "" if not value or spread is None else f"± {spread:.1f} ({spread / value:.1%})",
        f"{path['first']:,}",
        ", ".join(marks),
    ]


def trace_csv(records: Sequence[MeasuredProgram]) -> Iterator[str]:
    """Yield a header and a row for each path, or one with the error of a program without any."""
    yield csv_line(_CSV)
    for record in records:
        trace = record["trace"]
        name = None if trace is None else trace["file"]
        head = [record["file"], record["section"], record["program"], name]
        paths = [] if trace is None else trace["paths"]
        for path in paths:
            yield csv_line([*head, *(path[key] for key in _CSV[_OF_PROGRAM:])])  # type: ignore[literal-required]
        if not paths:
            why = record["error"] if trace is None else trace["error"] or record["error"]
            yield csv_line([*head, *[None] * (len(_CSV) - _OF_PROGRAM - 1), why])
