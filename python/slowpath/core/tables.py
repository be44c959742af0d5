"""Reads CSV with line numbers for error messages, and strict JSON."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from slowpath.core import codes
from slowpath.core.errors import InputError


class CsvLine(NamedTuple):
    """A row of a CSV file; a quoted cell can span several lines of the file."""

    first: int  # number of the row's first line in the file, from 1
    last: int  # number of its last line
    cells: list[str]


def csv_lines(
    file: str, text: str, separator: str = ",", *, strict: bool = False
) -> Iterator[CsvLine]:
    """Yield the rows of a CSV text; an empty line is a row without cells.

    Raises:
        InputError: if the text is not CSV; with `strict`, also if a quoted cell is malformed.
    """
    stream = io.StringIO(text, newline="")
    reader, first = csv.reader(stream, delimiter=separator, strict=strict), 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            raise InputError(codes.TABLE_SYNTAX, file, f"line {first}: {problem}") from None
        yield CsvLine(first, reader.line_num, cells)
        first = reader.line_num + 1


def parse_json(text: str, *, unique: bool = False) -> Any:  # noqa: ANN401 - any value of JSON
    """Parse JSON without NaN and infinity; with `unique`, also reject objects with repeated keys.

    Raises:
        ValueError: if the text is invalid.
    """
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique if unique else None)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has {twice[:40]!r} twice")
    return found
