"""Measures a function alone and beside competitors, in alternating blocks of time.

A point of a profile is a traffic with competitors. Its blocks are alternately alone and with
competitors; neighbouring blocks form a turn. A turn is invalid if in one of its blocks, a thread
had its CPU for less than `_UNDISTURBED` of the time, as then another program ran on this CPU. It is
also invalid if other virtual machines on the same processor were noticed before or after a block
(`machine.py`). Invalid turns are repeated, up to a limit.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from slowpath.contention.profiling.setup import Function
from slowpath.core import codes
from slowpath.core.engine.neighbours import ProgramWithTraffic
from slowpath.core.engine.report_types import Block, Reading
from slowpath.core.errors import UnavailableError


class Traffic(NamedTuple):
    """Traffic of the measured function: number of flows, packet size, and matches per MB."""

    flows: int
    size: int  # packet size, bytes
    mtbr: float  # matches per MB


class MemBench(NamedTuple):
    """A competitor for caches and memory bandwidth: a thread that accesses memory."""

    working_set: int  # size, bytes
    touch: str
    rate: float | None  # accesses per second; None: unlimited


class Client(NamedTuple):
    """A competitor for the accelerator: a client that sends requests to it."""

    size: int  # packet size, bytes
    mtbr: float
    rate: float | None  # requests per second; None: always one pending
    queues: int


class Point(NamedTuple):
    """A point of a profile: the function's traffic, and the competitors beside the function."""

    traffic: Traffic
    memory: MemBench | None
    client: Client | None


class Rate(NamedTuple):
    """A rate measured over several blocks of time: median and confidence interval."""

    value: float  # median, per second
    low: float
    high: float
    blocks: int  # number of blocks used
    disturbed: int  # disturbed blocks; left out unless too few others remain


class Measured(NamedTuple):
    """Rates of a function at a point of a profile, alone and beside competitors.

    If the point has no competitors, both are rates of the function alone.
    """

    point: Point
    alone: Rate  # packets per second
    beside: Rate  # packets per second
    competitor: float | None  # accesses per second of mem-bench
    client: Rate | None = None  # requests per second of the client alone at the accelerator


Spec = dict[str, object]


class MixSpec(NamedTuple):
    """Threads that run together: the measured subjects and their competitors."""

    subjects: list[Spec]
    competitors: list[Spec]
    programs: tuple[ProgramWithTraffic, ...] = ()  # XDP programs among them


class CpuAssignment(NamedTuple):
    """The CPUs for the threads of a mix, in order.

    The function is on the first CPU. A competitor, or the accelerator of a pipeline, is on the
    second. If an accelerator is there, a competitor for memory is on the third.
    """

    cpus: Sequence[int]

    @property
    def function(self) -> int:
        """CPU of the measured function."""
        return self.cpus[0]

    @property
    def other(self) -> int:
        """CPU of the competitor; in a pipeline, CPU of the accelerator."""
        return self.cpus[1]


def kinds_of_mixes(
    function: Function, places: CpuAssignment, *, memory: bool, client: bool
) -> list[str]:
    """Return the kinds of mixes that can be measured: `memory`, `accelerator` and `both`.

    They are named after their competitors. `memory` and `client` are true if the setup has such
    competitors; `both` needs enough CPUs.
    """
    found = ["memory"] if memory else []
    if client:
        found.append("accelerator")
    enough = function.pattern == "run-to-completion" or len(places.cpus) > 2  # noqa: PLR2004
    if memory and client and enough:
        found.append("both")
    return found


def mix_of(function: Function, point: Point, places: CpuAssignment) -> MixSpec:
    """Return the threads that run to measure a point: the function and its competitors.

    If memory is the only resource with a competitor, a pipeline runs just its header stage. The
    memory model describes the throughput of this stage, which the accelerator would hide.
    """
    headers_only = function.pattern == "pipeline" and point.client is None
    subject = _function(function, point.traffic, places, headers_only=headers_only)
    programs = _programs(function, point.traffic)
    if point.client is not None:
        subject["clients"] = [_client(point.client)]
    if point.memory is None:
        return MixSpec([subject], [], programs)
    third = function.pattern == "pipeline" and not headers_only
    cpu = places.cpus[2] if third else places.other
    return MixSpec([subject], [mem_bench(point.memory, cpu)], programs)


def probed(
    function: Function, traffic: Traffic, places: CpuAssignment, probe_bytes: int
) -> MixSpec:
    """Return the threads that measure the contention for memory which the function causes.

    The probe is a thread that this contention slows down; the function runs as its competitor.
    `probe_bytes` is the probe's working set.
    """
    swapped = CpuAssignment([places.other, places.function])
    headers_only = function.pattern == "pipeline"
    competitor = _function(function, traffic, swapped, headers_only=headers_only)
    programs = _programs(function, traffic)
    return MixSpec([probe(probe_bytes, places.function)], [competitor], programs)


