"""Reads tables with arbitrary columns from CSV files and from JSON lines files.

Error messages name the file and the line number in the decompressed text.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.errors import InputError
from slowpath.core.inputs import read_program, text_of
from slowpath.core.spanned import Spanned, csv_lines, items, mapping, parse_json, text, with_key

_GZIP = b"\x1f\x8b"
_COMPRESSED = ".gz"
_WINDOW = 16 + zlib.MAX_WBITS
_LARGEST = 256 << 20
"""Largest size of an unpacked file in bytes."""


class Row(NamedTuple):
    """A row of a table, with its location in the file and its values by column."""

    place: str  # for errors: `line 3`
    values: Mapping[str, object]


def read_csv(file: str) -> tuple[tuple[str, ...], list[Row]]:
    """Read a CSV file, which may be compressed; return the columns, and the rows below them.

    Raises:
        InputError: when the file cannot be read or is not a table.
    """
    text = read_decompressed(file).removeprefix("\ufeff")
    if text.lstrip().startswith(("{", "[")):
        raise InputError(
            codes.TABLE_SYNTAX,
            file,
            "line 1: the file is JSON, but must be a CSV table with names of columns in line 1",
        )
    lines = [
        (line.last, line.cells)
        for line in csv_lines(file, text, strict=True)
        if any(cell.strip() for cell in line.cells)
    ]
    if not lines:
        raise InputError(
            codes.FILE_EMPTY,
            file,
            "the file is empty; write the names of the columns into the first line",
        )
    header = tuple(name.strip() for name in lines[0][1])
    _check_header(file, header)
    rows = []
    for number, cells in lines[1:]:
        if len(cells) != len(header):
            reason = (
                f"the line has {len(cells)} values for {len(header)} columns; remove "
                "values or name all columns"
            )
            raise InputError(codes.TABLE_SYNTAX, file, f"line {number}: {reason}")
        rows.append(Row(f"line {number}", dict(zip(header, cells, strict=True))))
    if not rows:
        raise InputError(
            codes.TOO_FEW_ROWS, file, "the table has no rows below the names of columns"
        )
    return header, rows


def read_json_lines(file: str) -> list[Row]:
    """Read a file with one JSON object per line.

    Raises:
        InputError: when the file cannot be read, or a line is not an object.
    """
    found = []
    for number, line in enumerate(read_decompressed(file).removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = parse_json(line, unique=True)
        except (ValueError, RecursionError) as problem:
            reason = f"the line is not JSON: {problem}; write one object per line"
            raise InputError(codes.NOT_JSON, file, f"line {number}: {reason}") from None
        if not isinstance(value, dict):
            raise InputError(
                codes.INVALID_ROW, file, f"line {number}: the line is not a JSON object"
            )
        found.append(Row(f"line {number}", value))
    if not found:
        raise InputError(
            codes.FILE_EMPTY, file, "the file is empty; write one JSON object per line"
        )
    return found


def read_decompressed(file: str) -> str:
    """Read the text of a file, and decompress it if it is compressed with gzip.

    Raises:
        InputError: when the file cannot be read, is damaged, or is not text.
    """
    data = read_program(file)
    if data.startswith(_GZIP):
        data = _decompressed(file, data)
    elif file.endswith(_COMPRESSED):
        raise InputError(
            codes.BAD_COMPRESSION,
            file,
            "the file is not compressed with gzip, although its name ends in .gz; rename it",
        )
    return text_of(file, data)


def _decompressed(file: str, data: bytes) -> bytes:
    """Decompress a gzip file, which may consist of several concatenated streams.

    Raises:
        InputError: when the file is damaged or too large.
    """
    found, left = list[bytes](), _LARGEST
    try:
        while data:
            member = zlib.decompressobj(_WINDOW)
            found.append(member.decompress(data, left))
            left -= len(found[-1])
            if left <= 0:
                raise InputError(
                    codes.FILE_TOO_LARGE,
                    file,
                    f"the file is larger than {_LARGEST >> 20} MiB when unpacked; split it",
                )
            if not member.eof:
                raise InputError(
                    codes.BAD_COMPRESSION,
                    file,
                    "the file is damaged: the compressed data end early",
                )
            data = member.unused_data.lstrip(b"\0")
    except zlib.error as problem:
        raise InputError(codes.BAD_COMPRESSION, file, f"the file is damaged: {problem}") from None
    return b"".join(found)


def _check_header(file: str, header: Sequence[str]) -> None:
    for name in header:
        if name and header.count(name) > 1:
            reason = (
                f"the table has {header.count(name)} columns named {name[:40]!r}; rename "
                "all but one"
            )
            raise InputError(codes.DUPLICATE_ROW_OR_COLUMN, file, f"line 1: {reason}")


def named_tables(found: Spanned, kind: str, above: str = "") -> list[Spanned]:
    """Return the objects in a JSON list, so that later error messages name each object.

    Each object must have a name of its own. Messages locate it by `above` (the name of the
    enclosing object), `kind` and its name.

    Raises:
        InputError: when `found` is not a list of objects with names, or two names are equal.
    """
    known = dict[str, Spanned]()
    for one in items(found):
        name = mapping(one).get("name")
        if name is None:
            one.place.refuse("lacks name")
        key = text(name)
        if key in known:
            name.place.refuse(f"the name {key!r} is already defined; rename one")
        known[key] = with_key(one, f"{above}{kind} {key}")
    return [*known.values()]
