"""Measured points, the threads that run for each of them, and their blocks of measurement.

Blocks are alternately alone and beside competitors. A turn is invalid if in one of its blocks, a
thread had its CPU for less than `_UNDISTURBED` of the time. Then another program ran on this CPU.
It is also invalid if other virtual machines on the same processor were noticed before or after a
block (`machine.py`). Invalid turns are repeated, up to a limit.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from slowpath.contention.profiling.setup import Function
from slowpath.core.engine.neighbours import ProgramWithTraffic
from slowpath.core.engine.report_types import Block, Reading
from slowpath.core.errors import UnavailableError


class Traffic(NamedTuple):
    """Traffic of the function."""

    flows: int
    size: int  # packet size, bytes
    mtbr: float  # matches per MB


class MemBench(NamedTuple):
    """A competitor for caches and memory."""

    working_set: int  # size, bytes
    touch: str
    rate: float | None  # accesses per second; None: unlimited


class Client(NamedTuple):
    """A competitor at the accelerator."""

    size: int  # packet size, bytes
    mtbr: float
    rate: float | None  # requests per second; None: always one pending
    queues: int


class Point(NamedTuple):
    """A function's traffic and its competitors."""

    traffic: Traffic
    memory: MemBench | None
    client: Client | None


class Rate(NamedTuple):
    """A rate measured over several blocks."""

    value: float  # median, per second
    low: float
    high: float
    blocks: int  # number of blocks used
    disturbed: int  # disturbed blocks; left out unless too few others remain


class Measured(NamedTuple):
    """Rates at a point; without competitors, both are of the function alone."""

    point: Point
    alone: Rate  # packets per second
    beside: Rate
    competitor: float | None  # accesses per second of mem-bench
    client: Rate | None = None  # requests per second of the client alone at the accelerator


Spec = dict[str, object]


class MixSpec(NamedTuple):
    """Subjects and competitors of a mix."""

    subjects: list[Spec]
    competitors: list[Spec]
    programs: tuple[ProgramWithTraffic, ...] = ()  # XDP programs among them


class CpuAssignment(NamedTuple):
    """CPUs of threads.

    The function is on the first CPU, a competitor on the second. The accelerator of a pipeline is
    on the second CPU, and then a competitor for memory is on the third.
    """

    cpus: Sequence[int]

    @property
    def function(self) -> int:
        """CPU of the function."""
        return self.cpus[0]

    @property
    def other(self) -> int:
        """CPU of the competitor or accelerator."""
        return self.cpus[1]


def kinds_of_mixes(
    function: Function, places: CpuAssignment, *, memory: bool, client: bool
) -> list[str]:
    """Return the possible kinds of mixes on these CPUs: `memory`, `accelerator`, `both`."""
    found = ["memory"] if memory else []
    if client:
        found.append("accelerator")
    enough = function.pattern == "run-to-completion" or len(places.cpus) > 2  # noqa: PLR2004
    if memory and client and enough:
        found.append("both")
    return found


def mix_of(function: Function, point: Point, places: CpuAssignment) -> MixSpec:
    """Return the threads of a point: the function beside its competitors.

    A pipeline beside a competitor for memory only runs its header stage alone. The memory model
    describes the throughput of this stage, which the accelerator would hide.
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
    """Return the probe beside a function that runs in the place of a competitor."""
    swapped = CpuAssignment([places.other, places.function])
    headers_only = function.pattern == "pipeline"
    competitor = _function(function, traffic, swapped, headers_only=headers_only)
    programs = _programs(function, traffic)
    return MixSpec([probe(probe_bytes, places.function)], [competitor], programs)


def accelerator_alone(function: Function, traffic: Traffic, cpu: int) -> MixSpec:
    """Return the accelerator of a function, saturated by that function's requests."""
    subject: Spec = {
        "kind": "accelerator",
        "cpu": cpu,
        "service": function.service,
        "traffic": _traffic(traffic),
    }
    return MixSpec([subject], [])


def client_alone(function: Function, client: Client, places: CpuAssignment) -> MixSpec:
    """Return the accelerator in its place in mixes, saturated by a client's requests."""
    traffic = Traffic(1, client.size, client.mtbr)
    return accelerator_alone(function, traffic, accelerator_cpu(function, places))


def accelerator_cpu(function: Function, places: CpuAssignment) -> int:
    """Return the CPU of a function's accelerator."""
    return places.other if function.pattern == "pipeline" else places.function


def probe(size: int, cpu: int) -> Spec:
    """Return the specification of the probe."""
    return {"kind": "probe", "cpu": cpu, "bytes": size}


def mem_bench(competitor: MemBench, cpu: int) -> Spec:
    """Return the specification of a competitor for memory."""
    size, touch, rate = competitor
    return {"kind": "memory", "cpu": cpu, "bytes": size, "touch": touch, "rate": rate}


def _programs(function: Function, traffic: Traffic) -> tuple[ProgramWithTraffic, ...]:
    """Return the function's XDP program, if any."""
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
_AGAIN = 3
"""Maximum number of turns, as a multiple of the required number."""
CONFIDENCE = 0.9


class Runs(Protocol):
    """Something that runs in blocks: `slowpath.core.engine.neighbours.Mix`."""

    def block(self, warm: float, seconds: float, *, beside: bool) -> Block:
        """Run the subjects for one block, with or without competitors."""


