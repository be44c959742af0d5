"""Reads tables of measurements from CSV, JSON or Parquet files, without interpreting columns.

In CSV, the first line names the columns. Lines that begin with `#` are remarks; a remark `# key:
value` above the columns applies to all rows. JSON stores remarks as keys next to `rows`, and
Parquet in the metadata of its schema. pyarrow (extra `parquet`) reads and writes Parquet.
"""

import codecs
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from slowpath.core import codes
from slowpath.core.errors import InputError, UnavailableError
from slowpath.core.extras import not_installed
from slowpath.core.inputs import read_program, text_of, write_bytes
from slowpath.core.spanned import csv_lines, parse_json

MAGIC = b"PAR1"
"""The first bytes of a Parquet file."""
SUFFIX = ".parquet"

Column = Sequence[object]


class Columns(NamedTuple):
    """The columns of a Parquet file, and the remarks in its metadata."""

    remarks: Mapping[str, str]  # remarks about all rows, from the metadata
    header: tuple[str, ...]
    columns: tuple[Column, ...]  # numbers and texts; an empty text for a missing value


def read_columns(file: str, data: bytes) -> Columns:
    """Return the columns and remarks of a Parquet file with the content `data`.

    `file` is its name, for errors.

    Raises:
        InputError: if the file is not Parquet, or a value is neither a number nor a text.
        UnavailableError: if pyarrow is not installed.
    """
    arrow, parquet = packages()
    try:
        table = parquet.read_table(arrow.BufferReader(data))
    except (arrow.ArrowException, OSError) as problem:
        reason = str(problem).splitlines()[0]
        raise InputError(
            codes.NOT_PARQUET, file, f"the file is not readable as Parquet: {reason}"
        ) from None
    metadata = table.schema.metadata or {}
    remarks = {_text(key).lower(): _text(value) for key, value in metadata.items()}
    header = tuple(table.column_names)
    columns = tuple(
        _column(file, name, values) for name, values in zip(header, table.columns, strict=True)
    )
    return Columns(remarks, header, columns)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _column(file: str, name: str, found: Any) -> Column:  # noqa: ANN401 - of pyarrow, untyped
    values = found.to_pylist()
    for at, value in enumerate(values, 1):
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            kind = f"the cell has a {type(value).__name__} instead of a number or a text"
            raise InputError(codes.INVALID_CELL, file, f"row {at}, column {name}: {kind}")
    # Some writers store NaN for a missing value.
    return ["" if one is None or _is_nan(one) else one for one in values]


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def write_columns(file: str, columns: Mapping[str, Column], remarks: Mapping[str, str]) -> None:
    """Write a Parquet file with columns of numbers, texts or lists of texts.

    `remarks` are stored in the metadata of the file.

    Raises:
        InputError: if the file cannot be written.
        UnavailableError: if pyarrow is not installed.
    """
    arrow, parquet = packages()
    table = arrow.table({name: list(values) for name, values in columns.items()})
    written = arrow.BufferOutputStream()
    parquet.write_table(table.replace_schema_metadata(dict(remarks)), written)
    write_bytes(file, written.getvalue().to_pybytes())


