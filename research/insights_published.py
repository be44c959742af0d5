#!/usr/bin/env python3
"""Measures predictions of `slowpath insights cores` and `colocation` by cross-validation.

Only training functions and groups are used, with several seeds. Rejected alternatives are measured
on the same folds. docs/explanation/insights-accuracy.md has the figures:

    research/insights_published.py ../shared/validation [--seeds N] [--part cores-hit|...]

`--part` selects a part of the work, for parallel processes. Targets are those of the project;
`published` is the result of the published script on its own split.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from sklearn.ensemble import HistGradientBoostingRegressor

from colocation_evaluation import agreement, groups_at, higher_is_better, truth, without_solo
from cores_evaluation import Outcome, at_cores, compared, curves_of
from slowpath.insights.cores.curves import Curves, read_curves
from slowpath.insights.cores.functions import Functions
from slowpath.insights.cores.groups import Groups, Paired, read_measured
from slowpath.insights.cores.knee import CORES, knees
from slowpath.insights.cores.model import (
    MEMBERS,
    cross,
    model_of,
    predict,
)
from slowpath.insights.cores.network import works
from slowpath.insights.cores.pairs import learn as learn_pairs
from slowpath.insights.cores.pairs import shared
from slowpath.insights.cores.scores import FIRST, NAMES, SECOND, Scores, scores

FOLDS = 5
CONFIDENCE = 0.9
TARGETS = {"hit": (1.7, 2.45), "miss": (1.9, 2.47)}
ORDER = (0.74, 0.83, 0.91)
PUBLISHED = (0.60, 0.76, 0.88)
PARTS = ("cores-hit", "cores-miss", "colocation")


def columns(functions: Functions) -> np.ndarray:
    """Return features for models without a queueing network: the amount of each kind of work."""
    known = works(functions)
    names = [name for name in known if name != "packet" and ">=" not in name]
    return np.stack([known[name] for name in names], 1)


def boosted(x: np.ndarray, y: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Train boosted trees for each column of y, and return their predictions for `queries`."""
    trees = HistGradientBoostingRegressor(
        max_depth=4, learning_rate=0.05, max_iter=200, min_samples_leaf=10, random_state=0
    )
    return np.stack([trees.fit(x, one).predict(queries) for one in y.T], 1)


def cores(folder: Path, traffic: str, seeds: int) -> None:
    """Print the cross-validated errors of advised core numbers, throughput curves and latencies."""
    curves = read_curves(str(folder / "netronome-scaling" / f"{traffic}.csv.gz"))
    truth = knees(curves.throughput)
    ways: dict[str, list[tuple[float, float]]] = {}
    outcomes = list[Outcome]()
    for seed in range(seeds):
        started = time.monotonic()
        found, others = crossed(curves, seed)
        outcomes.append(found)
        for name, (knee, curve) in others.items():
            off = np.nan if curve is None else np.abs(curve / curves.throughput - 1).mean()
            ways.setdefault(name, []).append((np.abs(knee - truth).mean(), off))
        print(
            f"  {traffic}, seed {seed}: {found.knee.mean():.3f} cores, "
            f"{100 * found.throughput.mean():.2f} % ({time.monotonic() - started:.0f} s)",
            file=sys.stderr,
            flush=True,
        )
    target, published = TARGETS[traffic]
    mean = Outcome(
        *(np.array([one.mean() for one in part]) for part in zip(*outcomes, strict=True))
    )
    best = (at_cores(curves.throughput, truth.astype(float)) / curves.throughput.max(1)).mean()
    print(f"\n{traffic}: {len(curves.names)} functions, {seeds} seeds, {FOLDS} folds\n")
    print("| | predicted | target | published script |")
    print("|---|---|---|---|")
    print(
        f"| knee, mean absolute error, cores | {mean_and_scatter(mean.knee)} | {target} | {published} |\n"
        f"| the same, knee of the predicted curve itself | {mean_and_scatter(mean.plain)} | | |\n"
        f"| throughput, mean error | {mean_and_scatter(100 * mean.throughput)} % | 3.5 % | |\n"
        f"| latency, mean error | {mean_and_scatter(100 * mean.latency)} % | | |\n"
        f"| measured throughput at the advised cores, of the most | {mean_and_scatter(100 * mean.share)} % | | |\n"
        f"| the same at the measured knee | {100 * best:.2f} % | | |\n"
        f"| 90 % intervals have the measured knee | {mean_and_scatter(100 * mean.covered)} % | | |\n"
        f"| width of these, cores | {mean_and_scatter(mean.width)} | | |"
    )
    print("\n| what else, on the same folds | knee | throughput |\n|---|---|---|")
    for name, rows in ways.items():
        knee, off = np.array(rows).T
        error = "" if np.isnan(off).any() else f"{mean_and_scatter(100 * off)} %"
        print(f"| {name} | {mean_and_scatter(knee)} | {error} |")


