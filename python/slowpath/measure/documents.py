"""Types of the JSON documents that `slowpath measure` writes."""

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

from slowpath.core.errors import Coded
from slowpath.core.formats import codes_of
from slowpath.core.schema import Document
from slowpath.measure.disturbances import Disturbance
from slowpath.measure.environment import Environment


class LivePath(TypedDict):
    """Measurements of a path on live packets: time in the program, and receive rate of a device."""

    program_ns: float
    """Nanoseconds per packet beyond a minimal program with the same action: mean over all loads
    without outliers."""
    program_spread_ns: float
    """Standard deviation between loads."""
    low_ns: float | None
    """Lower end of the 95 % interval of `program_ns`; null after a single load."""
    high_ns: float | None
    """Upper end of the 95 % interval."""
    run_ns: float
    """Nanoseconds per packet with the program, including packet creation by the kernel and the
    program's action."""
    baseline_ns: float
    """Nanoseconds per packet with the minimal program, including the same work of the kernel."""
    baseline_action: str
    """Action that the minimal program returns; the same as the path's."""
    receiver_pps: float | None
    """Packets per second that a virtual Ethernet device of this machine receives with the program
    in its driver. Sending and receiving share one core. Null if not measured, see `notes`."""
    receiver_drop_pps: float | None
    """Packets per second with a program that drops all packets, measured in the same way."""
    batch: int
    """Number of packets that the kernel sends at a time."""
    frames: int
    """Number of packets that the program was timed on, without those sent to receivers."""
    arrived: int
    """Number of these packets that arrived at the other end of the device: all `XDP_TX` and
    `XDP_REDIRECT` packets, except those dropped for lack of room."""
    lost: int
    """Number of packets dropped for lack of room in a device, including packets of baselines and
    receivers."""
    notes: list[str]
    """Further remarks, one sentence each."""


class TraceMap(TypedDict):
    """Content of a map before the first packet of a trace."""

    name: str
    """Name of the map."""
    entries: int | None
    """Number of elements from `--maps`; null if `--maps` does not name the map, which then has its
    initial content from the object."""
    others: int
    """Number of generated elements among them: `--maps` leaves their keys and values open
    (`others`)."""


class TracePath(TypedDict):
    """A path that packets of a trace take."""

    number: int
    """Number of the path, from 1, by decreasing number of packets."""
    path: str
    """Identifier of the path. Packets of all traces and witnesses that execute the same
    instructions in the same order have the same identifier, in this version of slowpath."""
    rank: int | None
    """Rank of the path in `paths` of the analysis; null if the path is not in that list."""
    packets: int
    """Number of packets on the path."""
    share: float
    """Share of these packets among the packets with a known path."""
    instructions: int
    """Number of instructions on the path."""
    action: str
    """Most frequent return value of the program on this path, such as `XDP_PASS`."""
    first: int
    """Number of the first packet on the path, from 1."""
    measured_packet: int | None
    """Number of the packet that was timed for the path, with the map content before this packet. It
    is one of the second half of the path's packets; null if none was timed."""
    measured_ns: float | None
    """Nanoseconds of one run in the kernel's loop for test runs: mean over all loads without
    outliers. Null if the path was not timed because it is too rare, or because of `error`."""
    spread_ns: float | None
    """Standard deviation between loads; the address of its code changes the time of a program."""
    low_ns: float | None
    """Lower end of the 95 % interval of `measured_ns`."""
    high_ns: float | None
    """Upper end of the 95 % interval."""
    program_ns: float | None
    """Part of `measured_ns` beyond an empty program."""
    runs: int
    """Number of timed runs."""
    arrangement: Literal["repeated", "restored"] | None
    """Reason why repetitions took the same path: they do by themselves (`repeated`), or the changes
    of each run were undone before the next (`restored`)."""
    drained: bool
    """True if ring buffers that the path writes to were emptied between calls."""
    error: str | None
    """Reason why the path could not be timed, in one line."""
    code: str | None
    """Code of the cause of `error`, which `slowpath explain` describes; null without an error."""


class TraceMix(TypedDict):
    """Mean cost of the packets of a trace, over all paths that were timed."""

    share: float
    """Share of packets on a timed path among packets with a known path. The mean covers the
    former."""
    mean_ns: float
    """Nanoseconds per packet: mean over these packets, and over all loads without outliers."""
    low_ns: float | None
    """Lower end of the 95 % interval of `mean_ns`; null after a single load."""
    high_ns: float | None
    """Upper end of the 95 % interval."""
    packetrate_pps: float
    """Packets per second on one dedicated core. Covers the program and the kernel's loop, without
    receiving and sending."""


