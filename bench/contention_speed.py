#!/usr/bin/env python3
"""Compare the CPU time of contention commands with that of another build, or of importing NumPy.

Commands run in turns, so that other load on the machine affects both sides: `train` on a table, then
`predict` and `diagnose` from its model; with `--evaluate` also `evaluate`, for one memory table.
Medians of their user and system time are compared.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / ".venv/bin/slowpath"
TRAFFIC = ("--traffic", "flows=20000,size=1500")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "table",
        nargs="*",
        default=[str(ROOT / "examples/contention.csv")],
        help="tables or a folder of a profile to learn from (default: examples/contention.csv)",
    )
    options.add_argument("--other", help="the `slowpath` of another build (default: NumPy alone)")
    options.add_argument("--repeat", type=int, default=5, help="turns (default: %(default)s)")
    options.add_argument("--evaluate", action="store_true", help="also time `evaluate`")
    options.add_argument("--traffic", default=TRAFFIC[1], help="(default: %(default)s)")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'':10}{'median, CPU s':>15}{'other':>8}{'ratio':>8}")
        timed = commands(chosen.table, chosen.traffic, Path(folder))
        if chosen.evaluate:
            timed = [*timed, ("evaluate", ("evaluate", *chosen.table))]
        for name, words in timed:
            compare(name, words, chosen.other, chosen.repeat)


def commands(
    tables: Sequence[str], traffic: str, folder: Path
) -> Sequence[tuple[str, tuple[str, ...]]]:
    """Return the commands to measure, in order, each with a name.

    The first command writes a model, which the other commands read.
    """
    model = str(folder / "model.json")
    return [
        ("train", ("train", *tables, "-o", model)),
        ("predict", ("predict", model, "--traffic", traffic)),
        ("diagnose", ("diagnose", model, "--traffic", traffic)),
    ]


def compare(name: str, words: Sequence[str], other: str | None, repeat: int) -> None:
    """Run a command and its reference in turns, and print their median CPU times.

    The reference is the same command of the build `other`, or the import of NumPy.
    """
    command = [str(TOOL), "contention", *words]
    reference = [other, "contention", *words] if other else [sys.executable, "-c", "import numpy"]
    run_seconds(reference)  # compile and read all files before the first turn
    run_seconds(command)
    turns = [(run_seconds(command), run_seconds(reference)) for _ in range(repeat)]
    own, others = (statistics.median(one) for one in zip(*turns, strict=True))
    print(f"{name:10}{own:15.2f}{others:8.2f}{own / others:8.2f}", flush=True)


def run_seconds(command: Sequence[str]) -> float:
    """Return the CPU time of a process and its children, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
