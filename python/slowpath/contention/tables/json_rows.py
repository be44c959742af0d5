"""Tables of JSON: `{"key": "value", ..., "rows": [{column: number, ...}, ...]}`.

What stands beside the rows is said of all of them, as lines above a header of CSV are.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

from slowpath.cli.errors import InputError

_ROWS = "rows"
Row = Mapping[str, object]


class Rows(NamedTuple):
    """What a file has."""

    remarks: Mapping[str, str]
    rows: tuple[Row, ...]


def read_rows(file: str, text: str) -> Rows:
    """The rows of a file.

    Raises:
        InputError: when it is no JSON, or has no rows.
    """
    try:
        document = json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as problem:
        raise InputError(file, f"is not JSON: {problem}") from None
    rows = document.get(_ROWS) if isinstance(document, dict) else None
    if not isinstance(rows, list):
        raise InputError(file, 'has no "rows", a list of objects with a number for each column')
    for at, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise InputError(file, f"row {at}: is no object with a number for each column")
    said = {key: one for key, one in document.items() if key != _ROWS and one is not None}
    return Rows({key.lower(): _remark(file, key, one) for key, one in said.items()}, tuple(rows))


def _remark(file: str, key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(file, f'"{key[:40]}": is neither a text nor a number')
    return str(value).strip()


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has {twice[:40]!r} twice")
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")
