"""Writes the sentences of measurement reports: conclusions, warnings and remarks."""

import math

from slowpath.core import codes
from slowpath.core.engine.report_types import TraceReport
from slowpath.core.errors import Coded
from slowpath.measure.documents import (
    Breakdown,
    MeasuredPath,
    MeasuredProgram,
    MeasuredStretch,
    MeasuredTrace,
)
from slowpath.measure.sampling import DISTURBED, Outcome

_MANY_DISTURBED = 0.25
"""Share of disturbed samples above which the report has a warning."""


def conclude(record: MeasuredProgram) -> str | None:
    """Return a sentence that compares the slowest path with the fastest.

    Paths whose helper calls were omitted are ignored, because their times are too short. Return
    None if no other path was measured.
    """
    known = [path for path in record["paths"] if _time(path) > 0 and not path["omitted"]]
    if not known:
        return None
    by_time = sorted(known, key=_time, reverse=True)
    slowest, fastest = by_time[0], by_time[-1]
    rate = f"{1e3 / _time(slowest):.1f} million packets a second on one core"
    all_calls = " timed with all its calls" if incomplete(record) else ""
    if slowest is fastest:
        only = "The only path" if all_calls else "The path"
        return f"{only}{all_calls} takes {_time(slowest):.1f} ns: {rate}."
    factor = _time(slowest) / _time(fastest)
    sentence = (
        f"The slowest path{all_calls} takes {factor:.1f} times as long as the fastest: {rate}, "
        "without receiving and sending."
    )
    if slowest["rank"] != 1 and record["paths"][0] in known:
        sentence += (
            f" Path 1 has more instructions: {record['paths'][0]['instructions']}; path "
            f"{slowest['rank']}, the slowest, has {slowest['instructions']}."
        )
    return sentence


def incomplete(record: MeasuredProgram) -> list[MeasuredPath]:
    """Return the measured paths without some of their helper calls, which had to be omitted."""
    return [path for path in record["paths"] if _time(path) > 0 and path["omitted"]]


def _time(path: MeasuredPath) -> float:
    return path["measured_ns"] or 0.0


def warnings_of(record: MeasuredProgram, outcome: Outcome) -> list[Coded]:
    """Return warnings about a program's measurement, such as many disturbed samples."""
    found = list[Coded]()
    quiet, median = outcome.busy
    ratio = median / quiet if quiet > 0 else math.inf  # the overhead of calls exceeded all samples
    if outcome.limit > DISTURBED[0]:
        slower = f"{outcome.limit:g} times as long as undisturbed"
        if outcome.limit == math.inf:
            slower = "any time"
        found.append(
            Coded(
                codes.MEASUREMENT_DISTURBED,
                f"The measurement was disturbed: a busy loop took up to {slower} (median "
                f"{ratio:.2f} "
                "times). Disturbed samples are included, because too few others exist. "
                "Measure again "
                "when the machine is quiet.",
            )
        )
    elif outcome.samples and outcome.discarded / outcome.samples > _MANY_DISTURBED:
        found.append(
            Coded(
                codes.MEASUREMENT_DISTURBED,
                f"{outcome.discarded / outcome.samples:.0%} of the samples are omitted, "
                "because a busy "
                f"loop beside them took over {outcome.limit:g} times as long as undisturbed "
                "(median "
                f"{ratio:.2f} times). Measure again when the machine is quiet.",
            )
        )
    if not outcome.precise:
        found.append(imprecise(outcome.seconds))
    later = [path for path in record["paths"] if path["later"] is not None]
    if later:
        ranks = ", ".join(str(path["rank"]) for path in later)
        found.append(
            Coded(
                codes.CONDITIONS_CHANGED,
                f"A second equal packet takes another path (path {ranks}), so changes by the "
                "first one "
                "were undone before each run.",
            )
        )
    answered = {helper for path in record["paths"] for helper in path["answered"]}
    omitted = {helper for path in record["paths"] for helper in path["omitted"]}
    if replaced := sorted(answered - omitted):
        found.append(
            Coded(
                codes.CONDITIONS_CHANGED,
                f"Fixed results replaced those of {', '.join(replaced)}, so that runs take "
                "the paths.",
            )
        )
    found.extend(
        Coded(
            codes.CALLS_OMITTED,
            f"Path {path['rank']} was timed without {', '.join(path['omitted'])}: the call has "
            "effects, and the kernel would return another result. So the time is too short, "
            "and the "
            "path may be the slowest.",
        )
        for path in incomplete(record)
    )
    return found


