#!/usr/bin/env python3
"""Predict the published rows of BlueField-2 by models of the memory subsystem.

Nested cross-validation with groups, on training rows only
(docs/explanation/contention-accuracy.md):

    bench/contention_published.py ../shared/validation/bluefield-2 [--repetitions N]

Three tables: `memory-train.csv` alone; together with `slomo-train.csv`; and the errors of models of
the first on the second, which was measured at another time with other flows.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from slowpath.contention.memory.evaluation import Protocol, evaluate_all
from slowpath.contention.memory.intervals import conformal
from slowpath.contention.memory.recipes import Recipe
from slowpath.contention.memory.selection import (
    Trainings,
    candidates,
    candidates_and_baselines,
    errors_of,
    relative,
    select,
)
from slowpath.contention.model import rows_of
from slowpath.contention.reading import read_memory
from slowpath.core.jobs.local_pool import LocalPool

MEMORY, SLOMO = "memory-train.csv", "slomo-train.csv"


def nested(files: list[str], models: list[Recipe | None], repetitions: int) -> None:
    """Print the errors of each kind of memory model, by nested cross-validation.

    None in `models` stands for the kind with the smallest errors on the training rows.
    """
    profile = read_memory(files)
    first = len(read_memory(files[:1]).rows)
    print(f"\n{' + '.join(Path(file).name for file in files)}, {repetitions} repetitions")
    print("model                 MAPE    +-  median  <=10 %  covered  width   ends   by file")
    started = time.monotonic()
    for found in evaluate_all(models, rows_of(profile), Protocol(repetitions), LocalPool()):
        by_file = [found.relative_errors[:, :first].mean()]
        if found.relative_errors.shape[1] > first:
            by_file.append(found.relative_errors[:, first:].mean())
        ends = f"{100 * found.ends.mape:5.1f}" if found.ends else "     "
        print(
            f"{found.name:20} {100 * found.errors.mape:5.2f}  {100 * found.errors.standard_error:4.2f}"
            f"  {100 * found.errors.median:6.2f}  {100 * found.errors.within_10:6.0f}"
            f"  {100 * found.coverage:7.0f}  {100 * found.width:5.0f}  {ends}"
            f"   {' '.join(f'{100 * one:.2f}' for one in by_file)}",
            flush=True,
        )
        if found.chosen:
            print(f"  chosen in folds: {found.chosen}", flush=True)
    print(f"({time.monotonic() - started:.0f} s)", flush=True)


def transfer(folder: Path) -> None:
    """Train models on one published table, and print their errors on the other."""
    one, two = (rows_of(read_memory([str(folder / name)])) for name in (MEMORY, SLOMO))
    trainings = Trainings(one)
    chosen = select(trainings, candidates(one)).recipe
    print(f"\nlearnt from {MEMORY}, asked for {SLOMO}; chosen: {chosen.name}")
    print("model                 MAPE  mean error  covered")
    for recipe in candidates_and_baselines(one):
        stage = trainings.stage(recipe)
        predicted = stage.log_throughput(two.columns)
        low, high = conformal(stage, trainings).interval(two.columns, 0.9)
        logs = np.log(two.throughput)
        errors = errors_of(relative(np.exp(predicted), two.throughput))
        mean = float(np.mean(np.exp(predicted) / two.throughput - 1))
        inside = float(np.mean((low <= logs) & (logs <= high)))
        print(
            f"{recipe.name:20} {100 * errors.mape:5.2f}  {100 * mean:+10.1f}  {100 * inside:7.0f}",
            flush=True,
        )


def main() -> int:
    """Print the tables of prediction errors for the published rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the published tables of BlueField-2")
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--tables", choices=("memory", "both"), help="only these rows")
    parser.add_argument("--models", choices=("each", "chosen"), help="only these models")
    given = parser.parse_args()
    if not (given.folder / MEMORY).is_file():
        print(
            f"error: {given.folder}: has no {MEMORY}; name the folder of published tables",
            file=sys.stderr,
        )
        return 2
    warnings.simplefilter("ignore")
    rows = rows_of(read_memory([str(given.folder / MEMORY)]))
    models = [
        *(candidates_and_baselines(rows) if given.models != "chosen" else ()),
        *([None] if given.models != "each" else ()),
    ]
    if given.tables is None:
        transfer(given.folder)
    for names in ((MEMORY,), (MEMORY, SLOMO)):
        if given.tables in (None, "memory" if len(names) == 1 else "both"):
            nested([str(given.folder / name) for name in names], models, given.repetitions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
