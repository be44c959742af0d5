"""Reads files of measured programs; each line is a program as JSON."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

Program = dict[str, Any]
"""`file`, `program`, `limit` (of the busy loop, see `DISTURBED`) and `paths`. Each path has `ns` (one
run in the kernel's loop), `program_ns` (without the loop), `loads` (`ns` of each load), `again` (the
same for paths that may be the slowest, if these were measured together), `estimate`, `instructions`
and `flow` (its text)."""

QUIET = 1.05
"""A measurement counts only if its samples take at most this multiple of the undisturbed time."""
ALONE = 1.1
"""A measurement counts only if the busy loop takes at most this multiple of its fastest time.

Otherwise, another CPU may have shared the core.
"""
NEARLY = 0.97
"""Minimum time of a path that counts as nearly slowest, relative to the slowest path's time."""
CONTENDING = 0.95
"""Minimum time of a path that may be the slowest one, relative to the largest measured time."""


def read(file: Path, limit: float) -> list[Program]:
    """Return the last undisturbed measurement of each program in a file.

    `limit` is the highest accepted disturbance, a limit of the busy loop's time.
    """
    found = dict[tuple[str, str], Program]()
    for line in file.read_text().splitlines():
        one = json.loads(line)
        if one["limit"] <= limit:
            found[one["file"], one["program"]] = one
    quickest = min((loop_ns(one) for one in found.values()), default=0.0)
    return [one for one in found.values() if loop_ns(one) <= ALONE * quickest]


def loop_ns(program: Program) -> float:
    """Return the median time of the kernel's test-run loop per run, without the program.

    It is higher while another CPU shares the core.
    """
    return float(median(path["ns"] - path["program_ns"] for path in program["paths"]))


def contenders(paths: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the indices of paths that may be the slowest, or have the highest estimate."""
    times = np.array([path["ns"] for path in paths])
    guessed = int(np.argmax([path["estimate"]["warm"]["ns"] for path in paths]))
    near = np.flatnonzero(times >= CONTENDING * times.max()).tolist()
    return sorted({guessed, *near})


def is_undecided(program: Program) -> bool:
    """Return true if several paths may be the slowest, and have not been measured together."""
    paths = program["paths"]
    several = contenders(paths)
    return len(several) > 1 and all(paths[one]["again"] is None for one in several)
