#!/usr/bin/env python3
"""Compare the plans of `slowpath contention profile` by the models of one function on this machine.

On a machine where nothing else runs (about two minutes for each profile of 40 mixes):

    bench/contention_plans.py FOLDER [--function router-acl] [--mixes 40] [--tests 80] [--seeds 3]

The function is profiled by each plan in turn, with several seeds. A further random profile has
another seed, and thus other competitors. Models of the former predict the rows in the memory table
of the latter; its scores have their own calibration. Prints mean absolute relative errors of memory
rows with competitors and alone, and the share of rows within 10 %. Prints also the coverage of
90 % intervals, and the share of rows `outside`. `--evaluate`: use existing profiles.
"""

import argparse
import json
import subprocess
import sys
import warnings
from pathlib import Path

import figures
import numpy as np
from contention_host import CONFIDENCE, FUNCTIONS, PATTERN, PROGRAMS, description

from slowpath.contention.columns import MemoryProfile, Query
from slowpath.contention.memory.recipes import RECIPES
from slowpath.contention.model import FunctionModel, Profiles, choose, learn
from slowpath.contention.prediction import predict
from slowpath.contention.reading import read_memory

PLANS = ("random", "adaptive", "active")
_TESTS_SEED = 1000
_FAIR = 0.10
_KEYS = {
    "beside": "beside competitors: MAPE, %",
    "fair": "within 10 %",
    "covered": "90 % intervals cover, %",
    "alone": "alone: MAPE, %",
    "outside": "outside, % of rows",
}


def profile(folder: Path, given: argparse.Namespace, plan: str, seed: int, mixes: int) -> Path:
    """Return the folder of a profile; measure it if necessary.

    `plan` is the profiling plan, `seed` its random seed, and `mixes` the number of measurements.
    """
    place = folder / f"{given.function}.{plan}.{seed}"
    if not given.evaluate:
        text = description(given.function, mixes, given.pairs, given.block_ms)
        file = folder / f"{place.name}.yaml"
        file.write_text(text.replace("effort: {", f"effort: {{plan: {plan}, seed: {seed}, "))
        words = [sys.executable, "-m", "slowpath", "contention", "profile", str(file)]
        subprocess.run([*words, "-o", str(place)], check=True)
    return place


def model_of(place: Path, recipe: str | None) -> FunctionModel:
    """Train a contention model on the memory rows of a profile."""
    memory = read_memory([str(place / "memory.csv")])
    choice = choose(memory, RECIPES[recipe] if recipe else None)
    return learn(Profiles(memory), choice, PATTERN)


def judged(model: FunctionModel, tests: MemoryProfile) -> dict[str, float]:
    """Return a model's errors on the rows of another profile, and the coverage of intervals.

    All values are in percent.
    """
    rows = Query("tests", tests.rows, tests.columns, None, None)
    predicted = predict(model, rows, CONFIDENCE)
    errors = np.abs(predicted.throughput / tests.throughput - 1)
    beside = tests.columns["score"] > 0
    inside = (predicted.low <= tests.throughput) & (tests.throughput <= predicted.high)
    shares = {
        "beside": errors[beside],
        "fair": errors[beside] <= _FAIR,
        "covered": inside[beside],
        "alone": errors[~beside],
        "outside": [bool(one) for one in predicted.outside],
    }
    return {key: 100 * float(np.mean(values)) for key, values in shares.items()}


def main() -> int:
    """Measure profiles by each plan, and print a table of prediction errors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where profiles are")
    parser.add_argument("--function", choices=(*FUNCTIONS, *PROGRAMS), default="router-acl")
    parser.add_argument("--mixes", type=int, default=40)
    parser.add_argument("--tests", type=int, default=80)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--block-ms", type=int, default=60)
    parser.add_argument("--recipe", choices=tuple(RECIPES), help="rather than choose one each time")
    parser.add_argument("--evaluate", action="store_true", help="profiles are there already")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    places = {
        (plan, seed): profile(given.folder, given, plan, seed, given.mixes)
        for seed in range(given.seeds)
        for plan in PLANS
    }
    place = profile(given.folder, given, "random", _TESTS_SEED, given.tests)
    tests = read_memory([str(place / "memory.csv")])
    lines = list[figures.Row]()
    for (plan, seed), learnt in places.items():
        record = json.loads((learnt / "profile.json").read_text())
        line = figures.Row(plan=plan, seed=seed, noise=100 * (record["noise"]["spread"] or 0))
        lines.append({**line, **judged(model_of(learnt, given.recipe), tests)})
    for plan in PLANS:
        some = [line for line in lines if line["plan"] == plan]
        keys = ("noise", *_KEYS)
        means = {key: float(np.mean([float(str(one[key])) for one in some])) for key in keys}
        lines.append({"plan": plan, "seed": "mean", **means})
    columns = [figures.Column(word, key, 1) for key, word in _KEYS.items()]
    heads = [figures.Column("plan", "plan"), figures.Column("seed", "seed")]
    noise = figures.Column("noise floor, %", "noise", 1)
    print(figures.markdown(lines, [*heads, noise, *columns]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
