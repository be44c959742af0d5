"""Where the time of a path goes, in a sentence."""

from slowpath.measurements.stretches.documents import Breakdown, MeasuredStretch

_MUCH = 0.25
"""Share of the time from which on a stretch is worth a sentence."""


def largest(breakdown: Breakdown) -> list[MeasuredStretch]:
    """The stretches that were timed, those that take most first."""
    known = [stretch for stretch in breakdown["stretches"] if stretch["ns"] is not None]
    return sorted(known, key=_time, reverse=True)


def conclude_where(breakdown: Breakdown) -> str | None:
    """Which stretch takes most; None where none takes surely more than the others, or much."""
    known = largest(breakdown)
    if not known:
        return None
    first, *others = known
    share = first["share"]
    if share is None or share < _MUCH:
        return None
    low = first["low_ns"]
    if low is None or low <= 0 or any(low <= (other["high_ns"] or 0.0) for other in others):
        return None
    place = where(first)
    what = first["call"] or ("code around " + place if place else _instructions(first))
    at = f" at {place}" if first["call"] and place else ""
    return f"{share:.0%} of the program's time is {what}{at}."


def _instructions(stretch: MeasuredStretch) -> str:
    end = stretch["to_instruction"]
    until = "to the end" if end is None else f"to {end - 1}"
    return f"the code from instruction {stretch['from_instruction']} {until}"


def where(stretch: MeasuredStretch) -> str:
    """The source line of a stretch; empty where it is not known."""
    if stretch["file"] is None:
        return ""
    return f"{stretch['file'].rpartition('/')[2]}:{stretch['line']}"


def _time(stretch: MeasuredStretch) -> float:
    return stretch["ns"] or 0.0
