"""Computes the changes between two results: table columns, and source lines whose cost differs.

A quantity has four columns: `_a` is the old value, `_b` the new value, `_diff` is b - a, `_pct` is
100 (b - a) / a. A text has `_a`, `_b` and `_diff`, which is MATCH or MISMATCH. None means N/A: a
value that the old or the new program lacks, or a percentage of zero.

Lines are matched by function and text; repeated lines are matched in order. The entry function
matches even if its name changed. Without source lines, instructions are compared in the same way. A
line that exists only in the old or the new program has zero cost in the other, so that the changes
of all lines add up to that of the path.
"""

import math
import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from slowpath.bounds.report_rates import format_cycles
from slowpath.core.schema.derived import TIMES, is_count, is_found, main_component
from slowpath.core.schema.rates import as_metric, format_apart, format_rate
from slowpath.core.schema.results import Profile, Result
from slowpath.diff.pairs import Pair

Value = float | str | None
Change = Literal["better", "worse", "same", "new", "gone", "unknown"]
"""Change of a guarantee; `unknown` if the old or the new program has no guarantee."""

NUMBERS = (
    "bitrate",
    "packetrate",
    "processing_cycles",
    "dram_cycles",
    "instructions",
    "memory_accesses",
    "min_packet_size",
    *TIMES,
)
"""Names of the quantities that every comparison has; some targets add others."""
TEXTS = ("verdict", "bottleneck", "error")
NAMES = ("file", "section", "program", "target", "metric")
"""Names of the columns that identify a program. The values are those of its new version; if there
is none, those of the old one.
"""
NUMBER_SUFFIXES = ("_a", "_b", "_diff", "_pct")
TEXT_SUFFIXES = ("_a", "_b", "_diff")
_PERCENT = 100


class Row(NamedTuple):
    """A row of the comparison: the old and the new result of a program, with all column values."""

    pair: Pair
    values: dict[str, Value]

    @property
    def metric(self) -> str:
        """Name of the guaranteed rate or count, as in names of columns."""
        return self.pair.measured["metric"].replace("-", "_")

    def known(self, column: str) -> Value:
        """Return the value in a column; None for N/A, or if the row lacks the column."""
        return self.values.get(column)

    def number(self, column: str) -> float | None:
        """Return the number in a column.

        None if it is a text or N/A, or the row lacks the column.
        """
        value = self.values.get(column)
        return None if isinstance(value, str) else value


def more_is_better(column: str) -> bool:
    """Return true if a higher value in a column is better: for rates, not for costs and counts."""
    return as_metric(column) is not None


def make_row(pair: Pair) -> Row:
    """Compute all column values for the old and the new result of a program."""
    values = dict[str, Value]()
    for name in NAMES:
        source = pair.measured if name in {"target", "metric"} else pair.present
        text = source[name]  # type: ignore[literal-required]
        values[name] = values[f"{name}_a"] = values[f"{name}_b"] = text
    for side, result in (("a", pair.old), ("b", pair.new)):
        if result is not None:
            values |= {f"{name}_{side}": result[name] for name in NAMES}  # type: ignore[literal-required]
    old = {} if pair.old is None else numbers_of(pair.old)
    new = {} if pair.new is None else numbers_of(pair.new)
    for name in dict.fromkeys((*NUMBERS, *old, *new)):
        a, b = old.get(name), new.get(name)
        values |= {f"{name}_a": a, f"{name}_b": b, f"{name}_diff": None, f"{name}_pct": None}
        if a is not None and b is not None:
            if name in TIMES and not pair.same_machine:
                continue
            values[f"{name}_diff"] = b - a
            values[f"{name}_pct"] = _percent(a, b)
    for name in TEXTS:
        first, second = (None if r is None else text_of(r, name) for r in (pair.old, pair.new))
        both = pair.old is not None and pair.new is not None
        equal = "MATCH" if first == second else "MISMATCH"
        values |= {f"{name}_a": first, f"{name}_b": second, f"{name}_diff": equal if both else None}
    return Row(pair, values)


def _percent(a: float, b: float) -> float | None:
    """Return the change from `a` to `b` in percent; None if it is infinite."""
    if a == 0:
        return 0.0 if b == 0 else None
    percent = _PERCENT * (b - a) / a
    return percent if math.isfinite(percent) else None


