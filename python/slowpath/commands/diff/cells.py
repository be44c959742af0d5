"""Values of a comparison as texts for people: the same in tables, Markdown and messages."""

from slowpath.commands.diff.columns import Row, change_of, more_is_better
from slowpath.report.single import format_cycles
from slowpath.schema.rates import as_metric, format_apart, format_rate

NOT_AVAILABLE = "N/A"


def cell(row: Row, column: str) -> str:
    """The text of a value; a guarantee that is not exact is marked with `>=`, `<=` or `(if)`."""
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
    """A rate with enough digits to tell it from the other side's."""
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
    """Marks a guarantee that is exact under conditions."""
    conditional = base == row.metric and row.known(f"verdict_{suffix}") == "conditional"
    return " (if)" if conditional else ""


def format_percent(value: float) -> str:
    """A change in percent with two decimals, as veristat has it; never 0 for what is not."""
    text = f"{value:+.2f} %"
    if value and not text.strip("+-0. %"):
        return f"{'+' if value > 0 else '-'}<0.01 %"
    return "0 %" if not value else text


def also_changed(row: Row) -> str:
    """What else is different between the sides, in short."""
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
    """How many programs of each change there are: `1 worse, 2 same`."""
    changes = [change_of(row) for row in rows]
    words = ("worse", "better", "same", "new", "gone", "unknown")
    counts = [f"{changes.count(word)} {word}" for word in words if word in changes]
    return ", ".join(counts) or "no programs"
