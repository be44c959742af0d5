"""Parses and evaluates the expressions of `--filter`, `--sort` and `--fail-on`.

The syntax is veristat's: `[!]COLUMN OPERATOR VALUE`, or `[!]GLOB` on names. A column without suffix
stands for the value of the new program.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from operator import eq, ge, gt, le, lt, ne
from pathlib import PurePath
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.errors import with_code
from slowpath.core.schema.derived import COLD_NS, TIMES
from slowpath.core.schema.rates import parse_rate
from slowpath.core.terminal import note
from slowpath.diff.changes import NAMES, NOT_AVAILABLE, NUMBERS, TEXTS, Row, Value, cell

_COMPARISON = re.compile(
    r"\s*(?P<column>[A-Za-z][\w-]*)\s*(?P<operator>==|!=|<>|<=|>=|=|<|>)\s*(?P<value>\S(.*\S)?)\s*",
    re.ASCII,
)
_OLD_TIME = "estimated_ns"
"""Former name of the column with the estimated time."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\s*%?", re.ASCII)
_SYNONYMS = {"=": "==", "<>": "!="}
_COMPARE = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


class Comparison(NamedTuple):
    """A comparison of a column with a value, such as `bitrate_pct < -5`."""

    column: str
    operator: str  # ==, !=, <, <=, >, >=
    value: Value  # None: N/A

    def holds(self, row: Row) -> bool | None:
        """Return true if the comparison holds; None if it depends on an N/A value of the row."""
        found = row.known(full_name(self.column, row.values))
        if self.value is None:
            return (found is None) is (self.operator == "==")
        if found is None:
            return None
        if isinstance(found, str) or isinstance(self.value, str):
            return fnmatchcase(str(found), str(self.value)) is (self.operator == "==")
        return bool(_COMPARE[self.operator](found, self.value))


class Glob(NamedTuple):
    """A pattern for the name of a program or file, or for `FILE/PROGRAM`."""

    pattern: str

    def holds(self, row: Row) -> bool:
        """Return true if the pattern matches a name of the old or of the new program."""
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
    """A condition (`--filter`) that selects the programs to show, or if negated those to hide."""

    negated: bool
    condition: Comparison | Glob


def parse_filter(text: str) -> Filter:
    """Parse `[!]COLUMN OPERATOR VALUE` or `[!]GLOB`.

    Raises:
        ValueError: if the text is neither.
    """
    stripped = text.strip()
    negated = stripped.startswith("!")
    body = stripped[1:].strip() if negated else stripped
    if not re.search(r"[<>=]", body):
        if not body:
            raise ValueError(
                f"{text!r} is not a filter; write 'bitrate_pct < -5', or a glob on names"
            )
        return Filter(negated, Glob(body))
    return Filter(negated, parse_comparison(body))


def parse_comparison(text: str) -> Comparison:
    """Parse `COLUMN OPERATOR VALUE`.

    Raises:
        ValueError: if the text has another form, or the value does not fit the column or operator.
    """
    match = _COMPARISON.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a comparison; write for example 'bitrate_pct < -5'")
    column = match["column"].lower().replace("-", "_")
    if column.startswith(_OLD_TIME):
        present = column.replace(_OLD_TIME, COLD_NS, 1)
        text = f"warning: column {column} is now {present}; version 0.3 removes the old name"
        note(with_code(text, codes.DEPRECATED_SPELLING))
        column = present
    operator = _SYNONYMS.get(match["operator"], match["operator"])
    value = _value(match["value"])
    if operator not in {"==", "!="} and not isinstance(value, int | float):
        raise ValueError(f"{text!r}: {operator} needs a number, not {match['value']!r}")
    base = _base(column)
    if base in {*TEXTS, *NAMES}:
        if operator not in {"==", "!="}:
            raise ValueError(f"{text!r}: {column} is a text; compare it with == or !=")
        value = value if value is None else match["value"]
    elif base in NUMBERS and isinstance(value, str):
        raise ValueError(f"{text!r}: {column} is a number; it cannot be {match['value']!r}")
    return Comparison(column, operator, value)


def _value(text: str) -> Value:
    if text == NOT_AVAILABLE:
        return None
    if _NUMBER.fullmatch(text):
        return float(text.removesuffix("%"))
    try:
        return parse_rate(text).value
    except ValueError:
        return text


def _base(column: str) -> str:
    return re.sub(r"_(a|b|diff|pct)$", "", column)


def full_name(column: str, known: Collection[str]) -> str:
    """Return the full name of a column: a name without suffix gets `_b`, for the new program."""
    return column if column in known else f"{column}_b"


def check_column(column: str, rows: Sequence[Row]) -> None:
    """Check that a column exists in the table.

    Raises:
        ValueError: if no row has this column.
    """
    known = [_base(name) for row in rows for name in row.values]
    values = {name for row in rows for name in row.values}
    if rows and full_name(column, values) not in values:
        raise _unknown_column(column, known)


def check_base(column: str, known: Collection[str], *, cycles: bool) -> None:
    """Check before the analyses that a column can exist in the table.

    `known` has the additional columns of this comparison, without suffix. With `cycles`, any column
    such as `dram_cycles` can exist, because the components of the target are not known yet.

    Raises:
        ValueError: if no row can have this column.
    """
    base = _base(column)
    if base in {*NAMES, *NUMBERS, *TEXTS, *known} or (cycles and base.endswith("_cycles")):
        return
    raise _unknown_column(column, known)


def _unknown_column(column: str, known: Iterable[str]) -> ValueError:
    names = ", ".join(dict.fromkeys([*NAMES, *NUMBERS, *TEXTS, *known]))
    return ValueError(
        f"{column!r} is not a column; choose one of {names}, or one of these with _a, _b, _diff "
        "or _pct"
    )


