"""Finds the path that each packet of a trace takes, and measures the time of each path."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from slowpath.bounds.outcomes import Analysed
from slowpath.core import codes
from slowpath.core.engine import kernel, objects, report_types
from slowpath.core.errors import Coded, InputError
from slowpath.core.pictures import picture
from slowpath.core.schema.derived import is_found
from slowpath.core.schema.results import PathResult
from slowpath.measure.conclusions import conclude_trace, notes_of
from slowpath.measure.documents import (
    MeasuredTrace,
    TraceDistance,
    TraceMix,
    TracePath,
    action_name,
    fail,
    set_warnings,
)
from slowpath.measure.programs import JointOutcome, PreparedProgram, kind_of
from slowpath.measure.sampling import Measured
from slowpath.measure.statistics import estimate

TIMED = 30
"""Maximum number of a trace's paths that are timed: the most frequent ones. The slowest path is
timed in addition.
"""
_TURN = 100
"""Time in milliseconds for which packets run before `going` is asked whether to continue."""


class TraceRequest(NamedTuple):
    """A capture file to run through programs, and the initial content of the programs' maps."""

    file: str
    maps: str | None = None  # text of `--maps`: map content before the first packet


class PreparedTrace(NamedTuple):
    """A trace that has run through a program, with those of its paths that can be timed.

    `cases` has these paths.
    """

    record: MeasuredTrace
    cases: list[kernel.Case]
    numbers: list[int]  # index in the record's paths, for each case
    known: bool  # true if no path of the program is slower than the analysis's slowest path


def prepare_trace(
    station: kernel.Station,
    analysed: Analysed,
    asked: TraceRequest,
    program: PreparedProgram,
    going: Callable[[str], bool],
) -> PreparedTrace:
    """Run the packets of a trace through a program, and prepare the paths they take for timing.

    `asked` names the trace. `going` is called with a description of each next step; if it returns
    false, the remaining steps are skipped.
    """
    guarantee = analysed.result["guarantee"]
    known = guarantee is not None and is_found(guarantee)
    prepared = PreparedTrace(_empty(asked.file), [], [], known)
    record, task = prepared.record, analysed.task
    if analysed.result["error"] is not None or task.object is None or task.program is None:
        fail(record, Coded(codes.NOTHING_TO_MEASURE, "the program cannot be run"))
        return prepared
    subject = objects.Subject(task.file, task.object, task.program.number, None)
    try:
        trace = kernel.open_trace(station, subject, asked.file, asked.maps)
        left = True
        while left and going(f"packet {trace.packets + 1:,} of the trace"):
            left = kernel.advance_trace(station, trace, _TURN)
        report = kernel.report_trace(trace)
    except InputError as problem:
        fail(record, problem.coded)
        return prepared
    order = _fill(record, report, analysed.result["paths"], kind_of(task))
    _name_ranks(record, program)
    if left:
        fail(
            record,
            Coded(codes.MEASUREMENT_INTERRUPTED, f"stopped after packet {record['count']:,}"),
        )
        return prepared
    if not record["count"] and record["error"] is None:
        fail(record, Coded(codes.TRACE_WITHOUT_PACKETS, "the trace has no packets"))
        return prepared
    chosen = _chosen(record)
    for done, place in enumerate(chosen):
        if not going(f"preparing path {done + 1} of {len(chosen)} of the trace"):
            break
        _prepare_path(station, subject, trace.witness(order[place] + 1), place, prepared)
    return prepared


def _empty(file: str) -> MeasuredTrace:
    return {
        "file": file,
        "format": None,
        "count": 0,
        "complete": False,
        "truncated": 0,
        "refused": 0,
        "undecided": 0,
        "disagreements": 0,
        "uncertain": 0,
        "maps": [],
        "paths": [],
        "mix": None,
        "slowest": None,
        "packets": [],
        "conclusion": None,
        "warnings": [],
        "warning_codes": [],
        "error": None,
        "code": None,
        "report": None,
    }


