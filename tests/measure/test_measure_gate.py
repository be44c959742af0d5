"""Tests that `measure --fail-on` fails only if the whole interval of a ratio exceeds the limit."""

import pytest

from slowpath.core.errors import ExitCode
from slowpath.measure.documents import ComparedPath
from slowpath.measure.settings import decide, is_decided, parse_gate


def row(value: float | None, low: float | None, high: float | None) -> ComparedPath:
    return {
        "path": "slowest",
        "old_ns": 10.0,
        "new_ns": 11.0,
        "ratio": value,
        "low": low,
        "high": high,
        "significant": None,
        "error": None,
        "code": None,
        "report": None,
    }


@pytest.mark.parametrize(
    ("text", "interval", "code"),
    [
        ("ratio > 1.05", (1.06, 1.08), ExitCode.FAILED),
        ("ratio > 1.05", (1.05, 1.08), ExitCode.UNDECIDED),
        ("ratio >= 1.05", (1.05, 1.08), ExitCode.FAILED),
        ("ratio > 1.05", (1.01, 1.08), ExitCode.UNDECIDED),
        ("ratio>1.05", (0.9, 1.05), ExitCode.FINE),
        ("ratio >= 1.05", (0.9, 1.05), ExitCode.UNDECIDED),
        (" ratio > .5 ", (0.3, 0.4), ExitCode.FINE),
    ],
)
def test_the_interval_decides(text: str, interval: tuple[float, float], code: ExitCode) -> None:
    low, high = interval
    decision = decide(parse_gate(text), row((low + high) / 2, low, high))
    assert decision.code is code
    assert (decision.reason is None) == (code is ExitCode.FINE)


def test_a_gate_without_a_ratio_fails() -> None:
    assert decide(parse_gate("ratio > 2"), row(None, None, None)).code is ExitCode.FAILED


@pytest.mark.parametrize(
    "text", ["ratio < 1", "ratio", "ratio > 1e999x", "speed > 1", "ratio > -1"]
)
def test_other_conditions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a condition"):
        parse_gate(text)


def test_several_conditions_are_decided_when_all_are() -> None:
    gates = [parse_gate("ratio > 1.05"), parse_gate("ratio > 1.5")]
    assert not is_decided(gates, row(1.1, 1.0, 1.2))
    assert is_decided(gates, row(1.1, 1.06, 1.2))
    # A missing ratio decides the gates, because longer measuring would not help.
    assert is_decided(gates, row(None, None, None))