def imprecise(seconds: float) -> Coded:
    """Return a warning that confidence intervals are too wide after a measurement of `seconds`.

    `seconds` can differ from the option `--seconds`: the minimum number of loads can take longer,
    and a user can interrupt the measurement.
    """
    return Coded(
        codes.IMPRECISE,
        f"In the {seconds:.1f} s of the measurement, some intervals did not reach the requested "
        "--precision; allow more with --seconds.",
    )


_MANY_UNTIMED = 0.01
"""Share of packets without a timed path above which the report has a remark."""


def conclude_trace(record: MeasuredTrace, *, known: bool) -> str | None:
    """Return the conclusion about the packets of a trace, or None if none of their paths was timed.

    `known` is true if the analysis has shown that no path is slower than the slowest one it found.
    """
    mix, slowest = record["mix"], record["slowest"]
    if mix is None or slowest is None:
        return None
    sentence = (
        f"These packets take {mix['mean_ns']:.1f} ns on average: "
        f"{mix['packetrate_pps'] / 1e6:.1f} million a second on one core, without receiving and "
        "sending."
    )
    most, bound = slowest["instructions"], slowest["bound_instructions"]
    if bound is None:
        return sentence
    if most >= bound:
        return f"{sentence} {_reached(most, bound, known=known)}"
    path = "slowest path" if known else "slowest path found"
    if slowest["bound_ns"] is not None:
        factor = slowest["bound_ns"] / mix["mean_ns"]
        return (
            f"{sentence} The {path} takes {factor:.1f} times as long, but no packet takes it. It "
            f"has {bound} instructions; packets take at most {most}."
        )
    return f"{sentence} They take at most {most} instructions; the {path} has {bound}."


def _reached(most: int, bound: int, *, known: bool) -> str:
    """Return a sentence that explains `most` >= `bound`.

    `most` is the largest number of instructions of a packet in the trace, `bound` that of the
    slowest path that the analysis found. `known` is true if the analysis has shown that no path is
    slower.
    """
    if most > bound and known:
        return (
            f"They take up to {most} instructions, more than the slowest path of the analysis "
            f"({bound}): the trace violates its assumptions (--mtu, --unroll, --assume)."
        )
    if not known:
        found = "as many as" if most == bound else "more than"
        return (
            f"They take up to {most} instructions, {found} the slowest path found ({bound}). The "
            "search stopped early; raise --deadline."
        )
    return "A packet takes the slowest path."


def initial_maps(record: MeasuredTrace) -> str | None:
    """Return a remark on the map content that `--maps` sets before the first packet of a trace.

    Return None if all maps have the content that the object file gives them.
    """
    filled, unfilled = list[str](), list[str]()
    for each in record["maps"]:
        entries = each["entries"]
        if entries is None:
            unfilled.append(each["name"])
            continue
        words = f"{each['name']} with {entries:,} {'entry' if entries == 1 else 'entries'}"
        filled.append(words + (f", {each['others']:,} of them synthetic" if each["others"] else ""))
    if not filled:
        return None
    rest = f"; as in the object: {', '.join(unfilled)}" if unfilled else ""
    return f"content of maps at the start (--maps): {', '.join(filled)}{rest}"