def accelerator_alone(function: Function, traffic: Traffic, cpu: int) -> MixSpec:
    """Return the thread of an accelerator alone; requests of the function always wait for it."""
    subject: Spec = {
        "kind": "accelerator",
        "cpu": cpu,
        "service": function.service,
        "traffic": _traffic(traffic),
    }
    return MixSpec([subject], [])


def client_alone(function: Function, client: Client, places: CpuAssignment) -> MixSpec:
    """Return the thread of an accelerator on its usual CPU.

    Requests of a client always wait for it.
    """
    traffic = Traffic(1, client.size, client.mtbr)
    return accelerator_alone(function, traffic, accelerator_cpu(function, places))


def accelerator_cpu(function: Function, places: CpuAssignment) -> int:
    """Return the CPU of the thread that imitates the function's accelerator."""
    return places.other if function.pattern == "pipeline" else places.function


def probe(size: int, cpu: int) -> Spec:
    """Return the thread of the probe, which contention for memory slows down.

    `size` is its working set in bytes.
    """
    return {"kind": "probe", "cpu": cpu, "bytes": size}


def mem_bench(competitor: MemBench, cpu: int) -> Spec:
    """Return the thread of a competitor for caches and memory on a CPU."""
    size, touch, rate = competitor
    return {"kind": "memory", "cpu": cpu, "bytes": size, "touch": touch, "rate": rate}


def _programs(function: Function, traffic: Traffic) -> tuple[ProgramWithTraffic, ...]:
    """Return the function's XDP program with the packets of its traffic; empty if it has none."""
    if function.program is None:
        return ()
    found, number, destination, port = function.program
    packets: Spec = {
        "flows": traffic.flows,
        "packet_bytes": traffic.size,
        "destination": destination,
        "destination_port": port,
    }
    return (ProgramWithTraffic(found, number, packets),)


def _function(
    function: Function, traffic: Traffic, places: CpuAssignment, *, headers_only: bool
) -> Spec:
    if function.program is not None:
        return {"kind": "given", "cpu": places.function, "work": 0}
    spec: Spec = {
        "kind": "function",
        "cpu": places.function,
        "pattern": "run-to-completion" if headers_only else function.pattern,
        "traffic": _traffic(traffic),
        "stages": list(function.stages),
        "service": None if headers_only else function.service,
        "queue": function.queue,
    }
    if spec["pattern"] == "pipeline":
        spec["accelerator_cpu"] = accelerator_cpu(function, places)
    return spec


def _traffic(traffic: Traffic) -> Spec:
    return {"flows": traffic.flows, "packet_bytes": traffic.size, "mtbr": traffic.mtbr}


def _client(client: Client) -> Spec:
    size, mtbr, rate, queues = client
    return {"packet_bytes": size, "mtbr": mtbr, "rate": rate, "queues": queues}


_UNDISTURBED = 0.98
_MOST_TURNS = 3
"""Maximum number of turns (groups of successive blocks), as a multiple of the required number; more
than that number are measured if some are invalid.
"""
CONFIDENCE = 0.9


class Runs(Protocol):
    """Interface of a mix whose threads can run for a block of time, alone or with competitors.

    `slowpath.core.engine.neighbours.Mix` implements it.
    """

    def block(self, warm: float, seconds: float, *, beside: bool) -> Block:
        """Run the measured functions for `warm` seconds, then measure them for `seconds`.

        If `beside` is true, their competitors run at the same time.
        """


class LoadDetector(Protocol):
    """Interface of detectors of other load on the processor.

    `slowpath.contention.profiling.machine.CpuMonitor` implements it.
    """

    def wait(self, check_stop: Callable[[], None]) -> bool:
        """Wait until the processor is quiet, up to a time limit; return true if it is.

        `check_stop` is called repeatedly; an error that it raises ends the wait.
        """

    def quiet(self) -> bool:
        """Return true if no other load is noticed on the processor now."""


class Timing(NamedTuple):
    """Number and length of the blocks of time in which a point is measured."""

    pairs: int  # number of turns
    seconds: float  # length of a block
    warm: float  # time of warming up before a block


class Turns(NamedTuple):
    """Rates of a function, measured in alternating blocks alone and with competitors."""

    alone: Rate
    beside: Rate  # relative to `alone` in the same turn
    competitor: float | None  # items per second of the first competitor
    reference: Rate | None = None  # rate of the reference, relative to `alone` in the same turn

    @property
    def slowdown(self) -> float:
        """Factor by which competitors slow down the function: rate alone / rate with them."""
        return self.alone.value / self.beside.value


def items_per_second(reading: Reading) -> float:
    """Return the rate at which a thread processed items, such as packets, in a block."""
    if not reading["served"] or reading["seconds"] <= 0:
        return 0.0
    return reading["served"][0]["items"] / reading["seconds"]


def disturbed(block: Block) -> bool:
    """Return true if a thread of the block waited for its CPU, as another program ran there."""
    for reading in (*block["subjects"], *block["competitors"]):
        on_cpu = reading["cpu_seconds"]
        if on_cpu is not None and on_cpu < _UNDISTURBED * reading["seconds"]:
            return True
    return False


