#!/usr/bin/env python3
"""Guarantees of the published NFP programs: equal to the published ones, and how fast?

Runs `slowpath bound` on every program of the published summary (Krude et al., CoNEXT 2021, artifact)
with its number of cores and unroll limit, and compares the cost per byte of the slowest satisfiable
path and of the naive bound. With --all, compares the set of all satisfiable paths as well. Programs
take turns, every figure is a median over --repeat runs; seconds are of whole processes, next to the
published tool's on its authors' 4-core desktop.

Needs two folders that are not part of this repository: the results (summary.json, PROGRAM.jsonl.gz)
and the listings (PROGRAM.asm). Exits with 1 when a guarantee differs.
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

CLOCK_HZ = 800_000_000  # of the cores and of the DRAM engine
TOLERANCE = 1e-4  # the published files round to six digits
ALL_PATHS = ["xdp-cloudflare", "xdp-quic-lb", *(f"xdp-count-min.{n}" for n in range(1, 16))]


class Run(NamedTuple):
    """One process."""

    result: dict
    seconds: float
    megabytes: float


def bound(slowpath: str, listing: Path, cores: int, options: list[str]) -> Run:
    """Runs `slowpath bound` on one listing."""
    command = [slowpath, "bound", str(listing), "--cores", str(cores), "--format", "json", *options]
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=output)
        _, _, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        output.seek(0)
        result = json.load(output)["results"][0]
    return Run(result, seconds, usage.ru_maxrss / 1024)


def per_byte(cost: dict, size: int, cores: int) -> float:
    """Cycles per byte of the bottleneck, in cycles of one core."""
    return max(cost["processing"], cost["dram"] * cores) / size


def naive_per_byte(naive: dict, cores: int) -> float:
    """The same for a bound, from the rates of its components; fixed limits left out."""
    rates = [naive["components"][name] for name in ("processing", "dram")]
    size = naive["bitrate_bps"] / 8 / naive["packetrate_pps"]
    return cores * CLOCK_HZ / min(rate for rate in rates if rate) / size


def same_paths(result: dict, published: Path) -> bool:
    """Whether the paths are the published ones: costs and packet sizes, as often."""
    with gzip.open(published, "rt") as lines:
        records = [json.loads(line) for line in lines]
    theirs = [(r["cycles"], round(r["dram_cycles"], 2), r["min_packet_size"]) for r in records]
    ours = [
        (p["cost"]["processing"], round(p["cost"]["dram"], 2), p["min_packet_size"])
        for p in result["paths"]
    ]
    return sorted(theirs) == sorted(ours)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("results", type=Path, help="folder with summary.json")
    arguments.add_argument("listings", type=Path, help="folder with PROGRAM.asm")
    arguments.add_argument("--slowpath", default=".venv/bin/slowpath", help="the tool")
    arguments.add_argument("--repeat", type=int, default=3, metavar="N")
    arguments.add_argument("--all", action="store_true", help="compare all satisfiable paths too")
    given = arguments.parse_args()
    try:
        summary = json.loads((given.results / "summary.json").read_text())
    except OSError as problem:
        print(f"skipped: {problem}")
        return 0
    runs: dict[str, list[Run]] = {name: [] for name in summary}
    for _ in range(given.repeat):
        for name, info in summary.items():
            unroll = ["--unroll", str(info["unroll"])] if info["unroll"] else []
            listing = given.listings / f"{name}.asm"
            runs[name].append(bound(given.slowpath, listing, info["cores"], unroll))
    print(
        f"{'program':26} {'published/B':>11} {'ours/B':>11} {'naive/B':>9} {'ours/B':>9}"
        f" {'checked':>7} {'nogoods':>7} {'MB':>5} {'seconds':>8} {'published':>9} {'ratio':>6}"
    )
    fine, ratios = True, []
    for name, info in summary.items():
        result, cores, ssp = runs[name][0].result, info["cores"], info["ssp"]
        if result["error"]:
            print(f"{name:26} {result['error']}")
            fine = False
            continue
        path, stats = result["paths"][0], result["stats"]
        theirs = per_byte(
            {"processing": ssp["cycles"], "dram": ssp["dram_cycles"]}, ssp["min_packet_size"], cores
        )
        ours = per_byte(path["cost"], path["min_packet_size"], cores)
        naive_theirs = max(
            info["naive_cycles_per_byte"], info["naive_dram_cycles_per_byte"] * cores
        )
        naive = naive_per_byte(result["naive"], cores)
        same = abs(ours / theirs - 1) < TOLERANCE and naive <= naive_theirs * (1 + TOLERANCE)
        fine &= same and result["guarantee"]["exact"]
        seconds = statistics.median(run.seconds for run in runs[name])
        megabytes = statistics.median(run.megabytes for run in runs[name])
        ratios.append(ssp["seconds"] / seconds)
        print(
            f"{name:26} {theirs:11.5f} {ours:11.5f} {naive_theirs:9.4f} {naive:9.4f}"
            f" {stats['candidates']:7} {stats['nogoods']:7} {megabytes:5.0f} {seconds:8.3f}"
            f" {ssp['seconds']:9.2f} {ratios[-1]:6.1f}{'' if same else '  DIFFERENT'}"
        )
    print(f"median ratio of published seconds to ours: {statistics.median(ratios):.1f}")
    for name in ALL_PATHS if given.all else []:
        options = ["--paths", "all"]
        run = bound(given.slowpath, given.listings / f"{name}.asm", summary[name]["cores"], options)
        same = same_paths(run.result, given.results / f"{name}.jsonl.gz")
        fine &= same
        count = len(run.result["paths"])
        verdict = "the published paths" if same else "DIFFERENT paths"
        print(f"{name:26} all {count} satisfiable paths in {run.seconds:.2f} s: {verdict}")
    print("same guarantees" if fine else "NOT the same guarantees")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
