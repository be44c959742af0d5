"""Builds made-up network functions and tables of their throughput, for tests of `insights`.

The tables have the throughput by number of cores, or of groups of functions that share a card.
"""

import csv
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import oracles
from slowpath.insights.cores.curves import CORES, Curves, read_curves
from slowpath.insights.cores.functions import COMPUTE, CRC, ELEMENTS, NEEDED, OPTIONAL, USUAL, flag
from slowpath.insights.cores.groups import FUNCTIONS, PAIRS, Groups, Paired, read_measured

Function = dict[str, int]


@cache
def published_curves(traffic: str) -> Curves:
    """Return the published throughput of the training functions, by number of cores.

    Skip the test if the table is missing. `traffic` is the name of the table.
    """
    folder = oracles.folder("insights", "SLOWPATH_INSIGHTS", "netronome-scaling")
    return read_curves(str(folder / "netronome-scaling" / f"{traffic}.csv.gz"))


@cache
def published_groups() -> tuple[Groups, Paired]:
    """Return the published measurements of functions that share a card, for training.

    Skip the test if they are missing.
    """
    folder = oracles.folder("insights", "SLOWPATH_INSIGHTS", "netronome-colocation")
    return read_measured(str(folder / "netronome-colocation" / "train.jsonl.gz"))


def plain(**changes: int) -> Function:
    """Return the parameters of a chain without elements, with `changes`.

    Other parameters have their smallest usual values.
    """
    found = dict.fromkeys((*NEEDED, *OPTIONAL), 0)
    found |= {name: least for name, (least, _) in USUAL.items()}
    assert changes.keys() <= found.keys()
    return found | changes


def drawn(count: int, seed: int) -> list[Function]:
    """Return `count` random functions, with parameters that vary as in the published tables."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        one = plain()
        for element in (*ELEMENTS, *COMPUTE, *CRC):
            one[flag(element)] = int(random.integers(2))
        for name, (least, most) in USUAL.items():
            one[name] = int(random.integers(least, most + 1))
        found.append(one)
    return found


def curve_rows(
    functions: Sequence[Function], throughput: np.ndarray, latency: np.ndarray
) -> list[dict[str, Any]]:
    """Return table rows with throughput and latency by number of cores.

    Both arrays have the shape (functions, 7); the second index is that of the number of cores.
    """
    return [
        {
            "function": f"f{at}",
            **one,
            "cores": cores,
            "throughput_pps": throughput[at, place],
            "latency_cycles": latency[at, place],
        }
        for at, one in enumerate(functions)
        for place, cores in enumerate(CORES)
    ]


def query_rows(functions: Sequence[Function], cores: Sequence[int]) -> list[dict[str, Any]]:
    """Return query rows: each function, combined with each of these numbers of cores."""
    return [
        {"function": f"f{at}", **one, "cores": number}
        for at, one in enumerate(functions)
        for number in cores
    ]


def group_rows(
    functions: Sequence[Function],
    alone: np.ndarray | None = None,
    pairs: np.ndarray | None = None,
) -> list[dict[str, Any]]:
    """Return rows of groups: four consecutive functions share a card.

    `alone` are measurements without neighbours, of shape (groups, 4, 2), and `pairs` those of
    pairs, of shape (groups, 6, 2, 2).
    """
    found = []
    for at in range(len(functions) // FUNCTIONS):
        members: list[dict[str, Any]] = [
            dict(one) for one in functions[at * FUNCTIONS : (at + 1) * FUNCTIONS]
        ]
        if alone is not None:
            for member, (rate, cycles) in zip(members, alone[at], strict=True):
                member["solo"] = {"throughput_pps": float(rate), "latency_cycles": float(cycles)}
        group: dict[str, Any] = {"group": at, "functions": members}
        if pairs is not None:
            group["pairs"] = [
                {
                    "members": [first + 1, second + 1],
                    "throughput_pps": [float(one) for one in pair[:, 0]],
                    "latency_cycles": [float(one) for one in pair[:, 1]],
                }
                for (first, second), pair in zip(PAIRS, pairs[at], strict=True)
            ]
        found.append(group)
    return found


def write_csv(file: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """Write a table as CSV, compressed if the name ends in `.gz`; return the file."""
    text = io.StringIO()
    table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return _write(file, text.getvalue())


def write_lines(file: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """Write JSON objects, one per line, compressed if the name ends in `.gz`; return the file."""
    return _write(file, "".join(f"{json.dumps(row)}\n" for row in rows))


def _write(file: Path, text: str) -> Path:
    data = text.encode()
    file.write_bytes(gzip.compress(data, mtime=0) if file.suffix == ".gz" else data)
    return file
