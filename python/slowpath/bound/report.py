"""Reporters of results, one for each output format.

Texts are made by modules of their own, which are imported when their format is asked for.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from slowpath.core.engine import identity
from slowpath.core.printable import json_ascii, json_line, one_line
from slowpath.core.schema.derived import is_count
from slowpath.core.schema.provenance import provenance_lines
from slowpath.core.schema.rates import as_metric
from slowpath.core.schema.results import DESCRIBED_PATHS, Detail, Result
from slowpath.core.terminal import Line

if TYPE_CHECKING:
    from slowpath.bound.report_counts import CountTable
    from slowpath.bound.report_rates import CompactTable
    from slowpath.core.schema.provenance import Provenance


class Reporter(ABC):
    """Turns results into lines of output."""

    described_paths = 0
    """So many paths of each program are described in more detail than results have."""

    def __init__(self, labels: Sequence[str], *, verbose: bool) -> None:
        """For programs that are called so, which results will come for."""
        self._labels = labels
        self._verbose = verbose
        self.provenance: Provenance = {}  # of the programs

    def prepare(self, metric: str) -> None:  # noqa: B027 - most need nothing
        """Imports what a result with this metric will need.

        There is time for that while the first program is analysed, in another process.
        """

    def start(self) -> Iterable[Line]:
        """Lines before the first result."""
        return ()

    @abstractmethod
    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:
        """Lines to write when a result arrives; `text` is the result as JSON."""

    def finish(self) -> Iterable[Line]:
        """Lines after the last result."""
        return ()


class MakeReporter(Protocol):
    """A reporter's class, or what chooses one: as formats of `bound` are registered."""

    def __call__(self, labels: Sequence[str], *, verbose: bool) -> Reporter:
        """The reporter of programs that are called so."""


def text_reporter(labels: Sequence[str], *, verbose: bool) -> Reporter:
    """A single program gets a full report, several get a row each."""
    made = FullReporter if len(labels) == 1 else TableReporter
    return made(labels, verbose=verbose)


class JsonReporter(Reporter):
    """One document, a line for each result, written as results arrive."""

    _separator = ""

    def start(self) -> Iterable[Line]:
        """The head of the document."""
        head = {"slowpath": identity.version(), **self.provenance}
        return [Line(f'{json_line(head)[:-1]}, "results": [')]

    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:  # noqa: ARG002
        """The result as it is."""
        line = Line(self._separator + json_ascii(text))
        self._separator = ","
        return [line]

    def finish(self) -> Iterable[Line]:
        """The end of the document."""
        return [Line("]}")]


class CsvReporter(Reporter):
    """A header, and a row for each result."""

    def start(self) -> Iterable[Line]:
        """The header."""
        from slowpath.bound.report_csv import csv_header

        return [Line(csv_header())]

    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:  # noqa: ARG002
        """The row."""
        from slowpath.bound.report_csv import csv_row

        return [Line(csv_row(result))]


class TextReporter(Reporter):
    """Text for people, which ends with the tools that made the programs."""

    def finish(self) -> Iterable[Line]:
        """The version of the compiler, if programs were compiled."""
        return provenance_lines(self.provenance)


class FullReporter(TextReporter):
    """Everything that is known, for people."""

    described_paths = DESCRIBED_PATHS

    def prepare(self, metric: str) -> None:
        """Imports the report of rates or counts."""
        if as_metric(metric) is None:
            import slowpath.bound.report_counts
        else:
            import slowpath.bound.report_rates  # noqa: F401 - used by `add`

    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:  # noqa: ARG002
        """The report."""
        if is_count(result):
            from slowpath.bound.report_counts import counts_report

            return counts_report(result, detail, verbose=self._verbose)
        from slowpath.bound.report_rates import full_report

        return full_report(result, detail, verbose=self._verbose)


class TableReporter(TextReporter):
    """Rows with a header above those of the same kind: rates, or counts of the same component.

    Where programs are told apart by their targets, each target has tables of its own.
    """

    def __init__(self, labels: Sequence[str], *, verbose: bool) -> None:
        """Nothing is written yet."""
        super().__init__(labels, verbose=verbose)
        self._by_target = len(set(labels)) < len(labels)
        self._target = ""
        self._tables: dict[str, CompactTable | CountTable] = {}
        self._current = ""
        self._waiting: list[Line] = []  # failures before there is a header

    def prepare(self, metric: str) -> None:
        """Imports the table of rates or counts."""
        if as_metric(metric) is None:
            import slowpath.bound.report_counts
        else:
            import slowpath.bound.report_rates  # noqa: F401 - used by `add`

    def add(self, result: Result, detail: Detail, text: str) -> Iterable[Line]:  # noqa: ARG002
        """The row, with a header above it where it is the first of its kind."""
        if self._by_target and result["target"] != self._target:
            yield from self._begin(result["target"])
        if result["guarantee"] is None:
            from slowpath.bound.report_rates import failed_row

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
            from slowpath.bound.report_counts import CountTable

            return CountTable(self._labels)
        from slowpath.bound.report_rates import CompactTable

        return CompactTable(self._labels)

    def finish(self) -> Iterable[Line]:
        """Failures without a header above them, and notes on rows."""
        yield from self._waiting
        self._waiting.clear()
        for table in self._tables.values():
            yield from table.notes()
