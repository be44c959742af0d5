#!/usr/bin/env python3
"""Measure pipelines in DPDK's interpreter, and derive the prices of the target `dpdk-swx`.

    pipelines.py take PATHS.csv [--paths K] [--seconds S] PIPELINE.spec...
    pipelines.py compare PATHS.csv
    pipelines.py prices PATHS.csv

`take` runs `slowpath measure` on each pipeline, and adds its paths to the file. Pipelines in the
file are not measured again, unless the machine was disturbed. An argument `@FILE` names a file with
one pipeline per line. `compare` fits models to nine tenths of the pipelines, and prints their errors
for the paths of the others. `prices` fits the last model to all pipelines, and prints the table
`[interpreter]` of the target without its models.

The models are sums. The first one has a price for each instruction and each lookup. The second one
has a price for each kind of instruction and of table. The third one also tells hits from misses, and
has prices for bytes of keys.
"""

import argparse
import csv
import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

FOLDS = 10
PASSES = 6  # maximum number of measurements of a pipeline
QUIET = 1.12  # ratio to the least time of receiving and sending up to which nothing disturbed
BATCH = 16  # number of pipelines that a command measures
COVERED = 0.9  # share of paths that an interval should contain
ERROR = 0.06  # usual relative error of an estimate
PRIOR = 1.0  # expected deviation of an instruction's price from their mean, as a share of it
KNOWN = 3  # minimum number of pipelines with a part that has a price
COLUMNS = ("pipeline", "measured_ns", "baseline_ns", "parts")


class Run(NamedTuple):
    """A measured path of a pipeline: times in ns, and counts of its parts.

    A part is a kind of instruction or of table lookup; its counts are those of runs and key bytes.
    """

    pipeline: str
    measured: float
    baseline: float
    parts: dict[str, tuple[int, int]]


def read(file: Path) -> list[Run]:
    """Read the measured paths of each pipeline from a file, except disturbed ones.

    Only the last measurement of a pipeline counts. The host of a virtual machine slows all
    pipelines, also the one that only receives and sends.
    """
    found = dict[str, list[Run]]()
    if file.exists():
        with file.open(newline="") as stream:
            for row in csv.DictReader(stream):
                parts = dict[str, tuple[int, int]]()
                for word in row["parts"].split():
                    name, _, numbers = word.partition("=")
                    runs, _, count = numbers.partition("/")
                    parts[name] = int(runs), int(count or 0)
                times = float(row["measured_ns"]), float(row["baseline_ns"])
                found.setdefault(row["pipeline"], []).append(Run(row["pipeline"], *times, parts))
    least = min((run.baseline for runs in found.values() for run in runs), default=0.0)
    quiet = [runs for runs in found.values() if max(r.baseline for r in runs) <= QUIET * least]
    return [run for runs in quiet for run in runs]


def write(file: Path, runs: list[Run]) -> None:
    """Write paths to a file, in the order of their pipelines."""
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for run in sorted(runs, key=lambda run: run.pipeline):
            words = [
                f"{name}={count}" + (f"/{size}" if size else "")
                for name, (count, size) in sorted(run.parts.items())
            ]
            writer.writerow((run.pipeline, run.measured, run.baseline, " ".join(words)))


def by_number(run: Run) -> Counter[str]:
    """Count the instructions of a path together, and its lookups together."""
    found = Counter(packet=1)
    for name, (count, _) in run.parts.items():
        found["lookup" if name.startswith("table.") else "instruction"] += count
    return found


def by_kind(run: Run) -> Counter[str]:
    """Count the instructions of a path by opcode, and its lookups by kind of table."""
    found = Counter[str]()
    for name, (count, _) in run.parts.items():
        is_table = name.startswith("table.")
        found[name.rpartition(".")[0] if is_table else name] += count
    return found


def by_outcome(run: Run) -> Counter[str]:
    """Count instructions of a path by opcode, and hits, misses and key bytes by kind of table."""
    found = Counter[str]()
    for name, (count, size) in run.parts.items():
        found[name] += count
        if size:
            found[f"{name} bytes"] += size
    return found


class Data(NamedTuple):
    """Measured paths as arrays: counts of parts, times, and the fold of cross-validation."""

    kinds: list[str]
    table: Any
    times: Any
    folds: Any


def data(runs: list[Run], counts: Callable[[Run], Counter[str]]) -> Data:
    """Count the parts of each path, and divide the pipelines among folds for cross-validation."""
    names = sorted({run.pipeline for run in runs})
    np.random.default_rng(1).shuffle(names)
    fold = {name: number % FOLDS for number, name in enumerate(names)}
    each = [counts(run) for run in runs]
    kinds = sorted(set().union(*each))
    return Data(
        kinds,
        np.array([[one[kind] for kind in kinds] for one in each], float),
        np.array([run.measured for run in runs]),
        np.array([fold[run.pipeline] for run in runs]),
    )


def compare(runs: list[Run]) -> None:
    """Print the errors of all models on pipelines to which they were not fitted."""
    print(f"{len(runs)} paths of {len({run.pipeline for run in runs})} pipelines")
    print("prices per             mean error   median   90th percentile   in the interval")
    for label, counts in (
        ("instruction, lookup", by_number),
        ("kind", by_kind),
        ("kind, hit, key byte", by_outcome),
    ):
        found = data(runs, counts)
        errors, inside = np.zeros(len(runs)), np.zeros(len(runs), bool)
        for number in range(FOLDS):
            test, train = found.folds == number, found.folds != number
            estimates = found.table @ fitted(found, train)
            # The errors of all other pipelines determine the interval for the pipelines of this
            # fold.
            low, high = ends(found, number)
            ratio = found.times / estimates
            errors[test] = (estimates / found.times - 1)[test]
            inside[test] = ((ratio >= low) & (ratio <= high))[test]
        size = np.abs(errors)
        print(
            f"{label:22} {size.mean():10.1%} {np.median(size):8.1%} {np.quantile(size, 0.9):17.1%}"
            f" {inside.mean():17.1%}"
        )