class TraceDistance(TypedDict):
    """Comparison of the slowest packets in a trace with the slowest path of any possible packet."""

    path: int
    """Number of the trace's path with the most instructions."""
    instructions: int
    """Number of instructions on that path."""
    measured_ns: float | None
    """Measured time of that path in nanoseconds; null if not timed."""
    bound_instructions: int | None
    """Number of instructions on the slowest path from the analysis; null if none was found."""
    bound_ns: float | None
    """Measured time of the slowest path from the analysis in nanoseconds; null if not timed."""


class MeasuredTrace(TypedDict):
    """A trace whose packets ran through a program one by one."""

    file: str
    """Path of the trace, as the user gave it."""
    format: str | None
    """`pcap` or `pcapng`; null if the file could not be read."""
    count: int
    """Number of packets read."""
    complete: bool
    """True if the whole trace was read."""
    truncated: int
    """Number of packets captured in part; only the captured part ran."""
    refused: int
    """Number of packets that the kernel does not run, because they are too short or too long for
    test runs."""
    undecided: int
    """Number of packets with an unknown path, because the interpreter could not follow the
    kernel."""
    disagreements: int
    """Number of packets for which kernel and interpreter behave differently, a defect of
    slowpath."""
    uncertain: int
    """Number of packets whose reported path may be wrong, because it depends on time or random
    numbers."""
    maps: list[TraceMap]
    """Content before the first packet of maps in which the program can find elements."""
    paths: list[TracePath]
    """Paths by decreasing number of packets."""
    mix: TraceMix | None
    """Mean cost of the packets; null if no path was timed."""
    slowest: TraceDistance | None
    """Gap between the trace's slowest packets and the slowest path; null without packets."""
    packets: list[int | None]
    """Path number of each packet, in order; null if the path is not known."""
    conclusion: str | None
    """Conclusion in a sentence."""
    warnings: list[str]
    """Warnings, one sentence each."""
    warning_codes: list[str]
    """Codes of the causes of `warnings`, in the same order."""
    error: str | None
    """Reason why the trace, or the rest of it, did not run, in one line."""
    code: str | None
    """Code of the cause of `error`, which `slowpath explain` describes; null without an error."""
    report: str | None
    """Data for a bug report on the first disagreement; it lacks only the object file."""


class MeasuredStretch(TypedDict):
    """A stretch (consecutive instructions of a path), and its contribution to the path's time."""

    from_instruction: int
    """Number of the first instruction."""
    to_instruction: int | None
    """Number of the first instruction after the stretch; null if it extends to the end of the
    program."""
    instructions: int
    """Number of executed instructions."""
    call: str | None
    """Helper or function that the stretch calls, if it contains one call."""
    file: str | None
    """Source file of the call, or of the line with the most instructions; null if not known."""
    line: int | None
    """Line number in this file."""
    text: str | None
    """Text of the line; empty if the object does not contain it."""
    ns: float | None
    """Nanoseconds that the stretch adds: mean over all loads without outliers. Negative if the
    contribution is smaller than the noise; null if no load was undisturbed."""
    low_ns: float | None
    """Lower end of the 95 % interval of `ns`; null after a single load."""
    high_ns: float | None
    """Upper end of the 95 % interval."""
    share: float | None
    """Ratio of `ns` to `program_ns`."""


class Breakdown(TypedDict):
    """Time of a path, divided into stretches of consecutive instructions."""

    rank: int | None
    """The `rank` of the path: the slowest one by time."""
    program_ns: float | None
    """Nanoseconds of the path beyond an empty program, measured in turns with its prefixes. In each
    load, the stretches add up to it."""
    asking_ns: float | None
    """Nanoseconds of one check whether to end the run at a point; subtracted from the stretches'
    times."""
    loads: int
    """Number of times that the program was loaded."""
    stretches: list[MeasuredStretch]
    """Stretches in order of execution."""
    uncut: list[int]
    """Instructions where the path could not be divided, because the program may not end there or
    because its effects up to there cannot be undone."""
    error: str | None
    """Reason why the time could not be divided, in one line."""
    code: str | None
    """Code of the cause of `error`, which `slowpath explain` describes; null without an error."""


class ColdPath(TypedDict):
    """Measurements of a path whose map entries are not cached: many flows alternate."""

    measured_ns: float
    """Nanoseconds of one run in the kernel's loop for test runs: mean over all loads without
    outliers."""
    spread_ns: float
    """Standard deviation between loads."""
    low_ns: float | None
    """Lower end of the 95 % interval of `measured_ns`; null after a single load."""
    high_ns: float | None
    """Upper end of the 95 % interval."""
    differs: bool
    """True if the difference from the time on hot caches exceeds the sum of both spreads."""
    flows: int
    """Number of packets, each with its own map entries, in an order that the CPU cannot predict."""
    entry_bytes: int
    """Bytes of the map entries that they access, including the kernel's metadata of each."""
    cache_bytes: int
    """Size of the last-level cache in bytes."""
    varied: list[tuple[int, int]]
    """Ranges of bytes that differ between the packets, as `[offset, length]`."""
    limited: str | None
    """Reason why the entries fit into the last-level cache, so that the caches are not really cold;
    null if they do not fit."""


