"""Formats measurements of paths as text and CSV."""

from collections.abc import Callable, Iterator, Sequence

from slowpath.core import codes
from slowpath.core.codes import Code
from slowpath.core.errors import Coded, with_code
from slowpath.core.formats import coded
from slowpath.core.printable import csv_line, one_line
from slowpath.core.terminal import Line, grid
from slowpath.measure.conclusions import largest, where
from slowpath.measure.documents import (
    Breakdown,
    ColdPath,
    ComparedPath,
    ComparedVersions,
    MeasuredPath,
    MeasuredProgram,
    MeasuredStretch,
)
from slowpath.measure.environment import Environment

COMPARISON_COLUMNS = ("path", "old ns", "new ns", "ratio", "95 % interval", "")
_COMPARISON_CSV = (
    "old",
    "new",
    "path",
    "old_ns",
    "new_ns",
    "ratio",
    "low",
    "high",
    "significant",
    "error",
)
COMPARISON_RIGHT = {"old ns", "new ns", "ratio"}


def comparison_report(comparison: Sequence[ComparedVersions]) -> Iterator[Line | str]:
    """Yield lines of a text report: a table and a conclusion for each pair of programs."""
    for compared in comparison:
        yield ""
        yield Line(f"{compared['old']} and {compared['new']}, measured in turns", "bold")
        yield from grid(
            COMPARISON_COLUMNS,
            [comparison_cells(row) for row in compared["paths"]],
            right=COMPARISON_RIGHT,
        )
        for row in compared["paths"]:
            if row["error"] is not None:
                yield f"  {row['path']} was not compared: {row['error']}"
        if compared["conclusion"] is not None:
            yield ""
            yield Line(f"  {compared['conclusion']}", "bold")


def comparison_csv(
    comparison: Sequence[ComparedVersions], records: Sequence[MeasuredProgram], old: str
) -> Iterator[str]:
    """Yield lines of a CSV report: a header, all comparisons, and programs without comparison.

    `old` is the name of the old file.
    """
    yield csv_line(_COMPARISON_CSV)
    compared_names = set[str]()
    for compared in comparison:
        compared_names |= {compared["old"], compared["new"]}
        for row in compared["paths"]:
            values = [row[key] for key in _COMPARISON_CSV[2:]]  # type: ignore[literal-required]
            yield csv_line([compared["old"], compared["new"], *values])
    for record in records:
        name = label(record)
        if name not in compared_names:
            sides = [name, None] if record["file"] == old else [None, name]
            why = record["error"] or "the other file lacks a program with this name"
            yield csv_line([*sides, *[None] * (len(_COMPARISON_CSV) - len(sides) - 1), why])


def label(record: MeasuredProgram) -> str:
    """Return a program's name in reports: `FILE:PROGRAM`, or the file if it has no name."""
    return f"{record['file']}:{record['program']}" if record["program"] else record["file"]


def comparison_cells(row: ComparedPath) -> list[str]:
    """Return the cells of a comparison for a table with `COMPARISON_COLUMNS`."""
    low, high = row["low"], row["high"]
    verdicts = {True: "different", False: "no difference", None: "not compared"}
    return [
        row["path"],
        _number(row["old_ns"], 1),
        _number(row["new_ns"], 1),
        _number(row["ratio"], 3),
        "" if low is None or high is None else f"{low:.3f} to {high:.3f}",
        verdicts[row["significant"]],
    ]


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


_LATER_CSV = {
    "later_instructions": "instructions",
    "later_action": "action",
    "later_ns": "measured_ns",
    "later_spread_ns": "spread_ns",
    "later_low_ns": "low_ns",
    "later_high_ns": "high_ns",
    "later_reason": "reason",
}
"""CSV columns about packets after an equal first one, with the key of each value in the record."""