def numbers_of(result: Result) -> dict[str, float | None]:
    """Return the numbers of a result by the name of the quantity: guarantees, costs and estimates.

    Guarantees need not be exact. Return nothing if the result has no guarantee.
    """
    guarantee, profile = result["guarantee"], result["profile"]
    if guarantee is None:
        return {}
    numbers: dict[str, float | None] = {
        "bitrate": guarantee["bitrate_bps"],
        "packetrate": guarantee["packetrate_pps"],
    }
    if is_count(result):
        numbers |= {name.replace(" ", "_"): n for name, n in (guarantee["counts"] or {}).items()}
    elif profile is not None:
        numbers |= {f"{name.replace(' ', '_')}_cycles": c for name, c in profile["cost"].items()}
    if result["estimate"] is not None:
        numbers |= {name: result["estimate"][name.removesuffix("_ns")]["ns"] for name in TIMES}  # type: ignore[literal-required]
    if is_found(guarantee) and result["paths"]:
        numbers["min_packet_size"] = result["paths"][0]["min_packet_size"]
    return numbers


def text_of(result: Result, name: str) -> str | None:
    """Return the text of a result for a column: `name` is `error`, `bottleneck` or `verdict`.

    Return None if the result lacks the text. Without a guarantee, the verdict is `error`.
    """
    guarantee = result["guarantee"]
    if name == "error":
        return result["error"]
    if name == "bottleneck":
        return None if guarantee is None else guarantee["bottleneck"]
    if guarantee is None:
        return "error"
    return guarantee["verdict"]


def within_error(pair: Pair) -> list[str]:
    """Return the names of estimated times whose change may be only the error of the estimates.

    This holds if the old time is in the interval of the new one, or the new time in that of the old
    one.
    """
    old, new = (None if side is None else side["estimate"] for side in pair)
    if old is None or new is None or not pair.same_machine:
        return []
    found = []
    for name in TIMES:
        a, b = old[name.removesuffix("_ns")], new[name.removesuffix("_ns")]  # type: ignore[literal-required]
        overlap = a["low_ns"] <= b["ns"] <= a["high_ns"] or b["low_ns"] <= a["ns"] <= b["high_ns"]
        if a["ns"] != b["ns"] and overlap:
            found.append(name)
    return found


def change_of(row: Row) -> Change:
    """Return how the guarantee of a program changed, such as `better`, `worse` or `new`."""
    if row.pair.old is None:
        return "new"
    if row.pair.new is None:
        return "gone"
    difference = row.number(f"{row.metric}_diff")
    if difference is None:
        return "unknown"
    if difference == 0:
        return "same"
    return "better" if (difference > 0) is more_is_better(row.metric) else "worse"


NOT_AVAILABLE = "N/A"


def cell(row: Row, column: str) -> str:
    """Format a value of a row for the table. Guarantees that are not exact have a mark.

    Marks are `>=`, `<=` and `(if)`.
    """
    value = row.known(column)
    if value is None or isinstance(value, str):
        return NOT_AVAILABLE if value is None else value
    base, _, suffix = column.rpartition("_")
    rate = as_metric(base)
    if suffix == "pct":
        return format_percent(value)
    if suffix == "diff":
        if not value:
            return "0"
        sign = "-" if value < 0 else "+"
        size = format_rate(abs(value), rate) if rate else format_cycles(abs(value))
        return sign + size
    text = format_cycles(value) if rate is None else _rate(row, column, value)
    return _mark(row, base, suffix) + text + _condition(row, base, suffix)


def _rate(row: Row, column: str, value: float) -> str:
    """Format a rate of a row, with enough digits to distinguish the old rate from the new one."""
    base, _, suffix = column.rpartition("_")
    metric = as_metric(base) or "bitrate"
    other = row.number(f"{base}_{'b' if suffix == 'a' else 'a'}")
    if other is None or other == value:
        return format_rate(value, metric)
    return format_apart(value, other, metric)[0]


def _mark(row: Row, base: str, suffix: str) -> str:
    if base != row.metric or row.known(f"verdict_{suffix}") != "bound":
        return ""
    return ">= " if more_is_better(base) else "<= "


def _condition(row: Row, base: str, suffix: str) -> str:
    """Return the mark ` (if)` for a guarantee that is exact under conditions; else an empty text.

    `base` and `suffix` are the parts of the column's name.
    """
    conditional = base == row.metric and row.known(f"verdict_{suffix}") == "conditional"
    return " (if)" if conditional else ""


def format_percent(value: float) -> str:
    """Format a percentage with two decimals, as veristat does; `0 %` means exactly zero."""
    text = f"{value:+.2f} %"
    if value and not text.strip("+-0. %"):
        return f"{'+' if value > 0 else '-'}<0.01 %"
    return "0 %" if not value else text


def also_changed(row: Row) -> str:
    """Return a short text on the changes of a program other than that of the guarantee."""
    parts = [
        f"{name} {row.known(f'{name}_a') or 'N/A'} -> {row.known(f'{name}_b') or 'N/A'}"
        for name in ("verdict", "bottleneck")
        if row.known(f"{name}_diff") == "MISMATCH"
    ]
    changed = [column.removesuffix("_diff") for column in row.values if column.endswith("_diff")]
    bases = [base for base in changed if base != row.metric and row.number(f"{base}_diff")]
    parts += [f"{base} {cell(row, f'{base}_a')} -> {cell(row, f'{base}_b')}" for base in bases]
    return ", ".join(parts)


