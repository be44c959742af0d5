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


def memory_competitors(bench: MemBench | None) -> list[SimulatedClient]:
    """The clients that a competitor is."""
    if bench is None:
        return []
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


def contention_of(clients: Sequence[ClientOutcome]) -> Mapping[str, float]:
    """What the counters of several clients come to, each with the same number of cores."""
    if not clients:
        return dict.fromkeys(("ipc", "irt", "l2crd", "l2cwr", "memrd", "memwr", "wss_mb"), 0.0)
    each = [client["counters"] for client in clients]
    return {
        "ipc": sum(one["ipc"] for one in each) / len(each),
        "irt": sum(one["irt"] for one in each),
        "l2crd": sum(one["l2crd"] for one in each),
        "l2cwr": sum(one["l2cwr"] for one in each),
        "memrd": sum(one["memrd"] for one in each),
        "memwr": sum(one["memwr"] for one in each),
        "wss_mb": sum(one["wss_mb"] for one in each),
    }
