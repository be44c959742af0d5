"""Tables in Parquet files, through pyarrow (extra `parquet`).

The metadata of the schema has the remarks that CSV has in lines above the header.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from slowpath.core.errors import InputError, UnavailableError
from slowpath.core.inputs import write_bytes

MAGIC = b"PAR1"
"""The first bytes of a Parquet file."""
SUFFIX = ".parquet"

Column = Sequence[object]


class Columns(NamedTuple):
    """Content of a file."""

    remarks: Mapping[str, str]  # remarks about all rows, from the metadata
    header: tuple[str, ...]
    columns: tuple[Column, ...]  # numbers and texts; an empty text for a missing value


def read_columns(file: str, data: bytes) -> Columns:
    """Return the columns of a file.

    Raises:
        InputError: if the file is not Parquet, or a value is neither a number nor a text.
        UnavailableError: if pyarrow is not installed.
    """
    arrow, parquet = packages()
    try:
        table = parquet.read_table(arrow.BufferReader(data))
    except (arrow.ArrowException, OSError) as problem:
        reason = str(problem).splitlines()[0]
        raise InputError(file, f"is not Parquet that can be read: {reason}") from None
    said = table.schema.metadata or {}
    remarks = {_text(key).lower(): _text(value) for key, value in said.items()}
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
            kind = f"there is a {type(value).__name__} rather than a number or a text"
            raise InputError(file, f"row {at}, column {name}: {kind}")
    # Some writers store NaN for a missing value.
    return ["" if one is None or _is_nan(one) else one for one in values]


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def write_columns(file: str, columns: Mapping[str, Column], said: Mapping[str, str]) -> None:
    """Write a table with columns of numbers, texts or lists of texts.

    Raises:
        InputError: if the file cannot be written.
        UnavailableError: if pyarrow is not installed.
    """
    arrow, parquet = packages()
    table = arrow.table({name: list(values) for name, values in columns.items()})
    written = arrow.BufferOutputStream()
    parquet.write_table(table.replace_schema_metadata(dict(said)), written)
    write_bytes(file, written.getvalue().to_pybytes())


def packages() -> tuple[Any, Any]:
    """Return the modules `pyarrow` and `pyarrow.parquet`.

    Raises:
        UnavailableError: if they are not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        reason = "pyarrow is not installed; pip install slowpath[parquet]"
        raise UnavailableError(reason) from None
    return pyarrow, pyarrow.parquet
