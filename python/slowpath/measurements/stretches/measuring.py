"""Stretches of a path, measured in turns."""

from collections.abc import Callable

from slowpath.cli.errors import InputError
from slowpath.engine.kernel import stations
from slowpath.measurements.stretches.differences import Beginnings, Parts, take_apart
from slowpath.measurements.stretches.documents import Breakdown, MeasuredStretch
from slowpath.measurements.timing.bench import KernelBench
from slowpath.measurements.timing.sampling import Measured, Outcome, Progress, Quota, measure
from slowpath.measurements.timing.statistics import Estimate


def break_down(
    station: stations.Station,
    case: stations.Case,
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
        stretches, breakdown["uncut"] = stations.cut_case(station, case)
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


def _row(stretch: stations.Stretch, part: Estimate | None, parts: Parts) -> MeasuredStretch:
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
