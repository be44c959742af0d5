"""Formats text reports for targets that count instructions or memory accesses.

The guarantee is a maximum of one count, the metric. The report prints other counts on the path with
this maximum, too; other paths can exceed them.
"""

from collections.abc import Iterator, Sequence

from slowpath.bounds.report_path import (
    all_paths,
    assumption_lines,
    detail_line,
    estimate_lines,
    exactness,
    format_counts,
    format_ns,
    format_ranges,
    format_time,
    labelled,
    path_title,
    program_lines,
    source_lines,
    style_of,
    witness_lines,
)
from slowpath.bounds.report_rates import Notes, exact_cell, failed_row, label_width
from slowpath.core.printable import one_line
from slowpath.core.schema.derived import (
    condition,
    counted,
    entries_words,
    estimate_notes,
    is_found,
    program_label,
)
from slowpath.core.schema.results import Bound, Detail, Estimate, PathDetail, PathResult, Result
from slowpath.core.terminal import Line

_PERCENT = 100
_ESTIMATED = ("est. warm", "est. cold")
_ESTIMATED_WIDTH = len("100 ns (90 to 110)")
"""Width of the columns with estimated times, which rarely need more."""


def counts_report(result: Result, detail: Detail, *, verbose: bool) -> Iterator[Line]:
    """Yield the lines of the full report on one program; none if it could not be analysed."""
    guarantee, naive = result["guarantee"], result["naive"]
    if guarantee is None or naive is None:
        return
    yield title_line(result)
    yield Line("")
    yield from guarantee_lines(result, guarantee)
    yield from estimate_lines(result)
    yield from program_lines(result)
    yield _naive(result["metric"], guarantee, naive)
    yield from assumption_lines(result)
    yield from all_paths(result, detail, _path, _value, verbose=verbose)


def title_line(result: Result) -> Line:
    """Return the title line of a report: file, program and target."""
    section = "" if result["section"] is None else f" (section {result['section']})"
    title = f"{result['file']} · {result['program']}{section} · {result['target']}"
    return Line(one_line(title), "bold")


def guarantee_lines(result: Result, guarantee: Bound) -> Iterator[Line]:
    """Yield the guaranteed maximum of the metric, and the other counts on the same path."""
    counts = guarantee["counts"] or {}
    name, count = counted(counts, result["metric"])
    if is_found(guarantee):
        text, style, where = exactness(result), style_of(guarantee), "on that path"
    else:
        text = f"an upper bound; the search stopped: {guarantee['stopped']}"
        style, where = "bold yellow", "on the path that sets this bound"
    yield labelled("at most", f"{format_counts({name: count})} per packet ({text})", style)
    if not is_found(guarantee) and result["paths"]:
        _, reached = counted(result["paths"][0]["cost"], result["metric"])
        yield labelled("at least", f"{format_counts({name: reached})}: a known packet reaches this")
    others = {other: number for other, number in counts.items() if other != name}
    if others:
        yield labelled("", f"{format_counts(others)} {where}")
    yield from interleaved_lines(result)


def interleaved_lines(result: Result) -> Iterator[Line]:
    """Yield the bound that holds even if other CPUs write to shared maps; nothing if unknown."""
    bound = result.get("interleaved")
    if bound is not None:
        name, count = counted(bound["counts"] or {}, result["metric"])
        stopped = bound["stopped"]
        text = "" if stopped is None else f" (an upper bound; the search stopped: {stopped})"
        which = "while other CPUs write to these maps"
        yield labelled("any CPUs", f"{format_counts({name: count})} per packet, {which}{text}")


def _naive(metric: str, guarantee: Bound, naive: Bound) -> Line:
    _, count = counted(guarantee["counts"] or {}, metric)
    name, base = counted(naive["counts"] or {}, metric)
    if count < base:
        note = f"the search lowered it by {_less(count, base)}"
    elif guarantee["exact"]:
        note = "the search proved that it is exact"
    elif is_found(guarantee):
        note = "the search did not lower it"
    else:
        note = "the search has not lowered it yet"
    return labelled("naive bound", f"{format_counts({name: base})}; {note}")


def _less(count: int, base: int) -> str:
    """Format the decrease from `base` to `count` in percent, rounded down: `17.6 %`."""
    tenths = (base - count) * _PERCENT * 10 // base
    return f"{tenths // 10}.{tenths % 10} %" if tenths else "<0.1 %"


def _value(path: PathResult) -> str:
    """Format the value by which paths are ordered: the estimated time, else the counts."""
    estimate = path["estimate"]
    return (
        format_counts(path["cost"])
        if estimate is None
        else f"estimated {format_ns(estimate['cold']['ns'])} with cold caches"
    )


