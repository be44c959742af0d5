#!/usr/bin/env python3
"""Share of guarantees that get a certificate, its size, and the time of its check.

Analyses every program of the given objects or listings, writes its certificate and checks it. Prints
a Markdown table: certificates by verdict, sizes, and the time of the check divided by the time of
the analysis with its proof. A refused certificate is a defect: it makes the exit code 1.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

SLOWPATH = [sys.executable, "-m", "slowpath"]


class Made(NamedTuple):
    """A program with its verdict, and the certificate if there is one."""

    name: str
    verdict: str  # `exact`, `conditional`, `bound` or `refused`
    reason: str | None  # why there is no certificate, or why it was refused
    size: int = 0  # bytes of the compressed file
    seconds: float = 0.0  # of the analysis with its proof
    check_seconds: float = 0.0


def programs(file: str) -> list[tuple[str, str]]:
    """Return section and name of the programs in an object; a pair of empty texts for others."""
    run = subprocess.run(
        [*SLOWPATH, "show", file, "--format", "json"], capture_output=True, text=True, check=False
    )
    if run.returncode:
        return [("", "")]
    (found,) = json.loads(run.stdout)["results"]
    return [(one["section"], one["name"]) for one in found["programs"]]


def make(file: str, program: tuple[str, str], options: list[str]) -> Made:
    """Analyse a program, write its certificate, and check it."""
    section, name = program
    chosen = ["--section", section, "--prog-name", name] if name else []
    label = f"{Path(file).name}:{name}"
    with tempfile.TemporaryDirectory() as folder:
        certificate = str(Path(folder) / "new.cert")
        began = time.monotonic()
        run = subprocess.run(
            [
                *SLOWPATH,
                *("bound", file, *chosen, *options, "--format", "json", "--no-cache-dir"),
                *("--certificate", certificate),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - began
        try:
            (result,) = json.loads(run.stdout)["results"]
        except ValueError:
            return Made(label, "refused", run.stderr.strip())
        if result["guarantee"] is None:
            return Made(label, "refused", result["error"])
        verdict = result["guarantee"]["verdict"]
        if not Path(certificate).exists():
            return Made(label, verdict, run.stderr.strip().splitlines()[-1], seconds=seconds)
        began = time.monotonic()
        check = subprocess.run(
            [*SLOWPATH, "check", file, certificate, "--deadline", "0"],
            capture_output=True,
            text=True,
            check=False,
        )
        return Made(
            label,
            verdict,
            check.stderr.strip() if check.returncode else None,
            Path(certificate).stat().st_size,
            seconds,
            time.monotonic() - began,
        )


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--target", default="linux-xdp")
    parser.add_argument("--deadline", default="10s", help="of each analysis")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    options = ["--target", args.target, "--deadline", args.deadline]
    jobs = [(file, one) for file in args.files for one in programs(file)]
    with ThreadPoolExecutor(args.jobs) as pool:
        found = list(pool.map(lambda job: make(*job, options), jobs))
    rows = Counter((one.verdict, one.reason is None) for one in found)
    print("| verdict | programs | with certificate |\n|---|---:|---:|")
    for verdict in ("exact", "conditional", "bound"):
        yes, no = rows[verdict, True], rows[verdict, False]
        print(f"| {verdict} | {yes + no} | {yes} |")
    good = [one for one in found if one.reason is None]
    if good:
        sizes = [one.size for one in good]
        shares = [one.check_seconds / one.seconds for one in good]
        print(f"\nSize: {statistics.median(sizes):,.0f} bytes (median), {max(sizes):,} (most).")
        print(
            f"Check / analysis: {statistics.median(shares):.2f} (median), {max(shares):.2f} (most)."
        )
    for one in found:
        if one.reason is not None and one.verdict != "refused":
            print(f"- {one.name} ({one.verdict}): {one.reason}")
    return int(any(one.reason is not None and one.size for one in found))


if __name__ == "__main__":
    raise SystemExit(main())
