"""Describes network functions as rows of numbers, for tables and models.

A network function is a chain of elements, such as filters and hash table lookups. The chains are
from Qiu et al., SOSP '21, § 4.2: Click-like elements, with blocks of computation and calls of the
CRC unit between them. A flag `has_X` is 1 if X is in the chain. A parameter has an effect only if
its element is in the chain.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.core import codes
from slowpath.core.errors import InputError

ELEMENTS: Mapping[str, tuple[str, ...]] = {
    "avgcounter": (),
    "ipfilter1": ("ipfilter1_rules",),
    "ipfilter2": ("ipfilter2_rules",),
    "iprewriter": ("iprewriter_slots",),
    "ftpportmapper": ("ftpportmapper_control_slots", "ftpportmapper_data_slots"),
    "udpipencap": (),
    "counter": (),
    "webgen": ("webgen_slots",),
    "tcpdemux": ("tcpflow_slots",),
    "tcpconn": ("tcpflow_slots",),
}
"""Elements in the order of the chain, each with the names of its parameters."""

COMPUTE: Mapping[str, str] = {
    "compute1": "compute1_iterations",
    "compute2": "compute2_iterations",
    "compute3": "compute1_iterations",
    "compute4": "compute4_iterations",
    "compute5": "compute5_iterations",
}
"""Blocks of computation with their loop counts. The third block uses the count of the first block,
as in the published generator."""

CRC: Mapping[str, str] = {
    "accel1": "accel1_iterations",
    "accel2": "accel2_iterations",
    "accel3": "accel1_iterations",
}
"""Calls of the CRC unit with their loop counts."""

ABSENT: Mapping[str, str] = {
    **{f"compute{at}": f"compute{at}_iterations" for at in range(6, 11)},
    **{f"accel{at}": f"accel{at}_iterations" for at in range(4, 11)},
}
"""Blocks that have columns, but do not occur in published chains."""

IDLE = tuple(f"imem{at}" for at in range(5))
"""Blocks that do nothing in published chains, because their loop counts are 0."""

UNREAD = ("compute3_iterations", "accel3_iterations")
"""Names of parameters that have no effect."""

MAX_PARAMETER = 100_000
"""Maximum value of a parameter."""

USUAL: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("ipfilter1_rules", "ipfilter2_rules"), (10, 35)),
    **{name: (1, 5) for needed in ELEMENTS.values() for name in needed if name.endswith("_slots")},
    **dict.fromkeys((*COMPUTE.values(), *CRC.values()), (1, 30)),
}
"""Range of values for which each parameter was measured."""


def flag(element: str) -> str:
    """Return the name of the column that is 1 if `element` is in the chain, else 0."""
    return f"has_{element}"


NEEDED = tuple(
    dict.fromkeys(
        (
            *map(flag, (*ELEMENTS, *COMPUTE, *CRC)),
            *(name for needed in ELEMENTS.values() for name in needed),
            *COMPUTE.values(),
            *CRC.values(),
        )
    )
)
"""Names of the required columns."""

OPTIONAL = (
    *map(flag, (*ABSENT, *IDLE)),
    *ABSENT.values(),
    *(f"{name}_iterations" for name in IDLE),
    *UNREAD,
)
"""Names of the optional columns, whose default is 0."""


Array = NDArray[np.float64]
_SHOWN = 5


class Functions(NamedTuple):
    """A set of network functions by column: entry i of each column describes function i."""

    columns: Mapping[str, Array]  # flags and parameters, shape (functions,)

    @property
    def size(self) -> int:
        """Number of functions in the set."""
        return len(next(iter(self.columns.values())))

    def has(self, element: str) -> Array:
        """Return an array that is 1 for each function whose chain has `element`, else 0."""
        return self.columns[flag(element)]

    def selected(self, places: NDArray[np.intp]) -> "Functions":
        """Return only the functions with the indices `places`."""
        return Functions({name: column[places] for name, column in self.columns.items()})


def check_columns(file: str, place: str, names: Collection[str], others: Collection[str]) -> None:
    """Check that a table or JSON object has all columns that describe functions.

    Args:
        file: name of the file, for error messages.
        place: location in the file with a colon, or an empty text, for error messages.
        names: columns of the table.
        others: further allowed columns, which do not describe functions.

    Raises:
        InputError: if a column is missing or unknown.
    """
    missing = [name for name in NEEDED if name not in names]
    if missing:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        raise InputError(
            codes.MISSING_COLUMN,
            file,
            f"{place}the table lacks the columns {', '.join(missing[:_SHOWN])}{more}",
        )
    known = {*NEEDED, *OPTIONAL, *others}
    for name in names:
        if name not in known:
            reason = f"the column {name[:40]!r} is not a known flag or parameter"
            raise InputError(codes.UNKNOWN_COLUMN, file, f"{place}{reason}; remove or rename it")


def read_function(file: str, place: str, values: Mapping[str, object]) -> dict[str, int]:
    """Read the numbers that describe a network function from a row of a table.

    `values` maps columns to cells. `file` and `place` locate the row in error messages.

    Raises:
        InputError: if a value is invalid.
    """
    found = dict[str, int]()
    for name in (*NEEDED, *OPTIONAL):
        value = _whole(values.get(name, 0))
        if name.startswith("has_"):
            if value not in (0, 1):
                reason = f"the value {str(values[name])[:40]!r} is not 0 (absent) or 1 (present)"
                raise InputError(codes.INVALID_CELL, file, f"{place}, column {name}: {reason}")
        elif value is None or not 0 <= value <= MAX_PARAMETER:
            reason = f"{str(values[name])[:40]!r} is not a whole number from 0 to {MAX_PARAMETER}"
            raise InputError(codes.INVALID_CELL, file, f"{place}, column {name}: {reason}")
        found[name] = value
    return found


def _whole(value: object) -> int | None:
    """Return the integer in a cell of a table; None if the cell has no integer."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return int(number) if math.isfinite(number) and number == int(number) else None


def positive(file: str, place: str, name: str, value: object) -> float:
    """Read a measured value, which must be a positive number.

    `file`, `place` and the column `name` locate it in error messages.

    Raises:
        InputError: if the value is not a positive number.
    """
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number) or number <= 0:
        reason = f"{str(value)[:40]!r} is not a number above zero"
        raise InputError(codes.INVALID_CELL, file, f"{place}, column {name}: {reason}")
    return number


def functions_of(rows: Sequence[Mapping[str, int]]) -> Functions:
    """Convert descriptions of functions, one row each, to columns."""
    names = (*NEEDED, *OPTIONAL)
    return Functions({name: np.array([float(row[name]) for row in rows]) for name in names})


def unusual(row: Mapping[str, int]) -> list[str]:
    """Return the names of the columns in which a function is outside the range of measurements.

    Predictions for such a function are less reliable.
    """
    blocks: Iterable[tuple[str, tuple[str, ...]]] = (
        *ELEMENTS.items(),
        *((block, (count,)) for block, count in (*COMPUTE.items(), *CRC.items())),
    )
    found = [name for block, needed in blocks if row[flag(block)] for name in _beyond(row, needed)]
    found += [flag(block) for block in ABSENT if row[flag(block)]]
    found += [
        f"{block}_iterations" for block in IDLE if row[flag(block)] and row[f"{block}_iterations"]
    ]
    return list(dict.fromkeys(found))


def _beyond(row: Mapping[str, int], needed: Iterable[str]) -> list[str]:
    limits = ((name, *USUAL[name]) for name in needed)
    return [name for name, least, most in limits if not least <= row[name] <= most]
