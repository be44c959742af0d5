"""Measures the paths of BPF programs in turns, and predicts the times of these paths.

A path consists of stretches, which can be timed separately. The time of a stretch is the time of a
run that ends at the stretch's end, minus that of a run that ends at its start. The stretches of a
load therefore add up to the path. To end a run early, the program contains a check at each end of a
stretch (a "question"), whose time is subtracted.

A CPU executes several instructions at once. Work counts in the stretch whose end it delays, which
may follow the stretch of its instructions, and work that delays nothing costs nothing. A stretch
may therefore have a negative time, within its interval.
"""

import json
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from slowpath.bounds.default_target import CALIBRATED
from slowpath.bounds.options import choose_target
from slowpath.bounds.outcomes import Analysed
from slowpath.bounds.plan import Task
from slowpath.core import codes
from slowpath.core.engine import kernel, objects, targets
from slowpath.core.errors import Coded, DisagreementError, InputError
from slowpath.core.schema.results import PathResult, Witness
from slowpath.measure.bench import KernelBench
from slowpath.measure.conclusions import conclude, conclude_where, warnings_of
from slowpath.measure.documents import (
    TC,
    Breakdown,
    LaterPath,
    MeasuredPath,
    MeasuredProgram,
    MeasuredStretch,
    action_name,
    fail,
    set_warnings,
)
from slowpath.measure.sampling import UNMEASURED, Measured, Outcome, Progress, StopCriteria, measure
from slowpath.measure.statistics import Estimate, estimate

BETWEEN = 6
"""Number of measured paths between the slowest and the fastest one."""


def instructions_of(path: PathResult) -> int:
    """Return the number of instructions on a path: its cost for a target that counts them."""
    return int(path["cost"]["instructions"])