def later_lines(paths: Sequence[MeasuredPath]) -> Iterator[str]:
    """Yield a line for each path that later packets do not take after an equal first one.

    The line has the time of the later packets, or the reason why it is missing.
    """
    for path in paths:
        later = path["later"]
        if later is None:
            continue
        details = f"{later['instructions']} instructions, {later['action']}"
        first = f"  path {path['rank']}: the first such packet takes {path['measured_ns']:.1f} ns"
        if later["measured_ns"] is None:
            yield f"{first}; a second one ({details}) was not timed: {later['reason']}"
        else:
            yield f"{first}, later ones {later['measured_ns']:.1f} ns ({details})"


def _later_values(path: MeasuredPath) -> list[object]:
    later = path["later"]
    return [None if later is None else later[key] for key in _LATER_CSV.values()]  # type: ignore[literal-required]


STRETCH_COLUMNS = ("share", "ns", "instructions", "call", "source", "text")
STRETCH_RIGHT = {"share", "ns", "instructions"}
_SHOWN = 6
"""Maximum number of stretches (parts of a path) that are shown.

With `--verbose`, all are shown in order of execution.
"""
_TEXT = 48
"""Maximum length of a source line in the table, in characters."""


def stretches_report(breakdown: Breakdown | None, *, verbose: bool) -> Iterator[Line | str]:
    """Yield a table of the stretches (parts) of a path that take most of its time.

    Of all if `verbose`.
    """
    if breakdown is None:
        return
    if breakdown["error"] is not None:
        yield f"  No breakdown of the time: {breakdown['error']}."
        return
    stretches = breakdown["stretches"]
    shown = stretches if verbose else largest(breakdown)[:_SHOWN]
    yield ""
    path = "the path" if breakdown["rank"] is None else f"path {breakdown['rank']}"
    yield Line(
        f"  breakdown of the {breakdown['program_ns'] or 0.0:.1f} ns of {path} "
        f"({len(shown)} of {len(stretches)} stretches):"
    )
    yield from grid(
        STRETCH_COLUMNS, [stretch_cells(stretch) for stretch in shown], right=STRETCH_RIGHT
    )
    if verbose and breakdown["uncut"]:
        yield f"  not divided at instructions {', '.join(map(str, breakdown['uncut']))}"


def stretch_cells(stretch: MeasuredStretch) -> list[str]:
    """Return the cells of a stretch (part of a path) for a table with `STRETCH_COLUMNS`."""
    text = stretch["text"] or ""
    if stretch["ns"] is None:
        times = ["", ""]
    else:
        low, high = stretch["low_ns"], stretch["high_ns"]
        half = "" if low is None or high is None else f" ± {(high - low) / 2:.1f}"
        share = "" if stretch["share"] is None else f"{stretch['share']:.0%}"
        times = [share, f"{stretch['ns']:.1f}{half}"]
    end = "end" if stretch["to_instruction"] is None else str(stretch["to_instruction"])
    return [
        *times,
        f"{stretch['instructions']}",
        stretch["call"] or f"{stretch['from_instruction']} to {end}",
        where(stretch),
        text if len(text) <= _TEXT else text[: _TEXT - 1] + "…",
    ]


COLD = "cold ns"
"""Heading of the column with times on cold caches, in nanoseconds."""
_COLD_CSV = {
    "cold_ns": "measured_ns",
    "cold_spread_ns": "spread_ns",
    "cold_low_ns": "low_ns",
    "cold_high_ns": "high_ns",
    "flows": "flows",
    "entry_bytes": "entry_bytes",
    "cache_bytes": "cache_bytes",
}
"""CSV columns about cold caches, with the key of each value in the record. The column `cold_reason`
comes after them.
"""


def is_shown(paths: Sequence[MeasuredPath], *, always: bool) -> bool:
    """Return true if the report shows a column with cold-cache times of these paths.

    It does if `always` is true, or if one of these times differs from the time with hot caches.
    """
    known = [path["cold"] for path in paths if path["cold"] is not None]
    return always or any(cold["differs"] for cold in known)