class LaterPath(TypedDict):
    """The path that the second and later packets take if all packets are equal.

    Each of these packets is unmodified, but finds maps as earlier packets left them.
    """

    instructions: int
    """Number of instructions for the second packet."""
    action: str
    """Return value of the program for the second packet, such as `XDP_PASS`."""
    measured_ns: float | None
    """Nanoseconds of one run in the kernel's loop for test runs, from the second packet on: mean
    over all loads without outliers. Null if not measured, see `reason`."""
    spread_ns: float | None
    """Standard deviation between loads."""
    low_ns: float | None
    """Lower end of the 95 % interval of `measured_ns`."""
    high_ns: float | None
    """Upper end of the 95 % interval."""
    reason: str | None
    """Reason for the missing time, such as that these packets take different paths; else null."""


class MeasuredPath(TypedDict):
    """A path of a program, with its time in the running kernel."""

    rank: int | None
    """Rank among the found paths, 1 for the slowest; null if it has none."""
    predicted_ns: float | None
    """Prediction of `measured_ns` by the target `linux-xdp`, in nanoseconds; both include the
    kernel's loop. See `predicted_for`; null if the path depends on helper results that the kernel
    was made to return."""
    predicted_program_ns: NotRequired[float | None]
    """Prediction of `program_ns`: the part of `predicted_ns` beyond an empty program."""
    measured_ns: float | None
    """Nanoseconds of one run in the kernel's loop for test runs, as `bpftool prog run` reports
    them: mean over all loads without outliers. Null if not measured, see `error`."""
    spread_ns: float | None
    """Standard deviation between loads; the address of its code changes the time of a program."""
    low_ns: float | None
    """Lower end of the 95 % interval of `measured_ns`."""
    high_ns: float | None
    """Upper end of the 95 % interval."""
    program_ns: float | None
    """Part of `measured_ns` beyond an empty program. Work that the CPU overlaps with the loop is
    not included."""
    packetrate_pps: float | None
    """Packets per second on one dedicated core. Covers the program and the kernel's loop, without
    receiving and sending. Null if calls were omitted, see `omitted`."""
    runs: int
    """Number of timed runs."""
    outliers: int
    """Number of loads excluded from the mean as outliers."""
    load_ns: list[float]
    """Nanoseconds of one run in each load with an undisturbed sample, outliers included; empty if
    not measured. `measured_ns` is their mean without outliers."""
    packet: str
    """The packet, two hexadecimal digits per byte."""
    action: str | None
    """Return value of the program, such as `XDP_PASS`."""
    instructions: int
    """Number of instructions on the path, counted by the kernel."""
    source: list[tuple[str, int]]
    """Executed lines in order, as `[file, line]`; empty if the program has no debug information."""
    arrangement: Literal["repeated", "restored"] | None
    """Reason why repetitions took the same path: they do by themselves (`repeated`), or the changes
    of each run were undone before the next (`restored`)."""
    drained: bool
    """True if ring buffers that the path writes to were emptied between calls."""
    later: LaterPath | None
    """Path of later packets, if it differs because of what the first packet left in maps; else
    null."""
    cold: ColdPath | None
    """The same path with map entries outside the caches; null if not measured."""
    cold_reason: str | None
    """Reason why `cold` was not measured; null if it was, or was not requested."""
    answered: list[str]
    """Helpers whose results were replaced by those that the path needs."""
    omitted: list[str]
    """Helpers in `answered` that were not called because a call would have side effects.
    `measured_ns` excludes their time, and `packetrate_pps` is null."""
    live: LivePath | None
    """Results of `--mode live`, which replace `measured_ns` and related fields; else null."""
    error: str | None
    """Reason why the path was not measured, in one line."""
    code: str | None
    """Code of the cause of `error`, which `slowpath explain` describes; null without an error."""
    report: str | None
    """Data for a bug report on a disagreement between kernel and interpreter; it lacks only the
    object file."""


