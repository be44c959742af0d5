#!/usr/bin/env python3
"""Compares guarantees of the published NFP programs with the published ones.

Runs `slowpath bound` on every program of the published summary (Krude et al., CoNEXT 2021, artifact)
with its number of cores and unroll limit, and compares the cost per byte of the slowest satisfiable
path and of the naive bound. With --all, compares the sets of all satisfiable paths as well. For
times, see guarantees.py.

Needs two folders that are not part of this repository: the results (summary.json, PROGRAM.jsonl.gz)
and the listings (PROGRAM.asm). Exits with 1 if a guarantee differs, and with 2 if there is nothing to
compare with.
"""

import argparse
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import published
from figures import Column, Row, aligned

from measure import TOOL, Run, bound

CLOCK_HZ = 800_000_000  # of the cores and of the DRAM engine
TOLERANCE = 1e-4  # the published files round to six digits
ALL_PATHS = [
    *("xdp-cloudflare", "xdp-dns-cache", "xdp-quic-lb", "xdp-switch"),
    *(f"xdp-count-min.{n}" for n in range(1, 21)),
]
COLUMNS = [
    Column("program", "program"),
    Column("published/B", "theirs", 5),
    Column("ours/B", "ours", 5),
    Column("naive/B", "naive_theirs", 4),
    Column("ours/B", "naive", 4),
    Column("checked", "checked"),
    Column("nogoods", "nogoods"),
    Column("seconds", "seconds", 2),
    Column("", "verdict"),
]


def per_byte(cost: dict[str, float], size: int, cores: int) -> float:
    """Return a path's cost per packet byte, in cycles of one core.

    The cost is that of the slower component, core or DRAM.
    """
    return max(cost["processing"], cost["dram"] * cores) / size


def naive_per_byte(naive: dict[str, Any], cores: int) -> float:
    """Return the cycles per byte of the naive bound, which ignores whether paths are possible.

    Limits that do not depend on the program, such as the line rate, do not count.
    """
    rates = [naive["components"][name] for name in ("processing", "dram")]
    size = naive["bitrate_bps"] / 8 / naive["packetrate_pps"]
    return cores * CLOCK_HZ / min(rate for rate in rates if rate) / size


def same_paths(result: dict[str, Any], records: Path) -> bool:
    """Return true if the paths found have the published costs and packet sizes."""
    with gzip.open(records, "rt") as lines:
        paths = [json.loads(line) for line in lines]
    theirs = [(r["cycles"], round(r["dram_cycles"], 2), r["min_packet_size"]) for r in paths]
    ours = [
        (p["cost"]["processing"], round(p["cost"]["dram"], 2), p["min_packet_size"])
        for p in result["paths"]
    ]
    return sorted(theirs) == sorted(ours)


def compare(name: str, info: dict[str, Any], run: Run) -> Row:
    """Compare a guarantee with the published one, and return a table row.

    The verdict in the row is empty if they are equal.
    """
    if run.status != "exact":
        empty = dict.fromkeys([column.key for column in COLUMNS])
        return empty | {"program": name, "verdict": run.result["error"] or "only bounds"}
    path, stats, ssp, cores = (
        run.result["paths"][0],
        run.result["stats"],
        info["ssp"],
        info["cores"],
    )
    cost = {"processing": ssp["cycles"], "dram": ssp["dram_cycles"]}
    theirs = per_byte(cost, ssp["min_packet_size"], cores)
    ours = per_byte(path["cost"], path["min_packet_size"], cores)
    naive_theirs = max(info["naive_cycles_per_byte"], info["naive_dram_cycles_per_byte"] * cores)
    naive = naive_per_byte(run.result["naive"], cores)
    same = abs(ours / theirs - 1) < TOLERANCE and naive <= naive_theirs * (1 + TOLERANCE)
    return {
        "program": name,
        "theirs": theirs,
        "ours": ours,
        "naive_theirs": naive_theirs,
        "naive": naive,
        "checked": stats["candidates"],
        "nogoods": stats["nogoods"],
        "seconds": run.seconds,
        "verdict": "" if same else "DIFFERENT",
    }


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("results", type=Path, help="folder with summary.json")
    arguments.add_argument("listings", type=Path, help="folder with PROGRAM.asm")
    arguments.add_argument("--slowpath", type=Path, default=TOOL, help="the tool")
    arguments.add_argument("--all", action="store_true", help="compare all satisfiable paths too")
    given = arguments.parse_args()
    try:
        summary = json.loads((given.results / "summary.json").read_text())
    except OSError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    programs = {name: published.program(given.listings / f"{name}.asm") for name in summary}
    rows = [
        compare(name, info, bound(given.slowpath, programs[name])) for name, info in summary.items()
    ]
    print(aligned(rows, COLUMNS))
    fine = not any(row["verdict"] for row in rows)
    for name in ALL_PATHS if given.all else []:
        run = bound(given.slowpath, programs[name], ["--paths", "all"])
        same = same_paths(run.result, given.results / f"{name}.jsonl.gz")
        fine &= same
        count = len(run.result["paths"])
        verdict = "the published paths" if same else "DIFFERENT paths"
        print(f"{name:26} all {count} satisfiable paths in {run.seconds:.2f} s: {verdict}")
    print("same guarantees" if fine else "NOT the same guarantees")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
