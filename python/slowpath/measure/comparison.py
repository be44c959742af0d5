"""Measures an old and a new version of a program alternately, and compares their times."""

import json
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from slowpath.bounds.outcomes import Analysed
from slowpath.core import codes
from slowpath.core.engine import kernel, objects
from slowpath.core.errors import Coded, DisagreementError, InputError
from slowpath.measure.documents import ComparedPath, ComparedVersions, MeasuredProgram, fail
from slowpath.measure.programs import PreparedProgram, measure_together
from slowpath.measure.sampling import Measured, Progress, StopCriteria, ratio
from slowpath.measure.statistics import Estimate

FEWEST_LOADS = 10
"""Minimum number of times that the programs are loaded; fewer give intervals too wide to compare.
"""
_SAME = "same packet"


class Pair(NamedTuple):
    """Indices of a program in the old and in the new file; None if a file lacks the program."""

    old: int | None
    new: int | None


def pair_programs(old: Sequence[Analysed], new: Sequence[Analysed]) -> list[Pair]:
    """Pair the programs of two files by name.

    If each file has a single program, these form a pair even if their names differ.
    """
    if len(old) == len(new) == 1:
        return [Pair(0, 0)]
    names = {analysed.result["program"]: number for number, analysed in enumerate(new)}
    pairs = [Pair(number, names.pop(one.result["program"], None)) for number, one in enumerate(old)]
    return pairs + [Pair(None, number) for number in names.values()]


_UNPREPARED = "slowpath could not prepare a path of the old program"


class SamePacket(NamedTuple):
    """Result of running the new program on the packet and maps of the old one's slowest path."""

    case: kernel.Case | None
    error: Coded | None = None  # reason why the path cannot be timed
    report: str | None = None  # data for a bug report if kernel and interpreter disagree


def same_packet(
    station: kernel.Station, old: PreparedProgram, new: Analysed, maps: str | None = None
) -> SamePacket:
    """Run the new program on the packet and the maps of the old program's slowest path.

    The result has the path that the new program takes, or the reason why it cannot be timed. `maps`
    is the content of the file that `--maps` names; None without this option.
    """
    if not old.witnesses:
        return SamePacket(None, Coded(codes.VERSIONS_NOT_COMPARABLE, _UNPREPARED))
    if new.task.object is None or new.task.program is None:
        return SamePacket(None, Coded(codes.NOTHING_TO_MEASURE, "the new program cannot be run"))
    subject = objects.Subject(new.task.file, new.task.object, new.task.program.number, None)
    try:
        case = kernel.prepare_case(station, subject, json.dumps(old.witnesses[0]), None, maps)
    except DisagreementError as problem:
        return SamePacket(None, problem.coded, problem.report)
    except InputError as problem:
        return SamePacket(None, problem.coded)
    return SamePacket(case)


def until_decided(
    quota: StopCriteria,
    programs: tuple[PreparedProgram, PreparedProgram],
    decided: Callable[[ComparedPath], bool],
) -> StopCriteria:
    """Return `quota` with a further criterion: the comparison of the slowest paths must be decided.

    `decided` returns true if the ratio is known precisely enough to decide all limits of
    `--fail-on`.
    """

    def enough(subjects: Sequence[Measured | None]) -> bool:
        return decided(_row("slowest", *_slowest(programs, subjects)))

    return quota._replace(decided=enough)


def _slowest(
    programs: tuple[PreparedProgram, PreparedProgram], subjects: Sequence[Measured | None]
) -> tuple[Measured | None, Measured | None]:
    """Return the measurement with the longest time of the old and of the new program.

    `subjects` has the measurements of the old program's paths, then those of the new program's
    paths. A part of the result is None if no path of the program was measured with all its calls.
    """
    old, new = programs
    split = len(old.cases)
    end = split + len(new.cases)
    return (
        _longest(_complete(old.cases, subjects[:split])),
        _longest(_complete(new.cases, subjects[split:end])),
    )


