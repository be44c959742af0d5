"""Writes tables of measurements of a made-up network function, for tests of `contention`.

The throughput of the function is a formula with some noise.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from slowpath.contention.columns import MemoryProfile, Origin
from slowpath.core.arrays import Floats

COUNTERS = ("ipc", "irt", "l2crd", "l2cwr", "memrd", "memwr", "wss_mb")
MEMORY = ("flow_count", "packet_size_bytes", *COUNTERS, "throughput")


def columns(rows: int, seed: int = 0) -> dict[str, Floats]:
    """Return the columns of a profile with random traffic and random competitors."""
    draw = np.random.default_rng(seed)
    ipc = draw.uniform(0.4, 1.4, rows)
    reads = np.exp(draw.uniform(np.log(3e6), np.log(3e8), rows))
    return {
        "flow_count": np.round(np.exp(draw.uniform(np.log(200), np.log(5e5), rows))),
        "packet_size_bytes": np.full(rows, 1500.0),
        "ipc": ipc,
        "irt": 2.5e9 * ipc,
        "l2crd": reads,
        "l2cwr": reads / 2,
        "memrd": 1e9 * ipc,
        "memwr": 3e8 * ipc,
        "wss_mb": draw.uniform(0.2, 12, rows),
    }


def throughput(of: Mapping[str, Floats], noise: float = 0.01, seed: int = 0) -> Floats:
    """Return the throughput of the made-up function for each row of a profile.

    It falls with the number of flows, and with cache misses of competitors.
    """
    missed = (of["l2crd"] + of["l2cwr"]) * np.clip(1 - 3 / of["wss_mb"], 0, 1)
    time = 1 + 0.1 * np.log(of["flow_count"] / 200) + 0.3 * np.log1p(missed / 1e8)
    draw = np.random.default_rng(seed + 1)
    return np.asarray(1000 / time * np.exp(noise * draw.standard_normal(len(time))))


def profile(rows: int = 30, seed: int = 0, noise: float = 0.01) -> MemoryProfile:
    """Return a made-up memory profile: throughput for random traffic and competitors."""
    of = columns(rows, seed)
    names = tuple(f"m{row}" for row in range(rows))
    origin = Origin(("memory.csv",), "nf", "device", "kpps", None, 6.0)
    return MemoryProfile(origin, names, of, throughput(of, noise, seed))


def write(
    path: Path,
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    remarks: Mapping[str, str] | None = None,
) -> Path:
    """Write a CSV table below comment lines with `remarks`, and return the file."""
    with path.open("w", newline="") as file:
        for key, value in (remarks or {}).items():
            file.write(f"# {key}: {value}\n")
        csv.writer(file).writerows([header, *rows])
    return path


def write_memory(path: Path, of: MemoryProfile, remarks: Mapping[str, str] | None = None) -> Path:
    """Write a memory profile as a table, and return the file."""
    values = [*(of.columns[name] for name in MEMORY[:-1]), of.throughput]
    rows = [
        (name, *(float(value) for value in row))
        for name, row in zip(of.rows, np.column_stack(values), strict=True)
    ]
    return write(path, ("row", *MEMORY), rows, remarks)


def write_regex(path: Path, remarks: Mapping[str, str] | None = None) -> Path:
    """Write a table of accelerator request times, and return the file.

    A request takes 0.0002 + 0.000002 x matches.
    """
    rows = [("r1", 300, 0.0008), ("r2", 600, 0.0014)]
    return write(path, ("row", "mtbr", "inverse_throughput"), rows, remarks)


def write_query(path: Path, of: MemoryProfile, mtbr: float, queued: float) -> Path:
    """Write a query with the traffic and competitors of a profile, and return the file.

    `mtbr` and `queued` are the ratio of matches and the time of competitors' requests in all rows.
    """
    header = ("row", "mtbr", "inverse_throughput_sum", *MEMORY[:-1])
    values = np.column_stack([of.columns[name] for name in MEMORY[:-1]])
    rows = [
        (name, mtbr, queued, *(float(value) for value in row))
        for name, row in zip(of.rows, values, strict=True)
    ]
    return write(path, header, rows)


def write_own(path: Path, remarks: Mapping[str, str] | None = None) -> Path:
    """Write a table that describes a function as a competitor: its counters by traffic.

    Return the file.
    """
    row = ("o1", 10000, 1500, 1.0, 2.5e9, 5e7, 2.5e7, 1e9, 3e8, 6.0)
    return write(path, ("row", *MEMORY[:-1]), [row], remarks)
