"""What is said about further packets, in text and CSV."""

from collections.abc import Iterator, Sequence

from slowpath.measurements.documents import MeasuredPath

CSV = (
    "later_instructions", "later_action", "later_ns", "later_spread_ns", "later_low_ns",
    "later_high_ns", "later_reason",
)  # fmt: skip
"""Columns of CSV."""


def notes(paths: Sequence[MeasuredPath]) -> Iterator[str]:
    """Of each path whose further packets take another one: what these take, or why not."""
    for path in paths:
        later = path["later"]
        if later is None:
            continue
        what = f"{later['instructions']} instructions, {later['action']}"
        first = f"  path {path['rank']}: the first such packet takes {path['measured_ns']:.1f} ns"
        if later["measured_ns"] is None:
            yield f"{first}; a second one ({what}) was not timed: {later['reason']}"
        else:
            yield f"{first}, later ones {later['measured_ns']:.1f} ns ({what})"


def csv_values(path: MeasuredPath) -> list[object]:
    """What stands in the columns of CSV."""
    later = path["later"]
    if later is None:
        return [None] * len(CSV)
    return [
        later["instructions"], later["action"], later["measured_ns"], later["spread_ns"],
        later["low_ns"], later["high_ns"], later["reason"],
    ]  # fmt: skip