def _complete(cases: Sequence[kernel.Case], rows: Sequence[Measured | None]) -> list[Measured]:
    """Return the measurements of all paths that ran with all their helper calls.

    `rows` has the measurement of each path in `cases`.
    """
    pairs = zip(cases, rows, strict=True)
    return [row for case, row in pairs if row is not None and not case.omitted]


def _ratio_of_slowest(
    programs: tuple[PreparedProgram, PreparedProgram], subjects: Sequence[Measured | None]
) -> Estimate | None:
    old, new = _slowest(programs, subjects)
    return None if old is None or new is None else ratio(old, new)


def compare(
    station: kernel.Station,
    programs: tuple[PreparedProgram, PreparedProgram],
    same: SamePacket,
    quota: StopCriteria,
    go_on: Callable[[Progress], bool],
) -> ComparedVersions:
    """Measure two versions of a program alternately, store the times, and compare them.

    `same` is the path that the new program takes for the packet of the old program's slowest path.

    Raises:
        InputError: if the kernel no longer accepts a path.
    """
    old, new = programs
    extra = [] if same.case is None else [same.case]
    if old.cases and new.cases:
        quota = quota._replace(between=partial(_ratio_of_slowest, programs))
    together = measure_together(station, programs, quota, go_on, extra)
    olds, news = together.subjects
    complete_old = _complete(old.cases, [olds[number] for number in old.numbers])
    complete_new = _complete(new.cases, [news[number] for number in new.numbers])
    packet = _row(
        _SAME,
        olds[old.numbers[0]] if old.numbers else None,
        together.extra[0] if together.extra else None,
    )
    packet["report"] = same.report
    if same.error is not None:
        fail(packet, same.error)
    slowest = _row("slowest", _longest(complete_old), _longest(complete_new))
    fastest = _row("fastest", _shortest(complete_old), _shortest(complete_new))
    return {
        "old": _label(old.record),
        "new": _label(new.record),
        "paths": [slowest, packet, fastest],
        "conclusion": _conclusion(slowest),
    }


def _label(record: MeasuredProgram) -> str:
    return f"{record['file']}:{record['program']}"


def _longest(rows: Sequence[Measured]) -> Measured | None:
    return max(rows, key=lambda row: row.run.value, default=None)


def _shortest(rows: Sequence[Measured]) -> Measured | None:
    return min(rows, key=lambda row: row.run.value, default=None)


def _row(path: str, old: Measured | None, new: Measured | None) -> ComparedPath:
    found = None if old is None or new is None else ratio(old, new)
    if found is not None and not math.isfinite(found.interval.half_width):
        found = None
    why = None if found is not None else _why(old, new)
    return {
        "path": path,
        "old_ns": None if old is None else old.run.value,
        "new_ns": None if new is None else new.run.value,
        "ratio": None if found is None else found.value,
        "low": None if found is None else found.interval.low,
        "high": None if found is None else found.interval.high,
        "significant": None if found is None else 1.0 not in found.interval,
        "error": why,
        "code": None if why is None else why.code,
        "report": None,
    }


def _why(old: Measured | None, new: Measured | None) -> Coded:
    """Return the reason why the ratio of new to old time is missing.

    The slowest path of each program was measured unless `old` or `new` is None.
    """
    if old is None or new is None:
        side = "old" if old is None else "new"
        reason = f"no measured path of the {side} program includes all its calls"
        return Coded(codes.VERSIONS_NOT_COMPARABLE, reason)
    return Coded(
        codes.MEASUREMENT_INTERRUPTED, "too few rounds measured both programs without disturbance"
    )


def _conclusion(row: ComparedPath) -> str | None:
    """Return a sentence about the change in the time of the slowest path; None if it is unknown."""
    value, low, high = row["ratio"], row["low"], row["high"]
    if value is None or low is None or high is None:
        return None
    between = f"95 % interval {low:.3f} to {high:.3f}"
    if not row["significant"]:
        return (
            f"No significant difference: the slowest path takes {value:.3f} times as long as "
            "before "
            f"({between})."
        )
    change = f"{value - 1:.1%} more time" if value > 1 else f"{1 - value:.1%} less time"
    return f"The slowest path takes {change} than before: {value:.3f} times ({between})."
