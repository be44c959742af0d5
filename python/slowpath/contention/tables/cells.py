"""Tables of texts and numbers, from CSV, JSON or Parquet; nothing is known yet of columns' meaning.

CSV: the first line names the columns; lines that begin with `#` are remarks, of which
`# key: value` above the columns says something about all rows. JSON: `{"key": "value", ...,
"rows": [{column: number, ...}, ...]}`. Parquet (`parquet.py`) has remarks in its metadata.
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn

from slowpath.cli.errors import InputError
from slowpath.cli.inputs import read_program, text_of
from slowpath.contention.tables import parquet

_SEPARATORS = ",;\t"
_REMARK = re.compile(r"#\s*([\w -]+?)\s*:\s*(.*\S)")
ROW = "row"
"""The column with names of rows."""


class Table(NamedTuple):
    """A file of rows."""

    file: str
    remarks: Mapping[str, str]  # what is said of all rows
    header: tuple[str, ...]
    places: tuple[str, ...]  # where each row stands, as errors say it: `line 3 (m02)`
    rows: tuple[Mapping[str, object], ...]  # text, or a number where JSON or Parquet has one

    def names(self) -> tuple[str, ...]:
        """What rows are called: by their own column, else by their numbers."""
        if ROW not in self.header:
            return tuple(str(number) for number in range(1, len(self.rows) + 1))
        return tuple(str(row.get(ROW, "")).strip() for row in self.rows)

    def number(self, at: int, column: str) -> float:
        """The number in a cell.

        Raises:
            InputError: when there is none, naming file, row and column.
        """
        value = self.rows[at].get(column, "")
        if isinstance(value, str) and not value.strip():
            raise self.error(at, column, "there is no value; fill it in or remove the row")
        try:
            number = float(value) if isinstance(value, int | float | str) else math.nan
        except (ValueError, OverflowError):
            number = math.nan
        if isinstance(value, bool) or not math.isfinite(number):
            raise self.error(at, column, f"{str(value).strip()[:40]!r} is not a finite number")
        return number

    def error(self, at: int, column: str, reason: str) -> InputError:
        """What is wrong with a cell."""
        return InputError(self.file, f"{self.places[at]}, column {column}: {reason}")


def read_cells(file: str) -> Table:
    """The table in a file.

    Raises:
        InputError: when it cannot be read or is no table.
        UnavailableError: when it is Parquet, and pyarrow is not installed.
    """
    data = read_program(file)
    if data.startswith(parquet.MAGIC) or file.endswith(parquet.SUFFIX):
        return _parquet(file, data)
    text = text_of(file, data).removeprefix("\ufeff")
    if text.lstrip().startswith("{"):
        return _json(file, text)
    return _csv(file, text)


def _csv(file: str, text: str) -> Table:
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    if not lines:
        raise InputError(file, "is empty; the first line has to name the columns")
    separator = max(_SEPARATORS, key=lines[0].count)
    found = [*_lines(file, text, separator)]
    header = tuple(name.strip() for name in found[0][1])
    _check_header(file, header)
    places, rows = [], []
    for line, cells in found[1:]:
        if len(cells) > len(header) and any(cell.strip() for cell in cells[len(header) :]):
            why = f"there are {len(cells)} values, and {len(header)} columns"
            raise InputError(file, f"line {line}: {why}")
        row = dict(zip(header, cells, strict=False))
        called = row.get(ROW, "").strip()
        places.append(f"line {line} ({called})" if called else f"line {line}")
        rows.append(row)
    return Table(file, _remarks(text), header, tuple(places), tuple(rows))


def _remarks(text: str) -> dict[str, str]:
    found = {}
    for line in text.split("\n"):
        if line.strip() and not line.startswith("#"):
            break
        match = _REMARK.fullmatch(line.strip())
        if match:
            found[match[1].lower()] = match[2]
    return found


def _lines(file: str, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with the numbers of their first lines."""
    reader, first = csv.reader(io.StringIO(text, newline=""), delimiter=separator), 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            raise InputError(file, f"line {first}: {problem}") from None
        if any(cell.strip() for cell in cells) and not cells[0].startswith("#"):
            yield first, cells
        first = reader.line_num + 1


def _check_header(file: str, header: Sequence[str]) -> None:
    for name in header:
        if name and header.count(name) > 1:
            raise InputError(file, f"has {header.count(name)} columns {name!r}; rename all but one")


def _json(file: str, text: str) -> Table:
    try:
        document = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as problem:
        raise InputError(file, f"is not JSON: {problem}") from None
    rows = document.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(file, 'has no "rows", a list of objects with a number for each column')
    remarks = {key.lower(): one for key, one in document.items() if isinstance(one, str)}
    header = tuple(dict.fromkeys(name for row in rows for name in row))
    return Table(file, remarks, header, _numbered(rows), tuple(rows))


def _parquet(file: str, data: bytes) -> Table:
    found = parquet.read_columns(file, data)
    _check_header(file, found.header)
    rows = [dict(zip(found.header, one, strict=True)) for one in zip(*found.columns, strict=True)]
    return Table(file, found.remarks, found.header, _numbered(rows), tuple(rows))


def _numbered(rows: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """Where rows stand that have no lines."""
    numbers = range(1, len(rows) + 1)
    return tuple(
        f"row {number} ({row[ROW]})" if row.get(ROW) else f"row {number}"
        for number, row in zip(numbers, rows, strict=True)
    )


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")
