"""`--fail-on`: changes that must not be. What cannot be told is a failure, never a pass."""

from collections.abc import Sequence
from typing import NamedTuple

from slowpath.diff_columns import Row
from slowpath.diff_filters import Comparison, full_name
from slowpath.diff_format import cell


class Gate(NamedTuple):
    """A condition that no program may fulfil, and how it was written."""

    text: str
    condition: Comparison


class Failure(NamedTuple):
    """A program that a gate stops, and why in words."""

    row: Row
    gate: Gate
    reason: str
    unknown: bool  # the value is N/A


def failures(rows: Sequence[Row], gates: Sequence[Gate]) -> list[Failure]:
    """What the gates stop; guaranteed values count, be they exact or not."""
    found = []
    for row in rows:
        for gate in gates:
            holds = gate.condition.holds(row)
            if holds is not False:
                reason = _unknown(row, gate) if holds is None else _known(row, gate)
                found.append(Failure(row, gate, reason, holds is None))
    return found


def _known(row: Row, gate: Gate) -> str:
    column = full_name(gate.condition.column, row.values)
    reason = f"{column} is {cell(row, column)}, and --fail-on {gate.text!r} forbids that"
    stopped = [
        f"{side} is a bound that is not exact"
        for side, result in (("OLD", row.pair.old), ("NEW", row.pair.new))
        if result is not None and result["guarantee"] and not result["guarantee"]["exact"]
    ]
    return f"{reason} ({', '.join(stopped)})" if stopped else reason


def _unknown(row: Row, gate: Gate) -> str:
    column = full_name(gate.condition.column, row.values)
    return f"{column} is N/A ({why_not_available(row)}), and --fail-on {gate.text!r} needs it"


def why_not_available(row: Row) -> str:
    """Why a value of a pair is missing."""
    old, new = row.pair
    if old is None:
        return "OLD has no such program"
    if new is None:
        return "NEW has no such program"
    failed = [name for name, r in (("OLD", old), ("NEW", new)) if r["error"] is not None]
    if failed:
        return f"{' and '.join(failed)} could not be analysed"
    return f"target {old['target']} and metric {old['metric']} do not have it for both"
