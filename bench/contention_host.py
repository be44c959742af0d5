#!/usr/bin/env python3
"""Compare predictions for mixes on this machine with measurements, for unseen competitors.

The campaign of docs/explanation/contention-accuracy.md, on a machine where nothing else runs (half
an hour for 300 mixes of seven functions on two CPUs):

    bench/contention_host.py FOLDER [--mixes 300] [--pairs 5] [--recipe NAME] [--evaluate]

Functions are profiled into FOLDER, and again if their noise floor is above 15 % (`--evaluate`: use
existing profiles). Then competitor configurations are held out, one part at a time: `mem-bench` by
working set, kind of access and rate; clients of accelerators by match ratio. Models are trained on
the other rows, and predict all mixes with held-out configurations. Prints mean absolute relative
errors of all mixes, and by kind: accelerator, memory, and both. Prints the coverage of
90 % intervals, and both figures for predictions from the solo throughput measured with the mix.
Also prints the errors of SLOMO (with the solo throughput), of `sum` and `min` of partial throughputs,
of a constant, and of the accelerator's model alone.
"""

import argparse
import json
import shutil
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.accelerators import co_runs_of
from slowpath.contention.cells import Table, read_cells
from slowpath.contention.columns import MemoryProfile, Query
from slowpath.contention.memory.recipes import RECIPES
from slowpath.contention.methods import METHODS, predict_by, widening
from slowpath.contention.model import FunctionModel, Profiles, choose, learn
from slowpath.contention.prediction import Predictions
from slowpath.contention.reading import FEWEST, read_accelerator, read_memory, read_mixes

Floats = NDArray[np.float64]

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
MEMORY = "working_set_bytes: [500_000, 64_000_000], configurations: 12"
FLOWS = "flow_count: [1000, 1000000]"
PROGRAMS = {
    # XDP programs of examples/, with as many flows as their maps can store.
    "flow-monitor-xdp": ("flow_monitor", "flow_count: [500, 16000]"),
    "count-min-xdp": ("count_min.4", FLOWS),
}
FUNCTIONS = {
    # Without accelerators, packet sizes vary; with accelerators, request times are measured for one
    # size.
    "flow-stats": ("stages: [flow-statistics]", "", "packet_size_bytes: [64, 1500]"),
    "nat": ("stages: [nat]", "", "packet_size_bytes: [64, 1500]"),
    "router-acl": (
        "stages: [{router: {prefixes: 100000}}, {acl: {rules: 2000}}]",
        "",
        "packet_size_bytes: [64, 1500]",
    ),
    "flow-monitor": ("stages: [flow-statistics]", "regex", "packet_size_bytes: 1500"),
    "ip-comp": ("stages: [nat]", "compression", "packet_size_bytes: 1500"),
}
NAMES = (*FUNCTIONS, *PROGRAMS)
PATTERN = "run-to-completion"
FOLDS = 5
CONFIDENCE = 0.9
LOUD, ATTEMPTS = 0.15, 3
"""Maximum noise floor of a profile, and maximum number of attempts to measure it.

A profile with a noise floor above LOUD is measured again, because the processor had other load. The
last attempt counts in any case.
"""
PREDICTORS = ("slowpath", "told", "slomo", "sum", "min", "constant")

INTERVALS = ("slowpath", "told")
"""Names of the predictors that also give intervals."""


def description(name: str, mixes: int, pairs: int, block_ms: int) -> str:
    """Return a description for `slowpath contention profile`.

    `pairs` and `block_ms` determine the effort of each measurement.
    """
    if name in PROGRAMS:
        program, flows = PROGRAMS[name]
        return (
            f"schema: 1\nname: {name}\nfunction: {{xdp: {{object: '{EXAMPLES}/{program}.bpf.o'}}}}\n"
            f"traffic: {{{flows}, packet_size_bytes: [64, 1500]}}\n"
            f"competitors:\n  memory: {{{MEMORY}}}\n"
            f"effort: {{mixes: {mixes}, pairs: {pairs}, block_ms: {block_ms}}}\n"
        )
    stages, service, size = FUNCTIONS[name]
    accelerator = f", accelerator: {service}" if service else ""
    mtbr = ", mtbr: [0, 1000]" if service else ""
    client = "  accelerator: {packet_size_bytes: 1500, mtbr: [0, 1000]}\n" if service else ""
    return (
        f"schema: 1\nname: {name}\nfunction: {{{stages}, pattern: {PATTERN}{accelerator}}}\n"
        f"traffic: {{{FLOWS}, {size}{mtbr}}}\ncompetitors:\n  memory: {{{MEMORY}}}\n{client}"
        f"effort: {{mixes: {mixes}, pairs: {pairs}, block_ms: {block_ms}}}\n"
    )


