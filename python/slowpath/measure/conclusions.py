"""Draws conclusions from the measurements of programs, and writes them as sentences."""

import math

from slowpath.core.engine.report_types import TraceReport
from slowpath.measure.documents import (
    Breakdown,
    MeasuredPath,
    MeasuredProgram,
    MeasuredStretch,
    MeasuredTrace,
)
from slowpath.measure.sampling import DISTURBED, Outcome

_MANY_DISTURBED = 0.25
"""If a larger share of samples is disturbed, the report warns."""


def conclude(record: MeasuredProgram) -> str | None:
    """Return a sentence that compares the slowest path with the fastest.

    Paths with omitted calls are excluded, because their times are too short. Return None if no path
    remains that was measured.
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
            f" It is not the one of most instructions: path {slowest['rank']} has "
            f"{slowest['instructions']}, path 1 {record['paths'][0]['instructions']}."
        )
    return sentence


def incomplete(record: MeasuredProgram) -> list[MeasuredPath]:
    """Return the measured paths in which calls had to be omitted."""
    return [path for path in record["paths"] if _time(path) > 0 and path["omitted"]]


def _time(path: MeasuredPath) -> float:
    return path["measured_ns"] or 0.0


def warnings_of(record: MeasuredProgram, outcome: Outcome) -> list[str]:
    """Return warnings about the measurement of a program."""
    found = []
    quiet, median = outcome.busy
    ratio = median / quiet if quiet > 0 else math.inf  # the overhead of calls exceeded all samples
    if outcome.limit > DISTURBED[0]:
        slower = f"a busy loop beside them took up to {outcome.limit:g} times as long"
        if outcome.limit == math.inf:
            slower = "a busy loop beside them took any time"
        found.append(
            f"This is a disturbed measurement: samples count although {slower} (in the median "
            f"{ratio:.2f} times), because too few were left otherwise; measure again when "
            "the machine is quiet."
        )
    elif outcome.samples and outcome.discarded / outcome.samples > _MANY_DISTURBED:
        found.append(
            f"{outcome.discarded / outcome.samples:.0%} of the samples were left out, because a "
            f"busy loop beside them took more than {outcome.limit:g} times as long as undisturbed "
            f"(in the median {ratio:.2f} times): measure again when the machine is quiet."
        )
    if not outcome.precise:
        found.append(imprecise(outcome.seconds))
    later = [path for path in record["paths"] if path["later"] is not None]
    if later:
        ranks = ", ".join(str(path["rank"]) for path in later)
        found.append(
            f"Further packets like it take another path than the first (path {ranks}): what the "
            "first one changed was taken back each time."
        )
    answered = {helper for path in record["paths"] for helper in path["answered"]}
    omitted = {helper for path in record["paths"] for helper in path["omitted"]}
    if replaced := sorted(answered - omitted):
        found.append(
            f"Answers of {', '.join(replaced)} were replaced by those that the paths need."
        )
    found.extend(
        f"Path {path['rank']} was timed without {', '.join(path['omitted'])}: the call has effects "
        "and the kernel would answer it differently. Its time is too short, and the path may be "
        "the slowest."
        for path in incomplete(record)
    )
    return found


def imprecise(seconds: float) -> str:
    """Return a warning that confidence intervals are still too wide after `seconds`."""
    return (
        "Not all intervals became as narrow as --precision asks for within --seconds "
        f"({seconds:.1f} s)."
    )


_MANY_UNTIMED = 0.01
"""If a larger share of packets was not timed, the report has a remark."""


def conclude_trace(record: MeasuredTrace, *, known: bool) -> str | None:
    """Return the conclusion about a trace, or None if nothing was timed.

    `known` is true if the analysis has shown that no path is slower than the slowest one it found.
    """
    mix, slowest = record["mix"], record["slowest"]
    if mix is None or slowest is None:
        return None
    sentence = (
        f"Packets like these take {mix['mean_ns']:.1f} ns in the mean: "
        f"{mix['packetrate_pps'] / 1e6:.1f} million a second on one core, without receiving and "
        "sending."
    )
    most, bound = slowest["instructions"], slowest["bound_instructions"]
    if bound is None:
        return sentence
    if most >= bound:
        return f"{sentence} {_reached(most, bound, known=known)}"
    path = "slowest path" if known else "slowest path that was found"
    if slowest["bound_ns"] is not None:
        factor = slowest["bound_ns"] / mix["mean_ns"]
        return (
            f"{sentence} The {path} takes {factor:.1f} times as long, and none of them takes "
            f"it: their slowest has {most} instructions of {bound}."
        )
    return f"{sentence} Their slowest has {most} instructions, the {path} {bound}."


def _reached(most: int, bound: int, *, known: bool) -> str:
    """Explain why a packet of a trace needs at least as many instructions as the slowest path.

    `most` is the largest number of instructions in the trace, `bound` that of the slowest path that
    the analysis found. `known` is true if the analysis has shown that no path is slower.
    """
    if most > bound and known:
        return (
            f"Their slowest has {most} instructions, more than the slowest path of the analysis "
            f"({bound}): what that assumes (--mtu, --unroll, --assume) is not so in this trace."
        )
    if not known:
        found = "as many as" if most == bound else "more than"
        return (
            f"Their slowest has {most} instructions, {found} the slowest path that was found "
            f"({bound}), but the search had to stop: --deadline gives it longer."
        )
    return "The slowest path is among theirs."


def initial_maps(record: MeasuredTrace) -> str | None:
    """Return a remark on maps whose content `--maps` set; None if all have the object's content."""
    filled, unfilled = list[str](), list[str]()
    for each in record["maps"]:
        entries = each["entries"]
        if entries is None:
            unfilled.append(each["name"])
            continue
        words = f"{each['name']} with {entries:,} {'entry' if entries == 1 else 'entries'}"
        filled.append(words + (f", {each['others']:,} of them made up" if each["others"] else ""))
    if not filled:
        return None
    rest = f"; as the object makes them: {', '.join(unfilled)}" if unfilled else ""
    return f"maps at the start, by --maps: {', '.join(filled)}{rest}"


