"""Builds made-up measurements of mixes: a network function that shares a NIC with competitors.

Competitors access memory, an accelerator, or both. A client is a competitor at the accelerator.
"""

from pathlib import Path

import numpy as np

from contention_tables import COUNTERS, MEMORY, columns, profile, throughput, write, write_memory
from slowpath.contention.model import Pattern
from slowpath.core.arrays import Floats

MEMORY_MTBR = 300.0
"""Match ratio of the function in table rows about contention for memory."""
MTBR, QUEUED = 500.0, 0.0006
REMARKS = {"function": "nf", "device": "nic", "unit throughput": "kpps"}
CLIENT = ("client_queues", "client_request_time", "client_rate")
HEADER = ("row", *MEMORY[:-1], "mtbr", *CLIENT, "inverse_throughput_sum", "alone", "throughput")


def own_time(mtbr: float) -> float:
    """Return the time of an accelerator request; `mtbr` is the number of matches per MB."""
    return 0.0002 + 0.000002 * mtbr


def without_competitors(of: dict[str, Floats]) -> dict[str, Floats]:
    """Change the columns of a profile to competitors that hardly access memory."""
    return {**of, "l2crd": 0 * of["l2crd"], "l2cwr": 0 * of["l2cwr"], "wss_mb": 1 + 0 * of["ipc"]}


def mixes(
    pattern: Pattern, count: int = 12, noise: float = 0.005, share: float = 1.0
) -> list[list[object]]:
    """Return table rows of a function that shares memory and an accelerator with competitors.

    One client always has a request at the accelerator. With the run-to-completion pattern, the
    function waits for `share` of the time of such a request.
    """
    of = columns(count, seed=3)
    draw = np.random.default_rng(4)
    queued = QUEUED * draw.uniform(0.3, 1.5, count)
    memory, alone = throughput(of, 0.0), throughput(without_competitors(of), 0.0)
    own = own_time(MTBR)
    if pattern == "pipeline":
        solo = np.minimum(alone, 1 / own)
        beside = np.minimum(memory, 1 / (own + queued))
    else:
        added = own - own_time(MEMORY_MTBR)
        solo, beside = 1 / (1 / alone + added), 1 / (1 / memory + added + share * queued)
    beside = beside * np.exp(noise * draw.standard_normal(count))
    traffic = np.column_stack([of[name] for name in MEMORY[:-1]]).tolist()
    return [
        [f"mix-{at}", *traffic[at], MTBR, 1, queued[at], "", queued[at], solo[at], beside[at]]
        for at in range(count)
    ]


def write_mixes(path: Path, rows: list[list[object]]) -> Path:
    """Write measured mixes to a CSV file."""
    return write(path, HEADER, rows, REMARKS)


def write_folder(folder: Path, rows: list[list[object]], declared: str | None = None) -> Path:
    """Write a folder of measurements of a function, as `contention train` reads it.

    `profile.json` states the execution pattern `declared`, unless it is None.
    """
    folder.mkdir()
    write_memory(folder / "memory.csv", profile(30), {**REMARKS, "mtbr": f"{MEMORY_MTBR:g}"})
    times = [(f"r{mtbr:g}", mtbr, own_time(mtbr)) for mtbr in (0.0, 1000.0)]
    write(folder / "accelerator.csv", ("row", "mtbr", "inverse_throughput"), times, REMARKS)
    if rows:
        write_mixes(folder / "mixes.csv", rows)
    if declared is not None:
        (folder / "profile.json").write_text(f'{{"pattern": "{declared}"}}')
    return folder


def only_memory(row: list[object]) -> list[object]:
    """Remove the accelerator client from the table row of a mix."""
    at = HEADER.index("client_queues")
    return [*row[:at], "", "", "", 0, *row[at + 4 :]]


def only_client(row: list[object]) -> list[object]:
    """Remove the competitors for memory from the table row of a mix."""
    return [0 if name in COUNTERS else cell for name, cell in zip(HEADER, row, strict=True)]
