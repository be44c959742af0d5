"""The output formats behind one interface: what to write when a result arrives, and at the end."""

import json
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, get_args

from slowpath import engine
from slowpath.report_counts import CountTable, counts_report
from slowpath.report_csv import csv_header, csv_row
from slowpath.report_single import full_report
from slowpath.report_table import CompactTable, failed_row
from slowpath.results import Detail, Result, is_count
from slowpath.terminal import Line

Format = Literal["table", "json", "csv"]
FORMATS: tuple[Format, ...] = get_args(Format)


class Reporter(Protocol):
    """Turns results into lines of output."""

    def start(self) -> Iterable[Line]:
        """Lines before the first result."""

    def add(self, result: Result, detail: Detail) -> Iterable[Line]:
        """Lines to write when a result arrives."""

    def finish(self) -> Iterable[Line]:
        """Lines after the last result."""


def choose_reporter(form: Format, labels: Sequence[str], *, verbose: bool) -> Reporter:
    """The reporter for a format; a single program gets a full report instead of a row."""
    if form == "json":
        return _Json()
    if form == "csv":
        return _Csv()
    return _Full(verbose=verbose) if len(labels) == 1 else _Table(labels)


class _Json:
    """One document, a line for each result, written as results arrive."""

    def __init__(self) -> None:
        self._separator = ""

    def start(self) -> Iterable[Line]:
        return [Line(f'{{"slowpath": {json.dumps(engine.version())}, "results": [')]

    def add(self, result: Result, detail: Detail) -> Iterable[Line]:  # noqa: ARG002
        line = Line(self._separator + json.dumps(result))
        self._separator = ","
        return [line]

    def finish(self) -> Iterable[Line]:
        return [Line("]}")]


class _Csv:
    def start(self) -> Iterable[Line]:
        return [Line(csv_header())]

    def add(self, result: Result, detail: Detail) -> Iterable[Line]:  # noqa: ARG002
        return [Line(csv_row(result))]

    def finish(self) -> Iterable[Line]:
        return ()


class _Full:
    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose

    def start(self) -> Iterable[Line]:
        return ()

    def add(self, result: Result, detail: Detail) -> Iterable[Line]:
        report = counts_report if is_count(result) else full_report
        return report(result, detail, verbose=self._verbose)

    def finish(self) -> Iterable[Line]:
        return ()


class _Table:
    """Rows with a header above those of the same kind: rates, or counts of the same component."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._labels = labels
        self._tables: dict[str, CompactTable | CountTable] = {}
        self._current = ""
        self._waiting: list[Line] = []  # failures before there is a header

    def start(self) -> Iterable[Line]:
        return ()

    def add(self, result: Result, detail: Detail) -> Iterable[Line]:  # noqa: ARG002
        if result["guarantee"] is None:
            failure = failed_row(result, self._labels)
            if self._current:
                yield failure
            else:
                self._waiting.append(failure)
            return
        kind = result["metric"]
        if kind not in self._tables:
            table = CountTable if is_count(result) else CompactTable
            self._tables[kind] = table(self._labels)
        if kind != self._current:
            if self._current:
                yield Line("")
            yield self._tables[kind].header(result)
            yield from self._waiting
            self._waiting.clear()
        self._current = kind
        yield self._tables[kind].row(result)

    def finish(self) -> Iterable[Line]:
        yield from self._waiting
        for table in self._tables.values():
            yield from table.notes()
