#!/usr/bin/env python3
"""Renew Figure 8 of Krude et al. (CoNEXT 2021): packet rate of a count-min sketch by hash functions.

Compares guarantees for the published programs with the card's rate on the slowest measured path. Adds
the results of `slowpath sweep` for examples/count_min.bpf.c, and with --measure its time in the
kernel of this machine. Writes count_min.csv, with --plot also count_min.svg, and prints a table.

Needs two folders that are not part of this repository: the results (summary.json, PROGRAM.jsonl.gz)
and the listings (PROGRAM.asm). Exits with 1 when a guarantee exceeds the measured rate by more than
TOLERANCE, with 2 when there is nothing to compare with.
"""

import argparse
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import published
from figures import SVG_STYLE, Column, Row, aligned, markdown, write_csv

from measure import ROOT, TOOL, bound

CLOCK_HZ = 800_000_000
HASHES = range(1, 21)
SOURCE = "examples/count_min.bpf.c"
TOLERANCE = 0.004  # share of the rate; published runs with 6 to 8 hash functions were 0.3 % slower
COLUMNS = [
    Column("hash functions", "hashes"),
    Column("guaranteed, Mpps", "guaranteed_mpps", 2),
    Column("bottleneck", "bottleneck"),
    Column("measured, Mpps", "measured_mpps", 2),
    Column("guaranteed less, %", "less_percent", 1),
    Column("our example guaranteed, Mpps", "example_mpps", 2),
    Column("instructions", "example_instructions"),
    Column("ns here", "example_ns", 1),
    Column("±", "example_either", 1),
]


def measured(results: Path, name: str, cores: int) -> dict[str, Any]:
    """Return the packet rate in Mpps that the card reached on the slowest measured path.

    All values are None if the ports of the card limited the rate on all paths.
    """
    with gzip.open(results / f"{name}.jsonl.gz", "rt") as lines:
        records = [json.loads(line) for line in lines]
    known = [one for one in records if one["measured_cycles"] is not None]
    if not known:
        return {"measured_mpps": None, "measured_low_mpps": None, "measured_high_mpps": None}
    slowest = max(known, key=lambda one: one["measured_cycles"])
    cycles = [slowest["measured_cycles"], *reversed(slowest["measured_c99"])]
    rates = [None if one is None else cores * CLOCK_HZ / one / 1e6 for one in cycles]
    keys = ("measured_mpps", "measured_low_mpps", "measured_high_mpps")
    return dict(zip(keys, rates, strict=True))


def of_published(given: argparse.Namespace, hashes: int, cores: int) -> Row:
    """Return the guaranteed rate of a published program, and its distance to the measured rate."""
    name = f"xdp-count-min.{hashes}"
    program = published.program(given.listings / f"{name}.asm")
    guarantee = bound(given.slowpath, program, ["--metric", "packetrate"]).result["guarantee"]
    row = {
        "hashes": hashes,
        "guaranteed_mpps": guarantee["packetrate_pps"] / 1e6,
        "bottleneck": guarantee["bottleneck"],
        **measured(given.results, name, cores),
    }
    rate = row["measured_mpps"]
    row["less_percent"] = None if rate is None else 100 * (1 - row["guaranteed_mpps"] / rate)
    return row


def of_example(given: argparse.Namespace) -> list[Row]:
    """Return the guaranteed rates of `examples/count_min.bpf.c`, by number of hash functions."""
    words = ["-D", f"HASHES={HASHES[0]}..{HASHES[-1]}", "--target", "agilio-cx-2x40,ebpf"]
    if given.measure is not None:
        words += ["--measure", "--total-seconds", str(given.measure)]
        words += [] if given.cpu is None else ["--cpu", str(given.cpu)]
    command = [str(given.slowpath), "sweep", SOURCE, *words, "--format", "json"]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    document = json.loads(run.stdout)
    for each in document["disturbances"]:
        print(f"{each['severity']}: {each['what']}", file=sys.stderr)
    return [_example(program) for program in document["results"]]


def _example(program: dict[str, Any]) -> Row:
    card, count = program["results"]
    time = program["measured"] or {"ns": None, "low_ns": None, "high_ns": None}
    either = None if time["ns"] is None else (time["high_ns"] - time["low_ns"]) / 2
    return {
        "example_mpps": card["packetrate_pps"] / 1e6,
        "example_bottleneck": card["bottleneck"],
        "example_instructions": count["counts"]["instructions"],
        "example_ns": time["ns"],
        "example_either": either,
    }


