"""What the programs of a chain cost on its slowest path."""

from collections.abc import Iterator, Mapping

from slowpath.cli.printable import one_line
from slowpath.cli.terminal import Line
from slowpath.report.estimates import format_ns
from slowpath.report.path import format_counts, labelled
from slowpath.schema.derived import NANOSECONDS
from slowpath.schema.results import Result


def program_lines(result: Result) -> Iterator[Line]:
    """One line a program of a chain, in the order in which the path runs through them."""
    profile = result["profile"]
    programs = (profile["programs"] if profile is not None else None) or []
    names = [one_line(part["program"]) for part in programs]
    width = max(map(len, names), default=0)
    for number, (name, part) in enumerate(zip(names, programs, strict=True)):
        label = "" if number else "by program"
        yield labelled(label, f"{name:<{width}}  {_cost(part['cost'])}")


def _cost(cost: Mapping[str, float]) -> str:
    """Counts, behind the time where there is an estimate."""
    counts = {name: count for name, count in cost.items() if name != NANOSECONDS}
    time = [format_ns(cost[NANOSECONDS])] if NANOSECONDS in cost else []
    return ", ".join([*time, format_counts(counts)])