def _fill(
    record: MeasuredTrace,
    report: report_types.TraceReport,
    found: Sequence[PathResult],
    kind: str,
) -> list[int]:
    """Copy the report on a trace to the record, with its paths ordered by number of packets.

    `found` are the paths from the analysis, `kind` is the kind of the program. Return, for each
    path of the record, its index in the report.
    """
    record["format"], record["count"] = report["format"], report["packets"]
    record["complete"], record["error"] = report["complete"], report["ended"]
    record["code"] = report["code"]
    record["truncated"], record["uncertain"] = report["truncated"], report["uncertain"]
    record["refused"] = report["refused"]["packets"]
    record["undecided"] = report["undecided"]["packets"]
    record["disagreements"] = report["disagreements"]["packets"]
    record["report"] = report["disagreements"]["report"]
    record["maps"] = [
        {"name": each["name"], "entries": each["entries"], "others": each["others"]}
        for each in report["maps"]
    ]
    paths = report["paths"]
    known = sum(path["packets"] for path in paths)
    order = sorted(range(len(paths)), key=lambda at: (-paths[at]["packets"], paths[at]["first"]))
    places = {old: new for new, old in enumerate(order)}
    record["packets"] = [
        None if number is None else places[number - 1] + 1 for number in report["taken"]
    ]
    for number, at in enumerate(order, 1):
        path = paths[at]
        record["paths"].append(
            {
                "number": number,
                "path": path["path"],
                "rank": None,
                "packets": path["packets"],
                "share": path["packets"] / known,
                "instructions": path["instructions"],
                "action": action_name(path["action"], kind),
                "first": path["first"],
                "measured_packet": path["kept"],
                "measured_ns": None,
                "spread_ns": None,
                "low_ns": None,
                "high_ns": None,
                "program_ns": None,
                "runs": 0,
                "arrangement": None,
                "drained": False,
                "error": None,
                "code": None,
            }
        )
    record["slowest"] = _slowest(record["paths"], found)
    set_warnings(record, notes_of(record, report))
    return order


def _slowest(paths: Sequence[TracePath], found: Sequence[PathResult]) -> TraceDistance | None:
    if not paths:
        return None
    most = max(paths, key=lambda path: path["instructions"])
    return {
        "path": most["number"],
        "instructions": most["instructions"],
        "measured_ns": None,
        "bound_instructions": int(found[0]["cost"]["instructions"]) if found else None,
        "bound_ns": None,
    }


def _name_ranks(record: MeasuredTrace, program: PreparedProgram) -> None:
    """Store the ranks of a trace's paths in its record, for paths that the analysis found, too."""
    ranks = {}
    for case, number in zip(program.cases, program.numbers, strict=True):
        if case.path is not None:
            ranks[case.path] = program.record["paths"][number]["rank"]
    for path in record["paths"]:
        path["rank"] = ranks.get(path["path"])


def _chosen(record: MeasuredTrace) -> list[int]:
    """Return the indices of the paths to time: the most frequent ones and the slowest.

    A path without a stored packet cannot be timed.
    """
    kept = [at for at, path in enumerate(record["paths"]) if path["measured_packet"] is not None]
    chosen = kept[:TIMED]
    slowest = record["slowest"]
    if slowest is not None and slowest["path"] - 1 in kept[TIMED:]:
        chosen.append(slowest["path"] - 1)
    for at, path in enumerate(record["paths"]):
        if at not in chosen:
            path["measured_packet"] = None
    return chosen


def _prepare_path(
    station: kernel.Station,
    subject: objects.Subject,
    witness: str | None,
    place: int,
    trace: PreparedTrace,
) -> None:
    row = trace.record["paths"][place]
    if witness is None:
        return
    try:
        case = kernel.prepare_case(station, subject, witness, row["instructions"])
    except InputError as problem:
        row["measured_packet"] = None
        fail(row, problem.coded)
        return
    row["arrangement"] = "restored" if case.arrangement == "restored" else "repeated"
    row["drained"] = case.drained
    trace.cases.append(case)
    trace.numbers.append(place)


