"""The shape of what is told of a trace: `trace` in what `slowpath measure --format json` writes."""

from typing import Literal, TypedDict


class TraceMap(TypedDict):
    """What a map held before the first packet of a trace."""

    name: str
    """The map."""
    entries: int | None
    """How many elements `--maps` put there. Null: it does not name the map, which was as the
    object makes it."""
    others: int
    """How many of them have keys and values that `--maps` leaves open (`others`), and that
    were made up."""


class TracePath(TypedDict):
    """A path that packets of a trace take."""

    number: int
    """From 1 on, the path of most packets first."""
    path: str
    """Which path it is: the same for all packets, traces and witnesses that go through the same
    instructions in the same order, in this version of slowpath."""
    rank: int | None
    """Its place among the paths that the analysis found, where it is one of those in `paths`."""
    packets: int
    """How many packets take it."""
    share: float
    """The same as a share of the packets whose path is known."""
    instructions: int
    """How many instructions it takes."""
    action: str
    """What the program returned for most of them, such as `XDP_PASS`."""
    first: int
    """Number of the first packet that takes it, from 1 on."""
    measured_packet: int | None
    """Number of the packet that was timed for all of them, with the maps as they were before it:
    one of the second half of those that take the path. Null where none was."""
    measured_ns: float | None
    """Nanoseconds of one run in the kernel's own loop: the mean over all loads but outliers. Null
    where the path was not timed: it is too rare, or `error` says why."""
    spread_ns: float | None
    """Standard deviation between loads: where its code lies changes what a program takes."""
    low_ns: float | None
    """Lower end of the 95 % interval of `measured_ns`."""
    high_ns: float | None
    """Upper end of that interval."""
    program_ns: float | None
    """Of `measured_ns`, what the program takes beyond an empty one."""
    runs: int
    """How many runs were timed."""
    arrangement: Literal["repeated", "restored"] | None
    """How repetitions took the same path: by themselves, or because what a run changed was taken
    back before the next one."""
    drained: bool
    """Whether ring buffers that it writes to were emptied between calls."""
    error: str | None
    """Why the path could not be timed, one line."""


class TraceMix(TypedDict):
    """What the packets of a trace cost together."""

    share: float
    """Share of the packets whose path was timed, of those whose path is known. The mean is
    theirs."""
    mean_ns: float
    """Nanoseconds for a packet, the mean over these packets and over all loads but outliers."""
    low_ns: float | None
    """Lower end of its 95 % interval; null after a single load."""
    high_ns: float | None
    """Upper end of that interval."""
    packetrate_pps: float
    """Packets like these per second of one core that does nothing else: the program and the
    kernel's loop around it, without receiving and sending."""


class TraceDistance(TypedDict):
    """How far the slowest packets of a trace are from the slowest path that any packet can take."""

    path: int
    """Number of the trace's path of most instructions."""
    instructions: int
    """How many these are."""
    measured_ns: float | None
    """What it takes; null where it was not timed."""
    bound_instructions: int | None
    """Instructions of the slowest path that the analysis found; null where it found none."""
    bound_ns: float | None
    """What that takes; null where it was not timed."""


class MeasuredTrace(TypedDict):
    """A trace that ran through a program, packet by packet."""

    file: str
    """The trace as the user named it."""
    format: str | None
    """`pcap` or `pcapng`; null where it could not be read."""
    count: int
    """How many packets were read."""
    complete: bool
    """Whether that is the whole trace."""
    truncated: int
    """How many of them were captured in part: what was captured is what ran."""
    refused: int
    """How many the kernel does not run: they are too short or too long for test runs."""
    undecided: int
    """How many have an unknown path, because the interpreter could not follow the kernel."""
    disagreements: int
    """How many the kernel treats in another way than the interpreter, a defect of
    slowpath."""
    uncertain: int
    """How many may have taken another path than is said, because of time or random numbers."""
    maps: list[TraceMap]
    """What the maps held before the first packet that the program can reach and finds elements
    in."""
    paths: list[TracePath]
    """The path of most packets first."""
    mix: TraceMix | None
    """What the packets cost together; null where nothing was timed."""
    slowest: TraceDistance | None
    """How far its slowest packets are from the slowest path; null without packets."""
    packets: list[int | None]
    """Of each packet in order, the number of its path; null where that is not known."""
    conclusion: str | None
    """What it comes to, in a sentence."""
    warnings: list[str]
    """What was noticed, in sentences."""
    error: str | None
    """Why the trace, or the rest of it, did not run, one line."""
    report: str | None
    """Of the first disagreement, all that it takes to report it, but for the file."""
