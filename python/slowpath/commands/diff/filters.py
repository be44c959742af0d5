"""Expressions about the columns of a comparison, for `--filter`, `--fail-on` and `--sort`.

They are written as for veristat: `[!]COLUMN OPERATOR VALUE`, or `[!]GLOB` on names; a column
without suffix is that of the new side.
"""

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import NamedTuple

from slowpath.commands.diff.columns import NAMES, NUMBERS, TEXTS, Row, Value
from slowpath.schema.rates import parse_rate

_COMPARISON = re.compile(
    r"\s*(?P<column>[A-Za-z][\w-]*)\s*(?P<operator>==|!=|<>|<=|>=|=|<|>)\s*(?P<value>\S(.*\S)?)\s*",
    re.ASCII,
)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\s*%?", re.ASCII)
_OPERATORS = {"=": "==", "<>": "!="}
_NOT_AVAILABLE = "N/A"


class Comparison(NamedTuple):
    """A column, held against a value."""

    column: str
    operator: str  # ==, !=, <, <=, >, >=
    value: Value  # None: N/A

    def holds(self, row: Row) -> bool | None:
        """Whether it holds; None when that cannot be told because the row's value is N/A."""
        found = row.known(full_name(self.column, row.values))
        if self.value is None:
            return (found is None) is (self.operator == "==")
        if found is None:
            return None
        if isinstance(found, str) or isinstance(self.value, str):
            return fnmatchcase(str(found), str(self.value)) is (self.operator == "==")
        return _compare(found, self.operator, self.value)


class Glob(NamedTuple):
    """A pattern for names: of a program or file, or `FILE/PROGRAM`."""

    pattern: str

    def holds(self, row: Row) -> bool:
        """Whether a name on either side fits."""
        file, _, program = self.pattern.rpartition("/")
        for result in row.pair:
            if result is None:
                continue
            names = (result["file"], PurePath(result["file"]).name)
            if fnmatchcase(result["program"], program) and (
                not file or any(fnmatchcase(name, file) for name in names)
            ):
                return True
            if any(fnmatchcase(name, self.pattern) for name in names):
                return True
        return False


class Filter(NamedTuple):
    """What programs are shown for, or not."""

    negated: bool
    condition: Comparison | Glob


def parse_filter(text: str) -> Filter:
    """Reads `[!]COLUMN OPERATOR VALUE` or `[!]GLOB`.

    Raises:
        ValueError: when it is neither.
    """
    stripped = text.strip()
    negated = stripped.startswith("!")
    body = stripped[1:].strip() if negated else stripped
    if not re.search(r"[<>=]", body):
        if not body:
            raise ValueError(f"{text!r} is no filter; write 'bitrate_pct < -5', or a glob on names")
        return Filter(negated, Glob(body))
    return Filter(negated, parse_comparison(body))


def parse_comparison(text: str) -> Comparison:
    """Reads `COLUMN OPERATOR VALUE`.

    Raises:
        ValueError: when it is none, or the value does not go with the column or operator.
    """
    match = _COMPARISON.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no comparison; write for example 'bitrate_pct < -5'")
    column = match["column"].lower().replace("-", "_")
    operator = _OPERATORS.get(match["operator"], match["operator"])
    value = _value(match["value"])
    if operator not in {"==", "!="} and not isinstance(value, int | float):
        raise ValueError(f"{text!r}: {operator} needs a number, {match['value']!r} is none")
    base = _base(column)
    if base in {*TEXTS, *NAMES}:
        if operator not in {"==", "!="}:
            raise ValueError(f"{text!r}: {column} is a text, compare it with == or !=")
        value = value if value is None else match["value"]
    elif base in NUMBERS and isinstance(value, str):
        raise ValueError(f"{text!r}: {column} is a number, {match['value']!r} is none")
    return Comparison(column, operator, value)


def _value(text: str) -> Value:
    if text == _NOT_AVAILABLE:
        return None
    if _NUMBER.fullmatch(text):
        return float(text.removesuffix("%"))
    try:
        return parse_rate(text).value
    except ValueError:
        return text


def _compare(found: float, operator: str, value: float) -> bool:
    match operator:
        case "<":
            return found < value
        case "<=":
            return found <= value
        case ">":
            return found > value
        case ">=":
            return found >= value
        case "!=":
            return found != value
        case _:
            return found == value


def _base(column: str) -> str:
    return re.sub(r"_(a|b|diff|pct)$", "", column)


def full_name(column: str, known: Collection[str]) -> str:
    """A column by its full name: `_b` where no suffix is given."""
    return column if column in known else f"{column}_b"


def check_column(column: str, rows: Sequence[Row]) -> None:
    """A column has to be one of the table.

    Raises:
        ValueError: when it is not.
    """
    known = [*NAMES, *NUMBERS, *TEXTS]
    for row in rows:
        known += [_base(name) for name in row.values]
    values = {name for row in rows for name in row.values}
    if not rows or full_name(column, values) in values:
        return
    names = ", ".join(dict.fromkeys(known))
    raise ValueError(f"there is no column {column!r}; there are {names}, with _a, _b, _diff, _pct")


def keep_rows(rows: Sequence[Row], filters: Sequence[Filter]) -> list[Row]:
    """The rows that a filter fits, all if there is none that is not negated, and no negated one."""
    wanted = [f.condition for f in filters if not f.negated]
    unwanted = [f.condition for f in filters if f.negated]
    kept = []
    for row in rows:
        if any(condition.holds(row) for condition in unwanted):
            continue
        if not wanted or any(condition.holds(row) for condition in wanted):
            kept.append(row)
    return kept


class Order(NamedTuple):
    """A column to sort by."""

    column: str
    descending: bool | None  # None: numbers are, texts are not
    magnitude: bool


_ORDER = re.compile(r"(?P<bar>\|?)(?P<column>[A-Za-z][\w-]*?)(?P=bar)(?P<way>[\^v]?)", re.ASCII)


def parse_sort(text: str) -> list[Order]:
    """Reads `COLUMN[^|v],...`, or `|COLUMN|` for the magnitude.

    Raises:
        ValueError: when it is something else.
    """
    orders = []
    for piece in text.split(","):
        match = _ORDER.fullmatch(piece.strip())
        if match is None:
            raise ValueError(f"{piece!r} is no column to sort by; write for example bitrate_pct^")
        column = match["column"].lower().replace("-", "_")
        way = {"^": False, "v": True, "": None}[match["way"]]
        orders.append(Order(column, way, bool(match["bar"])))
    return orders


def sort_rows(rows: Sequence[Row], orders: Sequence[Order]) -> list[Row]:
    """The rows in that order; N/A comes last, equal ones stay as they are."""
    ordered = list(rows)
    for order in reversed(orders):
        numbers = dict[int, float]()
        texts = dict[int, str]()
        for index, row in enumerate(ordered):
            value = row.known(full_name(order.column, row.values))
            if isinstance(value, str):
                texts[index] = value
            elif value is not None:
                numbers[index] = abs(value) if order.magnitude else value
        falling = sorted(numbers, key=lambda at: numbers[at], reverse=order.descending is not False)
        rising = sorted(texts, key=lambda at: texts[at], reverse=order.descending is True)
        rest = [at for at in range(len(ordered)) if at not in numbers and at not in texts]
        ordered = [ordered[at] for at in (*falling, *rising, *rest)]
    return ordered
