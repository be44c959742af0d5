"""The output formats behind one interface: what to write when a result arrives, and at the end."""

import json
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, get_args

from slowpath import engine
from slowpath.rates import Metric
from slowpath.report_csv import csv_header, csv_row
from slowpath.report_single import full_report
from slowpath.report_table import CompactTable
from slowpath.results import Detail, Result
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


def choose_reporter(
    form: Format, files: Sequence[str], metric: Metric, *, verbose: bool
) -> Reporter:
    """The reporter for a format; a single program gets a full report instead of a row."""
    if form == "json":
        return _Json()
    if form == "csv":
        return _Csv()
    return _Full(verbose=verbose) if len(files) == 1 else _Table(files, metric)


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
        return full_report(result, detail, verbose=self._verbose)

    def finish(self) -> Iterable[Line]:
        return ()


class _Table:
    def __init__(self, files: Sequence[str], metric: Metric) -> None:
        self._table = CompactTable(files)
        self._metric = metric

    def start(self) -> Iterable[Line]:
        return [self._table.header(self._metric)]

    def add(self, result: Result, detail: Detail) -> Iterable[Line]:  # noqa: ARG002
        return [self._table.row(result)]

    def finish(self) -> Iterable[Line]:
        return self._table.notes()
