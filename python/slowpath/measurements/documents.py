"""The shape of measurements: what `slowpath measure --format json` writes."""

from typing import Literal, NotRequired, TypedDict

from slowpath.measurements.live_documents import LivePath
from slowpath.measurements.stretches.documents import Breakdown
from slowpath.measurements.trace.documents import MeasuredTrace


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
