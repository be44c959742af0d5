"""Look-ups in tables that are larger than the last-level cache: hot, and with many flows in turn.

    measure_cold.py [--seconds S] [--markdown]

Measures the slowest path of each program of cold/large_table.bpf.c, which needs clang. Beside it
stands a chase of pointers through memory: what one load takes that depends on the one before, on
this machine, whatever else it does at that minute. Run it as root, on a quiet machine.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "bench/cold/large_table.bpf.c"
CHASE = ROOT / "bench/cold/chase.c"
PROGRAMS = ("hash", "array", "trie")


def measured(program: str, seconds: float) -> tuple[dict[str, Any], float]:
    """The slowest path of a program, and how many seconds it took to measure it."""
    words = [sys.executable, "-m", "slowpath", "measure", str(TABLES), "--prog-name", program]
    words += ["--paths", "1", "--cache", "cold", "--no-stretches", "--seconds", str(seconds)]
    started = time.perf_counter()
    done = subprocess.run([*words, "--format", "json"], capture_output=True, text=True, check=False)
    took = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    path: dict[str, Any] = json.loads(done.stdout)["results"][0]["paths"][0]
    return path, took


def chased(megabytes: int) -> float:
    """Nanoseconds of a load that the next one depends on, in so much memory."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/chase"
        subprocess.run(["cc", "-O2", "-o", program, str(CHASE)], check=True)  # noqa: S607
        done = subprocess.run([program, str(megabytes)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def row(program: str, seconds: float) -> list[str]:
    """What is told of a program."""
    path, took = measured(program, seconds)
    cold = path["cold"]
    if cold is None:
        raise SystemExit(f"{program}: {path['cold_reason'] or path['error']}")
    return [
        program,
        f"{path['measured_ns']:.1f}",
        f"{cold['measured_ns']:.1f} ± {cold['spread_ns']:.1f}",
        f"{cold['flows']:,}",
        f"{cold['entry_bytes'] / 2**20:.0f}",
        f"{took:.0f}",
        cold["limited"] or "",
    ]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each program")
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    head = ["program", "hot ns", "cold ns", "flows", "MiB", "seconds", "limited"]
    rows = [row(program, given.seconds) for program in PROGRAMS]
    if given.markdown:
        for line in [head, ["---"] * len(head), *rows]:
            print(f"| {' | '.join(line)} |")
    else:
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for line in [head, *rows]:
            print("  ".join(map(str.ljust, line, widths)).rstrip())
    print(
        f"A load that the next one depends on: {chased(1):.0f} ns in 1 MiB, {chased(128):.0f} in 128."
    )


if __name__ == "__main__":
    main()