def cell(path: MeasuredPath, *, always: bool) -> str:
    """Return a path's time with cold caches for a table; `-` if it was not measured.

    Return `as hot` if the time does not differ from that with hot caches, unless `always` is true.
    """
    cold = path["cold"]
    if cold is None:
        return "-"
    if not (always or cold["differs"]):
        return "as hot"
    return f"{cold['measured_ns']:.1f} ± {cold['spread_ns']:.1f}"


def cold_lines(paths: Sequence[MeasuredPath]) -> Iterator[str]:
    """Yield lines with the conditions of cold-cache times, such as the number of flows.

    Paths with the same conditions share a line, which starts with their ranks.
    """
    ranks = dict[str, list[str]]()
    for path in paths:
        if path["cold"] is not None:
            ranks.setdefault(_cold_conditions(path["cold"]), []).append(str(path["rank"]))
        elif path["cold_reason"] is not None:
            ranks.setdefault(f"no cold data: {path['cold_reason']}", []).append(str(path["rank"]))
    yield from (f"  path {', '.join(each)}: {text}" for text, each in ranks.items())


def _cold_conditions(cold: ColdPath) -> str:
    ranges = ", ".join(f"{offset}+{length}" for offset, length in cold["varied"])
    limited = "" if cold["limited"] is None else f"; not fully cold: {cold['limited']}"
    return (
        f"{cold['flows']:,} flows with {_size(cold['entry_bytes'])} of map entries, last-level "
        f"cache {_size(cold['cache_bytes'])}; packets differ in bytes {ranges}{limited}"
    )


def _size(count: int) -> str:
    if count >= 1 << 20:
        return f"{count / (1 << 20):.1f} MiB"
    return f"{count / (1 << 10):.1f} KiB"


def _cold_values(path: MeasuredPath) -> list[object]:
    cold = path["cold"]
    values = [None if cold is None else cold[key] for key in _COLD_CSV.values()]  # type: ignore[literal-required]
    return [*values, path["cold_reason"] if cold is None else None]


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
PATH_RIGHT = {*_COLUMNS[1:2], *_COLUMNS[3:]}
_CSV = (
    "file", "section", "program", "rank", "predicted_ns", "measured_ns", "spread_ns", "low_ns",
    "high_ns", "program_ns", "packetrate_pps", "runs", "packet", "action", "instructions",
    "arrangement", "drained",
)  # fmt: skip


def text_report(
    records: Sequence[MeasuredProgram],
    where: Environment,
    *,
    verbose: bool,
    cold: bool = False,
) -> Iterator[Line | str]:
    """Yield the lines of a text report: a table and a conclusion for each program.

    If `cold` is true, times with cold caches are always shown.
    """
    return sections(records, where, lambda each: _program(each, verbose=verbose, cold=cold))


def sections(
    records: Sequence[MeasuredProgram],
    where: Environment,
    section: Callable[[MeasuredProgram], Iterator[Line | str]],
) -> Iterator[Line | str]:
    """Yield the lines that `section` returns for each program, and a line about the machine."""
    for number, record in enumerate(records):
        if number:
            yield ""
        yield from section(record)
    cpu = where["processor"]["cpu"]
    model = where["processor"]["model"] or "a CPU of unknown model"
    yield ""
    yield Line(f"measured on CPU {cpu} ({model}), Linux {where['kernel']['release']}", "dim")


