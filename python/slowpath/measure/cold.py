"""Measures paths with cold caches.

The packets of many flows take turns, whose map entries exceed the caches.
"""

from collections.abc import Sequence
from typing import NamedTuple

from slowpath.core.engine import kernel
from slowpath.core.errors import InputError
from slowpath.measure.bench import ColdBench
from slowpath.measure.documents import ColdPath, MeasuredPath, MeasuredProgram
from slowpath.measure.machine import Cache
from slowpath.measure.programs import PreparedProgram
from slowpath.measure.sampling import Measured, ProgressCallbacks, StopCriteria, measure
from slowpath.measure.statistics import Estimate, estimate

_LOADS = 3
"""Minimum number of times that the programs are loaded; small, because each load fills the maps
anew.
"""
_MUCH_LONGER = 1.5
"""Minimum ratio of cold to hot time for a path to be mentioned in the conclusion."""


class _ColdCase(NamedTuple):
    path: MeasuredPath
    case: kernel.Cold


def last_level(caches: Sequence[Cache]) -> int | None:
    """Return the size of the largest data cache in bytes, or None if no size is known."""
    sizes = [each["bytes"] for each in caches if each["kind"] != "Instruction"]
    return max((size for size in sizes if size is not None), default=None)


def measure_cold(
    station: kernel.Station,
    program: PreparedProgram,
    cache_bytes: int | None,
    quota: StopCriteria,
    callbacks: ProgressCallbacks,
) -> None:
    """Measure paths again, now with cold caches, and store the times in the program's record.

    Paths without a time on hot caches are skipped. `cache_bytes` is the size of the last-level
    cache; None if it is unknown.
    """
    found: list[_ColdCase] = []
    rows = [program.record["paths"][number] for number in program.numbers]
    for done, (path, case) in enumerate(zip(rows, program.cases, strict=True)):
        if path["measured_ns"] is None:
            continue
        if cache_bytes is None:
            path["cold_reason"] = "the size of the caches is unknown"
        elif not callbacks.preparing(done, len(rows)):
            path["cold_reason"] = "interrupted before it was measured"
        else:
            try:
                found.append(_ColdCase(path, kernel.find_cold_case(station, case, cache_bytes)))
            except InputError as problem:
                path["cold_reason"] = problem.reason
    if not found or cache_bytes is None:
        return
    bench = ColdBench(station, [each.case for each in found])
    try:
        outcome = measure(bench, quota._replace(fewest_loads=_LOADS), callbacks.measuring)
    except InputError as problem:
        for each in found:
            each.path["cold_reason"] = problem.reason
        return
    for number, each in enumerate(found):
        cold, empty = outcome.subjects[2 * number : 2 * number + 2]
        value = _run_time(cold, empty, program.record["baseline_ns"] or 0.0)
        if value is None:
            each.path["cold_reason"] = outcome.why(2 * number)
        else:
            each.path["cold"] = _cold(each, value, cache_bytes)
    _conclude(program.record)


def _run_time(cold: Measured | None, empty: Measured | None, baseline: float) -> Estimate | None:
    """Return the time in nanoseconds of a run of a path's program with cold caches.

    `cold` has the times of the program in each load, `empty` those of an empty program on the same
    packets. The result is the mean of their differences, plus `baseline`: the time of an empty
    program with hot caches. It is None if no load has both times.
    """
    if cold is None or empty is None:
        return None
    pairs = zip(cold.loads, empty.loads, strict=True)
    values = [a - b + baseline for a, b in pairs if a is not None and b is not None]
    return estimate(values) if values else None


def _cold(measured: _ColdCase, value: Estimate, cache_bytes: int) -> ColdPath:
    path, case = measured
    hot, spread = path["measured_ns"] or 0.0, path["spread_ns"] or 0.0
    low, high = value.interval.known
    return {
        "measured_ns": value.value,
        "spread_ns": value.spread,
        "low_ns": low,
        "high_ns": high,
        "differs": abs(value.value - hot) > spread + value.spread,
        "flows": case.flows,
        "entry_bytes": case.entry_bytes,
        "cache_bytes": cache_bytes,
        "varied": case.varied,
        "limited": case.limited,
    }


def _conclude(record: MeasuredProgram) -> None:
    """Add a sentence to the record's conclusion if a path takes much longer with cold caches."""
    worst: tuple[float, MeasuredPath, ColdPath] | None = None
    for path in record["paths"]:
        cold, hot = path["cold"], path["measured_ns"]
        if cold is None or not hot or not cold["differs"]:
            continue
        factor = cold["measured_ns"] / hot
        if factor >= _MUCH_LONGER and (worst is None or factor > worst[0]):
            worst = factor, path, cold
    if worst is None or record["conclusion"] is None:
        return
    factor, path, cold = worst
    beyond = "" if cold["limited"] is not None else " beyond the caches"
    record["conclusion"] += (
        f" With {cold['flows']:,} flows{beyond}, path {path['rank']} takes {factor:.1f} times as "
        "long."
    )
