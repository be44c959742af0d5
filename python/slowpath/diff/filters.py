"""Parses and evaluates the conditions of `--filter`, `--sort` and `--fail-on`.

The syntax is that of the tool veristat: `[!]COLUMN OPERATOR VALUE`, or `[!]GLOB` on names. A column
without suffix stands for the value of the new program.
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
"""Former name of the column `cold_ns`, which older scripts still use."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\s*%?", re.ASCII)
_SYNONYMS = {"=": "==", "<>": "!="}
_COMPARE = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


class Comparison(NamedTuple):
    """A condition that compares a column with a value, such as `bitrate_pct < -5`."""

    column: str
    operator: str  # ==, !=, <, <=, >, >=
    value: Value  # None: N/A

    def holds(self, row: Row) -> bool | None:
        """Return true if the row meets the condition; None if it depends on a value that is N/A."""
        found = row.known(full_name(self.column, row.values))
        if self.value is None:
            return (found is None) is (self.operator == "==")
        if found is None:
            return None
        if isinstance(found, str) or isinstance(self.value, str):
            return fnmatchcase(str(found), str(self.value)) is (self.operator == "==")
        return bool(_COMPARE[self.operator](found, self.value))


class Glob(NamedTuple):
    """A condition on names: a pattern for the program, or `FILE/PROGRAM` with patterns for both."""

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
    """A condition of `--filter`: programs that meet it are shown or, if negated, hidden."""

    negated: bool
    condition: Comparison | Glob


def parse_filter(text: str) -> Filter:
    """Parse the argument of `--filter`: `[!]COLUMN OPERATOR VALUE` or `[!]GLOB`.

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
    """Return the full name of a column: without a suffix, `_b` for the new program is added.

    `known` are the names of all columns.
    """
    return column if column in known else f"{column}_b"


def check_column(column: str, rows: Sequence[Row]) -> None:
    """Check that at least one row has the column.

    Raises:
        ValueError: if no row has it.
    """
    known = [_base(name) for row in rows for name in row.values]
    values = {name for row in rows for name in row.values}
    if rows and full_name(column, values) not in values:
        raise _unknown_column(column, known)


def check_base(column: str, known: Collection[str], *, cycles: bool) -> None:
    """Check before the analyses that the table can have this column.

    `known` has the additional columns of this comparison, without suffix. If `cycles` is true, the
    components of a target are not known yet, so any column such as `dram_cycles` is possible.

    Raises:
        ValueError: if the table cannot have the column.
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
    """Return the rows to show: they meet at least one plain filter, and no negated filter.

    Without plain filters, only the second condition applies.
    """
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
    """A column by which rows are sorted, and the direction."""

    column: str
    descending: bool | None  # None: descending for numbers, ascending for texts
    magnitude: bool


_ORDER = re.compile(r"(?P<bar>\|?)(?P<column>[A-Za-z][\w-]*?)(?P=bar)(?P<way>[\^v]?)", re.ASCII)


def parse_sort(text: str) -> list[Order]:
    """Parse the argument of `--sort`: `COLUMN[^|v],...`, or `|COLUMN|` to sort by absolute value.

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
    """Sort rows by one or more columns; N/A comes last, and equal rows keep their order."""
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
    """A condition of `--fail-on`, which no program may meet, and its text."""

    text: str
    condition: Comparison


_ALLOW = ("--allow-new", "--allow-gone")


class AllowOptions(NamedTuple):
    """Options that let programs pass conditions of `--fail-on` although OLD or NEW lacks them.

    They only apply to conditions that need a value of the missing program.
    """

    new: bool = False
    gone: bool = False
    unread: str | None = None  # unreadable file of OLD, which may have had any program

    def words(self) -> list[str]:
        """Return the options as on the command line, such as `--allow-new`."""
        return [option for option, value in zip(_ALLOW, self[:2], strict=True) if value]

    def lets_pass(self, row: Row) -> bool:
        """Return true if a program that OLD or NEW lacks passes despite missing values."""
        if row.pair.old is None:
            return self.new and self.unread is None
        return row.pair.new is None and self.gone

    def hint(self, row: Row) -> str:
        """Return a hint for the error: the option that would let the program pass.

        Empty without one.
        """
        if row.pair.old is None and self.new:
            return f"; --allow-new does not apply, because {self.unread} could not be read"
        if row.pair.old is None:
            return "; --allow-new lets new programs pass"
        if row.pair.new is None:
            return "; --allow-gone lets removed programs pass"
        return ""


_NONE = AllowOptions()


class Failure(NamedTuple):
    """A program that fails a condition of `--fail-on` or `--require`, and the reason."""

    row: Row
    option: str
    text: str  # value of the option
    reason: str
    unknown: bool  # true: the value is N/A


def failures(
    rows: Sequence[Row], gates: Sequence[Gate], allowed: AllowOptions = _NONE
) -> list[Failure]:
    """Return the programs that meet a condition of `--fail-on`, or for which it is unknown."""
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
    """Return the reason why a row has no value in a column."""
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
