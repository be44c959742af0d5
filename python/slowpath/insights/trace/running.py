"""Runs a function over a trace, for commands and for callers in Python.

from slowpath.insights.trace.running import run

found = run("nat.cc", "trace.pcap")
for one in found.report["structures"]:
    print(one["structure"], one["reads_per_packet"])
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from time import monotonic
from typing import NamedTuple

from slowpath.core import codes
from slowpath.core.engine.objects import Captured, captured
from slowpath.core.errors import InputError, StoppedError
from slowpath.core.jobs import Message, Stopping
from slowpath.core.jobs.isolated_job import Work
from slowpath.core.programs.sources import Clang
from slowpath.insights.source.sources import Source
from slowpath.insights.source.unit import CompiledUnit, UnitWorker
from slowpath.insights.trace import RunLimits, RunSettings
from slowpath.insights.trace.documents import CountsReport
from slowpath.insights.trace.xdp_sources import load_runnable

_BYTES = 256 << 20
"""Maximum total size of all packets, in bytes."""
_ENDLESS = 1e9


class Run(NamedTuple):
    """The result of running a function over a trace: counts, and inputs for other commands."""

    report: CountsReport
    placement: dict[str, object]
    """Structures with their counts, as input of `slowpath insights placement`."""
    coalescing: dict[str, object] | None
    """Variables and the blocks that access them, as input of `slowpath insights coalescing`; None
    if no order of variables can change."""


def run(
    file: str, traffic: str, setting: RunSettings | None = None, *, flags: tuple[str, ...] = ()
) -> Run:
    """Compile a source, and run one of its functions over the packets of a capture file.

    `flags` are passed to clang.

    Raises:
        InputError: when a file cannot be read or used, the source does not compile, the function
            does not exist or has inline assembly or recursion, or a packet exceeds the limit of
            blocks.
    """
    setting = setting or RunSettings()
    source = load_runnable(file, Clang(flags), filled=setting.maps is not None)
    return run_source(source, traffic, setting, RunLimits(), Stopping())


def run_source(
    source: Source, traffic: str, setting: RunSettings, allowed: RunLimits, stopping: Stopping
) -> Run:
    """Run a function of a compiled source over the packets of a capture file.

    `traffic` is the capture file, and `allowed` are the limits on time and memory.

    Raises:
        InputError: as for `run`.
        StoppedError: when the run stops before it has counts.
    """
    work = partial(run_unit, CompiledUnit(source), traffic, setting)
    with UnitWorker(source.file, allowed.memory, stopping, work) as worker:
        return counted(source.file, worker, work, allowed.seconds)


def counted(
    file: str, worker: UnitWorker, work: Work, seconds: float | None, *arguments: object
) -> Run:
    """Run `work`, a call of `run_unit`, in a worker process, and return the counts.

    `seconds` is the time limit; None for no limit.

    Raises:
        InputError: as for `run`.
        StoppedError: when the run stops before it has counts.
    """
    found = list[Run]()

    def take(message: Message) -> None:
        match message:
            case ("counted", report, placement, coalescing):
                found.append(Run(report, placement, coalescing))

    stopped = worker.run(work, seconds, take, *arguments)
    if stopped is not None:
        raise StoppedError(
            codes.STOPPED_AT_DEADLINE,
            file,
            f"{stopped} before any packet was counted; allow more time with --deadline",
        )
    return found[0]


def run_unit(
    unit: CompiledUnit,
    traffic: str,
    setting: RunSettings,
    seconds: float | None,
    _stopping: Stopping,
) -> Iterator[Message]:
    """Run a function over the packets of a capture file, in the worker process.

    Yield one message with the counts, and inputs for other commands. `traffic` is the capture file.
    """
    from slowpath.insights.source.entry import choice_note, choose_entry
    from slowpath.insights.trace.counting import Counted
    from slowpath.insights.trace.execution import Execution
    from slowpath.insights.trace.problems import coalescing_problem, placement_problem
    from slowpath.insights.trace.xdp_map_contents import InitialContent, tail_call_targets

    until = monotonic() + (_ENDLESS if seconds is None else seconds)
    arriving, more = read_packets(traffic, setting.packets)
    source, functions = unit.source, unit.functions
    start = InitialContent(source.object, source.lacking, setting.maps)
    tail_called = tail_call_targets(source.file, start)
    chosen = choose_entry(source.file, functions, setting.entry, tail_called)
    execution = Execution(unit, chosen, start)
    outcome = execution.run(arriving, setting, until)
    counts = Counted(execution, outcome, functions, chosen)
    ran = arriving[: outcome.packets]
    report = counts.report(source.file, traffic, ran, more=more or len(ran) < len(arriving))
    if outcome.returned and len(ran) < len(arriving):
        ended = f"the function {chosen.function.shown} ended after {len(ran):,} packets"
        report["notes"].append(f"{ended} without receiving the rest of the trace")
    elif len(ran) < len(arriving):
        report["notes"].append("the run stopped at --deadline, before the end of the trace")
    report["notes"] += _short(ran, setting.strip)
    guess = choice_note(functions, chosen, setting.entry)
    report["notes"] += [] if guess is None else [guess]
    report["notes"] += outcome.notes
    placement = placement_problem(report)
    yield "counted", dict(report), placement, coalescing_problem(counts, report)


def _short(packets: Sequence[Captured], strip: int) -> list[str]:
    """Return a note for the user if `--strip` leaves no bytes of some packets.

    `--strip` removes the first `strip` bytes of each packet. The list is empty if all packets are
    longer.
    """
    short = sum(one.length <= strip for one in packets) if strip else 0
    if not short:
        return []
    return [f"{short:,} packets are empty after --strip removed {strip} bytes"]


def read_packets(traffic: str, limit: int) -> tuple[list[Captured], bool]:
    """Return at most `limit` packets of a trace, and true if the trace has more.

    Raises:
        InputError: when the file cannot be read, is too large, or has no packets.
    """
    found, size = list[Captured](), 0
    packets = captured(traffic)
    for packet in islice(packets, limit):
        found.append(packet)
        size += packet.length
        if size > _BYTES:
            reason = (
                f"the trace has more than {_BYTES >> 20} MiB of packets; run fewer with --packets"
            )
            raise InputError(codes.TRACE_WITHOUT_PACKETS, traffic, reason)
    if not found:
        raise InputError(codes.TRACE_WITHOUT_PACKETS, traffic, "the trace contains no packets")
    return found, next(packets, None) is not None
