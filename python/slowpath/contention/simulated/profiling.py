"""Profiles of a function on the simulated NIC, by the paper's procedure (appendix F.2).

As on hardware, nothing is read of the simulation but throughputs and counters: what a competitor
does to others are its counters when it runs alone, and the time of a request is solved from a
co-run with a client of known time.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from slowpath.cli.errors import InputError
from slowpath.contention.simulated.runs import (
    MemBench,
    Settings,
    Traffic,
    contention_of,
    function,
    memory_competitors,
    run_all,
)
from slowpath.contention.simulated.tables import written
from slowpath.engine.simulations import SimulatedClient

_BENCH: SimulatedClient = {"function": "regex-bench", "packet_bytes": 9216}
"""The known client: its requests have no matches, so that they all take the same time."""
_BENCHES = 2
"""How many of them there are: such that nothing but the accelerator limits the other."""


class MemoryRun(NamedTuple):
    """A row of a memory table: the function's traffic, and its competitors."""

    traffic: Traffic
    bench: MemBench | None


Levels = Mapping[MemBench | None, Mapping[str, float]]
"""Counters of competitors that run alone."""


def levels_of(benches: Iterable[MemBench | None], settings: Settings) -> Levels:
    """What competitors do to others: measured once, and used for all functions.

    Raises:
        InputError: when a run cannot be.
    """
    each = list(dict.fromkeys(benches))
    alone = run_all([memory_competitors(bench) for bench in each], settings)
    return {
        bench: contention_of(found["clients"]) for bench, found in zip(each, alone, strict=True)
    }


def memory_table(
    name: str, runs: Sequence[MemoryRun], settings: Settings, levels: Levels | None = None
) -> str:
    """Throughput of a function beside competitors for caches and memory.

    `levels` has what all competitors do, if that has been measured.

    Raises:
        InputError: when a run cannot be.
    """
    if levels is None:
        levels = levels_of((run.bench for run in runs), settings)
    mixes = [[function(name, run.traffic), *memory_competitors(run.bench)] for run in runs]
    found = run_all(mixes, settings)
    rows = [
        {
            "flow_count": run.traffic.flows,
            "packet_size_bytes": run.traffic.size,
            **levels[run.bench],
            "throughput": outcome["clients"][0]["throughput"],
        }
        for run, outcome in zip(runs, found, strict=True)
    ]
    ratios = {run.traffic.mtbr for run in runs}
    return written(rows, name, {"mtbr": f"{ratios.pop():g}"} if len(ratios) == 1 else None)


def request_table(name: str, traffics: Sequence[Traffic], settings: Settings) -> str:
    """Time that a function's requests take of the regex accelerator, by match ratio.

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
        rows.append({"mtbr": traffic.mtbr, "inverse_throughput": time})
    return written(rows, name, {"unit inverse_throughput": "s"})


def own_table(name: str, traffics: Sequence[Traffic], settings: Settings) -> str:
    """What a function does to others: its counters when it runs alone, by traffic.

    Raises:
        InputError: when a run cannot be.
    """
    found = run_all([[function(name, traffic)] for traffic in traffics], settings)
    rows = [
        {
            "flow_count": traffic.flows,
            "packet_size_bytes": traffic.size,
            **contention_of(outcome["clients"]),
        }
        for traffic, outcome in zip(traffics, found, strict=True)
    ]
    return written(rows, name)
