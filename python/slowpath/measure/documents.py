"""Shape of measurements."""

from typing import Literal, NotRequired, TypedDict


class LivePath(TypedDict):
    """A path on live packets: what the program costs, and what a device receives with it."""

    program_ns: float
    """Nanoseconds of one packet beyond those of a minimal program with the same action: the mean
    over all loads but outliers."""
    program_spread_ns: float
    """Standard deviation between loads."""
    low_ns: float | None
    """Lower end of the 95 % interval of `program_ns`; null after a single load."""
    high_ns: float | None
    """Upper end of that interval."""
    run_ns: float
    """Nanoseconds of one packet with the program: the kernel makes it, and does what the program
    says."""
    baseline_ns: float
    """The same with the minimal program."""
    baseline_action: str
    """What the minimal program returns: the action of the path."""
    receiver_pps: float | None
    """Packets per second that are sent to a virtual Ethernet device of this machine and received
    there with the program in the driver, all on one core; null where that is not measured, see
    `notes`."""
    receiver_drop_pps: float | None
    """The same with a program that drops all."""
    batch: int
    """How many packets the kernel sends at a time."""
    frames: int
    """How many packets the program was timed on, receivers left out."""
    arrived: int
    """How many of them arrived at the other end of the device: all of `XDP_TX` and `XDP_REDIRECT`
    but those that found no room."""
    lost: int
    """How many packets found no room in a device, those of baselines and receivers included."""
    notes: list[str]
    """What else is to be known, in sentences."""


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


class MeasuredStretch(TypedDict):
    """A part of a path, and what it adds to the time of the path."""

    from_instruction: int
    """Its first instruction."""
    to_instruction: int | None
    """The first instruction behind it; null: it goes on to the end of the program."""
    instructions: int
    """How many instructions it executes."""
    call: str | None
    """The helper or function that it calls, if it makes one call."""
    file: str | None
    """Source file of the call, or of the line with the most instructions; null where it is not
    known."""
    line: int | None
    """Its line there."""
    text: str | None
    """What stands in that line; empty if the object does not have it."""
    ns: float | None
    """Nanoseconds that it adds: the mean over all loads but outliers. Below 0, where it adds so
    little that noise is more. Null where none of the loads was undisturbed."""
    low_ns: float | None
    """Lower end of the 95 % interval of `ns`; null where there is only one load."""
    high_ns: float | None
    """Upper end of that interval."""
    share: float | None
    """`ns` as a share of `program_ns`."""


class Breakdown(TypedDict):
    """Where the time of a path goes."""

    rank: int | None
    """The path: the `rank` of the slowest one by time."""
    program_ns: float | None
    """Nanoseconds that the path takes beyond an empty program, measured in turns with its
    beginnings. In each load its stretches add up to it."""
    asking_ns: float | None
    """Nanoseconds of a question whether to end at a point; they are taken off."""
    loads: int
    """How often the program was loaded anew."""
    stretches: list[MeasuredStretch]
    """In order of execution."""
    uncut: list[int]
    """Instructions at which the path could not be cut, because the program may not end there, or
    because what it does up to there cannot be taken back."""
    error: str | None
    """Why it is not known where the time goes, one line."""


class ColdPath(TypedDict):
    """What a path costs where map entries are not in the caches: many flows take it in turn."""

    measured_ns: float
    """Nanoseconds of one run in the kernel's own loop: the mean over all loads but outliers."""
    spread_ns: float
    """Standard deviation between loads."""
    low_ns: float | None
    """Lower end of the 95 % interval of `measured_ns`; null after a single load."""
    high_ns: float | None
    """Upper end of that interval."""
    differs: bool
    """Whether it differs from what the path takes on hot caches by more than both spreads."""
    flows: int
    """How many packets there are, each with entries of its own; the order is random to the CPU."""
    entry_bytes: int
    """Bytes of the map entries that they touch, with what the kernel keeps beside each."""
    cache_bytes: int
    """Bytes of the last-level cache."""
    varied: list[tuple[int, int]]
    """`[offset, length]` of the bytes in which the packets differ."""
    limited: str | None
    """Why the entries fit into the last-level cache, so that they are not really cold; null where
    they do not fit."""


class LaterPath(TypedDict):
    """What further packets like it take: each is fresh, but finds the maps as others left them."""

    instructions: int
    """How many instructions the second packet takes."""
    action: str
    """What the program returns for it, such as `XDP_PASS`."""
    measured_ns: float | None
    """Nanoseconds of one run in the kernel's own loop, for packets from the second one on: the mean
    over all loads but outliers. Null where that was not measured, see `reason`."""
    spread_ns: float | None
    """Standard deviation between loads."""
    low_ns: float | None
    """Lower end of the 95 % interval of `measured_ns`."""
    high_ns: float | None
    """Upper end of that interval."""
    reason: str | None
    """Why there is no time, such as that these packets do not all take the same path; null where
    there is."""


