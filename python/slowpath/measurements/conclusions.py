"""What measurements come to, in sentences."""

import math

from slowpath.measurements.documents import MeasuredPath, MeasuredProgram
from slowpath.measurements.timing.sampling import DISTURBED, Outcome

_MUCH = 0.25
"""Share of disturbed samples from which on it is worth a word."""


def conclude(record: MeasuredProgram) -> str | None:
    """Compare the slowest path with the fastest; None when no path was measured completely.

    Paths whose calls were left out take part in no comparison: their times are too short.
    """
    known = [path for path in record["paths"] if _time(path) > 0 and not path["omitted"]]
    if not known:
        return None
    by_time = sorted(known, key=_time, reverse=True)
    slowest, fastest = by_time[0], by_time[-1]
    rate = f"{1e3 / _time(slowest):.1f} million packets a second on one core"
    if slowest is fastest:
        return f"{_only(record)} takes {_time(slowest):.1f} ns: {rate}."
    factor = _time(slowest) / _time(fastest)
    sentence = (
        f"{_slowest(record)} takes {factor:.1f} times as long as the fastest: {rate}, "
        "without receiving and sending."
    )
    if slowest["rank"] != 1 and record["paths"][0] in known:
        sentence += (
            f" It is not the one of most instructions: path {slowest['rank']} has "
            f"{slowest['instructions']}, path 1 {record['paths'][0]['instructions']}."
        )
    return sentence


def _only(record: MeasuredProgram) -> str:
    return "The only path timed with all its calls" if incomplete(record) else "The path"


def _slowest(record: MeasuredProgram) -> str:
    return "The slowest path timed with all its calls" if incomplete(record) else "The slowest path"


def incomplete(record: MeasuredProgram) -> list[MeasuredPath]:
    """Measured paths whose calls were left out."""
    return [path for path in record["paths"] if _time(path) > 0 and path["omitted"]]


def _time(path: MeasuredPath) -> float:
    return path["measured_ns"] or 0.0


def warnings_of(record: MeasuredProgram, outcome: Outcome) -> list[str]:
    """What is to be said about how a program was measured."""
    found = []
    quiet, usual = outcome.busy
    ratio = usual / quiet if quiet > 0 else math.inf  # so disturbed that calls took all the time
    if outcome.limit > DISTURBED[0]:
        slower = f"a busy loop beside them took up to {outcome.limit:g} times as long"
        if outcome.limit == math.inf:
            slower = "a busy loop beside them took any time"
        found.append(
            f"This is a disturbed measurement: samples count although {slower} (in the median "
            f"{ratio:.2f} times), because too few were left otherwise; measure again when "
            "the machine is quiet."
        )
    elif outcome.samples and outcome.discarded / outcome.samples > _MUCH:
        found.append(
            f"{outcome.discarded / outcome.samples:.0%} of the samples were left out, because a "
            f"busy loop beside them took more than {outcome.limit:g} times as long as undisturbed "
            f"(in the median {ratio:.2f} times): measure again when the machine is quiet."
        )
    if not outcome.precise:
        found.append(
            "Not all intervals became as narrow as --precision asks for within --seconds "
            f"({outcome.seconds:.1f} s)."
        )
    later = [path for path in record["paths"] if path["later"] is not None]
    if later:
        ranks = ", ".join(str(path["rank"]) for path in later)
        found.append(
            f"Further packets like it take another path than the first (path {ranks}): what the "
            "first one changed was taken back each time."
        )
    answered = {helper for path in record["paths"] for helper in path["answered"]}
    omitted = {helper for path in record["paths"] for helper in path["omitted"]}
    if replaced := sorted(answered - omitted):
        found.append(
            f"Answers of {', '.join(replaced)} were replaced by those that the paths need."
        )
    found.extend(
        f"Path {path['rank']} was timed without {', '.join(path['omitted'])}: the call has effects "
        "and the kernel would answer it differently. Its time is too short, and the path may be "
        "the slowest."
        for path in incomplete(record)
    )
    return found
