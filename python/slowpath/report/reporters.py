"""The output formats behind one interface: what to write when a result arrives, and at the end.

Texts are made by modules of their own, which are imported when their format is asked for.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, get_args

from slowpath import engine
from slowpath.cli.printable import json_ascii, json_line
from slowpath.cli.terminal import Line
from slowpath.schema.derived import is_count
from slowpath.schema.rates import as_metric
from slowpath.schema.results import DESCRIBED_PATHS, Detail, Result

if TYPE_CHECKING:
    from slowpath.report.counts import CountTable
    from slowpath.report.table import CompactTable

Format = Literal["table", "json", "csv"]
FORMATS: tuple[Format, ...] = get_args(Format)


class Reporter(Protocol):
    """Turns results into lines of output."""

    described_paths: int
    """So many paths of each program are described in more detail than results have."""

    def start(self) -> Iterable[Line]:
        """Lines before the first result."""

    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:
        """Lines to write when a result arrives; `text` is the result as JSON."""

    def finish(self) -> Iterable[Line]:
        """Lines after the last result."""


def choose_reporter(form: Format, labels: Sequence[str], *, verbose: bool) -> Reporter:
    """The reporter for a format; a single program gets a full report instead of a row."""
    if form == "json":
        return _Json()
    if form == "csv":
        return _Csv()
    return _Full(verbose=verbose) if len(labels) == 1 else _Table(labels)


def load(form: Format, metrics: Sequence[str]) -> None:
    """Imports what the reporter of programs with these metrics will need.

    There is time for that while the first of them is analysed, in another process.
    """
    if form != "table" or not metrics:
        return
    if as_metric(metrics[0]) is None:
        import slowpath.report.counts
    elif len(metrics) > 1:
        import slowpath.report.table
    else:
        import slowpath.report.single  # noqa: F401 - used by the reporter


class _Json:
    """One document, a line for each result, written as results arrive."""

    described_paths = 0

    def __init__(self) -> None:
        self._separator = ""

    def start(self) -> Iterable[Line]:
        return [Line(f'{{"slowpath": {json_line(engine.version())}, "results": [')]

    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:  # noqa: ARG002
        line = Line(self._separator + json_ascii(text))
        self._separator = ","
        return [line]

    def finish(self) -> Iterable[Line]:
        return [Line("]}")]


class _Csv:
    described_paths = 0

    def start(self) -> Iterable[Line]:
        from slowpath.report.csv import csv_header

        return [Line(csv_header())]

    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:  # noqa: ARG002
        from slowpath.report.csv import csv_row

        return [Line(csv_row(result))]

    def finish(self) -> Iterable[Line]:
        return ()


class _Full:
    described_paths = DESCRIBED_PATHS

    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose

    def start(self) -> Iterable[Line]:
        return ()

    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:  # noqa: ARG002
        if is_count(result):
            from slowpath.report.counts import counts_report

            return counts_report(result, detail, verbose=self._verbose)
        from slowpath.report.single import full_report

        return full_report(result, detail, verbose=self._verbose)

    def finish(self) -> Iterable[Line]:
        return ()


class _Table:
    """Rows with a header above those of the same kind: rates, or counts of the same component."""

    described_paths = 0

    def __init__(self, labels: Sequence[str]) -> None:
        self._labels = labels
        self._tables: dict[str, CompactTable | CountTable] = {}
        self._current = ""
        self._waiting: list[Line] = []  # failures before there is a header

    def start(self) -> Iterable[Line]:
        return ()

    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:  # noqa: ARG002
        if result["guarantee"] is None:
            from slowpath.report.table import failed_row

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

    def _table(self, result: Result) -> "CompactTable | CountTable":
        if is_count(result):
            from slowpath.report.counts import CountTable

            return CountTable(self._labels)
        from slowpath.report.table import CompactTable

        return CompactTable(self._labels)

    def finish(self) -> Iterable[Line]:
        yield from self._waiting
        for table in self._tables.values():
            yield from table.notes()
