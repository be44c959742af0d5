"""Profiles of the nine functions, as tables in the folder: beside benches, and alone.

The competitors of profiles are the paper's `mem-bench` and `regex-bench`, never functions.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from simulated.functions import DEFAULT, FUNCTIONS, REGEX, TRAFFIC
from simulated.kept import Kept
from slowpath.contention.simulated.profiling import (
    Levels,
    MemoryRun,
    levels_of,
    memory_table,
    own_table,
    request_table,
)
from slowpath.contention.simulated.runs import MemBench, Traffic, function

ROWS = 150
"""Of each memory table; the published ones have 50 of one packet size."""
_BENCHES = 40
_QUIET = 10


class Profile(NamedTuple):
    """The files of a function."""

    memory: Path  # beside competitors, under drawn traffic
    usual: Path  # the same under the default traffic
    own: Path  # what it does to others, by traffic profile
    requests: dict[int, Path]  # request times, by packet size


def profile(kept: Kept, name: str, rows: int = ROWS) -> Profile:
    """Profiles a function, or finds its profile."""
    draw = np.random.default_rng(FUNCTIONS.index(name))
    benches = _benches()
    chosen = [None] * _QUIET + [benches[int(draw.integers(_BENCHES))] for _ in range(rows - _QUIET)]
    runs = [MemoryRun(_drawn(draw), bench) for bench in chosen]
    usual = [MemoryRun(DEFAULT, bench) for bench in (None, *benches)]
    settings = kept.settings

    def memory(runs: list[MemoryRun]) -> str:
        return memory_table(name, runs, settings, _levels(kept))

    return Profile(
        kept.file(f"{name}.memory.{rows}.csv", lambda: memory(runs)),
        kept.file(f"{name}.usual.csv", lambda: memory(usual)),
        kept.file(f"{name}.own.csv", lambda: own_table(name, TRAFFIC, settings)),
        _requests(kept, name) if name in REGEX else {},
    )


def solo(kept: Kept, name: str, traffic: Sequence[Traffic] = TRAFFIC) -> list[float]:
    """Throughput alone, as measured, under each traffic."""
    mixes = [[function(name, one)] for one in traffic]
    return [one[0] for one in kept.throughputs(f"{name}.solo", mixes, kept.settings)]


def _requests(kept: Kept, name: str) -> dict[int, Path]:
    longer = kept.settings._replace(measured_ms=2 * kept.settings.measured_ms)
    found = {}
    for traffic in TRAFFIC:
        ratios = [traffic._replace(mtbr=mtbr) for mtbr in (50.0, 400.0, 750.0, 1100.0)]

        def made(ratios: list[Traffic] = ratios) -> str:
            return request_table(name, ratios, longer)

        found[traffic.size] = kept.file(f"{name}.regex.{traffic.size}.csv", made)
    return found


@cache
def _benches() -> tuple[MemBench, ...]:
    """Levels of `mem-bench`, the same for all functions."""
    draw = np.random.default_rng(1000)
    found = []
    for number in range(_BENCHES):
        pattern: Literal["stream", "step"] = "step" if draw.integers(2) else "stream"
        size = float(np.exp(draw.uniform(np.log(0.5), np.log(12.0))))
        lines = float(np.exp(draw.uniform(np.log(3e6), np.log(1.5e8))))
        found.append(MemBench(pattern, round(size, 2), round(lines, -4), 1 + number % 3))
    return tuple(found)


@cache
def _levels(kept: Kept) -> Levels:
    """What they do to others: measured once, for all functions."""
    return levels_of((None, *_benches()), kept.settings)


def _drawn(draw: np.random.Generator) -> Traffic:
    flows = int(np.exp(draw.uniform(np.log(2000), np.log(120_000))))
    return Traffic(flows, int(draw.integers(256, 1501)), 0.0)