def measure_interleaved(
    mix: Runs,
    timing: Timing,
    check_stop: Callable[[], None] = lambda: None,
    detector: LoadDetector | None = None,
    reference: Runs | None = None,
) -> Turns:
    """Measure the rate of the first subject alone and with competitors, in alternating blocks.

    In each turn, the blocks are measured one after the other. The rate with competitors is the rate
    alone, times the median ratio of both rates in a turn. The rate of `reference` is computed in
    the same way. Slow changes, such as load of other virtual machines on the shared cache, affect
    all blocks of a turn. In medians over all turns, they could affect only one of the rates.

    Args:
        mix: subjects and competitors to run.
        timing: length and number of blocks.
        check_stop: called before each block and during waits; can raise an error.
        detector: detector of other load on the processor, used before and after each block.
        reference: another mix, whose first subject is measured alone in a third block of each
            turn, because its rate is needed under the same conditions.

    Raises:
        UnavailableError: if other programs used the CPUs in all blocks.
    """
    kinds = [(mix, False), (mix, True), *([(reference, False)] if reference is not None else [])]
    turns, competitor = list[list[_TimedBlock]](), list[float]()
    while len(_good(turns)) < timing.pairs and len(turns) < _MOST_TURNS * timing.pairs:
        turn = list[_TimedBlock]()
        for runs, beside in kinds:
            check_stop()
            was_quiet = detector is None or detector.wait(check_stop)
            block = runs.block(timing.warm, timing.seconds, beside=beside)
            is_quiet = was_quiet and (detector is None or detector.quiet())
            rate = items_per_second(block["subjects"][0])
            turn.append(_TimedBlock(rate, is_bad=rate <= 0 or disturbed(block) or not is_quiet))
            if beside and block["competitors"]:
                competitor.append(items_per_second(block["competitors"][0]))
        turns.append(turn)
    alone, *others = (_rate(column, timing.pairs) for column in zip(*turns, strict=True))
    good = _good(turns)
    counted = good if 2 * len(good) >= timing.pairs else turns
    relative = [_relative(alone, counted, at, other) for at, other in enumerate(others, 1)]
    competitor_rate = statistics.median(competitor) if competitor else None
    return Turns(alone, relative[0], competitor_rate, *relative[1:])


class _TimedBlock(NamedTuple):
    """The rate measured in one block of time, and whether the block was disturbed."""

    rate: float
    is_bad: bool  # true if disturbed, or without any progress


def _good(turns: Sequence[Sequence[_TimedBlock]]) -> list[Sequence[_TimedBlock]]:
    """Return the turns (groups of successive blocks) in which no block was disturbed."""
    return [turn for turn in turns if not any(block.is_bad for block in turn)]


def _relative(alone: Rate, turns: Sequence[Sequence[_TimedBlock]], at: int, absolute: Rate) -> Rate:
    """Return the rate in the blocks with index `at`, computed from ratios within each turn.

    It is `alone` (the rate of the function alone) times the median ratio of block `at` and block 0
    of a turn. The interval is that of the ratio. Return `absolute` if no ratio is known.
    """
    shares = [
        turn[at].rate / turn[0].rate for turn in turns if min(turn[0].rate, turn[at].rate) > 0
    ]
    if not shares:
        return absolute
    value, low, high = (alone.value * one for one in median(shares)[:3])
    return Rate(value, low, high, len(shares), absolute.disturbed)


def _rate(blocks: Sequence[_TimedBlock], wanted: int) -> Rate:
    """Return the median rate of the undisturbed blocks.

    If fewer than half of the `wanted` blocks are undisturbed, return the median of all blocks.

    Raises:
        UnavailableError: if all blocks have a rate of zero.
    """
    good = [block.rate for block in blocks if not block.is_bad]
    bad = len(blocks) - len(good)
    if 2 * len(good) >= wanted:
        return median(good, bad)
    done = [block.rate for block in blocks if block.rate > 0]
    if not done:
        reason = (
            "other programs occupy the CPUs, so a thread did not run in any block of time; "
            "make blocks "
        )
        raise UnavailableError(
            codes.RATE_UNSTEADY, f"{reason}longer (block_ms), or wait until the machine is quiet"
        )
    return median(done, bad)


def median(values: Sequence[float], bad: int = 0) -> Rate:
    """Return the median of values and its confidence interval, for any distribution of them.

    The confidence is `CONFIDENCE`; the ends are two of the values (David and Nagaraja, Order
    Statistics, 7.1). With few values, the interval contains all of them. `bad` is the number of
    disturbed blocks, which is stored in the result.
    """
    ordered = sorted(values)
    count = len(ordered)
    outside = 0
    # `tail` is the probability that the median is beyond this many values at one end.
    while 2 * (outside + 1) < count:
        tail = sum(math.comb(count, k) for k in range(outside + 2)) / 2**count
        if 1 - 2 * tail < CONFIDENCE:
            break
        outside += 1
    low, high = ordered[outside], ordered[count - 1 - outside]
    return Rate(statistics.median(ordered), low, high, count, bad)