def measure(given: argparse.Namespace) -> None:
    """Measure the profiles that are missing, or whose last measurement was too noisy."""
    each = -(-given.mixes // len(NAMES))
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        file = given.folder / f"{name}.yaml"
        file.write_text(description(name, each, given.pairs, given.block_ms))
        folder = given.folder / f"{name}.profile"
        words = [sys.executable, "-m", "slowpath", "contention", "profile", str(file)]
        for _ in range(ATTEMPTS):
            if (folder / "profile.json").exists() and noise_floor(folder) <= LOUD:
                break
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run([*words, "-o", str(folder)], check=True)


def noise_floor(folder: Path) -> float:
    """Return the noise floor of a profile: the relative standard deviation of repetitions."""
    return float(json.loads((folder / "profile.json").read_text())["noise"]["spread"])


def configurations(table: Table) -> list[set[tuple[str, str]]]:
    """Return the competitors in each measured mix, as pairs of kind and configuration.

    A configuration is the settings of `mem-bench`, or the client's match ratio in steps of 250.
    """
    found = []
    for row in table.rows:
        has = set()
        if row["working_set_bytes"]:
            has.add(("memory", f"{row['working_set_bytes']} {row['touch']} {row['rate']}"))
        if row["client_mtbr"]:
            has.add(("client", str(int(float(str(row["client_mtbr"])) // 250))))
        found.append(has)
    return found


def parts_of(mixes: Table) -> list[set[tuple[str, str]]]:
    """Divide the competitors' configurations into parts.

    Each part is left out of training once.
    """
    known = sorted(set().union(*configurations(mixes)))
    order = np.random.default_rng(0).permutation(len(known))
    return [{known[at] for at in order[fold::FOLDS]} for fold in range(FOLDS)]


def only(profile: MemoryProfile, kept: NDArray[np.bool_]) -> MemoryProfile:
    """Return a profile that has only the rows selected by the mask `kept`."""
    return profile._replace(
        rows=tuple(row for row, keep in zip(profile.rows, kept, strict=True) if keep),
        columns={name: values[kept] for name, values in profile.columns.items()},
        throughput=profile.throughput[kept],
    )


def answers(model: FunctionModel, query: Query, solo: Floats) -> dict[str, Predictions]:
    """Return the predictions of slowpath and of all baselines, except the constant.

    SLOMO and `told` get the measured solo throughput, `solo`; `sum` and `min` use that of our
    model.
    """
    told = query._replace(alone=solo)
    found = {
        str(method): predict_by(method, model, told if method == "slomo" else query, CONFIDENCE)
        for method in METHODS
    }
    return found | {"told": predict_by("slowpath", model, told, CONFIDENCE)}


def evaluate(folder: Path, name: str, recipe: str | None) -> list[dict[str, object]]:
    """Predict each mix of a function by a model trained without the rows of its competitors.

    Return the errors of the predictions.
    """
    place = folder / f"{name}.profile"
    table = read_cells(str(place / "mixes.csv"))
    memory = read_memory([str(place / "memory.csv")])
    mixes = read_mixes(str(place / "mixes.csv"), memory)
    requests = place / "accelerator.csv"
    accelerator = read_accelerator(str(requests)) if requests.is_file() else None
    has = configurations(table)
    of_row = {f"mix-{at}": competitors for at, competitors in enumerate(has, 1)}
    found = list[dict[str, object]]()
    for held_out in parts_of(table):
        # A row without competitors belongs to the mix with which it was measured.
        kept = np.array(
            [not of_row[f"mix-{row.rpartition('-')[2]}"] & held_out for row in memory.rows]
        )
        out = np.array([bool(competitors & held_out) for competitors in has])
        if not out.any() or kept.sum() < FEWEST:
            continue
        rows = only(memory, kept)
        choice = choose(rows, RECIPES[recipe] if recipe else None)
        profiles = Profiles(rows, accelerator, co_runs=co_runs_of(mixes.where(~out)))
        model = learn(profiles, choice, PATTERN)
        model = model._replace(widening=widening(model, mixes.where(~out)))
        unseen = mixes.where(out)
        found_by = answers(model, unseen.query, unseen.alone)
        predicted = {name: one.throughput for name, one in found_by.items()}
        predicted["constant"] = np.full(len(unseen.alone), np.median(model.memory.throughput))
        for at, mix in enumerate(np.flatnonzero(out)):
            kinds = "+".join(sorted(kind for kind, _ in has[mix]))
            truth = unseen.throughput[at]
            errors = {one: abs(float(predicted[one][at]) / truth - 1) for one in PREDICTORS}
            inside = {
                f"inside {one}": bool(by.low[at] <= truth <= by.high[at])
                for one, by in found_by.items()
            }
            found.append({"function": name, "kinds": kinds, **errors, **inside})
    return found


def accelerator_alone(folder: Path, name: str) -> list[float]:
    """Return relative errors for mixes in which only an accelerator client competes.

    The solo throughput is given, so only the time that requests wait for those of the client is
    predicted (Eq. 1).
    """
    rows = read_cells(str(folder / f"{name}.profile/mixes.csv")).rows
    found = []
    for row in rows:
        if row["client_mtbr"] and not row["working_set_bytes"]:
            queued, alone = float(str(row["inverse_throughput_sum"])), float(str(row["alone"]))
            found.append(abs(1 / (1 / alone + queued) / float(str(row["throughput"])) - 1))
    return found


def show(found: Sequence[Mapping[str, object]], title: str) -> None:
    """Print a line of the table of prediction errors: the title, the number of rows, and errors."""
    if not found:
        return
    errors = {key: np.array([float(str(one[key])) for one in found]) for key in PREDICTORS}
    means = "  ".join(f"{100 * float(np.mean(one)):8.2f}" for one in errors.values())
    medians = "  ".join(f"{100 * float(np.median(errors[key])):8.2f}" for key in INTERVALS)
    covered = "  ".join(
        f"{100 * float(np.mean([bool(one[f'inside {key}']) for one in found])):8.0f}"
        for key in INTERVALS
    )
    print(f"{title:24} {len(found):5}  {means}  {medians}  {covered}")


def main() -> int:
    """Measure profiles on this machine, and print the tables of prediction errors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where profiles are")
    parser.add_argument("--mixes", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--block-ms", type=int, default=100)
    parser.add_argument("--recipe", choices=tuple(RECIPES), help="rather than choose one each time")
    parser.add_argument("--evaluate", action="store_true", help="profiles are there already")
    given = parser.parse_args()
    if not given.evaluate:
        measure(given)
    warnings.simplefilter("ignore")
    found = list[dict[str, object]]()
    for name in NAMES:
        found += evaluate(given.folder, name, given.recipe)
        record = json.loads((given.folder / f"{name}.profile/profile.json").read_text())
        noise = record["noise"]
        print(
            f"{name}: {record['mixes']} mixes; noise floor {100 * (noise['spread'] or 0):.2f} %, "
            f"within a run {100 * noise['within']:.2f} %; {record['disturbed_blocks']} disturbed blocks, "
            f"elsewhere in {100 * record['elsewhere']:.0f} % of looks"
        )
    heads = "  ".join(f"{one:>8}" for one in (*PREDICTORS, *2 * INTERVALS))
    print(f"\n{'MAPE, %; medians of two; covered':24} mixes  {heads}")
    show(found, "all")
    for kinds in ("client", "memory", "client+memory"):
        show([one for one in found if one["kinds"] == kinds], kinds)
    for name in NAMES:
        show([one for one in found if one["function"] == name], name)
    waits = [one for name in NAMES for one in accelerator_alone(given.folder, name)]
    print(
        f"\nAccelerator model alone, {len(waits)} mixes, with the throughput alone as measured: "
        f"{100 * float(np.mean(waits)):.2f} %, median {100 * float(np.median(waits)):.2f} %"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