def packages() -> tuple[Any, Any]:
    """Return the modules `pyarrow` and `pyarrow.parquet`.

    Raises:
        UnavailableError: if pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UnavailableError(
            codes.MISSING_PACKAGE, not_installed(["pyarrow"], "parquet")
        ) from None
    return pyarrow, pyarrow.parquet


_ROWS = "rows"
Row = Mapping[str, object]


class Rows(NamedTuple):
    """The table in a JSON document: its rows, and remarks that apply to all of them."""

    remarks: Mapping[str, str]
    rows: tuple[Row, ...]


def read_rows(file: str, text: str) -> Rows:
    """Parse the text of a JSON file that contains a table.

    Raises:
        InputError: if the text is not JSON, or has no rows.
    """
    try:
        document = parse_json(text, unique=True)
    except (ValueError, RecursionError) as problem:
        raise InputError(codes.NOT_JSON, file, f"the file is not JSON: {problem}") from None
    rows = document.get(_ROWS) if isinstance(document, dict) else None
    if not isinstance(rows, list):
        raise InputError(
            codes.WRONG_DOCUMENT,
            file,
            'the document lacks the key "rows", a list of objects with a number for each column',
        )
    for at, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise InputError(
                codes.INVALID_ROW,
                file,
                f"row {at}: the row is not an object with a number for each column",
            )
    remarks = {key: one for key, one in document.items() if key != _ROWS and one is not None}
    return Rows({key.lower(): _remark(file, key, one) for key, one in remarks.items()}, tuple(rows))


def _remark(file: str, key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(
            codes.WRONG_DOCUMENT, file, f'the value of "{key[:40]}" is neither a text nor a number'
        )
    return str(value).strip()


_SEPARATORS = ",;\t"
_REMARK = re.compile(r"#\s*([\w -]+?)\s*:\s*(.*\S)")
_ONCE = re.compile(r"function|device|cache mb|mtbr|unit .+")
"""Keys of remarks that must have one value for all rows. Other remarks are free text and can have
several values.
"""
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
ROW = "row"
"""Name of the column that has the names of rows."""


class Table(NamedTuple):
    """The rows of a table from a CSV, JSON or Parquet file, and remarks that apply to all."""

    file: str
    remarks: Mapping[str, str]  # remarks about all rows, by keys in lower case
    header: tuple[str, ...]
    places: tuple[str, ...]  # location of each row for errors, such as `line 3 (m02)`
    rows: tuple[Mapping[str, object], ...]  # text, or a number where JSON or Parquet has one
    remark_lines: Mapping[str, str] = {}  # `line N` by key; empty for JSON and Parquet

    def names(self) -> tuple[str, ...]:
        """Return the names of the rows: cells of the column `row`, or numbers from 1 without it."""
        if ROW not in self.header:
            return tuple(str(number) for number in range(1, len(self.rows) + 1))
        return tuple(str(row.get(ROW) or "").strip() for row in self.rows)

    def number(self, at: int, column: str) -> float:
        """Return the number in a column's cell of the row with index `at`.

        Raises:
            InputError: if the cell is not a number; the error names the file, the row and the
                column.
        """
        text, value = self.text(at, column), self.rows[at][column]
        try:
            number = float(value) if isinstance(value, int | float | str) else math.nan
        except (ValueError, OverflowError):
            number = math.nan
        if isinstance(value, bool) or not math.isfinite(number):
            raise self.error(at, column, f"{text[:40]!r} is not a finite number")
        return number

    def text(self, at: int, column: str) -> str:
        """Return the text in a column's cell of the row with index `at`.

        Raises:
            InputError: if the cell is empty; the error names the file, the row and the column.
        """
        value = self.rows[at].get(column)
        if value is None or not str(value).strip():
            raise self.error(at, column, "the cell is empty; fill it in or remove the row")
        return str(value).strip()

    def error(self, at: int, column: str, reason: str) -> InputError:
        """Return an error about a column's cell of the row with index `at`.

        `reason` says what is wrong with it.
        """
        return InputError(
            codes.INVALID_CELL, self.file, f"{self.places[at]}, column {column}: {reason}"
        )

    def remark_error(self, key: str, reason: str) -> InputError:
        """Return an error about the remark with this key. `reason` says what is wrong with it."""
        place = f"{self.remark_lines[key]}, " if key in self.remark_lines else ""
        return InputError(codes.INVALID_CELL, self.file, f"{place}{key}: {reason}")


def read_cells(file: str) -> Table:
    """Read the table in a CSV, JSON or Parquet file.

    Raises:
        InputError: if the file cannot be read or is not a table.
        UnavailableError: if the file is Parquet, and pyarrow is not installed.
    """
    data = read_program(file)
    if data.startswith(MAGIC) or file.endswith(SUFFIX):
        return _parquet(file, data)
    if data.startswith(_UTF_16) or b"\0" in data:
        raise InputError(codes.NOT_UTF8, file, "the file is UTF-16 or not a text; save it as UTF-8")
    text = text_of(file, data).removeprefix("\ufeff")
    if text.lstrip().startswith(("{", "[")):
        return _json(file, text)
    return _csv(file, text.replace("\r\n", "\n").replace("\r", "\n"))


def _csv(file: str, text: str) -> Table:
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    if not lines:
        raise InputError(
            codes.FILE_EMPTY,
            file,
            "the file is empty; write the names of the columns into the first line",
        )
    separator = max(_SEPARATORS, key=lines[0].count)
    found = [
        (line.first, line.cells)
        for line in csv_lines(file, text, separator)
        if any(cell.strip() for cell in line.cells) and not line.cells[0].startswith("#")
    ]
    if not found:
        raise InputError(
            codes.FILE_EMPTY,
            file,
            "the file is empty; write the names of the columns into the first line",
        )
    line, names = found[0]
    header = tuple(name.strip() for name in names)
    _check_header(file, header, f"line {line}: ")
    places, rows = [], []
    for line, cells in found[1:]:
        if len(cells) > len(header) and any(cell.strip() for cell in cells[len(header) :]):
            reason = (
                f"the line has {len(cells)} values for {len(header)} columns; remove "
                "values or name all columns"
            )
            raise InputError(codes.TABLE_SYNTAX, file, f"line {line}: {reason}")
        row = dict(zip(header, cells, strict=False))
        name = row.get(ROW, "").strip()
        places.append(f"line {line} ({name})" if name else f"line {line}")
        rows.append(row)
    found_remarks = _remarks(file, text)
    remarks = {key: value for key, (value, _) in found_remarks.items()}
    lines_of = {key: f"line {number}" for key, (_, number) in found_remarks.items()}
    return Table(file, remarks, header, tuple(places), tuple(rows), lines_of)


def _remarks(file: str, text: str) -> dict[str, tuple[str, int]]:
    """Return the remarks above a CSV file's column names, by key: value and line number."""
    found = dict[str, tuple[str, int]]()
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            break
        match = _REMARK.fullmatch(line.strip())
        if match is None:
            continue
        key, value = match[1].lower(), match[2]
        first, first_line = found.setdefault(key, (value, number))
        if first != value and _ONCE.fullmatch(key):
            reason = (
                f"the value is {value[:40]!r}, but {first[:40]!r} in line {first_line}; "
                "keep one of the two"
            )
            raise InputError(codes.TABLE_SYNTAX, file, f"line {number}, {key}: {reason}")
    return found


def _check_header(file: str, header: Sequence[str], place: str = "") -> None:
    for name in header:
        if name and header.count(name) > 1:
            reason = (
                f"the table has {header.count(name)} columns named {name[:40]!r}; rename "
                "all but one"
            )
            raise InputError(codes.TABLE_SYNTAX, file, f"{place}{reason}")


def _json(file: str, text: str) -> Table:
    remarks, rows = read_rows(file, text)
    header = tuple(dict.fromkeys(name for row in rows for name in row))
    return Table(file, remarks, header, _numbered(rows), rows)


def _parquet(file: str, data: bytes) -> Table:
    found = read_columns(file, data)
    _check_header(file, found.header)
    rows = [dict(zip(found.header, one, strict=True)) for one in zip(*found.columns, strict=True)]
    return Table(file, found.remarks, found.header, _numbered(rows), tuple(rows))


def _numbered(rows: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """Return the location of each row for errors, such as `row 3 (m02)`.

    JSON has no line numbers.
    """
    numbers = range(1, len(rows) + 1)
    return tuple(
        f"row {number} ({row[ROW]})" if row.get(ROW) else f"row {number}"
        for number, row in zip(numbers, rows, strict=True)
    )