def slowest_to_fastest(paths: Sequence[PathResult]) -> list[tuple[int, PathResult]]:
    """Choose the slowest path, the fastest, and at most `BETWEEN` others.

    Return each with its rank from 1. `paths` are ordered from slowest to fastest. Of several paths
    with the same number of instructions, only the first is considered; the others are evenly spaced
    among the rest.
    """
    ranked = list(enumerate(paths, 1))
    by_cost: dict[int, tuple[int, PathResult]] = {}
    for rank, path in ranked:
        by_cost.setdefault(instructions_of(path), (rank, path))
    distinct = [by_cost[cost] for cost in sorted(by_cost, reverse=True)]
    if len(distinct) <= BETWEEN + 2:
        return distinct
    steps = BETWEEN + 1
    return [distinct[(len(distinct) - 1) * step // steps] for step in range(steps + 1)]


def slowest(paths: Sequence[PathResult], count: int) -> list[tuple[int, PathResult]]:
    """Return the first `count` paths, each with its rank from 1.

    `paths` starts with the slowest.
    """
    return list(enumerate(paths[:count], 1))


class LaterCase(NamedTuple):
    """The path of later packets: those that find maps changed by an equal first packet.

    `record` receives the measured time, and `case` times the path.
    """

    record: LaterPath
    case: kernel.Case


def later_path(later: kernel.SubsequentPackets, kind: str) -> LaterPath:
    """Return a record of the path that packets take after an equal first packet.

    Its time is missing. `kind` is the kind of the program, such as `xdp`.
    """
    return {
        "instructions": later.instructions,
        "action": action_name(later.action, kind),
        "measured_ns": None,
        "spread_ns": None,
        "low_ns": None,
        "high_ns": None,
        "reason": later.reason or "not measured",
    }


def fill_later(record: LaterPath, measured: Measured | None, why: str) -> None:
    """Store the measured time of later packets in their record.

    If `measured` is None, store the reason `why` the time is missing.
    """
    if measured is None:
        record["reason"] = why
        return
    run = measured.run
    record["measured_ns"], record["spread_ns"], record["reason"] = run.value, run.spread, None
    if math.isfinite(run.interval.half_width):
        record["low_ns"], record["high_ns"] = run.interval


@cache
def _target() -> targets.Target:
    return choose_target(CALIBRATED)


class Prediction(NamedTuple):
    """The predicted time of a path in nanoseconds."""

    run: float  # time of one iteration of the kernel's loop, including the program
    program: float  # time that the program adds to an iteration


def predict(case: kernel.Case) -> Prediction | None:
    """Predict the time of one run of a path; None if the model does not cover its instructions.

    This holds for tc programs, and if fixed values replace results of helper calls.
    """
    flow = targets.flow(case)
    if flow is None:
        return None
    run, empty = targets.nanoseconds([flow, _empty()], _target())
    return Prediction(run, max(0.0, run - empty))


@cache
def _empty() -> targets.Flow:
    return targets.flow_of('{"steps": [], "calls": []}')


def predicted_for() -> str | None:
    """Return the machine of the prediction model, its calibration date, and known doubts.

    Return None if the model does not state a machine.
    """
    known, doubt = _target().machine, _target().doubt
    if known is None:
        return None
    return f"{known[0]}, {known[1]}" + ("" if doubt is None else f"; doubtful: {doubt}")


Choose = Callable[[Sequence[PathResult]], list[tuple[int, PathResult]]]
"""Function that chooses from all paths those to measure, and returns each with its rank."""


class PreparedProgram(NamedTuple):
    """A program that is ready for timing: its record, and the paths that the kernel accepts."""

    record: MeasuredProgram
    cases: list[kernel.Case]
    numbers: list[int]  # index in the record's paths, for each case
    witnesses: list[Witness]  # for each case
    later: list[LaterCase]  # paths of later packets that differ from the first packet's path
    kind: str  # of the program, such as `xdp`


def prepare_program(
    station: kernel.Station,
    analysed: Analysed,
    choose: Choose,
    going: Callable[[int, int], bool],
    maps: str | None = None,
) -> PreparedProgram:
    """Run the chosen paths once, in kernel and interpreter, and prepare them for timing.

    `choose` selects the paths. Before each path, `going` is called with the number of prepared
    paths and that of chosen paths. If it returns false, the remaining paths are skipped. `maps` is
    the argument of the option `--maps`.
    """
    result, task = analysed.result, analysed.task
    guarantee = result["guarantee"]
    record: MeasuredProgram = {
        "file": result["file"],
        "section": result["section"],
        "program": result["program"],
        "mode": "test-run",
        "cache": "hot",
        "found": len(result["paths"]),
        "complete": guarantee is not None and guarantee["stopped"] is None,
        "predicted_for": None if kind_of(task) == TC else predicted_for(),
        "baseline_ns": None,
        "loads": 0,
        "samples": 0,
        "discarded": 0,
        "precise": False,
        "seconds": 0.0,
        "paths": [],
        "breakdown": None,
        "conclusion": None,
        "warnings": [],
        "warning_codes": [],
        "trace": None,
        "error": result["error"],
        "code": result["code"],
    }
    prepared = PreparedProgram(record, [], [], [], [], kind_of(task))
    if result["error"] is not None or task.object is None or task.program is None:
        if record["error"] is None:
            reason = "the file is a listing; the kernel runs only BPF objects"
            fail(record, Coded(codes.LISTING_IN_KERNEL, reason))
        return prepared
    if not result["paths"]:
        why = "" if guarantee is None else f" ({guarantee['stopped']})"
        reason = f"no path found that a packet takes{why}"
        fail(record, Coded(codes.NOTHING_TO_MEASURE, reason))
        return prepared
    subject = objects.Subject(task.file, task.object, task.program.number, None)
    chosen = choose(result["paths"])
    for done, (rank, path) in enumerate(chosen):
        if not going(done, len(chosen)):
            break
        _prepare_path(station, subject, (rank, path), prepared, maps)
    return prepared


def kind_of(task: Task) -> str:
    """Return the kind of a task's program, such as `xdp`."""
    return "xdp" if task.program is None else task.program.kind


def _prepare_path(
    station: kernel.Station,
    subject: objects.Subject,
    ranked: tuple[int, PathResult],
    program: PreparedProgram,
    maps: str | None,
) -> None:
    rank, path = ranked
    row: MeasuredPath = {
        "rank": rank,
        "predicted_ns": None,
        "predicted_program_ns": None,
        "measured_ns": None,
        "spread_ns": None,
        "low_ns": None,
        "high_ns": None,
        "program_ns": None,
        "packetrate_pps": None,
        "runs": 0,
        "outliers": 0,
        "load_ns": [],
        "packet": path["witness"]["packet"].replace("--", "5a"),
        "action": None,
        "instructions": instructions_of(path),
        "source": path["source"],
        "arrangement": None,
        "drained": False,
        "later": None,
        "cold": None,
        "cold_reason": None,
        "answered": [],
        "omitted": [],
        "live": None,
        "error": None,
        "code": None,
        "report": None,
    }
    program.record["paths"].append(row)
    try:
        case = kernel.prepare_case(
            station, subject, json.dumps(path["witness"]), instructions_of(path), maps
        )
    except DisagreementError as problem:
        row["report"] = problem.report
        fail(row, problem.coded)
        return
    except InputError as problem:
        fail(row, problem.coded)
        return
    row["action"] = action_name(case.action, program.kind)
    prediction = predict(case)
    if prediction is not None:
        row["predicted_ns"], row["predicted_program_ns"] = prediction
    row["arrangement"] = "restored" if case.arrangement == "restored" else "repeated"
    row["drained"] = case.drained
    if case.later is not None:
        later = row["later"] = later_path(case.later, program.kind)
        if case.later.case is not None:
            program.later.append(LaterCase(later, case.later.case))
    row["answered"], row["omitted"] = case.answered, case.omitted
    program.cases.append(case)
    program.numbers.append(len(program.record["paths"]) - 1)
    program.witnesses.append(path["witness"])


class JointOutcome(NamedTuple):
    """The results of measuring several programs in turns."""

    outcome: Outcome | None  # None: nothing to measure
    subjects: list[list[Measured | None]]  # of each program, for each path in its record
    extra: list[Measured | None]  # for each extra case

    def why(self, extra: int) -> Coded:
        """Return the reason why an extra case of `measure_together` has no measured time.

        `extra` is the index of the case among the extra cases.
        """
        if self.outcome is None:
            return UNMEASURED
        return self.outcome.why(len(self.outcome.subjects) - len(self.extra) + extra)


def measure_together(
    station: kernel.Station,
    programs: Sequence[PreparedProgram],
    quota: StopCriteria,
    go_on: Callable[[Progress], bool],
    extra: Sequence[kernel.Case] = (),
) -> JointOutcome:
    """Measure all paths of all programs in turns, and store the times in their records.

    Paths of later packets (`LaterCase`) are measured in the same turns. This also holds for the
    cases in `extra`, whose times are returned instead of stored.

    Raises:
        InputError: if the kernel no longer accepts a path.
    """
    cases = [case for program in programs for case in program.cases]
    if not cases and not extra:
        for program in programs:
            mark_unmeasured(program)
        rows_of: list[list[Measured | None]] = [
            [None] * len(each.record["paths"]) for each in programs
        ]
        return JointOutcome(None, rows_of, [None] * len(extra))
    later = [each for program in programs for each in program.later]
    bench = KernelBench(station, [*cases, *(each.case for each in later), *extra])
    outcome = measure(bench, quota, go_on)
    left = iter(enumerate(outcome.subjects))
    subjects = []
    for program in programs:
        rows: list[Measured | None] = [None] * len(program.record["paths"])
        for number in program.numbers:
            subject, rows[number] = next(left)
            if rows[number] is None:
                fail(program.record["paths"][number], outcome.why(subject))
        _fill(program.record, outcome, rows)
        subjects.append(rows)
        if not program.cases:
            mark_unmeasured(program)
    for each in later:
        subject, measured = next(left)
        fill_later(each.record, measured, outcome.why(subject))
    return JointOutcome(outcome, subjects, [measured for _, measured in left])


def add_breakdown(
    station: kernel.Station,
    program: PreparedProgram,
    quota: StopCriteria,
    go_on: Callable[[Progress], bool],
) -> None:
    """Measure the stretches (parts) of a program's slowest path.

    Store their times in its record.
    """
    record = program.record
    timed = [
        (record["paths"][number], case)
        for number, case in zip(program.numbers, program.cases, strict=True)
        if record["paths"][number]["measured_ns"]
    ]
    if not timed:
        return
    path, case = max(timed, key=lambda one: one[0]["measured_ns"] or 0.0)
    breakdown = record["breakdown"] = break_down(station, case, path["rank"], quota, go_on)
    sentences = [record["conclusion"], conclude_where(breakdown)]
    record["conclusion"] = " ".join(each for each in sentences if each is not None) or None


def mark_unmeasured(program: PreparedProgram) -> None:
    """Store in the record the reason why no path of a program was measured."""
    record = program.record
    if record["error"] is None:
        failed = next((path for path in record["paths"] if path["error"] is not None), None)
        if failed is None:
            fail(record, UNMEASURED)
        else:
            record["error"], record["code"] = failed["error"], failed["code"]


def _fill(record: MeasuredProgram, outcome: Outcome, rows: Sequence[Measured | None]) -> None:
    record["baseline_ns"] = None if outcome.baseline is None else outcome.baseline.value
    record["loads"], record["samples"] = outcome.loads, outcome.samples
    record["discarded"], record["precise"] = outcome.discarded, outcome.precise
    record["seconds"] = outcome.seconds
    for path, measured in zip(record["paths"], rows, strict=True):
        if measured is None:
            continue
        run = measured.run
        path["measured_ns"], path["spread_ns"] = run.value, run.spread
        path["low_ns"], path["high_ns"] = run.interval.known
        path["outliers"] = run.outliers
        path["load_ns"] = [one for one in measured.loads if one is not None]
        path["program_ns"] = measured.net.value
        path["packetrate_pps"] = None if path["omitted"] else 1e9 / run.value
        path["runs"] = measured.runs
    set_warnings(record, warnings_of(record, outcome))
    record["conclusion"] = conclude(record)


class PrefixTimes(NamedTuple):
    """Times from the start of a path to the end of each stretch (part of the path), in one load.

    The time of an empty program is subtracted. A time is None if all its samples were disturbed.
    """

    path: float | None  # ns of the path without checks
    ends: Sequence[float | None]  # ns up to the end of each stretch, including checks


class Parts(NamedTuple):
    """Times of a path and of its stretches (parts) in nanoseconds; None: no undisturbed sample."""

    whole: Estimate | None  # time of the path
    asking: Estimate | None  # time of one check
    parts: list[Estimate | None]  # time of each stretch


def stretch_times(loads: Sequence[PrefixTimes], questions: Sequence[int]) -> Parts:
    """Compute the times of the stretches (parts) of a path.

    Each load is an independent observation. Checks that end a run at the end of a stretch take
    time, which is subtracted. `questions` has the number of checks executed up to the end of each
    stretch. The time of one check is an average: the extra time of the path with all checks,
    divided by their number.
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
