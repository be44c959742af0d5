"""Classes that print results as they arrive, one class for each output format.

Other modules format the texts; each of them is imported only when its format is requested.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from slowpath.core import engine
from slowpath.core.formats import ReportFile, json_end, json_start, write_lines
from slowpath.core.printable import csv_line, json_ascii, one_line
from slowpath.core.programs.sources import provenance_lines
from slowpath.core.schema.derived import DESCRIBED_PATHS, is_count
from slowpath.core.schema.rates import as_metric
from slowpath.core.schema.results import Bound, Detail, Result
from slowpath.core.terminal import Line

if TYPE_CHECKING:
    from slowpath.bounds.report_counts import CountTable
    from slowpath.bounds.report_rates import CompactTable
    from slowpath.core.programs.sources import Provenance


class Miss(NamedTuple):
    """A required rate or count that a program misses, or whose check is undecided."""

    undecided: bool
    reason: str
    reproduce: str  # command


class Reporter(ABC):
    """Base class of reporters, which print results of analyses as they arrive."""

    described_paths = 0
    """Number of paths of each program for which the reporter needs details (`PathDetail`)."""

    def __init__(self, labels: Sequence[str], *, verbose: bool) -> None:
        """Create a reporter for programs with these labels, which are their names in tables."""
        self._labels = labels
        self._verbose = verbose
        self.command = "bound"  # the command that writes the report
        self.provenance: Provenance = {}  # of the programs
        self.notes: list[str] = []  # notes on files and programs, also on standard error

    def prepare(self, metric: str) -> None:  # noqa: B027 - most need nothing
        """Import the modules that format results with this metric.

        Called while a worker analyses, to use the time.
        """

    def start(self) -> Iterable[Line]:
        """Return the lines before the first result."""
        return ()

    @abstractmethod
    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:
        """Return the lines to print for a new result; `text` is the result as JSON."""

    def miss(self, missed: Miss) -> None:  # noqa: B027 - most leave it to standard error
        """Take note that the program of the last result misses a requirement."""

    def finish(self) -> Iterable[Line]:
        """Return the lines after the last result."""
        return ()


class WithFiles(Reporter):
    """A reporter that writes one report to standard output, and further reports to files."""

    def __init__(self, shown: Reporter, files: Sequence[ReportFile], labels: Sequence[str]) -> None:
        """Create reporters for `files`; `shown` is the reporter for standard output."""
        super().__init__(labels, verbose=False)
        made = [(one.file, one.reporter(labels, verbose=False)) for one in files]
        self._shown = shown
        self._files: list[tuple[str, Reporter, list[Line]]] = [(*one, []) for one in made]
        self._all = [shown, *(reporter for _, reporter, _ in self._files)]
        self.described_paths = max(one.described_paths for one in self._all)

    def prepare(self, metric: str) -> None:
        """Import the modules that all formats need."""
        for one in self._all:
            one.prepare(metric)

    def start(self) -> Iterable[Line]:
        """Return the first lines for standard output; keep those for the files until `finish`."""
        for one in self._all:
            one.command, one.provenance = self.command, self.provenance
        return self._each(lambda one: one.start())

    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:
        """Return the new lines for standard output; keep those for the files until `finish`."""
        return self._each(lambda one: one.add(result, detail, text))

    def miss(self, missed: Miss) -> None:
        """Pass a missed requirement on to all reports."""
        for one in self._all:
            one.miss(missed)

    def finish(self) -> Iterable[Line]:
        """Write the files, and return the last lines for standard output.

        Raises:
            InputError: if a file cannot be written.
        """
        last = self._each(lambda one: one.finish())
        for file, _, lines in self._files:
            write_lines(lines, file)
        return last

    def _each(self, lines_of: Callable[[Reporter], Iterable[Line]]) -> Iterable[Line]:
        for _, reporter, lines in self._files:
            lines.extend(lines_of(reporter))
        return lines_of(self._shown)


class MakeReporter(Protocol):
    """Type of functions that create a reporter, including the reporter classes.

    The table of output formats in `bounds/cli.py` refers to them by name.
    """

    def __call__(self, labels: Sequence[str], *, verbose: bool) -> Reporter:
        """Create a reporter for programs with these labels, which are their names in tables."""


def text_reporter(labels: Sequence[str], *, verbose: bool) -> Reporter:
    """Return a reporter that writes a full report of a single program, or a table of several."""
    reporter = FullReporter if len(labels) == 1 else TableReporter
    return reporter(labels, verbose=verbose)


class JsonReporter(Reporter):
    """A JSON document with one line per result, written as results arrive."""

    _separator = ""

    def start(self) -> Iterable[Line]:
        """Return the start of the document, up to the first result."""
        head = {**engine.head(self.command, "bound"), **self.provenance}
        return [Line(json_start(head, "results"))]

    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:  # noqa: ARG002
        """Return the result as a line of JSON."""
        line = Line(self._separator + json_ascii(text))
        self._separator = ","
        return [line]

    def finish(self) -> Iterable[Line]:
        """Return the end of the document, with the notes on files."""
        return [Line(json_end({"notes": self.notes}))]


class CsvReporter(Reporter):
    """CSV with a header and one row per result."""

    def start(self) -> Iterable[Line]:
        """Return the line with the names of the CSV columns."""
        return [Line(csv_header())]

    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:  # noqa: ARG002
        """Return the row of a result."""
        return [Line(csv_row(result))]


class TextReporter(Reporter):
    """Reports as text for people; they end with the version of the C compiler."""

    def prepare(self, metric: str) -> None:
        """Import the modules that format results with this metric."""
        if as_metric(metric) is None:
            import slowpath.bounds.report_counts
        else:
            import slowpath.bounds.report_rates  # noqa: F401 - used by `add`

    def finish(self) -> Iterable[Line]:
        """Return the version of the C compiler as last line, if programs were compiled from C."""
        return provenance_lines(self.provenance)


class FullReporter(TextReporter):
    """A full text report of a single program."""

    described_paths = DESCRIBED_PATHS

    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:  # noqa: ARG002
        """Return the lines of the full report on the program."""
        if is_count(result):
            from slowpath.bounds.report_counts import counts_report

            return counts_report(result, detail, verbose=self._verbose)
        from slowpath.bounds.report_rates import full_report

        return full_report(result, detail, verbose=self._verbose)


class TableReporter(TextReporter):
    """A reporter that prints tables of programs: one of rates, and one for each counted component.

    With several targets, each target has its own tables.
    """

    def __init__(self, labels: Sequence[str], *, verbose: bool) -> None:
        """Create the tables for programs with these labels, which are their names in tables."""
        super().__init__(labels, verbose=verbose)
        self._by_target = len(set(labels)) < len(labels)
        self._target = ""
        self._tables: dict[str, CompactTable | CountTable] = {}
        self._current = ""
        self._waiting: list[Line] = []  # failures before the first header

    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:  # noqa: ARG002
        """Yield the row of a program, after a header if the row starts a table."""
        if self._by_target and result["target"] != self._target:
            yield from self._begin(result["target"])
        if result["guarantee"] is None:
            from slowpath.bounds.report_rates import failed_row

            failure = failed_row(result, self._labels)
            if self._current:
                yield failure
            else:
                self._waiting.append(failure)
            return
        kind = result["metric"]
        if kind not in self._tables:
            self._tables[kind] = self._table(result)
        if kind != self._current:
            if self._current:
                yield Line("")
            yield self._tables[kind].header(result)
            yield from self._waiting
            self._waiting.clear()
        self._current = kind
        yield self._tables[kind].row(result)

    def _begin(self, target: str) -> Iterable[Line]:
        if self._target:
            yield from self.finish()
            yield Line("")
            self._tables.clear()
            self._current = ""
        self._target = target
        yield Line(one_line(target), "bold")

    def _table(self, result: Result) -> "CompactTable | CountTable":
        if is_count(result):
            from slowpath.bounds.report_counts import CountTable

            return CountTable(self._labels)
        from slowpath.bounds.report_rates import CompactTable

        return CompactTable(self._labels)

    def finish(self) -> Iterable[Line]:
        """Yield the notes below the tables.

        If no table was printed, yield failed programs first.
        """
        yield from self._waiting
        self._waiting.clear()
        for table in self._tables.values():
            yield from table.notes()


COLUMNS = (
    "file",
    "program",
    "target",
    "metric",
    "cores",
    "bitrate_bps",
    "packetrate_pps",
    "exact",
    "stopped",
    "bottleneck",
    "naive_bitrate_bps",
    "naive_packetrate_pps",
    "naive_bottleneck",
    "processing_cycles",
    "dram_cycles",
    "min_packet_size",
    "packet",
    "paths",
    "assumptions",
    "seconds",
    "error",
    "section",
    "instructions",
    "memory_accesses",
    "naive_instructions",
    "naive_memory_accesses",
    "verdict",
    "warm_ns",
    "warm_low_ns",
    "warm_high_ns",
    "cold_ns",
    "cold_low_ns",
    "cold_high_ns",
    "cold_entries",
    "conditions",
    "interleaved_bitrate_bps",
    "interleaved_packetrate_pps",
    "interleaved_instructions",
    "interleaved_memory_accesses",
)


def csv_header() -> str:
    """Return the CSV header line, without line end."""
    return csv_line(COLUMNS)


def csv_row(result: Result) -> str:
    """Return the CSV line of a program, without line end; unknown values are empty."""
    keys = ("file", "program", "target", "metric", "cores", "error", "section")
    row: dict[str, object] = {key: result[key] for key in keys}  # type: ignore[literal-required]
    row |= {
        "paths": len(result["paths"]),
        "assumptions": len(result["assumptions"]),
        "seconds": result["stats"]["seconds"],
        "conditions": "; ".join(result["assumptions"]) or None,
    }
    guarantee, estimate = result["guarantee"], result["estimate"]
    if guarantee is not None:
        row |= {"verdict": guarantee["verdict"], "stopped": guarantee["stopped"]}
        row |= {"exact": guarantee["exact"], **_bound("", guarantee)}
    if result["naive"] is not None:
        row |= _bound("naive_", result["naive"])
    interleaved = result.get("interleaved")
    if interleaved is not None:
        row |= _bound("interleaved_", interleaved)
    if estimate is not None:
        for caches in ("warm", "cold"):
            time = estimate[caches]
            row |= {f"{caches}_{key}": time[key] for key in ("ns", "low_ns", "high_ns")}
        row["cold_entries"] = estimate["cold"]["entries"]
    if result["paths"]:
        path = result["paths"][0]
        row |= {
            "processing_cycles": path["cost"].get("processing"),
            "dram_cycles": path["cost"].get("dram"),
            "min_packet_size": path["min_packet_size"],
            "packet": path["witness"]["packet"],
        }
    return csv_line([row.get(column) for column in COLUMNS])


def _bound(prefix: str, bound: Bound) -> dict[str, object]:
    """Return a guarantee as CSV values by column; names of columns begin with `prefix`."""
    counts = {name.replace(" ", "_"): count for name, count in (bound["counts"] or {}).items()}
    rates = {
        "bitrate_bps": bound["bitrate_bps"],
        "packetrate_pps": bound["packetrate_pps"],
        "bottleneck": bound["bottleneck"],
    }
    return {f"{prefix}{name}": value for name, value in (rates | counts).items()}
