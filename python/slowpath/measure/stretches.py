"""Measures how much time each stretch (part) of a program path takes.

The time of a stretch is the time of a run that ends at the stretch's end, minus that of a run that
ends at its start. The stretches of a load therefore add up to the path. To end a run early, the
program contains a check at each end of a stretch (a "question"), whose time is subtracted.

A CPU executes several instructions at once. Work counts in the stretch whose end it delays, which
may follow the stretch of its instructions, and work that delays nothing costs nothing. A stretch
may therefore have a negative time, within its interval.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowpath.core.engine import kernel
from slowpath.core.errors import InputError
from slowpath.measure.bench import KernelBench
from slowpath.measure.documents import Breakdown, MeasuredStretch, fail
from slowpath.measure.sampling import Measured, Outcome, Progress, StopCriteria, measure
from slowpath.measure.statistics import Estimate, estimate


class PrefixTimes(NamedTuple):
    """Times from the start of a path to the end of each stretch (part of the path), in one load.

    The time of an empty program is subtracted. A time is None if all its samples were disturbed.
    """

    path: float | None  # ns of the path without checks
    ends: Sequence[float | None]  # ns up to the end of each stretch, including checks


class Parts(NamedTuple):
    """Times of a path and of its parts (stretches) in nanoseconds; None without a sample."""

    whole: Estimate | None  # time of the path
    asking: Estimate | None  # time of one check
    parts: list[Estimate | None]  # time of each stretch


def stretch_times(loads: Sequence[PrefixTimes], questions: Sequence[int]) -> Parts:
    """Compute the times of the stretches (parts) of a path from independent loads.

    Checks that end a run at the end of a stretch take time, which is subtracted. `questions` has
    the number of checks executed up to the end of each stretch. The time of one check is an
    average: the extra time of the path with all checks, divided by their number.
    """
    wholes, checks = list[float](), list[float]()
    found: list[list[float]] = [[] for _ in questions]
    for load in loads:
        with_checks = load.ends[-1] if load.ends else None
        if load.path is None or with_checks is None:
            continue
        check = (with_checks - load.path) / questions[-1] if questions[-1] else 0.0
        wholes.append(load.path)
        checks.append(check)
        start: float | None = 0.0
        for values, time, count in zip(found, load.ends, questions, strict=True):
            end = None if time is None else time - check * count
            if end is not None and start is not None:
                values.append(end - start)
            start = end
    parts = [estimate(values) if values else None for values in found]
    if not wholes:
        return Parts(None, None, parts)
    return Parts(estimate(wholes), estimate(checks), parts)


def break_down(
    station: kernel.Station,
    case: kernel.Case,
    rank: int | None,
    quota: StopCriteria,
    go_on: Callable[[Progress], bool],
) -> Breakdown:
    """Measure the time of each stretch (part) of a path; `rank` is the path's number in reports."""
    breakdown: Breakdown = {
        "rank": rank,
        "program_ns": None,
        "asking_ns": None,
        "loads": 0,
        "stretches": [],
        "uncut": [],
        "error": None,
        "code": None,
    }
    try:
        stretches, breakdown["uncut"] = kernel.cut_case(station, case)
        cases = [case, *(stretch.case for stretch in stretches)]
        outcome = measure(KernelBench(station, cases), quota, go_on)
    except InputError as problem:
        fail(breakdown, problem.coded)
        return breakdown
    questions = [stretch.questions for stretch in stretches]
    parts = stretch_times(_loads(outcome), questions)
    breakdown["loads"] = outcome.loads
    if parts.whole is None:
        fail(breakdown, outcome.why(0))
        return breakdown
    breakdown["program_ns"] = parts.whole.value
    breakdown["asking_ns"] = None if parts.asking is None else parts.asking.value
    breakdown["stretches"] = [
        _row(stretch, part, parts) for stretch, part in zip(stretches, parts.parts, strict=True)
    ]
    return breakdown


def _loads(outcome: Outcome) -> list[PrefixTimes]:
    baseline = 0.0 if outcome.baseline is None else outcome.baseline.value

    def net(measured: Measured | None, load: int) -> float | None:
        value = None if measured is None else measured.loads[load]
        return None if value is None else value - baseline

    loads = []
    for number in range(outcome.loads):
        path, *ends = [net(measured, number) for measured in outcome.subjects]
        loads.append(PrefixTimes(path, ends))
    return loads


def _row(stretch: kernel.Stretch, part: Estimate | None, parts: Parts) -> MeasuredStretch:
    file, line, text = (None, None, None) if stretch.source is None else stretch.source
    row: MeasuredStretch = {
        "from_instruction": stretch.from_instruction,
        "to_instruction": stretch.to_instruction,
        "instructions": stretch.instructions,
        "call": stretch.call,
        "file": file,
        "line": line,
        "text": None if text is None else text.strip(),
        "ns": None,
        "low_ns": None,
        "high_ns": None,
        "share": None,
    }
    if part is not None:
        row["ns"] = part.value
        row["low_ns"], row["high_ns"] = part.interval.known
        if parts.whole is not None and parts.whole.value > 0:
            row["share"] = part.value / parts.whole.value
    return row