def notes_of(record: MeasuredTrace, report: TraceReport) -> list[str]:
    """Return remarks about the run of a trace."""
    found = []
    if report["converted"]["packets"]:
        found.append(
            f"{_packets(report['converted']['packets'])} have no Ethernet header (link type "
            f"{report['converted']['what']}): one was made, with zeros for unknown addresses. "
            "Their paths hold only where the program does not read these addresses."
        )
    if record["truncated"]:
        found.append(
            f"{_packets(record['truncated'])} were captured in part: what was captured ran, and "
            "the program saw them shorter than they were."
        )
    if record["refused"]:
        fault = report["refused"]
        found.append(
            f"{_packets(record['refused'])} did not run, first packet {fault['first']}: "
            f"{fault['what']}."
        )
    if record["undecided"]:
        fault = report["undecided"]
        found.append(
            f"{_packets(record['undecided'])} have a path that is not known, first packet "
            f"{fault['first']}: {fault['what']}."
        )
    if record["uncertain"]:
        found.append(
            f"{_packets(record['uncertain'])} may have taken another path than is said here, "
            "because it depends on the time or on random numbers."
        )
    return found


def untimed_packets(record: MeasuredTrace) -> str | None:
    """Return a remark about packets whose path was not timed, if there are many."""
    mix = record["mix"]
    if mix is None or mix["share"] > 1 - _MANY_UNTIMED:
        return None
    paths = sum(path["measured_ns"] is None for path in record["paths"])
    return (
        f"{1 - mix['share']:.1%} of the packets, on {paths} paths, are not in the mean: their "
        "paths were not timed."
    )


def _packets(count: int) -> str:
    return "1 packet" if count == 1 else f"{count:,} packets"


_LARGE_SHARE = 0.25
"""If a stretch takes at least this share of the time, the conclusion names it."""


def largest(breakdown: Breakdown) -> list[MeasuredStretch]:
    """Return the timed stretches (consecutive instructions of a path), by decreasing time."""
    known = [stretch for stretch in breakdown["stretches"] if stretch["ns"] is not None]
    return sorted(known, key=_stretch_time, reverse=True)


def conclude_where(breakdown: Breakdown) -> str | None:
    """Return a sentence that names the stretch (part of a path) which takes most of the time.

    Return None if no stretch takes significantly more than the others, or all shares are small.
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
    return f"{share:.0%} of the program's time is {stretch}{at}."


def _instructions(stretch: MeasuredStretch) -> str:
    end = stretch["to_instruction"]
    until = "to the end" if end is None else f"to {end - 1}"
    return f"the code from instruction {stretch['from_instruction']} {until}"


def where(stretch: MeasuredStretch) -> str:
    """Return the source line of a stretch, or an empty string if it is not known."""
    if stretch["file"] is None:
        return ""
    return f"{stretch['file'].rpartition('/')[2]}:{stretch['line']}"


def _stretch_time(stretch: MeasuredStretch) -> float:
    return stretch["ns"] or 0.0