def _path(result: Result, index: int, detail: PathDetail) -> Iterator[Line]:
    path, title = result["paths"][index], path_title(result, index)
    estimate = path["estimate"]
    if estimate is not None:
        title = title.replace("slowest path", "slowest path by estimated time", 1)
        title += f": {format_time(estimate['cold'])} with cold caches"
    yield Line(f"{title}: {format_counts(path['cost'])}", "bold")
    yield from _other_maximum(result, index)
    yield from _instructions(path, detail)
    yield detail_line("packets", f"of {path['min_packet_size']} bytes or more")
    yield from witness_lines(path, result["kind"])


def _other_maximum(result: Result, index: int) -> Iterator[Line]:
    """Yield a note if another path than the slowest one reaches the guaranteed maximum.

    `index` is the position of the path in the report; only the first one can have the note.
    """
    guarantee, path = result["guarantee"], result["paths"][index]
    if index or path["estimate"] is None or guarantee is None or not is_found(guarantee):
        return
    name, most = counted(guarantee["counts"] or {}, result["metric"])
    if most > path["cost"].get(name, most):
        yield detail_line(
            "note", (f"another path has {format_counts({name: most})}, but takes less time")
        )


def _instructions(path: PathResult, detail: PathDetail) -> Iterator[Line]:
    if path["lines"]:
        yield from source_lines(path, detail)
    else:
        yield detail_line("instructions", format_ranges(detail["ranges"]))


def _times(estimate: Estimate | None) -> tuple[str, str]:
    """Format an estimate as two table cells: the time with warm caches, and with cold caches."""
    if estimate is None:
        return ("none", "none")
    return (format_time(estimate["warm"]), format_time(estimate["cold"]))


class CountTable:
    """A text table of counts with one row per program, and notes on conditions below it."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._label_width = label_width(labels)
        self._notes = Notes()
        self._others: list[str] = []
        self._measured = ""
        self._estimates = False  # true if the target estimates times
        self._machine = ""  # of the estimates; empty without estimates
        self._many = ""  # map entries of the estimates with cold caches

    def header(self, result: Result) -> Line:
        """Return the header line of the table."""
        guarantee = result["guarantee"]
        counts = {} if guarantee is None else guarantee["counts"] or {}
        self._measured, _ = counted(counts, result["metric"])
        self._others = [name for name in counts if name != self._measured]
        self._estimates = result["estimate"] is not None or bool(estimate_notes(result))
        names = (self._measured, "exact", "naive bound", "lowered by", *self._others)
        if self._estimates:
            names = (*names, *_ESTIMATED)
        return Line(self._row("program", names), "bold")

    def row(self, result: Result) -> Line:
        """Return the table row of a program."""
        guarantee, naive, label = result["guarantee"], result["naive"], program_label(result)
        if guarantee is None or naive is None:
            return failed_row(result, [label])
        counts = guarantee["counts"] or {}
        _, count = counted(counts, result["metric"])
        _, base = counted(naive["counts"] or {}, result["metric"])
        cells = (
            str(count),
            exact_cell(guarantee),
            str(base),
            _less(count, base) if count < base else "none",
            *(str(int(counts.get(name, 0))) for name in self._others),
        )
        estimate = result["estimate"]
        remarks = [f"stopped: {guarantee['stopped']}"] if guarantee["stopped"] else []
        if self._estimates:
            cells = (*cells, *_times(estimate))
        if estimate is not None:
            self._machine = estimate["machine"]
            self._many = entries_words(estimate["cold"])
            if estimate["stopped"] is not None:
                remarks.append(f"the search for the estimate stopped: {estimate['stopped']}")
        texts = [f"if {condition(text)}" for text in result["assumptions"]]
        texts += [f"estimated: {text}" for text in estimate_notes(result)]
        remarks += self._notes.marks(texts)
        return Line(self._row(one_line(label), cells, *remarks))

    def notes(self) -> list[Line]:
        """Return the lines below the table, which explain its columns and marks."""
        notes = [f"[{number}] {text}" for number, text in enumerate(self._notes.texts, start=1)]
        if self._measured:
            text = f"{self._measured}: maximum per packet"
            if self._others:
                text += f"; {', '.join(self._others)}: on the path with the most {self._measured}"
            notes.append(text)
        if self._machine:
            where = one_line(self._machine)
            notes.append(
                f"{', '.join(_ESTIMATED)}: estimated time of the slowest program path on {where}: "
                f"few map entries in warm caches, {self._many} in cold caches; in parentheses, the "
                "interval of its error; receiving and sending excluded; not guaranteed"
            )
        return [Line(note) for note in notes]

    def _row(self, label: str, cells: Sequence[str], *remarks: str) -> str:
        widths = [max(len(name), 6) for name in (self._measured, "exact", "naive bound")]
        widths += [len("lowered by"), *map(len, self._others)]
        if self._estimates:
            widths += [_ESTIMATED_WIDTH for _ in _ESTIMATED]
        padded = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        return "  ".join([f"{label:<{self._label_width}}", *padded, *remarks]).rstrip()
