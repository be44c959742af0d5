"""Files of measured programs: a line of JSON for each."""

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
"""Measurements count if their samples were at most this factor from undisturbed ones."""
ALONE = 1.1
"""And if their loop took at most this factor of the quickest one: no other CPU shared the core."""
NEARLY = 0.97
"""A path takes nearly as long as the slowest if it takes this share of its time."""
CONTENDING = 0.95
"""A path may be the slowest if its measured time is this share of the largest."""


def read(file: Path, limit: float) -> list[Program]:
    """Return the undisturbed measurements of a file, the last one of each program."""
    found = dict[tuple[str, str], Program]()
    for line in file.read_text().splitlines():
        one = json.loads(line)
        if one["limit"] <= limit:
            found[one["file"], one["program"]] = one
    quickest = min((loop_ns(one) for one in found.values()), default=0.0)
    return [one for one in found.values() if loop_ns(one) <= ALONE * quickest]


def loop_ns(program: Program) -> float:
    """Return the time of the kernel's loop alone: higher while another CPU shares the core."""
    return float(median(path["ns"] - path["program_ns"] for path in program["paths"]))


def contenders(paths: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the paths that may be the slowest, and the one with the highest estimate."""
    times = np.array([path["ns"] for path in paths])
    guessed = int(np.argmax([path["estimate"]["ns"] for path in paths]))
    near = np.flatnonzero(times >= CONTENDING * times.max()).tolist()
    return sorted({guessed, *near})


def is_undecided(program: Program) -> bool:
    """Return true if several paths may be the slowest and were not yet measured together."""
    paths = program["paths"]
    several = contenders(paths)
    return len(several) > 1 and all(paths[one]["again"] is None for one in several)
