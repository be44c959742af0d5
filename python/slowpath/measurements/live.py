"""Programs whose paths are measured on packets that really go where the program sends them."""

import math

from slowpath.cli.errors import InputError
from slowpath.engine.kernel import live_packets, stations
from slowpath.measurements.documents import MeasuredPath, MeasuredProgram
from slowpath.measurements.live_documents import LivePath
from slowpath.measurements.programs import PreparedProgram, without
from slowpath.measurements.timing.live import LiveOutcome, MeasuredLive, measure_live
from slowpath.measurements.timing.live_bench import LiveKernelBench
from slowpath.measurements.timing.sampling import DISTURBED, Quota, Told
from slowpath.measurements.timing.statistics import Estimate

_MANY_LOST = 0.001
"""Share of packets without room from which on it is worth a word."""


def measure_program_live(
    station: stations.Station,
    program: PreparedProgram,
    batch: int,
    quota: Quota,
    told: Told,
) -> None:
    """Measures the paths that live packets take, and writes into the record what they take.

    Raises:
        InputError: when the kernel does not take a path any more.
    """
    record = program.record
    record["mode"] = "live"
    for each in program.later:
        each.record["reason"] = "it is measured without --mode live"
    cases: list[live_packets.LiveCase] = []
    rows: list[MeasuredPath] = []
    prepared = zip(program.cases, program.numbers, strict=True)
    for done, (case, number) in enumerate(prepared):
        row = record["paths"][number]
        if not told.preparing(done, len(program.cases)):
            row["error"] = "interrupted before it was measured"
            continue
        try:
            cases.append(live_packets.prepare_live_case(station, record["file"], case, batch))
        except InputError as problem:
            row["error"] = problem.reason
            continue
        rows.append(row)
    if not cases:
        without(program)
        return
    crowded: list[str] = []
    outcome = measure_live(LiveKernelBench(station, cases, batch), quota, told.measuring)
    for live, row, measured in zip(cases, rows, outcome.paths, strict=True):
        if measured is None:
            row["error"] = "the CPU was slowed down whenever it was timed"
        else:
            row["live"] = _path(live, row, measured, batch)
            row["runs"] = measured.frames
            if measured.lost > _MANY_LOST * measured.sent:
                crowded.append(
                    f"{measured.lost:,} packets of path {row['rank']} found no room in a device: "
                    "choose a smaller --batch."
                )
    record["loads"], record["samples"] = outcome.loads, outcome.samples
    record["discarded"], record["precise"] = outcome.discarded, outcome.precise
    record["seconds"] = outcome.seconds
    record["warnings"] = [*_warnings(outcome), *crowded]
    record["conclusion"] = _conclusion(record)


def _path(
    case: live_packets.LiveCase, row: MeasuredPath, measured: MeasuredLive, batch: int
) -> LivePath:
    low, high = measured.program.interval.known
    notes = []
    if case.rewritten:
        notes.append(
            "The program changes the packet such that the next one takes another path: each packet "
            "was written anew before it came in, also for the minimal program."
        )
    if case.unreceived is not None:
        notes.append(f"It was not measured at a receiver: {case.unreceived}.")
    return {
        "program_ns": measured.program.value,
        "program_spread_ns": measured.program.spread,
        "low_ns": low,
        "high_ns": high,
        "run_ns": measured.run.value,
        "baseline_ns": measured.baseline.value,
        "baseline_action": row["action"] or "",
        "receiver_pps": _rate(measured.receiver),
        "receiver_drop_pps": _rate(measured.receiver_drop),
        "batch": batch,
        "frames": measured.frames,
        "arrived": measured.arrived,
        "lost": measured.lost,
        "notes": notes,
    }


def _rate(taken: Estimate | None) -> float | None:
    return None if taken is None or taken.value <= 0 else 1e9 / taken.value


def _conclusion(record: MeasuredProgram) -> str | None:
    known = [(path["live"], path["rank"]) for path in record["paths"] if path["live"] is not None]
    if not known:
        return None
    slowest, rank = max(known, key=lambda each: each[0]["program_ns"])
    sentence = (
        f"Path {rank} costs most: {slowest['program_ns']:.1f} ns a packet more than a program that "
        f"only returns {slowest['baseline_action']}."
    )
    rate, dropping = slowest["receiver_pps"], slowest["receiver_drop_pps"]
    if rate is not None and dropping is not None:
        sentence += (
            f" A virtual device of this machine receives {rate / 1e6:.2f} million packets a second "
            f"with it, and {dropping / 1e6:.2f} where all are dropped at once."
        )
    return sentence


def _warnings(outcome: LiveOutcome) -> list[str]:
    found = []
    if outcome.limit > DISTURBED[0]:
        slower = f"up to {outcome.limit:g} times as long as undisturbed"
        if outcome.limit == math.inf:
            slower = "any time"
        found.append(
            "This is a disturbed measurement: samples count although a busy loop beside them took "
            f"{slower}, because too few were left otherwise; measure again when the machine is "
            "quiet."
        )
    if not outcome.precise:
        found.append(
            "Not all intervals became as narrow as --precision asks for within --seconds "
            f"({outcome.seconds:.1f} s)."
        )
    return found
