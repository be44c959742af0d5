"""What reports say of estimates: never that they are guaranteed."""

from collections.abc import Iterator

from slowpath.cli.printable import one_line
from slowpath.cli.terminal import Line
from slowpath.report.path import count_of, labelled
from slowpath.schema.rates import format_packetrate
from slowpath.schema.results import USUAL_ENDS, PathEstimate, Result

_LARGE = 100.0
_ROUNDED = 0.002
"""Ends of intervals are whole thousandths of an estimate, which is in picoseconds."""


def estimate_lines(result: Result) -> Iterator[Line]:
    """What the slowest path is estimated to take, and on which machine; nothing where none is."""
    estimate = result["estimate"]
    if estimate is None:
        return
    rate = format_packetrate(estimate["packetrate_pps"])
    yield labelled(
        "estimated", f"{format_estimate(estimate)} per packet; {rate} on one core", "bold"
    )
    yield labelled("", f"of these, the program takes {format_ns(estimate['program_ns'])}")
    yield labelled("", one_line(f"on {estimate['machine']}, measured {estimate['date']}"))
    if is_wide(estimate):
        yield labelled("", "a wide interval: check programs of the calibration disagree with it")
    if estimate["entries"] > 1:
        entries = f"{estimate['entries']:,} entries in each map that has room for them"
        yield labelled("", f"with {entries}, packets spread over all")
    yield labelled("", _looked_at(estimate["candidates"], estimate["stopped"]))


def is_wide(estimate: PathEstimate) -> bool:
    """Whether the interval is wider than that of a calibration that explains its check programs."""
    low, high = (estimate["ns"] * end for end in USUAL_ENDS)
    slack = _ROUNDED * estimate["ns"]
    return estimate["low_ns"] < low - slack or estimate["high_ns"] > high + slack


def _looked_at(candidates: int, stopped: str | None) -> str:
    if candidates == 1:
        text = "the slowest path of 1 that was estimated"
    else:
        text = f"the slowest of {count_of(candidates, 'path')} that were estimated"
    return text if stopped is None else f"{text}; no more were looked for: {stopped}"


def format_estimate(estimate: PathEstimate) -> str:
    """An estimate with its interval: `61.4 ns (54.0 to 69.2)`."""
    low, high = _number(estimate["low_ns"]), _number(estimate["high_ns"])
    return f"{format_ns(estimate['ns'])} ({low} to {high})"


def format_ns(nanoseconds: float) -> str:
    """Nanoseconds with three digits."""
    return f"{_number(nanoseconds)} ns"


def _number(nanoseconds: float) -> str:
    return f"{nanoseconds:.1f}" if nanoseconds < _LARGE else f"{nanoseconds:,.0f}"
