"""Profiles of functions on the simulated NIC.

As on hardware, nothing is read of the simulation but throughputs and counters: what a competitor
does to others are its counters when it runs alone, and the time of a request is solved from a
co-run with a client of known time.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from slowpath.contention.composition import together
from slowpath.core.engine.simulations import (
    ClientOutcome,
    SimulatedClient,
    SimulatedOutcome,
    SimulatedRun,
    simulate,
)
from slowpath.core.errors import InputError

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


DEVICE = "simulated-bluefield-2"
SOURCE = "simulated"
UNIT = "packets/s"
_CACHE_MB = "6.291456"


def written(
    rows: Sequence[Mapping[str, float]], function: str, remarks: Mapping[str, str] | None = None
) -> str:
    """A table as CSV, with what all rows have in common above the columns.

    Throughput is in packets per second, times for each packet in seconds.
    """
    said = {
        "device": DEVICE,
        "source": SOURCE,
        "function": function,
        "unit throughput": UNIT,
        "cache mb": _CACHE_MB,
        **(remarks or {}),
    }
    text = io.StringIO()
    text.writelines(f"# {key}: {value}\n" for key, value in said.items())
    names = list(rows[0]) if rows else []
    lines = csv.DictWriter(text, names, lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    return text.getvalue()


_BENCH: SimulatedClient = {"function": "regex-bench", "packet_bytes": 9216}
"""The known client: its requests have no matches, so that they all take the same time."""
_BENCHES = 2
"""How many of them there are: such that nothing but the accelerator limits the other."""


class MemoryRun(NamedTuple):
    """A row of a memory table: the function's traffic, and its competitors."""

    traffic: Traffic
    benches: tuple[Bench, ...]


Levels = Mapping[tuple[Bench, ...], Mapping[str, float]]
"""What competitors do to others, measured where they run alone."""


def levels_of(each: Iterable[tuple[Bench, ...]], settings: Settings) -> Levels:
    """What competitors do to others: measured once, and used for all functions.

    Each bench is measured alone, and what several do is added up, as it is of functions that a
    prediction is about: together they would get less done.

    Raises:
        InputError: when a run cannot be.
    """
    wanted = list(dict.fromkeys(each))
    singles = list(dict.fromkeys(_single(bench) for some in wanted for bench in some))
    mixes = [competitors([bench]) for bench in singles]
    alone = {
        bench: contention_of(mix, found["clients"])
        for bench, mix, found in zip(singles, mixes, run_all(mixes, settings), strict=True)
    }
    return {
        some: together([alone[_single(one)] for one in some for _ in range(one.instances)], COLUMNS)
        for some in wanted
    }


def _single(bench: Bench) -> Bench:
    return bench._replace(instances=1)


def memory_table(
    name: str, runs: Sequence[MemoryRun], settings: Settings, levels: Levels | None = None
) -> str:
    """Throughput of a function beside competitors for caches and memory.

    `levels` has what all competitors do, if that has been measured.

    Raises:
        InputError: when a run cannot be.
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
    """Time that a function's requests take of the regex accelerator, by match ratio and size.

    Solved from co-runs with clients whose own time is known from a run without the function; all
    have one queue: 1 / T is the sum of all times (paper, Eq. 2).

    Raises:
        InputError: when the accelerator does not limit the function there.
    """
    benches = [_BENCH] * _BENCHES
    mixes = [benches, *([function(name, traffic), *benches] for traffic in traffics)]
    alone, *beside = run_all(mixes, settings)
    others = _BENCHES / sum(one["throughput"] for one in alone["clients"])
    rows = []
    for traffic, outcome in zip(traffics, beside, strict=True):
        time = 1 / outcome["clients"][0]["throughput"] - others
        if not outcome["accelerators"]["regex"]["served"][0] or time <= 0:
            raise InputError("simulation", f"{name}: the regex accelerator does not limit it")
        requested = {"mtbr": traffic.mtbr, "packet_size_bytes": traffic.size}
        rows.append({**requested, "inverse_throughput": time})
    return written(rows, name, {"unit inverse_throughput": "s"})


def own_table(name: str, traffics: Sequence[Traffic], settings: Settings) -> str:
    """What a function does to others: its counters when it runs alone, by traffic.

    Raises:
        InputError: when a run cannot be.
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