def _program(record: MeasuredProgram, *, verbose: bool, cold: bool) -> Iterator[Line | str]:
    measured = [path for path in record["paths"] if path["measured_ns"] is not None]
    if not measured:
        yield Line(f"{label(record)}: not measured", "bold")
        yield from errors_of(record)
        return
    found = "paths" if record["complete"] else "paths found"
    yield Line(f"{label(record)}: {len(measured)} of {record['found']} {found}, caches hot", "bold")
    columns, rows = path_table(measured, cold=cold)
    yield from grid(columns, rows, right=PATH_RIGHT | {COLD})
    yield ""
    if record["baseline_ns"] is not None:
        yield (
            f"  An empty program takes {record['baseline_ns']:.1f} ns in the kernel's loop; "
            f"{_plural(record['loads'], 'load')}, {_plural(record['samples'], 'sample')}, "
            f"{record['discarded'] / max(record['samples'], 1):.0%} of them omitted as disturbed, "
            f"measured for {record['seconds']:.1f} s."
        )
    if record["predicted_for"] is not None:
        yield f"  Predictions are those of the model of {one_line(record['predicted_for'])}."
    if record["conclusion"] is not None:
        yield Line(f"  {record['conclusion']}", "bold")
    yield from later_lines(measured)
    yield from stretches_report(record["breakdown"], verbose=verbose)
    yield from errors_of(record)
    for warning in coded(record["warnings"], record["warning_codes"]):
        yield Line(with_code(f"  warning: {warning}", warning.code), "yellow")
    if COLD in columns or verbose:
        yield from cold_lines(measured)
    if verbose:
        for path in measured:
            drained = ", ring buffers emptied between calls" if path["drained"] else ""
            yield f"  path {path['rank']}: {path['arrangement']}{drained}"


def path_table(
    measured: Sequence[MeasuredPath], *, cold: bool
) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of the table of paths.

    If `cold` is true, the table always includes times with cold caches.
    """
    columns, rows = list(_COLUMNS), [_row(path) for path in measured]
    if any(path["omitted"] for path in measured):
        columns.append(_OMITTED)
        for row, path in zip(rows, measured, strict=True):
            row.append(", ".join(path["omitted"]))
    if is_shown(measured, always=cold):
        columns.append(COLD)
        rows = [[*row, cell(path, always=cold)] for row, path in zip(rows, measured, strict=True)]
    return columns, rows


def errors_of(record: MeasuredProgram) -> Iterator[Coded]:
    """Yield an error message for each path of a program that was not measured."""
    for path in record["paths"]:
        if path["error"] is not None:
            text = f"  path {path['rank']} was not measured: {path['error']}"
            yield Coded(Code(path["code"] or codes.STOPPED), text)


def why_not(record: MeasuredProgram, path: MeasuredPath, *, measured: bool) -> str | None:
    """Return the error to report for a path, or None if there is none.

    If the path was not `measured` and has no error of its own, this is the error of the program.
    """
    return path["error"] if measured else path["error"] or record["error"]


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _row(path: MeasuredPath) -> list[str]:
    value, spread = path["measured_ns"] or 0.0, path["spread_ns"] or 0.0
    rate, program = path["packetrate_pps"], path["program_ns"] or 0.0
    predicted = path.get("predicted_program_ns")
    return [
        str(path["rank"]),
        str(path["instructions"]),
        path["action"] or "",
        f"{value:.1f}",
        f"± {spread:.1f} ({spread / value:.1%})" if value else "",
        "" if rate is None else f"{rate / 1e6:.2f}",
        f"{program:.1f}",
        "" if predicted is None else f"{predicted:.1f}",
        f"{path['runs']:,}",
    ]


def csv_report(records: Sequence[MeasuredProgram]) -> Iterator[str]:
    """Yield the lines of a CSV report: a header and a row for each path.

    A program without paths has one row with its error.
    """
    columns = [*_CSV, *_LATER_CSV, *_COLD_CSV, "cold_reason", "error"]
    yield csv_line(columns)
    for record in records:
        head = [record["file"], record["section"], record["program"]]
        for path in record["paths"]:
            values = [path[name] for name in _CSV[len(head) :]]  # type: ignore[literal-required]
            why = why_not(record, path, measured=path["measured_ns"] is not None)
            yield csv_line([*head, *values, *_later_values(path), *_cold_values(path), why])
        if not record["paths"]:
            yield csv_line([*head, *[None] * (len(columns) - len(head) - 1), record["error"]])
