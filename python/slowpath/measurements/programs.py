"""Programs whose paths are measured together, in turns."""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from slowpath.analysis.outcomes import Analysed
from slowpath.analysis.prediction import predicted, predicted_for
from slowpath.cli.errors import DisagreementError, InputError
from slowpath.engine import objects
from slowpath.engine.kernel import stations
from slowpath.measurements.conclusions import conclude, warnings_of
from slowpath.measurements.documents import MeasuredPath, MeasuredProgram, action_name
from slowpath.measurements.later import LaterCase, fill_later, later_path
from slowpath.measurements.paths import instructions_of
from slowpath.measurements.stretches.conclusions import conclude_where
from slowpath.measurements.stretches.measuring import break_down
from slowpath.measurements.timing.bench import KernelBench
from slowpath.measurements.timing.sampling import Measured, Outcome, Progress, Quota, measure
from slowpath.schema.results import PathResult, Witness

Choose = Callable[[Sequence[PathResult]], list[tuple[int, PathResult]]]
"""Chooses paths to measure, each with its rank."""


class PreparedProgram(NamedTuple):
    """A program, and those of its paths that the kernel takes."""

    record: MeasuredProgram
    cases: list[stations.Case]
    numbers: list[int]  # of each case, its path in the record
    witnesses: list[Witness]  # of each case
    later: list[LaterCase]  # of paths whose further packets take another one


def prepare_program(
    station: stations.Station,
    analysed: Analysed,
    choose: Choose,
    going: Callable[[int, int], bool],
    maps: str | None = None,
) -> PreparedProgram:
    """Runs the chosen paths once, in kernel and interpreter, and finds out how they can be timed.

    `going` is told before each path how many are done, and of how many; when it says no, the rest
    is left out. `maps` is the text of `--maps`.
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
        "predicted_for": predicted_for(),
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
        "trace": None,
        "error": result["error"],
    }
    prepared = PreparedProgram(record, [], [], [], [])
    if result["error"] is not None or task.object is None or task.program is None:
        if record["error"] is None:
            record["error"] = "it is a listing; the kernel runs BPF objects"
        return prepared
    if not result["paths"]:
        why = "" if guarantee is None else f" ({guarantee['stopped']})"
        record["error"] = f"no path was found that a packet takes{why}"
        return prepared
    subject = objects.Subject(task.file, task.object, task.program.number, None)
    chosen = choose(result["paths"])
    for done, (rank, path) in enumerate(chosen):
        if not going(done, len(chosen)):
            break
        _prepare_path(station, subject, (rank, path), prepared, maps)
    return prepared


def _prepare_path(
    station: stations.Station,
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
        "report": None,
    }
    program.record["paths"].append(row)
    try:
        case = stations.prepare_case(
            station, subject, json.dumps(path["witness"]), instructions_of(path), maps
        )
    except DisagreementError as problem:
        row["error"], row["report"] = problem.reason, problem.report
        return
    except InputError as problem:
        row["error"] = problem.reason
        return
    row["action"] = action_name(case.action)
    prediction = predicted(case)
    if prediction is not None:
        row["predicted_ns"], row["predicted_program_ns"] = prediction
    row["arrangement"] = "restored" if case.arrangement == "restored" else "repeated"
    row["drained"] = case.drained
    if case.later is not None:
        later = row["later"] = later_path(case.later)
        if case.later.case is not None:
            program.later.append(LaterCase(later, case.later.case))
    row["answered"], row["omitted"] = case.answered, case.omitted
    program.cases.append(case)
    program.numbers.append(len(program.record["paths"]) - 1)
    program.witnesses.append(path["witness"])


class Together(NamedTuple):
    """What programs came to that were measured in turns."""

    outcome: Outcome | None  # None: there was nothing to measure
    subjects: list[list[Measured | None]]  # of each program, of each of its paths in the record
    extra: list[Measured | None]

    def why(self, extra: int) -> str:
        """Why nothing is known of one of the extra cases."""
        if self.outcome is None:
            return "interrupted before it was measured"
        return self.outcome.why(len(self.outcome.subjects) - len(self.extra) + extra)


def measure_together(
    station: stations.Station,
    programs: Sequence[PreparedProgram],
    quota: Quota,
    go_on: Callable[[Progress], bool],
    extra: Sequence[stations.Case] = (),
) -> Together:
    """Measures all paths of all programs in turns, and writes into their records what they take.

    Further packets that take other paths than the first are measured with them. So are `extra`,
    which are in no record.

    Raises:
        InputError: when the kernel does not take a path any more.
    """
    cases = [case for program in programs for case in program.cases]
    if not cases and not extra:
        for program in programs:
            without(program)
        rows_of: list[list[Measured | None]] = [
            [None] * len(each.record["paths"]) for each in programs
        ]
        return Together(None, rows_of, [None] * len(extra))
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
                program.record["paths"][number]["error"] = outcome.why(subject)
        _fill(program.record, outcome, rows)
        subjects.append(rows)
        if not program.cases:
            without(program)
    for each in later:
        subject, measured = next(left)
        fill_later(each.record, measured, outcome.why(subject))
    return Together(outcome, subjects, [measured for _, measured in left])


def add_breakdown(
    station: stations.Station,
    program: PreparedProgram,
    quota: Quota,
    go_on: Callable[[Progress], bool],
) -> None:
    """Finds out where the time of the slowest path goes, and writes it into the record."""
    record = program.record

    def time(number: int) -> float:
        return record["paths"][number]["measured_ns"] or 0.0

    timed = [
        (time(number), case, number)
        for number, case in zip(program.numbers, program.cases, strict=True)
    ]
    slowest = max(timed, key=lambda one: one[0], default=None)
    if slowest is None or slowest[0] <= 0:
        return
    rank = record["paths"][slowest[2]]["rank"]
    breakdown = record["breakdown"] = break_down(station, slowest[1], rank, quota, go_on)
    sentences = [record["conclusion"], conclude_where(breakdown)]
    record["conclusion"] = " ".join(each for each in sentences if each is not None) or None


def without(program: PreparedProgram) -> None:
    """Says why nothing of a program is measured."""
    record = program.record
    if record["error"] is None:
        errors = [path["error"] for path in record["paths"] if path["error"] is not None]
        record["error"] = errors[0] if errors else "interrupted before it was measured"


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
        path["program_ns"] = measured.net.value
        path["packetrate_pps"] = None if path["omitted"] else 1e9 / run.value
        path["runs"] = measured.runs
    record["warnings"] = warnings_of(record, outcome)
    record["conclusion"] = conclude(record)
