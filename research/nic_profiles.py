"""Measures profiles of functions on the simulated NIC.

As on hardware, profiles use only throughputs and counters. The contention that a competitor causes
is described by its counters in a solo run. Request times are computed from co-runs with a client of
known request time.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from nic_simulation import (
    ClientOutcome,
    SimulatedClient,
    SimulatedOutcome,
    SimulatedRun,
    simulate,
)
from slowpath.contention.model import total_contention
from slowpath.core import codes
from slowpath.core.errors import InputError

COLUMNS = ("ipc", "irt", "l2crd", "l2cwr", "memrd", "memwr", "wss_mb", "dma_mb")
"""Columns that describe the contention by competitors."""
_WITHOUT_PACKETS = ("mem-bench", "mem-bench-step", "regex-bench", "compression-bench")
_ACCELERATED = ("regex-bench", "compression-bench", "NIDS", "FlowMonitor", "PacketFilter")

LINES = 32
"""Number of cache lines that `mem-bench` accesses in one iteration."""


class Traffic(NamedTuple):
    """Traffic that a function receives: flows, packet size and ratio of matches."""

    flows: int
    size: int  # packet size, bytes
    mtbr: float  # matches per MB


class MemBench(NamedTuple):
    """A competitor for caches and memory: instances of `mem-bench`, each on two cores."""

    pattern: Literal["stream", "step"]
    working_set_mb: float  # working set of each instance
    lines_per_second: float | None  # rate of each instance; None: unlimited
    instances: int = 1


class PacketBench(NamedTuple):
    """A competitor for memory only: instances of `packet-bench` that forward at full speed."""

    size: int  # packet size, bytes
    instances: int = 1


Bench = MemBench | PacketBench


class Settings(NamedTuple):
    """Settings of simulation runs."""

    warm_up_ms: float = 30.0
    measured_ms: float = 20.0
    noise: bool = True  # add noise to throughputs, as in measurements
    threads: int = 1
    seed: int = 0


def function(name: str, traffic: Traffic) -> SimulatedClient:
    """Return the description of a function under some traffic, for the simulator."""
    return {
        "function": name,
        "flows": traffic.flows,
        "packet_bytes": traffic.size,
        "mtbr": traffic.mtbr,
    }


def competitors(benches: Sequence[Bench]) -> list[SimulatedClient]:
    """Return descriptions of competitors for caches and memory, for the simulator."""
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
    """Simulate each mix of functions that share the NIC, with a different seed per mix.

    Raises:
        InputError: if the simulator rejects a mix.
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
    """Return the total contention that several clients with equal numbers of cores cause.

    Args:
        mix: Descriptions of the clients.
        clients: Their results in solo or common runs, in the same order.
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
    """Return the MB/s that devices move for a client: packets in and out, accelerator payloads.

    Only throughput and packet size are used, which are known on hardware as well.
    """
    name, size = client["function"], client.get("packet_bytes", 1500)
    times = (0 if name in _WITHOUT_PACKETS else 2) + (1 if name in _ACCELERATED else 0)
    return times * size * outcome["throughput"] * 1e-6


DEVICE = "simulated-bluefield-2"
SOURCE = "simulated"
UNIT = "packets/s"
_CACHE_MB = "6.291456"


def written(
    rows: Sequence[Mapping[str, float]], function: str, remarks: Mapping[str, str] | None = None
) -> str:
    """Format rows as a CSV table, below comment lines with properties of all rows.

    `remarks` are further properties.
    """
    properties = {
        "device": DEVICE,
        "source": SOURCE,
        "function": function,
        "unit throughput": UNIT,
        "cache mb": _CACHE_MB,
        **(remarks or {}),
    }
    text = io.StringIO()
    text.writelines(f"# {key}: {value}\n" for key, value in properties.items())
    names = list(rows[0]) if rows else []
    lines = csv.DictWriter(text, names, lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    return text.getvalue()


_BENCH: SimulatedClient = {"function": "regex-bench", "packet_bytes": 9216}
"""A client with a known request time. Its requests have no matches, so they all take the same time.
"""
_BENCHES = 2
"""Number of clients with a known request time in a co-run.

