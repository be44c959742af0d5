"""Measured points, and the threads that run for each of them."""

from collections.abc import Sequence
from typing import NamedTuple

from slowpath.contention.profiling.setup import Function
from slowpath.core.engine.neighbours import ProgramWithTraffic


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
