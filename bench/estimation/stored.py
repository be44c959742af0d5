"""Files of measured programs: a line of JSON for each."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

Program = dict[str, Any]
"""`file`, `program`, `limit` (of the busy loop, see `DISTURBED`) and `paths`; of each path `ns` (one
run in the kernel's loop), `program_ns` (without the loop), `loads` (`ns` of each load), `again` (the
same of paths that may be the slowest, when these were measured together), `estimate`,
`instructions` and `flow` (its text)."""

QUIET = 1.05
"""Measurements count whose samples were this near to undisturbed ones."""
ALONE = 1.1
"""And whose loop took this much of the quickest one at most: then no other CPU shared the core."""
NEARLY = 0.97
"""A path takes nearly as long as the slowest that takes this share of its time."""
CONTENDING = 0.95
"""A path may be the slowest that was measured to take this share of the largest time."""


def read(file: Path, limit: float) -> list[Program]:
    """The programs of a file that were measured undisturbed; of several times the last one."""
    found = dict[tuple[str, str], Program]()
    for line in file.read_text().splitlines():
        one = json.loads(line)
        if one["limit"] <= limit:
            found[one["file"], one["program"]] = one
    quickest = min((loop_ns(one) for one in found.values()), default=0.0)
    return [one for one in found.values() if loop_ns(one) <= ALONE * quickest]


def loop_ns(program: Program) -> float:
    """What the kernel's loop took without the program: more while another CPU shares the core."""
    return float(median(path["ns"] - path["program_ns"] for path in program["paths"]))


def contenders(paths: Sequence[Mapping[str, Any]]) -> list[int]:
    """The paths that may be the slowest, and the one that is estimated to be."""
    times = np.array([path["ns"] for path in paths])
    guessed = int(np.argmax([path["estimate"]["ns"] for path in paths]))
    near = np.flatnonzero(times >= CONTENDING * times.max()).tolist()
    return sorted({guessed, *near})


def is_undecided(program: Program) -> bool:
    """Whether several paths may be the slowest, and were not measured together yet."""
    paths = program["paths"]
    several = contenders(paths)
    return len(several) > 1 and all(paths[one]["again"] is None for one in several)