class Around(Protocol):
    """Detector of other load on the processor: `slowpath.contention.profiling.machine`."""

    def wait(self, go_on: Callable[[], None]) -> bool:
        """Wait a limited time until the processor is quiet; return true if it is.

        `go_on` can raise an error.
        """

    def quiet(self) -> bool:
        """Return true if the processor is quiet now."""


class Timing(NamedTuple):
    """Number and length of blocks."""

    pairs: int
    seconds: float
    warm: float


class Turns(NamedTuple):
    """Rates measured in turns."""

    alone: Rate
    beside: Rate  # relative to the rate alone, turn by turn
    competitor: float | None  # items per second of the first competitor
    reference: Rate | None = None  # rate of the reference, relative to the rate alone, turn by turn

    @property
    def slowdown(self) -> float:
        """Ratio of the rate alone to the rate beside competitors."""
        return self.alone.value / self.beside.value


def items_per_second(reading: Reading) -> float:
    """Return the rate of a thread's own items."""
    if not reading["served"] or reading["seconds"] <= 0:
        return 0.0
    return reading["served"][0]["items"] / reading["seconds"]


def disturbed(block: Block) -> bool:
    """Return true if a thread had to wait for its CPU."""
    for reading in (*block["subjects"], *block["competitors"]):
        had = reading["cpu_seconds"]
        if had is not None and had < _UNDISTURBED * reading["seconds"]:
            return True
    return False


def measure_interleaved(
    mix: Runs,
    timing: Timing,
    go_on: Callable[[], None] = lambda: None,
    around: Around | None = None,
    reference: Runs | None = None,
) -> Turns:
    """Measure rates of the first thread of the first subject, alone and beside all competitors.

    The other rates are the rate alone, times the median of their ratio to it in the same turn. Slow
    changes, such as load of other virtual machines on the shared cache, affect both blocks of a
    turn. In medians over all turns, they could affect only one of the rates.

    Args:
        mix: subjects and competitors to run.
        timing: length and number of blocks.
        go_on: called before each block.
        around: detector of other load on the processor, used before and after each block.
        reference: another subject whose rate alone is needed at the same time, measured in a
            third block of each turn.

    Raises:
        UnavailableError: if other programs used the CPUs in all blocks.
    """
    kinds = [(mix, False), (mix, True), *([(reference, False)] if reference is not None else [])]
    turns, competitor = list[list[_Ran]](), list[float]()
    while len(_good(turns)) < timing.pairs and len(turns) < _AGAIN * timing.pairs:
        turn = list[_Ran]()
        for runs, beside in kinds:
            go_on()
            was_quiet = around is None or around.wait(go_on)
            block = runs.block(timing.warm, timing.seconds, beside=beside)
            is_quiet = was_quiet and (around is None or around.quiet())
            rate = items_per_second(block["subjects"][0])
            turn.append(_Ran(rate, is_bad=rate <= 0 or disturbed(block) or not is_quiet))
            if beside and block["competitors"]:
                competitor.append(items_per_second(block["competitors"][0]))
        turns.append(turn)
    alone, *others = (_rate(column, timing.pairs) for column in zip(*turns, strict=True))
    good = _good(turns)
    counted = good if 2 * len(good) >= timing.pairs else turns
    in_step = [_in_step(alone, counted, at, other) for at, other in enumerate(others, 1)]
    whose = statistics.median(competitor) if competitor else None
    return Turns(alone, in_step[0], whose, *in_step[1:])


class _Ran(NamedTuple):
    """A measured block."""

    rate: float
    is_bad: bool


def _good(turns: Sequence[Sequence[_Ran]]) -> list[Sequence[_Ran]]:
    """Return the turns without a disturbed block."""
    return [turn for turn in turns if not any(ran.is_bad for ran in turn)]


def _in_step(alone: Rate, turns: Sequence[Sequence[_Ran]], at: int, by_itself: Rate) -> Rate:
    """Return the rate alone times the median ratio in turns; the interval is of that ratio."""
    shares = [
        turn[at].rate / turn[0].rate for turn in turns if min(turn[0].rate, turn[at].rate) > 0
    ]
    if not shares:
        return by_itself
    value, low, high = (alone.value * one for one in median(shares)[:3])
    return Rate(value, low, high, len(shares), by_itself.disturbed)


def _rate(blocks: Sequence[_Ran], wanted: int) -> Rate:
    """Return the median of undisturbed blocks, or of all blocks if too few are undisturbed.

    Too few are less than half of the blocks wanted.

    Raises:
        UnavailableError: if all blocks have a rate of zero.
    """
    good = [ran.rate for ran in blocks if not ran.is_bad]
    bad = len(blocks) - len(good)
    if 2 * len(good) >= wanted:
        return median(good, bad)
    done = [ran.rate for ran in blocks if ran.rate > 0]
    if not done:
        reason = "other programs have the CPUs: a thread did nothing in any block; make blocks "
        raise UnavailableError(f"{reason}longer (block_ms), or wait until it is quiet")
    return median(done, bad)


def median(values: Sequence[float], bad: int = 0) -> Rate:
    """Return the median and its `CONFIDENCE` interval, for any distribution of the values.

    The ends are two of the values (David and Nagaraja, Order Statistics, 7.1); with few values, the
    interval contains all of them.
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
