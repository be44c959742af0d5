"""Differences that `slowpath measure OLD NEW` detects, and its false detections.

    measure_power.py [--same N] [--each N] [--only WHAT...] [--seconds S] [--csv FILE]

Compares a program with itself N times, and with versions that do a little more (see
`power/difference.bpf.c`): a longer dependent chain of arithmetic, further look-ups in a hash map,
further cache lines. Every comparison loads and measures afresh, as the command does.
"""

import argparse
import csv
import json
import os
import statistics
import sys
from pathlib import Path
from typing import Any

from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.options import WrittenOptions, read_request
from slowpath.bounds.outcomes import Analysed
from slowpath.core.engine import kernel
from slowpath.core.jobs import Stopping
from slowpath.measure.comparison import FEWEST_LOADS, SamePacket, compare
from slowpath.measure.documents import ComparedPath
from slowpath.measure.programs import prepare_program, slowest
from slowpath.measure.sampling import StopCriteria

SOURCE = Path(__file__).resolve().parent / "power/difference.bpf.c"
BASE = {"ALU": 16, "LOOKUPS": 2, "LINES": 2}
MORE: tuple[dict[str, int], ...] = (
    {"ALU": 1},
    {"ALU": 2},
    {"ALU": 4},
    {"ALU": 8},
    {"LINES": 1},
    {"LOOKUPS": 1},
)
PRECISION = 0.005


def analysed(values: dict[str, int]) -> Analysed:
    """Compile and analyse the test program; `values` are the amounts of additional work."""
    flags = tuple(f"-D{name}={value}" for name, value in values.items())
    written = WrittenOptions(target="ebpf", metric="instructions", paths=1, cflags=flags)
    return next(Session(read_request([str(SOURCE)], written)).analyse(RunContext(Stopping())))


def compared(station: kernel.Station, old: Analysed, new: Analysed, seconds: float) -> ComparedPath:
    """Load and measure two versions of a program once; compare their slowest paths."""
    prepared = [
        prepare_program(station, each, lambda paths: slowest(paths, 1), lambda *_: True)
        for each in (old, new)
    ]
    quota = StopCriteria(PRECISION, seconds, FEWEST_LOADS)
    return compare(station, (prepared[0], prepared[1]), SamePacket(None), quota, lambda _: True)[
        "paths"
    ][0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--same", type=int, default=100)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--only", nargs="+", help="such as ALU+8; all differences by default")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--csv", type=Path)
    given = parser.parse_args()
    station = kernel.open_station(kernel.open_kernel(), max(os.sched_getaffinity(0)))
    base = analysed(BASE)
    rows: list[dict[str, Any]] = []

    def series(name: str, new: Analysed, times: int) -> None:
        found = [compared(station, base, new, given.seconds) for _ in range(times)]
        detected = sum(row["significant"] or False for row in found)
        ratios = sorted(row["ratio"] or 0.0 for row in found)
        widths = sorted(((row["high"] or 0.0) - (row["low"] or 0.0)) / 2 for row in found)
        middle = times // 2
        print(
            f"{name:16} told {detected:3} of {times:3} times; ratio {statistics.median(ratios):.4f} "
            f"({ratios[0]:.4f} to {ratios[-1]:.4f}), interval ± {widths[middle]:.4f}, "
            f"{found[-1]['old_ns']:.1f} and {found[-1]['new_ns']:.1f} ns",
            flush=True,
        )
        rows.extend({"difference": name, **row} for row in found)

    if given.same:
        series("none", base, given.same)
    for more in MORE if given.each else ():
        name = " ".join(f"{name}+{n}" for name, n in more.items())
        if given.only is None or name in given.only:
            values = {name: value + more.get(name, 0) for name, value in BASE.items()}
            series(name, analysed(values), given.each)
    if given.csv is not None:
        with given.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    json.dump({"loads": FEWEST_LOADS, "precision": PRECISION}, sys.stderr)


if __name__ == "__main__":
    main()