def crossed(
    curves: Curves, seed: int
) -> tuple[Outcome, dict[str, tuple[np.ndarray, np.ndarray | None]]]:
    """Cross-validate the model of throughput curves, and alternatives on the same folds.

    Return the outcome of the model, and knees (advised numbers of cores) and curves of the
    alternatives by name.
    """
    count = len(curves.names)
    fold = np.random.default_rng(seed).permutation(count) % FOLDS
    seen_columns = columns(curves.functions)
    order, parts = np.argsort(np.argsort(fold, kind="stable")), []
    corrected, direct, curve = np.zeros((count, 7)), np.zeros(count), np.zeros((count, 7))
    single = np.zeros((count, 7))
    for one in range(FOLDS):
        seen, left = np.flatnonzero(fold != one), np.flatnonzero(fold == one)
        part, held_out = curves_of(curves, seen), curves_of(curves, left)
        members = cross(part, MEMBERS, seed)
        model = model_of(part, members)
        parts.append(compared(model, held_out, CONFIDENCE))
        single[left] = predict(
            model._replace(members=model.members[:1]), held_out.functions, CORES
        )[0]
        points = predict(model, held_out.functions, CORES).throughput
        off = np.log(part.throughput / members.throughput)
        x, y = seen_columns[seen], seen_columns[left]
        corrected[left] = points * np.exp(boosted(x, off, y))
        direct[left] = np.clip(
            np.rint(boosted(x, knees(part.throughput)[:, None], y)[:, 0]), CORES[0], CORES[-1]
        )
        curve[left] = np.exp(boosted(x, np.log(part.throughput), y))
    found = Outcome(*(np.concatenate(one)[order] for one in zip(*parts, strict=True)))
    return found, {
        "one fit of the network rather than the mean of five": (knees(single), single),
        "boosted trees on what the network leaves": (knees(corrected), corrected),
        "boosted trees for the curve, without the network": (knees(curve), curve),
        "boosted trees for the knee, without curves": (direct, None),
    }


def mean_and_scatter(values: np.ndarray) -> str:
    """Format the mean and the standard deviation over seeds."""
    scatter = f" ± {values.std(ddof=1):.2f}" if len(values) > 1 else ""
    return f"{values.mean():.2f}{scatter}"


def colocation(folder: Path, seeds: int) -> None:
    """Print how well the predicted order of pairs agrees with the measured order."""
    groups, pairs = read_measured(str(folder / "netronome-colocation" / "train.jsonl.gz"))
    true = truth(groups, pairs)
    found: dict[tuple[str, str], list[tuple[np.ndarray, np.ndarray]]] = {}
    for seed in range(seeds):
        started = time.monotonic()
        for way, one in ordered(groups, pairs, true, seed).items():
            for name in NAMES:
                agreed = agreement(true, one, name)
                found.setdefault((way, name), []).append((agreed.overlap, agreed.loss))
        print(
            f"  colocation, seed {seed} ({time.monotonic() - started:.0f} s)",
            file=sys.stderr,
            flush=True,
        )
    print(
        f"\n{groups.size} groups, {seeds} seeds, {FOLDS} folds; targets: throughput_total "
        f"{' / '.join(map(str, ORDER))}, loss 1 %; published script {' / '.join(map(str, PUBLISHED))}\n"
    )
    print("| score | way | overlap@1 | @2 | @3 | loss | @1 less than the network's |")
    print("|---|---|---|---|---|---|---|")
    for name in NAMES:
        for (way, score), rows in found.items():
            if score != name:
                continue
            base = f"network, {'with' if way.endswith('with solo') else 'without'} solo"
            own = np.mean([one for one, _ in rows], 0)
            lost = 100 * np.mean([one for _, one in rows])
            paired = np.mean([one for one, _ in found[base, name]], 0)[:, 0] - own[:, 0]
            error = paired.std(ddof=1) / np.sqrt(len(paired))
            print(
                f"| {name} | {way} | "
                + " | ".join(
                    f"{one.mean():.3f} ± {one.std(ddof=1) / np.sqrt(len(one)):.3f}" for one in own.T
                )
                + f" | {lost:.2f} % | "
                + ("" if way == base else f"{paired.mean():+.3f} ± {error:.3f}")
                + " |"
            )