def draw(file: Path, rows: list[Row]) -> None:
    """Draw the packet rates and, if known, the times measured on this machine below them."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - only where it draws

    here = [row for row in rows if row["example_ns"] is not None]
    with plt.rc_context(SVG_STYLE):
        size = {"figsize": (7, 5.6 if here else 3.4), "layout": "constrained"}
        ratios = {"height_ratios": [3, 2]} if here else {}
        figure, panels = plt.subplots(
            2 if here else 1, sharex=True, squeeze=False, gridspec_kw=ratios, **size
        )
        _rates(panels[0, 0], rows)
        if here:
            _times(panels[1, 0], here)
        panels[-1, 0].set_xlabel("hash functions")
        panels[-1, 0].set_xticks([1, 5, 10, 15, 20])
        figure.savefig(file, metadata={"Date": None})
        plt.close(figure)


def _rates(panel: "plt.Axes", rows: list[Row]) -> None:  # noqa: F821 - imported above
    x = [row["hashes"] for row in rows]
    known = [row for row in rows if row["measured_mpps"] is not None]
    ends = [
        [
            row["measured_mpps"] - (row["measured_low_mpps"] or row["measured_mpps"])
            for row in known
        ],
        [
            (row["measured_high_mpps"] or row["measured_mpps"]) - row["measured_mpps"]
            for row in known
        ],
    ]
    guaranteed = [row["guaranteed_mpps"] for row in rows]
    panel.plot(x, guaranteed, "-", color="C0", label="guaranteed, published programs")
    where, rates = [row["hashes"] for row in known], [row["measured_mpps"] for row in known]
    label = "measured on the card, published"
    panel.errorbar(where, rates, ends, fmt="o", color="C3", markersize=4, label=label)
    ours = [row["example_mpps"] for row in rows]
    panel.plot(x, ours, ":", color="0.4", label=f"guaranteed, {SOURCE}")
    panel.set_ylim(bottom=0)
    panel.set_ylabel("Mpps on agilio-cx-2x40")
    panel.grid(visible=True, linewidth=0.3)
    panel.legend()


def _times(panel: "plt.Axes", rows: list[Row]) -> None:  # noqa: F821 - imported above
    x, times = [row["hashes"] for row in rows], [row["example_ns"] for row in rows]
    either = [row["example_either"] for row in rows]
    panel.errorbar(x, times, either, fmt="o-", color="C2", markersize=3, linewidth=0.8)
    panel.set_ylim(bottom=0)
    panel.set_ylabel("ns in this kernel")
    panel.set_title(f"{SOURCE}, measured on Linux", fontsize=9)
    panel.grid(visible=True, linewidth=0.3)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("results", type=Path, help="folder with summary.json")
    arguments.add_argument("listings", type=Path, help="folder with PROGRAM.asm")
    arguments.add_argument("--slowpath", type=Path, default=TOOL, help="the tool")
    arguments.add_argument(
        "--out", type=Path, default=ROOT / "docs/figures/sweep", metavar="FOLDER"
    )
    arguments.add_argument("--measure", type=float, metavar="SECONDS", help="measure here too")
    arguments.add_argument("--cpu", type=int, metavar="NUMBER")
    arguments.add_argument("--plot", action="store_true", help="draw; needs matplotlib")
    arguments.add_argument("--markdown", action="store_true", help="a table for documents")
    given = arguments.parse_args()
    try:
        summary = json.loads((given.results / "summary.json").read_text())
    except OSError as problem:
        print(f"error: {problem}; name the folder of published results", file=sys.stderr)
        return 2
    lost = [n for n in HASHES if not (given.listings / f"xdp-count-min.{n}.asm").exists()]
    if lost:
        reason = f"{given.listings}: has no xdp-count-min.{lost[0]}.asm"
        print(f"error: {reason}; name the folder of published listings", file=sys.stderr)
        return 2
    ours = of_example(given)
    rows = [
        of_published(given, n, summary[f"xdp-count-min.{n}"]["cores"]) | one
        for n, one in zip(HASHES, ours, strict=True)
    ]
    write_csv(given.out / "count_min.csv", rows)
    if given.plot:
        draw(given.out / "count_min.svg", rows)
    print((markdown if given.markdown else aligned)(rows, COLUMNS))
    least = min(row["less_percent"] for row in rows if row["less_percent"] is not None)
    return int(least < -100 * TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
