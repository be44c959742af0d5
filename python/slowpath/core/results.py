"""Results of commands that Python programs call: documents, tables, and views in notebooks."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from slowpath.core import codes
from slowpath.core.calls import Outcome
from slowpath.core.errors import ExitCode, UnavailableError
from slowpath.core.html import Column, element, join, preformatted, table
from slowpath.core.terminal import listening

if TYPE_CHECKING:
    import pandas as pd

D = TypeVar("D")
Cell = str | int | float | bool | None
Row = dict[str, Cell]
_MISSING = {"", "N/A"}
"""Cells of CSV files that stand for a missing value."""
_TRUTH = {"true": True, "false": False}
_GUARD = "'"
"""Character in front of texts that a spreadsheet would evaluate; see `csv_line`."""


class Table(ABC):
    """Base class of results that are tables; subclasses define `rows`."""

    @property
    @abstractmethod
    def rows(self) -> list[Row]:
        """The rows of the result; a missing value is None."""

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the rows as a pandas data frame; names of columns have the units.

        Raises:
            UnavailableError: if pandas is not installed.
        """
        return dataframe(self.rows)

    def __repr__(self) -> str:
        count, kind = len(self.rows), type(self)
        return f"<{kind.__module__}.{kind.__name__} of {count} row{'s'[: count != 1]}>"

    def _repr_html_(self) -> str:
        """Return the rows as an HTML table, which notebooks show."""
        return html_table(self.rows)


class Result(Table, Generic[D]):
    """The result of a command; `str()` returns the report that the command prints."""

    _rows: ClassVar[str] = "results"
    """Key of the list of rows in the document, for commands without CSV."""
    _shows_text: ClassVar[bool] = False
    """True if notebooks show the report instead of a table."""

    def __init__(self, outcome: Outcome) -> None:
        """Store the report and messages of a command; `slowpath.api` creates instances."""
        self._outcome = outcome

    @cached_property
    def document(self) -> D:
        """The document of `--format json`, as described in `docs/reference/json.md`."""
        document: D = json.loads(self.to_json())
        return document

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings that change the meaning of the result, one sentence each."""
        return self._outcome.messages_of("warning")

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on files and programs."""
        return self._outcome.messages_of("note")

    @property
    def errors(self) -> tuple[str, ...]:
        """Errors that did not end the work, such as unreadable programs and failed gates."""
        return self._outcome.messages_of("error")

    @property
    def exit_code(self) -> ExitCode:
        """Exit code of the command: 0 without errors, 1 if a gate failed."""
        return self._outcome.code

    def to_json(self) -> str:
        """Return the document as JSON."""
        return self._text("json")

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of `--format csv`, or of the main list of the document; None: no value."""
        if "csv" in self._outcome.report.formats:
            return csv_rows(self._text("csv").split("\n"))
        return self._document_rows()

    def _document_rows(self) -> list[Row]:
        """Return the rows of a command that has no CSV format, from the list in its document."""
        found: Any = self.document
        return aligned(flat(one) for one in found[self._rows])

    def _text(self, format_name: str) -> str:
        """Return the report in a format.

        Notes that arise while formatting are dropped, because `notes` has them.
        """
        with listening(lambda _: None):
            return "\n".join(self._outcome.report.lines(format_name))

    def __str__(self) -> str:
        return self._text(self._outcome.report.formats[0])

    def __repr__(self) -> str:
        count = len(self.errors)
        failed = f", {count} error{'s'[: count > 1]}" if count else ""
        return f"<slowpath.api.{type(self).__name__} of slowpath {self._outcome.command}{failed}>"

    def _repr_html_(self) -> str:
        """Return warnings, errors and a view of the result as HTML, which notebooks show."""
        told = [f"warning: {text}" for text in self.warnings]
        told += [f"error: {text}" for text in self.errors]
        return join(*(element("p", text) for text in told)) + self._view()

    def _view(self) -> str:
        """Return the result as HTML: the report as text, or a table of the rows."""
        return preformatted(str(self)) if self._shows_text else html_table(self.rows)


def dataframe(rows: Sequence[Row]) -> "pd.DataFrame":
    """Return rows as a pandas data frame.

    Raises:
        UnavailableError: if pandas is not installed.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError:
        from slowpath.core.extras import not_installed

        raise UnavailableError(codes.MISSING_PACKAGE, not_installed(["pandas"], "pandas")) from None
    return pd.DataFrame.from_records(rows)


def html_table(rows: Sequence[Row]) -> str:
    """Format rows as an HTML table; columns without any value are left out."""
    known = rows[0] if rows else {}
    names = [name for name in known if any(one[name] is not None for one in rows)]
    columns = [Column(name, _is_number([one[name] for one in rows])) for name in names]
    return table(columns, [[_shown(one[name]) for name in names] for one in rows])


def _is_number(values: Sequence[Cell]) -> bool:
    return all(one is None or isinstance(one, int | float) for one in values)


def _shown(value: Cell) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def csv_rows(lines: Iterable[str]) -> list[Row]:
    """Convert a CSV report of slowpath to rows, with numbers and truth values.

    A column has numbers if all its cells are numbers or empty.
    """
    import csv

    names, *cells = csv.reader(lines)
    columns = [_column(column) for column in zip(*cells, strict=True)]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _column(cells: Sequence[str]) -> Sequence[Cell]:
    present = [one for one in cells if one not in _MISSING]
    if all(one in _TRUTH for one in present):
        return [_TRUTH.get(one) for one in cells]
    for read in (int, float):
        try:
            return [None if one in _MISSING else read(one) for one in cells]
        except ValueError:
            continue
    return [None if one in _MISSING else one.removeprefix(_GUARD) for one in cells]


def flat(record: Mapping[str, Any]) -> Row:
    """Convert a JSON object to a row.

    Values of inner objects get names such as `outer_inner`. Lists of scalars become texts; lists of
    objects are left out.
    """
    found: Row = {}
    for key, value in record.items():
        if isinstance(value, dict):
            found |= {f"{key}_{inner}": one for inner, one in flat(value).items()}
        elif not isinstance(value, list):
            found[key] = value
        elif not any(isinstance(one, dict | list) for one in value):
            found[key] = ", ".join(map(str, value)) or None
    return found


def aligned(rows: Iterable[Row]) -> list[Row]:
    """Give all rows the same columns; a missing value is None."""
    known = list(rows)
    names = dict.fromkeys(name for row in known for name in row)
    return [{name: row.get(name) for name in names} for row in known]