class MeasuredPath(TypedDict):
    """A path of a program, and how long the running kernel took for it."""

    rank: int | None
    """Its place among the paths that were found, 1 for the slowest; null where it has none."""
    predicted_ns: float | None
    """Nanoseconds that the target `linux-xdp` estimates for the path, see `predicted_for`; null
    where it depends on answers that the kernel was made to give. It predicts `measured_ns`: the
    kernel's loop is part of both."""
    predicted_program_ns: NotRequired[float | None]
    """Of `predicted_ns`, what the program takes beyond an empty one: it predicts `program_ns`."""
    measured_ns: float | None
    """Nanoseconds of one run in the kernel's own loop, as `bpftool prog run` tells them: the mean
    over all loads but outliers. Null where it could not be measured, see `error`."""
    spread_ns: float | None
    """Standard deviation between loads: where its code lies changes what a program takes."""
    low_ns: float | None
    """Lower end of the 95 % interval of `measured_ns`."""
    high_ns: float | None
    """Upper end of that interval."""
    program_ns: float | None
    """Of `measured_ns`, what the program takes beyond an empty one. Work that the CPU does beside
    that of the loop is not seen here."""
    packetrate_pps: float | None
    """Packets per second of one core that does nothing else: the program and the kernel's loop
    around it, without receiving and sending. Null where calls were left out, see `omitted`."""
    runs: int
    """How many runs were timed."""
    outliers: int
    """How many loads were left out of the mean, because they are far from all others."""
    packet: str
    """The packet that was run: two hexadecimal digits a byte."""
    action: str | None
    """What the program returned, such as `XDP_PASS`."""
    instructions: int
    """How many instructions the path takes, which the kernel counted."""
    source: list[tuple[str, int]]
    """`[file, line]` in order of execution; empty when the program has no debug information."""
    arrangement: Literal["repeated", "restored"] | None
    """How repetitions took the same path: by themselves, or because what a run changed was taken
    back before the next one."""
    drained: bool
    """Whether ring buffers that it writes to were emptied between calls."""
    later: LaterPath | None
    """What further packets take, because of what the first one left in maps; null where they take
    the same path."""
    cold: ColdPath | None
    """The same path where map entries are not in the caches; null where that was not measured."""
    cold_reason: str | None
    """Why not; null where it was measured, or not asked for."""
    answered: list[str]
    """Helpers whose answers were replaced by those that the path needs."""
    omitted: list[str]
    """Helpers of `answered` that were not called, because a call would have effects: their time is
    not in `measured_ns`, and `packetrate_pps` is null."""
    live: LivePath | None
    """What was measured with `--mode live`, in place of `measured_ns` and what belongs to it; null
    without."""
    error: str | None
    """Why the path was not measured, one line."""
    report: str | None
    """Where kernel and interpreter disagree: all that it takes to report it, but for the file."""


class MeasuredProgram(TypedDict):
    """A program, and what was measured of it."""

    file: str
    """The file as the user named it."""
    section: str | None
    """Section of the program in its object; null where the file could not be read."""
    program: str | None
    """Name of the program; null where the file could not be read."""
    mode: Literal["test-run", "live"]
    """How packets ran: in the kernel's loop for test runs, or such that they really go where the
    program sends them."""
    cache: Literal["hot"]
    """What the caches had: all that a run needs."""
    found: int
    """How many paths the analysis found."""
    complete: bool
    """Whether these are all there are."""
    predicted_for: str | None
    """Which machine's model `predicted_ns` is from, and when that was measured: this one's, where
    `slowpath calibrate` has made one; null where nothing is predicted."""
    baseline_ns: float | None
    """Nanoseconds of an empty program in the same loop; it is part of `measured_ns`."""
    loads: int
    """How often the program was loaded anew: each is an independent observation."""
    samples: int
    """How many calls were timed, all programs of the run together."""
    discarded: int
    """How many of them were left out, because the CPU was slower meanwhile."""
    precise: bool
    """Whether all intervals became as narrow as `--precision` asks for."""
    seconds: float
    """How long it took to measure."""
    paths: list[MeasuredPath]
    """Slowest first, by instructions."""
    breakdown: Breakdown | None
    """Where the time of the slowest path goes, by time; null where that was not asked for."""
    conclusion: str | None
    """What it comes to, in a sentence."""
    warnings: list[str]
    """What was noticed, in sentences."""
    trace: MeasuredTrace | None
    """What became of the packets of `--pcap`; null without it."""
    error: str | None
    """Why nothing was measured, one line; null when something was."""


class ComparedPath(TypedDict):
    """The same kind of path in two programs that were measured in turns."""

    path: str
    """Which one: `slowest`, `same packet`, `fastest`."""
    old_ns: float | None
    """`measured_ns` of the old program."""
    new_ns: float | None
    """`measured_ns` of the new program."""
    ratio: float | None
    """Of the new to the old: the mean over all loads but outliers."""
    low: float | None
    """Lower end of the 95 % interval of the ratio."""
    high: float | None
    """Upper end of that interval."""
    significant: bool | None
    """Whether 1 lies outside of the interval."""
    error: str | None
    """Why it could not be compared, one line; null where it was."""
    report: str | None
    """Where kernel and interpreter disagree: all that it takes to report it, but for the file."""


class ComparedVersions(TypedDict):
    """Two versions of a program that were measured in turns."""

    old: str
    """The old one: file and name."""
    new: str
    """The new one."""
    paths: list[ComparedPath]
    """`slowest`: the slowest of each; `same packet`: what both do with the packet and maps of the
    old one's path of most instructions; `fastest`."""
    conclusion: str | None
    """What became of the slowest path, in a sentence; null where it could not be compared."""


def action_name(value: int) -> str:
    """The name of what a program returned (`enum xdp_action`)."""
    names = ("XDP_ABORTED", "XDP_DROP", "XDP_PASS", "XDP_TX", "XDP_REDIRECT")
    return names[value] if value < len(names) else str(value)