def summary(rows: list[Row]) -> str:
    """Count the programs by change, as a text such as `1 worse, 2 same`."""
    changes = [change_of(row) for row in rows]
    words = ("worse", "better", "same", "new", "gone", "unknown")
    counts = [f"{changes.count(word)} {word}" for word in words if word in changes]
    return ", ".join(counts) or "no programs"


class Place(NamedTuple):
    """A source line (or instruction) on the slowest path of a program, with its cost."""

    file: str | None  # None: an instruction
    line: int
    runs: int
    cost: float

    def __str__(self) -> str:
        if self.file is None:
            return f".{self.line}"
        return f"{PurePosixPath(self.file).name}:{self.line}"


class LineChange(NamedTuple):
    """A source line whose cost on the slowest path changed."""

    function: str | None  # on the new side, if the line exists there
    text: str
    old: Place | None
    new: Place | None

    @property
    def diff(self) -> float:
        """Increase of the line's cost from the old to the new program; negative if it decreased."""
        costs = [0 if place is None else place.cost for place in (self.new, self.old)]
        return round(costs[0] - costs[1], 9)


class Changes(NamedTuple):
    """All source lines whose cost on the slowest path changed."""

    component: str  # component that the costs refer to
    lines: list[LineChange]

    def dearer(self, limit: int) -> list[LineChange]:
        """Return at most `limit` lines whose cost increased, the largest increase first."""
        rising = [line for line in self.lines if line.diff > 0]
        return sorted(rising, key=lambda line: -line.diff)[:limit]

    def cheaper(self, limit: int) -> list[LineChange]:
        """Return at most `limit` lines whose cost decreased, the largest decrease first."""
        falling = [line for line in self.lines if line.diff < 0]
        return sorted(falling, key=lambda line: line.diff)[:limit]


_Key = tuple[str | None, str]


class _Item(NamedTuple):
    function: str | None
    text: str
    place: Place


def changed_lines(pair: Pair) -> Changes | None:
    """Return the source lines whose cost differs between the old and the new slowest path.

    Return None if one of the results lacks these costs.
    """
    old, new = pair
    if old is None or new is None or old["profile"] is None or new["profile"] is None:
        return None
    component = main_component(new if pair.same_machine else {**new, "estimate": None})
    if component is None or component not in old["profile"]["cost"]:
        return None
    sourced = bool(old["profile"]["lines"] and new["profile"]["lines"])
    before = _by_key(old, old["profile"], component, sourced=sourced)
    after = _by_key(new, new["profile"], component, sourced=sourced)
    changes = []
    for key in dict.fromkeys((*before, *after)):
        for a, b in zip_longest(before.get(key, []), after.get(key, [])):
            present = b or a
            change = LineChange(present.function, present.text, a and a.place, b and b.place)
            if change.diff:
                changes.append(change)
    return Changes(component, changes)


def _by_key(
    result: Result, profile: Profile, component: str, *, sourced: bool
) -> dict[_Key, list[_Item]]:
    keyed = dict[_Key, list[_Item]]()
    for item in _items(profile, component, sourced=sourced):
        own = item.function == result["program"]
        key = (None if own else item.function, _comparable(item))
        keyed.setdefault(key, []).append(item)
    for items in keyed.values():
        items.sort(key=lambda item: (item.place.file or "", item.place.line))
    return keyed


def _comparable(item: _Item) -> str:
    """Return the text by which lines are matched: without indentation and jump targets.

    So a line matches if it only moved.
    """
    if item.place.file is None:
        return re.sub(r"\.\d+\b|\bpc[+-]\d+|[+-]0x[0-9a-f]+ ?<", ".", item.text.strip())
    return item.text.strip() or f"{PurePosixPath(item.place.file).name}:{item.place.line}"


def _items(profile: Profile, component: str, *, sourced: bool) -> Iterator[_Item]:
    """Yield the source lines of a profile, and the instructions without a source line.

    A profile has the costs on the slowest path; those of `component` are used. If `sourced` is
    false, yield all instructions instead.
    """
    if sourced:
        for line in profile["lines"]:
            cost = line["cost"].get(component, 0)
            place = Place(line["file"], line["line"], line["runs"], cost)
            yield _Item(line["function"], line["text"], place)
    for insn in profile["instructions"]:
        if not sourced or insn["line"] is None:
            cost = insn["cost"].get(component, 0)
            place = Place(None, insn["instruction"], insn["runs"], cost)
            yield _Item(insn["function"], insn["text"], place)
