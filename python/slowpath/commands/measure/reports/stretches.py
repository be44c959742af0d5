"""Where the time of a path goes, as text for people."""

from collections.abc import Iterator

from slowpath.cli.terminal import Line
from slowpath.measurements.stretches.conclusions import largest, where
from slowpath.measurements.stretches.documents import Breakdown, MeasuredStretch
from slowpath.report.grid import grid

_COLUMNS = ("share", "ns", "instructions", "call", "source", "text")
_RIGHT = {"share", "ns", "instructions"}
_SHOWN = 6
"""How many stretches are shown; `--verbose` shows all, in order of execution."""
_TEXT = 48
"""Characters of a source line that are shown."""


def stretches_report(breakdown: Breakdown | None, *, verbose: bool) -> Iterator[Line | str]:
    """A table of the stretches that take most."""
    if breakdown is None:
        return
    if breakdown["error"] is not None:
        yield f"  Where the time goes is not known: {breakdown['error']}."
        return
    stretches = breakdown["stretches"]
    shown = stretches if verbose else largest(breakdown)[:_SHOWN]
    yield ""
    path = "the path" if breakdown["rank"] is None else f"path {breakdown['rank']}"
    yield Line(
        f"  where the {breakdown['program_ns'] or 0.0:.1f} ns of the program on {path} go "
        f"({len(shown)} of {len(stretches)} stretches):"
    )
    yield from grid(_COLUMNS, [_row(stretch) for stretch in shown], right=_RIGHT)
    if verbose and breakdown["uncut"]:
        yield f"  not cut at instructions {', '.join(map(str, breakdown['uncut']))}"


def _row(stretch: MeasuredStretch) -> list[str]:
    text = stretch["text"] or ""
    if stretch["ns"] is None:
        times = ["", ""]
    else:
        low, high = stretch["low_ns"], stretch["high_ns"]
        half = "" if low is None or high is None else f" ± {(high - low) / 2:.1f}"
        share = "" if stretch["share"] is None else f"{stretch['share']:.0%}"
        times = [share, f"{stretch['ns']:.1f}{half}"]
    end = "end" if stretch["to_instruction"] is None else str(stretch["to_instruction"])
    return [
        *times,
        f"{stretch['instructions']}",
        stretch["call"] or f"{stretch['from_instruction']} to {end}",
        where(stretch),
        text if len(text) <= _TEXT else text[: _TEXT - 1] + "…",
    ]
