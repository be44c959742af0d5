"""Time of the stretches of a path.

A stretch takes what a path up to its end takes longer than the path up to its start. Both are
whole runs, so the stretches of a load add up to the path. A CPU works on several instructions at
once: work is counted in the stretch in which it delays the end, which may be a later one than that
of its instructions, and work that delays nothing takes nothing. So a stretch may take less than
nothing, within its interval.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowpath.core.engine import kernel
from slowpath.core.errors import InputError
from slowpath.measure.bench import KernelBench
from slowpath.measure.documents import Breakdown, MeasuredStretch
from slowpath.measure.sampling import Measured, Outcome, Progress, Quota, measure
from slowpath.measure.statistics import Estimate, estimate


class Beginnings(NamedTuple):
    """What one load said; None: all samples were disturbed. All beyond an empty program."""

    path: float | None  # ns of the path, without questions
    ends: Sequence[float | None]  # of it up to the end of each stretch, with questions


class Parts(NamedTuple):
    """What a path and its stretches take, in ns."""

    whole: Estimate | None
    asking: Estimate | None  # a question
    parts: list[Estimate | None]


def take_apart(loads: Sequence[Beginnings], questions: Sequence[int]) -> Parts:
    """What stretches take by independent loads.

    `questions` is how many a run up to the end of each stretch asks. What one takes is how much
    longer the path is with all of them, by their number; that is an average.
    """
    wholes, askings = list[float](), list[float]()
    found: list[list[float]] = [[] for _ in questions]
    for load in loads:
        asked = load.ends[-1] if load.ends else None
        if load.path is None or asked is None:
            continue
        asking = (asked - load.path) / questions[-1] if questions[-1] else 0.0
        wholes.append(load.path)
        askings.append(asking)
        start: float | None = 0.0
        for values, end, count in zip(found, load.ends, questions, strict=True):
            without = None if end is None else end - asking * count
            if without is not None and start is not None:
                values.append(without - start)
            start = without
    parts = [estimate(values) if values else None for values in found]
    if not wholes:
        return Parts(None, None, parts)
    return Parts(estimate(wholes), estimate(askings), parts)


def break_down(
    station: kernel.Station,
    case: kernel.Case,
    rank: int | None,
    quota: Quota,
    go_on: Callable[[Progress], bool],
) -> Breakdown:
    """Finds out where the time of a path goes; `rank` is which one it is."""
    breakdown: Breakdown = {
        "rank": rank,
        "program_ns": None,
        "asking_ns": None,
        "loads": 0,
        "stretches": [],
        "uncut": [],
        "error": None,
    }
    try:
        stretches, breakdown["uncut"] = kernel.cut_case(station, case)
        cases = [case, *(stretch.case for stretch in stretches)]
        outcome = measure(KernelBench(station, cases), quota, go_on)
    except InputError as problem:
        breakdown["error"] = problem.reason
        return breakdown
    questions = [stretch.questions for stretch in stretches]
    parts = take_apart(_loads(outcome), questions)
    breakdown["loads"] = outcome.loads
    if parts.whole is None:
        breakdown["error"] = outcome.why(0)
        return breakdown
    breakdown["program_ns"] = parts.whole.value
    breakdown["asking_ns"] = None if parts.asking is None else parts.asking.value
    breakdown["stretches"] = [
        _row(stretch, part, parts) for stretch, part in zip(stretches, parts.parts, strict=True)
    ]
    return breakdown


def _loads(outcome: Outcome) -> list[Beginnings]:
    baseline = 0.0 if outcome.baseline is None else outcome.baseline.value

    def net(measured: Measured | None, load: int) -> float | None:
        value = None if measured is None else measured.loads[load]
        return None if value is None else value - baseline

    loads = []
    for number in range(outcome.loads):
        path, *ends = [net(measured, number) for measured in outcome.subjects]
        loads.append(Beginnings(path, ends))
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