class MeasuredProgram(TypedDict):
    """A program with the measurements of its paths."""

    file: str
    """Path of the file, as the user gave it."""
    section: str | None
    """Section of the program in its object; null if the file could not be read."""
    program: str | None
    """Name of the program; null if the file could not be read."""
    mode: Literal["test-run", "live"]
    """Execution of packets: in the kernel's loop for test runs, or live, so that the program's
    actions are carried out."""
    cache: Literal["hot"]
    """State of the caches: they contain all that a run needs."""
    found: int
    """Number of paths that the analysis found."""
    complete: bool
    """True if the analysis found all paths."""
    predicted_for: str | None
    """Machine and date of the model for `predicted_ns`. It is the model of this machine if
    `slowpath calibrate` has made one; null without predictions."""
    baseline_ns: float | None
    """Nanoseconds of an empty program in the same loop; included in `measured_ns`."""
    loads: int
    """Number of times that the program was loaded; each load is an independent observation."""
    samples: int
    """Number of timed calls, of all programs measured together."""
    discarded: int
    """Number of calls excluded because the CPU was slower than usual at the time."""
    precise: bool
    """True if all intervals reached the requested `--precision`."""
    seconds: float
    """Duration of the measurement in seconds."""
    paths: list[MeasuredPath]
    """Paths by decreasing number of instructions."""
    breakdown: Breakdown | None
    """Division of the time of the slowest path, by time; null if not requested."""
    conclusion: str | None
    """Conclusion in a sentence."""
    warnings: list[str]
    """Warnings, one sentence each."""
    warning_codes: list[str]
    """Codes of the causes of `warnings`, in the same order."""
    trace: MeasuredTrace | None
    """Results for the packets of `--pcap`; null without the option."""
    error: str | None
    """Reason why nothing was measured, in one line; null if something was."""
    code: str | None
    """Code of the cause of `error`, which `slowpath explain` describes; null without an error."""


class ComparedPath(TypedDict):
    """Times of corresponding paths in two versions of a program that were measured alternately."""

    path: str
    """Kind of path: `slowest`, `same packet` or `fastest`."""
    old_ns: float | None
    """`measured_ns` of the old program."""
    new_ns: float | None
    """`measured_ns` of the new program."""
    ratio: float | None
    """Ratio of new to old time: mean over all loads without outliers."""
    low: float | None
    """Lower end of the 95 % interval of the ratio."""
    high: float | None
    """Upper end of the 95 % interval."""
    significant: bool | None
    """True if the interval does not contain 1."""
    error: str | None
    """Reason why the paths were not compared, in one line; null if they were."""
    code: str | None
    """Code of the cause of `error`, which `slowpath explain` describes; null without an error."""
    report: str | None
    """Data for a bug report on a disagreement between kernel and interpreter; it lacks only the
    object file."""


class ComparedVersions(TypedDict):
    """Two versions of a program that were measured alternately."""

    old: str
    """File and name of the old version."""
    new: str
    """File and name of the new version."""
    paths: list[ComparedPath]
    """Comparisons: `slowest` and `fastest` compare these paths of each program; `same packet` runs
    both on the packet and maps of the old program's path with the most instructions."""
    conclusion: str | None
    """Change of the slowest path, in a sentence; null if not compared."""


Failable = TracePath | MeasuredTrace | Breakdown | MeasuredPath | MeasuredProgram | ComparedPath
"""Any record that has the keys `error` and `code`."""


def fail(record: Failable, reason: Coded) -> None:
    """Store the error message `reason` and its code in a record."""
    record["error"], record["code"] = str(reason), reason.code


def set_warnings(record: MeasuredTrace | MeasuredProgram, warnings: Sequence[Coded]) -> None:
    """Store the warnings about a measurement, and their codes, in its record."""
    record["warnings"], record["warning_codes"] = [*warnings], codes_of(warnings)


TC = "sched_cls"
"""Kind of the programs that are attached to traffic control (tc)."""

_UNSPECIFIED = 0xFFFF_FFFF

_ACTIONS = {
    "xdp": ("XDP_ABORTED", "XDP_DROP", "XDP_PASS", "XDP_TX", "XDP_REDIRECT"),
    TC: tuple(
        f"TC_ACT_{name}"
        for name in ("OK", "RECLASSIFY", "SHOT", "PIPE", "STOLEN", "QUEUED", "REPEAT", "REDIRECT")
    ),
}


def action_name(value: int, kind: str = "xdp") -> str:
    """Return the name of a program's return value, such as `XDP_PASS` or `TC_ACT_OK`.

    `kind` is the kind of the program. The names are those of `enum xdp_action` and `TC_ACT_*`.
    """
    if kind == TC and value == _UNSPECIFIED:
        return "TC_ACT_UNSPEC"
    names = _ACTIONS[TC if kind == TC else "xdp"]
    return names[value] if value < len(names) else str(value)


class MeasureDocument(Document):
    """Output of `slowpath measure --format json`."""

    compiler: NotRequired[str]
    """Version of clang, as clang prints it; absent if nothing was compiled."""
    environment: Environment
    """Environment of the measurement, and events during it."""
    disturbances: list[Disturbance]
    """Disturbances that the environment shows: warnings, then notes."""
    results: list[MeasuredProgram]
    """Results of the programs, in the order of the command line."""
    comparison: list[ComparedVersions] | None
    """Comparisons of the programs that two files have in common; null unless two files were
    given."""
