"""`--fail-on`: changes that must not be. What cannot be told is a failure, never a pass."""

from collections.abc import Sequence
from typing import NamedTuple

from slowpath.commands.diff.cells import cell
from slowpath.commands.diff.columns import ESTIMATED, Row
from slowpath.commands.diff.filters import Comparison, full_name


class Gate(NamedTuple):
    """A condition that no program may fulfil, and how it was written."""

    text: str
    condition: Comparison


_ALLOW = ("--allow-new", "--allow-gone")


class Allowed(NamedTuple):
    """Programs that pass what cannot be told because only one side has them."""

    new: bool = False
    gone: bool = False
    unread: str | None = None  # a file of OLD that could not be read: what it had is not known

    def words(self) -> list[str]:
        """The options that say the same."""
        return [option for option, given in zip(_ALLOW, self[:2], strict=True) if given]

    def lets_pass(self, row: Row) -> bool:
        """Whether a program may lack a value that a gate needs."""
        if row.pair.old is None:
            return self.new and self.unread is None
        return row.pair.new is None and self.gone

    def hint(self, row: Row) -> str:
        """How such a program would pass, or why it does not."""
        if row.pair.old is None and self.new:
            return f"; --allow-new does not hold, because {self.unread} could not be read"
        if row.pair.old is None:
            return "; --allow-new lets new programs pass"
        if row.pair.new is None:
            return "; --allow-gone lets removed programs pass"
        return ""


_NONE = Allowed()


class Failure(NamedTuple):
    """A program that a gate stops, and why in words."""

    row: Row
    gate: Gate
    reason: str
    unknown: bool  # the value is N/A


def failures(rows: Sequence[Row], gates: Sequence[Gate], allowed: Allowed = _NONE) -> list[Failure]:
    """What the gates stop; guaranteed values count, be they exact or not."""
    found = []
    for row in rows:
        for gate in gates:
            holds = gate.condition.holds(row)
            if holds is False or (holds is None and allowed.lets_pass(row)):
                continue
            if holds is None:
                reason = _unknown(row, gate) + allowed.hint(row)
                found.append(Failure(row, gate, reason, unknown=True))
            else:
                found.append(Failure(row, gate, _known(row, gate), unknown=False))
    return found


def _known(row: Row, gate: Gate) -> str:
    column = full_name(gate.condition.column, row.values)
    reason = f"{column} is {cell(row, column)}, and --fail-on {gate.text!r} forbids that"
    words = {"bound": "is a bound that is not exact", "conditional": "depends on assumptions"}
    weaker = [
        f"{side} {words[verdict]}"
        for side, suffix in (("OLD", "a"), ("NEW", "b"))
        if (verdict := str(row.known(f"verdict_{suffix}"))) in words
    ]
    return f"{reason} ({', '.join(weaker)})" if weaker else reason


def _unknown(row: Row, gate: Gate) -> str:
    column = full_name(gate.condition.column, row.values)
    why = why_not_available(row, column)
    return f"{column} is N/A ({why}), and --fail-on {gate.text!r} needs it"


def why_not_available(row: Row, column: str) -> str:
    """Why a value of a pair is missing."""
    old, new = row.pair
    if old is None:
        return "OLD has no such program"
    if new is None:
        return "NEW has no such program"
    failed = [name for name, r in (("OLD", old), ("NEW", new)) if r["error"] is not None]
    if failed:
        return f"{' and '.join(failed)} could not be analysed"
    if column.startswith(ESTIMATED):
        without = [name for name, r in (("OLD", old), ("NEW", new)) if r["estimate"] is None]
        if without:
            return f"there is no estimate of {' and '.join(without)}"
        if not row.pair.same_machine:
            return "OLD and NEW are estimated for different machines, dates or --entries"
    return f"target {old['target']} and metric {old['metric']} do not have it for both"
