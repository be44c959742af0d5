"""Measurements as text for people, and as CSV."""

from collections.abc import Iterator, Sequence

from slowpath.cli.printable import csv_line, one_line
from slowpath.cli.terminal import Line
from slowpath.commands.measure.reports import cold as cold_report
from slowpath.commands.measure.reports import later as later_report
from slowpath.commands.measure.reports.stretches import stretches_report
from slowpath.measurements.documents import MeasuredPath, MeasuredProgram
from slowpath.measurements.environment import Environment
from slowpath.report.grid import grid

_COLUMNS = (
    "path",
    "instructions",
    "action",
    "ns/packet",
    "spread",
    "Mpps/core",
    "program",
    "predicted",
    "runs",
)
_OMITTED = "without"
_RIGHT = {*_COLUMNS[1:2], *_COLUMNS[3:]}
_CSV = (
    "file", "section", "program", "rank", "predicted_ns", "measured_ns", "spread_ns", "low_ns",
    "high_ns", "program_ns", "packetrate_pps", "runs", "packet", "action", "instructions",
    "arrangement", "drained", "error",
)  # fmt: skip


def text_report(
    records: Sequence[MeasuredProgram],
    where: Environment,
    *,
    verbose: bool,
    cold: bool = False,
) -> Iterator[Line | str]:
    """A table for each program, and what it comes to; `cold`: also where it is as hot."""
    for number, record in enumerate(records):
        if number:
            yield ""
        yield from _program(record, verbose=verbose, cold=cold)
    cpu = where["processor"]["cpu"]
    model = where["processor"]["model"] or "a CPU of unknown model"
    yield ""
    yield Line(f"measured on CPU {cpu} ({model}), Linux {where['kernel']['release']}", "dim")


def _program(record: MeasuredProgram, *, verbose: bool, cold: bool) -> Iterator[Line | str]:
    named = f"{record['file']}:{record['program']}" if record["program"] else record["file"]
    measured = [path for path in record["paths"] if path["measured_ns"] is not None]
    if not measured:
        yield Line(f"{named}: not measured", "bold")
        yield from errors_of(record)
        return
    found = "paths" if record["complete"] else "paths that were found"
    yield Line(f"{named}: {len(measured)} of {record['found']} {found}, caches hot", "bold")
    columns, rows = list(_COLUMNS), [_row(path) for path in measured]
    if any(path["omitted"] for path in measured):
        columns.append(_OMITTED)
        for row, path in zip(rows, measured, strict=True):
            row.append(", ".join(path["omitted"]))
    shown = cold_report.is_shown(measured, always=cold)
    if shown:
        columns.append(cold_report.COLD)
        rows = [
            [*row, cold_report.cell(path, always=cold)]
            for row, path in zip(rows, measured, strict=True)
        ]
    yield from grid(columns, rows, right=_RIGHT | {cold_report.COLD})
    yield ""
    if record["baseline_ns"] is not None:
        yield (
            f"  An empty program takes {record['baseline_ns']:.1f} ns in the kernel's loop; "
            f"{_plural(record['loads'], 'load')}, {_plural(record['samples'], 'sample')}, "
            f"{record['discarded'] / max(record['samples'], 1):.0%} of them left out as disturbed, "
            f"{record['seconds']:.1f} s."
        )
    if record["predicted_for"] is not None:
        yield f"  Predicted by the model of {one_line(record['predicted_for'])}."
    if record["conclusion"] is not None:
        yield Line(f"  {record['conclusion']}", "bold")
    yield from later_report.notes(measured)
    yield from stretches_report(record["breakdown"], verbose=verbose)
    yield from errors_of(record)
    for warning in record["warnings"]:
        yield Line(f"  warning: {warning}", "yellow")
    if shown or verbose:
        yield from cold_report.notes(measured)
    if verbose:
        for path in measured:
            drained = ", ring buffers emptied between calls" if path["drained"] else ""
            yield f"  path {path['rank']}: {path['arrangement']}{drained}"


def errors_of(record: MeasuredProgram) -> Iterator[str]:
    """Why paths were not measured, a line for each."""
    for path in record["paths"]:
        if path["error"] is not None:
            yield f"  path {path['rank']} was not measured: {path['error']}"


def why_not(record: MeasuredProgram, path: MeasuredPath, *, measured: bool) -> str | None:
    """Why a path has no value: an error of its own, or that of its program."""
    return path["error"] if measured else path["error"] or record["error"]


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def _row(path: MeasuredPath) -> list[str]:
    value, spread = path["measured_ns"] or 0.0, path["spread_ns"] or 0.0
    rate, own = path["packetrate_pps"], path["program_ns"] or 0.0
    expected = path.get("predicted_program_ns")
    return [
        str(path["rank"]),
        str(path["instructions"]),
        path["action"] or "",
        f"{value:.1f}",
        f"± {spread:.1f} ({spread / value:.1%})" if value else "",
        "" if rate is None else f"{rate / 1e6:.2f}",
        f"{own:.1f}",
        "" if expected is None else f"{expected:.1f}",
        f"{path['runs']:,}",
    ]


def csv_report(records: Sequence[MeasuredProgram]) -> Iterator[str]:
    """A header and a row for each path; of a program without any, one with its error."""
    own_columns, error = _CSV[:-1], _CSV[-1]
    yield csv_line([*own_columns, *later_report.CSV, *cold_report.CSV, error])
    for record in records:
        head = [record["file"], record["section"], record["program"]]
        for path in record["paths"]:
            own = [path[name] for name in own_columns[3:]]  # type: ignore[literal-required]
            more = [*later_report.csv_values(path), *cold_report.csv_values(path)]
            why = why_not(record, path, measured=path["measured_ns"] is not None)
            yield csv_line([*head, *own, *more, why])
        if not record["paths"]:
            nothing = [None] * (len(_CSV) + len(later_report.CSV) + len(cold_report.CSV) - 4)
            yield csv_line([*head, *nothing, record["error"]])
