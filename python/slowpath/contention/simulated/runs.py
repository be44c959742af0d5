"""What is run on the simulated NIC: functions under traffic, and competitors at chosen levels."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from slowpath.engine.simulations import (
    ClientOutcome,
    SimulatedClient,
    SimulatedOutcome,
    SimulatedRun,
    simulate,
)

COLUMNS = ("ipc", "irt", "l2crd", "l2cwr", "memrd", "memwr", "wss_mb", "dma_mb")
"""What competitors do to others."""
_WITHOUT_PACKETS = ("mem-bench", "mem-bench-step", "regex-bench", "compression-bench")
_ACCELERATED = ("regex-bench", "compression-bench", "NIDS", "FlowMonitor", "PacketFilter")

LINES = 32
"""Lines of a round of `mem-bench`."""


class Traffic(NamedTuple):
    """Traffic that a function gets."""

    flows: int
    size: int  # of packets, bytes
    mtbr: float  # matches per MB


class MemBench(NamedTuple):
    """A competitor for caches and memory: so many of `mem-bench`, each on two cores."""

    pattern: Literal["stream", "step"]
    working_set_mb: float  # of each
    lines_per_second: float | None  # of each; as many as can be without
    instances: int = 1


class PacketBench(NamedTuple):
    """A competitor for memory alone: so many of `packet-bench`, as fast as they can forward."""

    size: int  # of packets, bytes
    instances: int = 1


Bench = MemBench | PacketBench


class Settings(NamedTuple):
    """How runs are made."""

    warm_up_ms: float = 30.0
    measured_ms: float = 20.0
    noise: bool = True  # throughputs scatter as those of measurements do
    threads: int = 1
    seed: int = 0


def function(name: str, traffic: Traffic) -> SimulatedClient:
    """A function under some traffic."""
    return {
        "function": name,
        "flows": traffic.flows,
        "packet_bytes": traffic.size,
        "mtbr": traffic.mtbr,
    }


def competitors(benches: Sequence[Bench]) -> list[SimulatedClient]:
    """The clients that competitors for caches and memory are."""
    return [client for bench in benches for client in _clients(bench)]


def _clients(bench: Bench) -> list[SimulatedClient]:
    if isinstance(bench, PacketBench):
        packets: SimulatedClient = {"function": "packet-bench", "packet_bytes": bench.size}
        return [packets] * bench.instances
    one: SimulatedClient = {
        "function": "mem-bench" if bench.pattern == "stream" else "mem-bench-step",
        "working_set": int(bench.working_set_mb * 1e6),
    }
    if bench.lines_per_second is not None:
        one["rate"] = bench.lines_per_second / LINES
    return [one] * bench.instances


def run_all(
    mixes: Sequence[Sequence[SimulatedClient]], settings: Settings
) -> list[SimulatedOutcome]:
    """What comes of functions beside each other, mix by mix, each with a seed of its own.

    Raises:
        InputError: when a mix cannot be.
    """
    runs: list[SimulatedRun] = [
        {
            "clients": list(mix),
            "seed": settings.seed * 1_000_003 + number,
            "warm_up_ms": settings.warm_up_ms,
            "measured_ms": settings.measured_ms,
            "noise": settings.noise,
        }
        for number, mix in enumerate(mixes)
    ]
    return simulate(runs, settings.threads)


def contention_of(
    mix: Sequence[SimulatedClient], clients: Sequence[ClientOutcome]
) -> Mapping[str, float]:
    """What several clients do to others, each with the same number of cores.

    `mix` is what was run, `clients` what came of it: their counters, and what devices moved.
    """
    if not clients:
        return dict.fromkeys(COLUMNS, 0.0)
    each = [client["counters"] for client in clients]
    return {
        "ipc": sum(one["ipc"] for one in each) / len(each),
        "irt": sum(one["irt"] for one in each),
        "l2crd": sum(one["l2crd"] for one in each),
        "l2cwr": sum(one["l2cwr"] for one in each),
        "memrd": sum(one["memrd"] for one in each),
        "memwr": sum(one["memwr"] for one in each),
        "wss_mb": sum(one["wss_mb"] for one in each),
        "dma_mb": sum(map(_moved, mix, clients)),
    }


def _moved(client: SimulatedClient, outcome: ClientOutcome) -> float:
    """MB/s to and from memory: packets in, packets out, and payloads that accelerators read.

    From throughput and size, as one would know it on hardware.
    """
    name, size = client["function"], client.get("packet_bytes", 1500)
    times = (0 if name in _WITHOUT_PACKETS else 2) + (1 if name in _ACCELERATED else 0)
    return times * size * outcome["throughput"] * 1e-6