def finish_trace(trace: PreparedTrace, program: PreparedProgram, together: JointOutcome) -> None:
    """Store the measured times of a trace's paths in the record of the trace.

    The times come from `together`, a measurement whose extra cases were the paths of the trace.
    """
    record = trace.record
    timed: list[tuple[TracePath, Measured]] = []
    for number, (place, measured) in enumerate(zip(trace.numbers, together.extra, strict=True)):
        row = record["paths"][place]
        if measured is None:
            fail(row, together.why(number))
            continue
        run = measured.run
        row["measured_ns"], row["spread_ns"] = run.value, run.spread
        row["low_ns"], row["high_ns"] = run.interval.known
        row["program_ns"], row["runs"] = measured.net.value, measured.runs
        timed.append((row, measured))
    record["mix"] = mean_cost([(row["share"], measured) for row, measured in timed])
    slowest = record["slowest"]
    if slowest is not None:
        slowest["measured_ns"] = record["paths"][slowest["path"] - 1]["measured_ns"]
        times = (path["measured_ns"] for path in program.record["paths"] if path["rank"] == 1)
        slowest["bound_ns"] = next(times, None)
    record["conclusion"] = conclude_trace(record, known=trace.known)
    if record["mix"] is not None:
        program.record["error"] = program.record["code"] = None


def mean_cost(shares: Sequence[tuple[float, Measured]]) -> TraceMix | None:
    """Return the mean time of a trace's packets, or None if no path was measured.

    `shares` has each timed path with its share of the packets. Every load runs all paths, so the
    mean over paths of one load is an independent observation. A path without an undisturbed sample
    in a load counts there with its mean over other loads.
    """
    known = sum(share for share, _ in shares)
    if not known:
        return None
    loads = range(len(shares[0][1].loads))
    means = []
    for load in loads:
        times = [(share, measured.loads[load], measured.run.value) for share, measured in shares]
        if any(time is not None for _, time, _ in times):
            weighted = sum(s * (mean if time is None else time) for s, time, mean in times)
            means.append(weighted / known)
    if not means:
        return None
    mean = estimate(means)
    low, high = mean.interval.known
    return {
        "share": known,
        "mean_ns": mean.value,
        "low_ns": low,
        "high_ns": high,
        "packetrate_pps": 1e9 / mean.value if mean.value > 0 else 0.0,
    }


_WIDTH, _HEIGHT = 7.0, 4.0  # inches
_MARGIN = 1.08  # length of the time axis relative to the longest time


def distribution(trace: MeasuredTrace) -> list[tuple[float, float]]:
    """Return the cumulative distribution of the packets' times, for packets on timed paths.

    Each point has a time in nanoseconds, and the share of packets that take at most this time.
    Times ascend.
    """
    timed = sorted(
        (path["measured_ns"], path["packets"])
        for path in trace["paths"]
        if path["measured_ns"] is not None
    )
    total = sum(packets for _, packets in timed)
    counts = accumulate(packets for _, packets in timed)
    return [(time, count / total) for (time, _), count in zip(timed, counts, strict=True)]


def draw(file: str, traces: Sequence[tuple[str, MeasuredTrace]]) -> None:
    """Plot the distributions of the packets' times to a file, one curve for each trace.

    `traces` has the name of the program with each trace. The format is SVG or PNG, by the suffix of
    the file name. The same data always gives the same file.

    Raises:
        OSError: if the file cannot be written.
    """
    with picture(file, _WIDTH, _HEIGHT) as figure:
        axes = figure.add_subplot()
        longest = 0.0
        for name, trace in traces:
            steps = distribution(trace)
            times = [0.0, *(time for time, _ in steps)]
            shares = [0.0, *(share for _, share in steps)]
            (line,) = axes.step(times, shares, where="post", label=name)
            slowest = trace["slowest"]
            bound = None if slowest is None else slowest["bound_ns"]
            if bound is not None:
                label = f"slowest path, {bound:.0f} ns"
                axes.axvline(bound, color=line.get_color(), linestyle="--", label=label)
            longest = max(longest, times[-1], bound or 0.0)
            # Extend the last step of the curve to the right edge of the picture.
            axes.plot([times[-1], longest * _MARGIN], [1, 1], color=line.get_color())
        axes.set_xlim(0, longest * _MARGIN)
        axes.set_ylim(0, 1.02)
        axes.set_xlabel("nanoseconds per packet, in the kernel's loop for test runs")
        axes.set_ylabel("share of packets")
        axes.legend(loc="lower right")
        axes.grid(visible=True, alpha=0.3)
