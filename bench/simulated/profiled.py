"""Profiles functions on the simulated NIC, and stores the profiles as tables in the folder.

The competitors of profiles are the paper's `mem-bench` and `regex-bench`, and `packet-bench`, but no
functions.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from nic_profiles import (
    Bench,
    Levels,
    MemBench,
    MemoryRun,
    PacketBench,
    Traffic,
    function,
    levels_of,
    memory_table,
    own_table,
    request_table,
)
from simulated.functions import DEFAULT, EVERYBODY, REGEX, TRAFFIC
from simulated.kept import Kept

ROWS = 200
"""Number of rows of each memory table. The published tables have 50 rows, of one packet size."""
_SETS = 80
_USUAL = 40
QUIET = 10
"""Number of rows without competitors."""
_MAX_BENCHES = 3
_SIZES = (512, 1000, 1500)
_RATIOS = (100.0, 400.0, 750.0, 1100.0)


class Profile(NamedTuple):
    """The CSV files of a function's profile."""

    memory: Path  # with competitors, under random traffic
    usual: Path  # the same under the default traffic
    own: Path  # the contention that it causes, by traffic profile
    requests: Path | None  # request times, by match ratio and packet size


def profile(kept: Kept, name: str, rows: int = ROWS) -> Profile:
    """Return the profile of a function; measure it first if necessary.

    `rows` is the number of rows in its memory table.
    """
    usual = [MemoryRun(DEFAULT, some) for some in ((), *memory_alone())]
    settings = kept.settings

    def memory(runs: list[MemoryRun]) -> str:
        return memory_table(name, runs, settings, levels(kept))

    return Profile(
        kept.file(f"{name}.memory.{rows}.csv", lambda: memory(drawn(name, rows))),
        kept.file(f"{name}.usual.csv", lambda: memory(usual)),
        kept.file(f"{name}.own.csv", lambda: own_table(name, TRAFFIC, settings)),
        _requests(kept, name) if name in REGEX else None,
    )


def drawn(name: str, rows: int = ROWS) -> list[MemoryRun]:
    """Draw the traffic and competitors for the rows of a function's memory table.

    The first rows have no competitors.
    """
    draw = np.random.default_rng(EVERYBODY.index(name))
    sets = _sets()
    nobody: list[tuple[Bench, ...]] = [()]
    chosen = nobody * QUIET + [sets[int(draw.integers(_SETS))] for _ in range(rows - QUIET)]
    return [MemoryRun(any_traffic(draw), some) for some in chosen]


def solo(kept: Kept, name: str, traffic: Sequence[Traffic] = TRAFFIC) -> list[float]:
    """Measure the solo throughput of a function under each traffic profile."""
    mixes = [[function(name, one)] for one in traffic]
    return [one[0] for one in kept.throughputs(f"{name}.solo", mixes, kept.settings)]


def _requests(kept: Kept, name: str) -> Path:
    longer = kept.settings._replace(measured_ms=2 * kept.settings.measured_ms)
    traffic = [DEFAULT._replace(size=size, mtbr=mtbr) for size in _SIZES for mtbr in _RATIOS]
    return kept.file(f"{name}.regex.csv", lambda: request_table(name, traffic, longer))


@cache
def _sets() -> tuple[tuple[Bench, ...], ...]:
    """Draw sets of one to three competitors for memory, which are the same for all functions."""
    draw = np.random.default_rng(1000)
    found = list[tuple[Bench, ...]]()
    for number in range(_SETS):
        count = 1 + number % _MAX_BENCHES
        packets = int(draw.integers(count + 1))
        of_packets = [_packet_bench(draw, packets)] if packets else []
        of_memory = [_mem_bench(draw, count - packets)] if packets < count else []
        found.append((*of_memory, *of_packets))
    return tuple(found)


@cache
def memory_alone() -> tuple[tuple[Bench, ...], ...]:
    """Draw the competitors for SLOMO's training, with the published settings."""
    draw = np.random.default_rng(1001)
    return tuple((_mem_bench(draw, 1 + number % _MAX_BENCHES),) for number in range(_USUAL))


def _mem_bench(draw: np.random.Generator, instances: int) -> MemBench:
    pattern: Literal["stream", "step"] = "step" if draw.integers(2) else "stream"
    # The size is for all instances together, as in the published rows: working sets up to 12 MB.
    size = float(np.exp(draw.uniform(np.log(0.5), np.log(12.0)))) / instances
    lines = float(np.exp(draw.uniform(np.log(3e6), np.log(1.2e8)))) / instances
    return MemBench(pattern, round(size, 2), round(lines, -4), instances)


def _packet_bench(draw: np.random.Generator, instances: int) -> PacketBench:
    return PacketBench(int(draw.integers(64, 1501)), instances)


@cache
def levels(kept: Kept) -> Levels:
    """Measure the counters that each set of competitors causes when it runs alone.

    They do not depend on the profiled function, so they are measured only once.
    """
    return levels_of(((), *_sets(), *memory_alone()), kept.settings)


def any_traffic(draw: np.random.Generator) -> Traffic:
    """Draw random traffic without matches; the logarithm of its number of flows is uniform."""
    flows = int(np.exp(draw.uniform(np.log(2000), np.log(400_000))))
    return Traffic(flows, int(draw.integers(256, 1501)), 0.0)