def ordered(groups: Groups, pairs: Paired, true: Scores, seed: int) -> dict[str, Scores]:
    """Return the scores of all pairs by method. No model is trained with the group of the pair."""
    fold = np.random.default_rng(seed).permutation(groups.size) % FOLDS
    ways = ("network", "graded pairwise ranking", "ranking that sees the network's scores")
    found = {
        f"{way}, {solo} solo": np.zeros((len(NAMES), groups.size, len(FIRST)))
        for solo in ("without", "with")
        for way in ways
    }
    bare = without_solo(groups)
    for one in range(FOLDS):
        seen, left = np.flatnonzero(fold != one), np.flatnonzero(fold == one)
        model = learn_pairs(*groups_at(groups, pairs, seen), seed)
        for solo, every in (("without", bare), ("with", groups)):
            predicted = shared(model, every)
            network = scores(
                predicted.alone, predicted.alone_latency, predicted.pairs, predicted.pairs_latency
            )
            plain = features(groups, solo == "with")
            both = np.concatenate(
                [np.stack([higher_is_better(network, name) for name in NAMES], -1), plain], -1
            )
            for at, name in enumerate(NAMES):
                sign = -1 if name.startswith("latency") else 1
                found[f"{ways[0]}, {solo} solo"][at, left] = network[at][left]
                target = higher_is_better(true, name)[seen]
                for way, x in ((ways[1], plain), (ways[2], both)):
                    weights = ranked(x[seen], target)
                    found[f"{way}, {solo} solo"][at, left] = sign * (x[left] @ weights)
    return {way: Scores(*one) for way, one in found.items()}


def features(groups: Groups, solo: bool) -> np.ndarray:
    """Return features of pairs that do not depend on the order of their functions.

    They are sums, products and distances of features of both functions.
    """
    one = columns(groups.functions)
    if solo:
        alone = np.log(np.stack([groups.alone.throughput, groups.alone.latency], -1))
        one = np.concatenate([one, alone.reshape(-1, 2)], 1)
    one = (one / np.maximum(one.std(0), 1e-9)).reshape(groups.size, 4, -1)
    first, second = one[:, FIRST], one[:, SECOND]
    found = np.concatenate([first + second, first * second, np.abs(first - second)], -1)
    found = found - found.mean(1, keepdims=True)
    return np.asarray(found / np.maximum(found.reshape(-1, found.shape[-1]).std(0), 1e-9))


def ranked(x: np.ndarray, scores: np.ndarray, ridge: float = 1e-2) -> np.ndarray:
    """Train a pairwise logistic ranking and return its weights.

    The larger the difference between two scores, the more their comparison counts.
    """
    x = x - x.mean(1, keepdims=True)
    scale = np.maximum(x.reshape(-1, x.shape[-1]).std(0), 1e-9)
    one, other = np.triu_indices(x.shape[1], 1)
    gaps = (scores[:, one] - scores[:, other]).ravel()
    differences = ((x[:, one] - x[:, other]) / scale).reshape(-1, x.shape[-1]) * np.sign(gaps)[
        :, None
    ]
    grade = np.abs(gaps) / np.abs(gaps).mean()

    def cost(weights: np.ndarray) -> tuple[float, np.ndarray]:
        ahead = differences @ weights
        value = (grade * np.logaddexp(0, -ahead)).mean() + ridge * weights @ weights
        wrong = grade / (1 + np.exp(np.clip(ahead, -30, 30)))
        return float(value), 2 * ridge * weights - (differences * wrong[:, None]).mean(0)

    return np.asarray(minimize(cost, np.zeros(x.shape[-1]), jac=True, method="L-BFGS-B").x / scale)


def main() -> int:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder", type=Path, help="where netronome-scaling and the other tables are"
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--part", choices=PARTS, action="append")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in given.part or PARTS:
        if part == "colocation":
            colocation(given.folder, given.seeds)
        else:
            cores(given.folder, part.removeprefix("cores-"), given.seeds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