def notes_of(record: MeasuredTrace, report: TraceReport) -> list[Coded]:
    """Return remarks about the run of a trace, such as packets that could not run."""
    found = list[Coded]()
    if report["converted"]["packets"]:
        found.append(
            Coded(
                codes.TRACE_INCOMPLETE,
                f"{_packets(report['converted']['packets'])} have no Ethernet header (link type "
                f"{report['converted']['what']}). slowpath added one, with zeros for unknown "
                "addresses. Paths that depend on these addresses may be wrong.",
            )
        )
    if record["truncated"]:
        found.append(
            Coded(
                codes.TRACE_INCOMPLETE,
                f"{_packets(record['truncated'])} were captured only in part; the captured "
                "part ran, "
                "as a shorter packet.",
            )
        )
    if record["refused"]:
        fault = report["refused"]
        found.append(
            Coded(
                codes.TRACE_INCOMPLETE,
                f"{_packets(record['refused'])} did not run, first packet {fault['first']}: "
                f"{fault['what']}.",
            )
        )
    if record["undecided"]:
        fault = report["undecided"]
        found.append(
            Coded(
                codes.TRACE_INCOMPLETE,
                f"{_packets(record['undecided'])} took unknown paths, first packet "
                f"{fault['first']}: {fault['what']}.",
            )
        )
    if record["uncertain"]:
        found.append(
            Coded(
                codes.TRACE_INCOMPLETE,
                f"{_packets(record['uncertain'])} may have taken other paths than shown here, "
                "which "
                "depend on the time or on random numbers.",
            )
        )
    return found


def untimed_packets(record: MeasuredTrace) -> Coded | None:
    """Return a remark on the packets whose paths were not timed; None if they are few."""
    mix = record["mix"]
    if mix is None or mix["share"] > 1 - _MANY_UNTIMED:
        return None
    paths = sum(path["measured_ns"] is None for path in record["paths"])
    text = (
        f"{1 - mix['share']:.1%} of the packets, on {paths} paths, are not in the mean, "
        "because their paths were not timed."
    )
    return Coded(codes.TRACE_INCOMPLETE, text)


def _packets(count: int) -> str:
    return "1 packet" if count == 1 else f"{count:,} packets"


_LARGE_SHARE = 0.25
"""Minimum share of a path's time for the conclusion to name a stretch (part of the path)."""


def largest(breakdown: Breakdown) -> list[MeasuredStretch]:
    """Return the timed stretches (consecutive instructions of a path), by decreasing time."""
    known = [stretch for stretch in breakdown["stretches"] if stretch["ns"] is not None]
    return sorted(known, key=_stretch_time, reverse=True)


def conclude_where(breakdown: Breakdown) -> str | None:
    """Return a sentence that names the stretch (part of a path) with the largest part of the time.

    Return None if no stretch takes significantly more than the others, or if all shares are small.
    """
    known = largest(breakdown)
    if not known:
        return None
    first, *others = known
    share = first["share"]
    if share is None or share < _LARGE_SHARE:
        return None
    low = first["low_ns"]
    if low is None or low <= 0 or any(low <= (other["high_ns"] or 0.0) for other in others):
        return None
    place = where(first)
    stretch = first["call"] or ("code around " + place if place else _instructions(first))
    at = f" at {place}" if first["call"] and place else ""
    return f"{stretch}{at} takes {share:.0%} of the program's time."


def _instructions(stretch: MeasuredStretch) -> str:
    end = stretch["to_instruction"]
    until = "to the end" if end is None else f"to {end - 1}"
    return f"the code from instruction {stretch['from_instruction']} {until}"


def where(stretch: MeasuredStretch) -> str:
    """Return `FILE:LINE` of a stretch (part of a path); an empty string if it is unknown."""
    if stretch["file"] is None:
        return ""
    return f"{stretch['file'].rpartition('/')[2]}:{stretch['line']}"


def _stretch_time(stretch: MeasuredStretch) -> float:
    return stretch["ns"] or 0.0