def fitted(found: Data, chosen: Any) -> Any:  # noqa: ANN401 - arrays
    """Fit a price for each part to the chosen paths, with small relative errors.

    Errors far above 6 % count less. Few paths determine the price of a rare instruction, so it is
    pulled towards the mean price.
    """
    times = found.times[chosen]
    relative = found.table[chosen] / times[:, None]
    instruction = np.array(["lookup" != kind[:6] != "table." for kind in found.kinds])
    counts = np.stack([relative[:, instruction].sum(1), relative[:, ~instruction].sum(1)], 1)
    mean = nnls(counts, np.ones(len(times)))[0][0]
    pull = ERROR / (PRIOR * mean) * np.eye(len(found.kinds))[instruction]
    prices, weights = None, np.ones(len(times))
    for _ in range(5):
        rows = np.vstack([relative * weights[:, None], pull])
        prices = nnls(rows, np.concatenate([weights, pull.sum(1) * mean]))[0]
        weights = 1 / np.sqrt(1 + ((relative @ prices - 1) / ERROR) ** 2)
    return prices


def ends(found: Data, left_out: int | None) -> tuple[float, float]:
    """Return the ends of an estimate's interval, as factors of the estimate.

    They cover the errors of cross-validation, without the paths of the fold `left_out`.
    """
    ratios = []
    for number in set(range(FOLDS)) - {left_out}:
        inner = (found.folds != number) & (found.folds != left_out)
        test = found.folds == number
        ratios.append((found.times / (found.table @ fitted(found, inner)))[test])
    ratio = np.concatenate(ratios)
    low, high = np.quantile(ratio, [(1 - COVERED) / 2, (1 + COVERED) / 2])
    return float(low), float(high)


def prices(file: Path, runs: list[Run]) -> None:
    """Print the prices of the last model, and its interval, as TOML tables of the target."""
    found = data(runs, by_outcome)
    each = dict(zip(found.kinds, fitted(found, slice(None)), strict=True))
    low, high = ends(found, None)
    pipelines = {part: {run.pipeline for run in runs if part in run.parts} for part in each}
    parts = [part for part, names in pipelines.items() if len(names) >= KNOWN]
    instructions = [each[part] for part in parts if not part.startswith(("table.", "rx"))]
    print(f"""empty_ns = {np.median([run.baseline for run in runs]):.2f}
unknown_ns = {np.quantile(instructions, COVERED):.2f}
data_sha256 = "{hashlib.sha256(file.read_bytes()).hexdigest()}"

[interpreter.error]
low = {low:.3f}
high = {high:.3f}

[interpreter.part]""")
    for part in parts:
        size = each.get(f"{part} bytes", 0.0)
        extra = f", byte_ns = {size:.3f}" if size else ""
        print(f'"{part}" = {{ ns = {each[part]:.2f}{extra} }}')


def take(given: argparse.Namespace) -> None:
    """Measure pipelines, and add their paths to a file, until all times are undisturbed."""
    out = Path(given.out)
    files = list[str]()
    for name in given.pipelines:
        files += Path(name[1:]).read_text().split() if name.startswith("@") else [name]
    without_paths = set[str]()
    for _ in range(PASSES):
        known = {run.pipeline for run in read(out)} | without_paths
        left = [file for file in files if Path(file).name not in known]
        # Measure several files with one command, because each command compiles its program anew.
        for start in range(0, len(left), BATCH):
            words = [sys.executable, "-m", "slowpath", "measure", *left[start : start + BATCH]]
            words += ["--format", "json", "--paths", str(given.paths)]
            words += ["--seconds", str(given.seconds)]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
            runs = read(out)
            for result in json.loads(done.stdout or '{"results": []}')["results"]:
                name = Path(result["file"]).name
                taken = [
                    Run(name, path["measured_ns"], path["baseline_ns"], parts_of(path))
                    for path in result["paths"]
                    if path["program_ns"] is not None and path["estimate"] is not None
                ]
                print(f"{name}: {len(taken)} paths", file=sys.stderr)
                runs += taken
                if not taken:
                    without_paths.add(name)
            write(out, runs)


def parts_of(path: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return the number of runs and of key bytes for each part of a path.

    A part is a kind of instruction or of table lookup.
    """
    return {one["part"]: (one["runs"], one["key_bytes"]) for one in path["estimate"]["parts"]}


def main() -> None:
    """Run the subcommand that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(required=True, dest="command")
    taking = commands.add_parser("take")
    taking.add_argument("out")
    taking.add_argument("--paths", type=int, default=10)
    taking.add_argument("--seconds", type=float, default=2)
    taking.add_argument("pipelines", nargs="+")
    for name in ("compare", "prices"):
        commands.add_parser(name).add_argument("out")
    given = parser.parse_args()
    if given.command == "take":
        take(given)
        return
    out = Path(given.out)
    runs = read(out)
    if not runs:
        parser.error(f"{out} has no paths; `take` measures some")
    if given.command == "compare":
        compare(runs)
    else:
        prices(out, runs)


if __name__ == "__main__":
    main()
