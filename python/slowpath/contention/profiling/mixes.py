"""Measured points, and the threads that run for each of them."""

from collections.abc import Sequence
from typing import NamedTuple

from slowpath.contention.profiling.setup import Function
from slowpath.core.engine.neighbours import Fed


class Traffic(NamedTuple):
    """Traffic of the function."""

    flows: int
    size: int  # of packets, bytes
    mtbr: float  # matches per MB


class MemBench(NamedTuple):
    """A competitor for caches and memory."""

    working_set: int  # bytes
    touch: str
    rate: float | None  # accesses per second; None: as many as it can


class Client(NamedTuple):
    """A competitor at the accelerator."""

    size: int  # of packets, bytes
    mtbr: float
    rate: float | None  # requests per second; None: there is one at any time
    queues: int


class Point(NamedTuple):
    """What runs together."""

    traffic: Traffic
    memory: MemBench | None
    client: Client | None


class Rate(NamedTuple):
    """A rate of several blocks."""

    value: float  # median, per second
    low: float
    high: float
    blocks: int
    disturbed: int  # blocks that were left out, or, where all were, that were not


class Measured(NamedTuple):
    """What came of a point; without competitors, both rates are of the function alone."""

    point: Point
    alone: Rate  # packets per second
    beside: Rate
    competitor: float | None  # accesses per second of mem-bench
    client: Rate | None = None  # requests per second of the client when nobody else sends any


Spec = dict[str, object]


class Sides(NamedTuple):
    """Subjects and competitors."""

    subjects: list[Spec]
    competitors: list[Spec]
    programs: tuple[Fed, ...] = ()  # which one of them is, if any


class Places(NamedTuple):
    """CPUs, and what is on them.

    The function is on the first, a competitor on the second; the accelerator of a pipeline is on
    the second, and a competitor for memory beside both on the third.
    """

    cpus: Sequence[int]

    @property
    def function(self) -> int:
        """CPU of the function."""
        return self.cpus[0]

    @property
    def other(self) -> int:
        """CPU beside it."""
        return self.cpus[1]


def kinds_of_mixes(function: Function, places: Places, *, memory: bool, client: bool) -> list[str]:
    """Which mixes can run there: beside competitors for memory, at the accelerator, or both."""
    found = ["memory"] if memory else []
    if client:
        found.append("accelerator")
    enough = function.pattern == "run-to-completion" or len(places.cpus) > 2  # noqa: PLR2004
    if memory and client and enough:
        found.append("both")
    return found


def mix_of(function: Function, point: Point, places: Places) -> Sides:
    """A point: the function beside its competitors.

    Of a pipeline beside a competitor for memory alone, its headers alone: what that stage lets
    through is what a memory model is about, and the accelerator would hide it.
    """
    headers_only = function.pattern == "pipeline" and point.client is None
    subject = _function(function, point.traffic, places, headers_only=headers_only)
    programs = _programs(function, point.traffic)
    if point.client is not None:
        subject["clients"] = [_client(point.client)]
    if point.memory is None:
        return Sides([subject], [], programs)
    third = function.pattern == "pipeline" and not headers_only
    cpu = places.cpus[2] if third else places.other
    return Sides([subject], [mem_bench(point.memory, cpu)], programs)


def probed(function: Function, traffic: Traffic, places: Places, probe_bytes: int) -> Sides:
    """The probe beside a function, which is where the function else has a competitor."""
    swapped = Places([places.other, places.function])
    headers_only = function.pattern == "pipeline"
    competitor = _function(function, traffic, swapped, headers_only=headers_only)
    programs = _programs(function, traffic)
    return Sides([probe(probe_bytes, places.function)], [competitor], programs)


def accelerator_alone(function: Function, traffic: Traffic, cpu: int) -> Sides:
    """The accelerator of a function, that it alone keeps busy."""
    subject: Spec = {
        "kind": "accelerator",
        "cpu": cpu,
        "service": function.service,
        "traffic": _traffic(traffic),
    }
    return Sides([subject], [])


def client_alone(function: Function, client: Client, places: Places) -> Sides:
    """The accelerator where it is in a mix, that requests of a client alone keep busy."""
    traffic = Traffic(1, client.size, client.mtbr)
    return accelerator_alone(function, traffic, accelerator_cpu(function, places))


def accelerator_cpu(function: Function, places: Places) -> int:
    """Where the accelerator of a function is."""
    return places.other if function.pattern == "pipeline" else places.function


def probe(size: int, cpu: int) -> Spec:
    """The probe."""
    return {"kind": "probe", "cpu": cpu, "bytes": size}


def mem_bench(competitor: MemBench, cpu: int) -> Spec:
    """A competitor for memory."""
    size, touch, rate = competitor
    return {"kind": "memory", "cpu": cpu, "bytes": size, "touch": touch, "rate": rate}


def _programs(function: Function, traffic: Traffic) -> tuple[Fed, ...]:
    """What the function is, if it is a program."""
    if function.program is None:
        return ()
    found, number, destination, port = function.program
    packets: Spec = {
        "flows": traffic.flows,
        "packet_bytes": traffic.size,
        "destination": destination,
        "destination_port": port,
    }
    return (Fed(found, number, packets),)


def _function(function: Function, traffic: Traffic, places: Places, *, headers_only: bool) -> Spec:
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