def keep_rows(rows: Sequence[Row], filters: Sequence[Filter]) -> list[Row]:
    """Return the rows that match any positive filter, if there is one, and no negated filter."""
    positive = [f.condition for f in filters if not f.negated]
    negative = [f.condition for f in filters if f.negated]
    kept = []
    for row in rows:
        if any(condition.holds(row) for condition in negative):
            continue
        if not positive or any(condition.holds(row) for condition in positive):
            kept.append(row)
    return kept


class Order(NamedTuple):
    """A column to sort by, and the direction of sorting."""

    column: str
    descending: bool | None  # None: descending for numbers, ascending for texts
    magnitude: bool


_ORDER = re.compile(r"(?P<bar>\|?)(?P<column>[A-Za-z][\w-]*?)(?P=bar)(?P<way>[\^v]?)", re.ASCII)


def parse_sort(text: str) -> list[Order]:
    """Parse columns to sort by: `COLUMN[^|v],...`, or `|COLUMN|` to sort by magnitude.

    Raises:
        ValueError: if the text has another form.
    """
    orders = []
    for piece in text.split(","):
        match = _ORDER.fullmatch(piece.strip())
        if match is None:
            raise ValueError(
                f"{piece!r} is not a column to sort by; write for example bitrate_pct^"
            )
        column = match["column"].lower().replace("-", "_")
        way = {"^": False, "v": True, "": None}[match["way"]]
        orders.append(Order(column, way, bool(match["bar"])))
    return orders


def sort_rows(rows: Sequence[Row], orders: Sequence[Order]) -> list[Row]:
    """Sort the rows; N/A comes last and equal rows keep their order."""
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


class Gate(NamedTuple):
    """A condition (`--fail-on`) that must not hold for any program, and its text."""

    text: str
    condition: Comparison


_ALLOW = ("--allow-new", "--allow-gone")


class AllowOptions(NamedTuple):
    """Options that let programs that are only in OLD, or only in NEW, pass `--fail-on` conditions.

    Only conditions that need a value of the missing program are passed.
    """

    new: bool = False
    gone: bool = False
    unread: str | None = None  # unreadable file of OLD, which may have had any program

    def words(self) -> list[str]:
        """Return the options as written on the command line."""
        return [option for option, value in zip(_ALLOW, self[:2], strict=True) if value]

    def lets_pass(self, row: Row) -> bool:
        """Return true if a program only in OLD or only in NEW passes despite missing values."""
        if row.pair.old is None:
            return self.new and self.unread is None
        return row.pair.new is None and self.gone

    def hint(self, row: Row) -> str:
        """Return a hint for the error: the option that would let the program pass; else empty."""
        if row.pair.old is None and self.new:
            return f"; --allow-new does not apply, because {self.unread} could not be read"
        if row.pair.old is None:
            return "; --allow-new lets new programs pass"
        if row.pair.new is None:
            return "; --allow-gone lets removed programs pass"
        return ""


_NONE = AllowOptions()


class Failure(NamedTuple):
    """A program that fails a gate (`--fail-on` or `--require`), and the reason."""

    row: Row
    option: str
    text: str  # value of the option
    reason: str
    unknown: bool  # true: the value is N/A


def failures(
    rows: Sequence[Row], gates: Sequence[Gate], allowed: AllowOptions = _NONE
) -> list[Failure]:
    """Return the programs for which a `--fail-on` condition holds or has no known value."""
    found = []
    for row in rows:
        for gate in gates:
            holds = gate.condition.holds(row)
            if holds is False or (holds is None and allowed.lets_pass(row)):
                continue
            if holds is None:
                reason = _unknown(row, gate) + allowed.hint(row)
                found.append(Failure(row, "--fail-on", gate.text, reason, unknown=True))
            else:
                reason = _known(row, gate)
                found.append(Failure(row, "--fail-on", gate.text, reason, unknown=False))
    return found


def _known(row: Row, gate: Gate) -> str:
    column = full_name(gate.condition.column, row.values)
    reason = f"{column} is {cell(row, column)}, but --fail-on {gate.text!r} forbids this"
    words = {"bound": "is a bound that is not exact", "conditional": "depends on assumptions"}
    weaker = [
        f"{side} {words[verdict]}"
        for side, suffix in (("OLD", "a"), ("NEW", "b"))
        if (verdict := str(row.known(f"verdict_{suffix}"))) in words
    ]
    return f"{reason} ({', '.join(weaker)})" if weaker else reason


def _unknown(row: Row, gate: Gate) -> str:
    column = full_name(gate.condition.column, row.values)
    reason = missing_reason(row, column)
    return f"{column} is N/A ({reason}), but --fail-on {gate.text!r} needs it"


def missing_reason(row: Row, column: str) -> str:
    """Return the reason why a pair of programs has no value in a column."""
    old, new = row.pair
    if old is None:
        return "OLD lacks the program"
    if new is None:
        return "NEW lacks the program"
    failed = [name for name, r in (("OLD", old), ("NEW", new)) if r["error"] is not None]
    if failed:
        return f"{' and '.join(failed)} could not be analysed"
    if column.startswith(TIMES):
        without = [name for name, r in (("OLD", old), ("NEW", new)) if r["estimate"] is None]
        if without:
            return f"no estimate for {' and '.join(without)}"
        if not row.pair.same_machine:
            return "OLD and NEW are estimated for different machines, dates or --entries"
    return f"target {old['target']} and metric {old['metric']} do not have this value"
