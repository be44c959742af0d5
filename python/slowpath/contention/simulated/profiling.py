"""Profiles of a function on the simulated NIC, by the paper's procedure (appendix F.2).

As on hardware, nothing is read of the simulation but throughputs and counters: what a competitor
does to others are its counters when it runs alone, and the time of a request is solved from a
co-run with a client of known time.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from slowpath.cli.errors import InputError
from slowpath.contention.competitors import together
from slowpath.contention.simulated.runs import (
    COLUMNS,
    Bench,
    Settings,
    Traffic,
    competitors,
    contention_of,
    function,
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
