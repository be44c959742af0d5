"""What a trace comes to, in sentences."""

from slowpath.engine.kernel import traces
from slowpath.measurements.trace.documents import MeasuredTrace

_USUAL = 0.01
"""Share of packets without a time that is worth a word."""


def conclude_trace(record: MeasuredTrace, *, known: bool) -> str | None:
    """What a trace comes to; None when nothing of it was timed.

    `known` says whether the slowest path that the analysis found is the slowest there is.
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
    """What it means that a trace has a path of as many instructions as the analysis found."""
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


def started_with(record: MeasuredTrace) -> str | None:
    """What maps held before the first packet; None where all were as the object makes them."""
    given = [(each, each["entries"]) for each in record["maps"]]
    told = [
        f"{each['name']} with {entries:,} {'entry' if entries == 1 else 'entries'}"
        + (f", {each['others']:,} of them made up" if each["others"] else "")
        for each, entries in given
        if entries is not None
    ]
    if not told:
        return None
    left = [each["name"] for each, entries in given if entries is None]
    open_ones = f"; as the object makes them: {', '.join(left)}" if left else ""
    return f"maps at the start, by --maps: {', '.join(told)}{open_ones}"


def notes_of(record: MeasuredTrace, report: traces.TraceReport) -> list[str]:
    """What is to be said about how a trace ran."""
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


def rest_of(record: MeasuredTrace) -> str | None:
    """What is to be said of packets whose path was not timed."""
    mix = record["mix"]
    if mix is None or mix["share"] > 1 - _USUAL:
        return None
    paths = sum(path["measured_ns"] is None for path in record["paths"])
    return (
        f"{1 - mix['share']:.1%} of the packets, on {paths} paths, are not in the mean: their "
        "paths were not timed."
    )


def _packets(count: int) -> str:
    return "1 packet" if count == 1 else f"{count:,} packets"
