"""`--fail-on`: how much longer the new program may take. What is not decided is no pass."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from slowpath.cli.exit_codes import ExitCode
from slowpath.measurements.documents import ComparedPath

_CONDITION = re.compile(r"\s*ratio\s*(>=?)\s*(\d+(?:\.\d*)?|\.\d+)\s*")


class Gate(NamedTuple):
    """A ratio from which on a comparison fails."""

    text: str
    limit: float
    inclusive: bool


class Decision(NamedTuple):
    """What a gate says of a comparison, and why; no reason where it passes."""

    code: ExitCode
    reason: str | None


def parse_gate(text: str) -> Gate:
    """Reads `ratio > NUMBER` or `ratio >= NUMBER`.

    Raises:
        ValueError: when it is neither.
    """
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no condition; write for example 'ratio > 1.05'")
    return Gate(text, float(found[2]), found[1] == ">=")


def is_decided(gates: Sequence[Gate], row: ComparedPath) -> bool:
    """Whether measuring for longer would tell nothing more."""
    return all(decide(gate, row).code is not ExitCode.UNDECIDED for gate in gates)


def decide(gate: Gate, row: ComparedPath) -> Decision:
    """Whether the ratio of the slowest paths is beyond the limit: its interval has to say so."""
    value, low, high = row["ratio"], row["low"], row["high"]
    if value is None or low is None or high is None:
        reason = f"the slowest paths could not be compared, and --fail-on {gate.text!r} needs that"
        return Decision(ExitCode.FAILED, reason)
    measured = f"the ratio is {value:.3f} (95 % interval {low:.3f} to {high:.3f})"
    if low > gate.limit or (gate.inclusive and low == gate.limit):
        reason = f"{measured}, and --fail-on {gate.text!r} forbids that"
        return Decision(ExitCode.FAILED, reason)
    if high < gate.limit or (not gate.inclusive and high == gate.limit):
        return Decision(ExitCode.FINE, None)
    reason = (
        f"{measured}: whether --fail-on {gate.text!r} holds is not decided; measure for longer "
        "(--seconds) or on a quieter machine"
    )
    return Decision(ExitCode.UNDECIDED, reason)