With two, the accelerator is the function's only bottleneck.
"""


class MemoryRun(NamedTuple):
    """A row of a memory table: the traffic of the function, and its competitors."""

    traffic: Traffic
    benches: tuple[Bench, ...]


Levels = Mapping[tuple[Bench, ...], Mapping[str, float]]
"""For each set of competitors, the total contention, measured in solo runs."""


def levels_of(each: Iterable[tuple[Bench, ...]], settings: Settings) -> Levels:
    """Measure the contention of sets of competitors, for use with all functions.

    Each competitor runs alone, and the contention of a set is the sum, as in predictions.
    Competitors that run together would slow each other down.

    Raises:
        InputError: if the simulator rejects a run.
    """
    sets = list(dict.fromkeys(each))
    singles = list(dict.fromkeys(_single(bench) for one_set in sets for bench in one_set))
    mixes = [competitors([bench]) for bench in singles]
    alone = {
        bench: contention_of(mix, found["clients"])
        for bench, mix, found in zip(singles, mixes, run_all(mixes, settings), strict=True)
    }
    return {
        one_set: total_contention(
            [alone[_single(one)] for one in one_set for _ in range(one.instances)], COLUMNS
        )
        for one_set in sets
    }


def _single(bench: Bench) -> Bench:
    return bench._replace(instances=1)


def memory_table(
    name: str, runs: Sequence[MemoryRun], settings: Settings, levels: Levels | None = None
) -> str:
    """Measure a function next to competitors, and return the memory table as CSV.

    `levels` is the contention of all sets of competitors, if it is already known.

    Raises:
        InputError: if the simulator rejects a run.
    """
    if levels is None:
        levels = levels_of((run.benches for run in runs), settings)
    mixes = [[function(name, run.traffic), *competitors(run.benches)] for run in runs]
    found = run_all(mixes, settings)
    rows = [
        {
            "flow_count": run.traffic.flows,
            "packet_size_bytes": run.traffic.size,
            **levels[run.benches],
            "throughput": outcome["clients"][0]["throughput"],
        }
        for run, outcome in zip(runs, found, strict=True)
    ]
    ratios = {run.traffic.mtbr for run in runs}
    return written(rows, name, {"mtbr": f"{ratios.pop():g}"} if len(ratios) == 1 else None)


def request_table(name: str, traffics: Sequence[Traffic], settings: Settings) -> str:
    """Measure a function's request times at the regex accelerator; return the table as CSV.

    Its rows are ratios of matches and packet sizes. Times are computed from co-runs with known
    clients, whose request time comes from a run without the function. Each client has one queue, so
    1 / T is the sum of request times (Wu et al., Eq. 2).

    Raises:
        InputError: if the accelerator is not the bottleneck of the function in a co-run.
    """
    benches = [_BENCH] * _BENCHES
    mixes = [benches, *([function(name, traffic), *benches] for traffic in traffics)]
    alone, *co_runs = run_all(mixes, settings)
    others = _BENCHES / sum(one["throughput"] for one in alone["clients"])
    rows = []
    for traffic, outcome in zip(traffics, co_runs, strict=True):
        time = 1 / outcome["clients"][0]["throughput"] - others
        if not outcome["accelerators"]["regex"]["served"][0] or time <= 0:
            raise InputError(
                codes.PROFILE_INSUFFICIENT,
                "simulation",
                f"{name}: the regex accelerator does not limit it",
            )
        requested = {"mtbr": traffic.mtbr, "packet_size_bytes": traffic.size}
        rows.append({**requested, "inverse_throughput": time})
    return written(rows, name, {"unit inverse_throughput": "s"})


def own_table(name: str, traffics: Sequence[Traffic], settings: Settings) -> str:
    """Measure a function's counters in solo runs, by traffic; return the table as CSV.

    They describe the contention that the function causes for others.

    Raises:
        InputError: if the simulator rejects a run.
    """
    mixes = [[function(name, traffic)] for traffic in traffics]
    found = run_all(mixes, settings)
    rows = [
        {
            "flow_count": traffic.flows,
            "packet_size_bytes": traffic.size,
            **contention_of(mix, outcome["clients"]),
        }
        for traffic, mix, outcome in zip(traffics, mixes, found, strict=True)
    ]
    return written(rows, name)
