#!/usr/bin/env python3
"""Measures advice on cores and neighbours from counts and prices, for functions with known curves.

Published functions (training tables only) are assessed from their counts, as by `slowpath insights
FILE`, and compared with their measurements; also with prices that exclude one of their elements.
docs/explanation/insights-accuracy.md has the tables:

    research/insights_demands.py ../shared/validation [--draws N] [--every N] [--wider X ...]

Exits with status 2 if the published tables are missing.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from demands_evaluation import (
    Outcome,
    Settings,
    beside_others,
    chosen,
    compared,
    left_out,
    without_filters,
)
from slowpath.insights.cores import model
from slowpath.insights.cores import pairs as pairing
from slowpath.insights.cores.curves import CORES, Curves, read_curves
from slowpath.insights.cores.groups import read_measured
from slowpath.insights.cores.prices import DRAWS, WIDER, prices_of, shipped_fits
from slowpath.reproduce.insights import curves_of

CONFIDENCE = 0.9


def row(name: str, one: Outcome) -> str:
    errors = 100 * np.abs(one.throughput).mean(0)
    at = {cores: errors[CORES.index(cores)] for cores in (24, 42, 60)}
    return (
        f"| {name} | {len(one.knee)} | {one.knee.mean():.2f} | {100 * one.share.mean():.1f} % | "
        + " | ".join(f"{value:.1f} %" for value in at.values())
        + f" | {100 * np.median(one.throughput):+.1f} % | {100 * one.covered.mean():.1f} % | "
        f"{one.width.mean():.1f} | {100 * one.within.mean():.1f} % |"
    )


def joined(many: list[Outcome]) -> Outcome:
    return Outcome(*(np.concatenate(part) for part in zip(*many, strict=True)))


def head() -> str:
    return (
        "| | functions | knee, mean error, cores | of the most throughput | error at 24 cores | 42 "
        "| 60 | median | knee in its interval | width, cores | throughput in its interval |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|"
    )


def tables(curves: dict[str, Curves], settings: Settings, details: bool) -> None:
    """Print errors for all functions, and for those without filters.

    With `details`, also print errors if the prices of one element are unknown.
    """
    print(head())
    fits = shipped_fits()
    for traffic, one in curves.items():
        print(row(f"{traffic}, all", compared(fits, one, settings)), flush=True)
        print(row(f"{traffic}, without filters", compared(fits, without_filters(one), settings)))
        without = left_out(fits, one, settings)
        print(row(f"{traffic}, an element unknown", joined([*without.values()])), flush=True)
        for name, outcome in without.items() if details else ():
            print(row(f"{traffic}, {name} unknown", outcome))


def neighbours(folder: Path, settings: Settings) -> None:
    """Print the errors of predicted throughput for functions that have a neighbour on the card."""
    groups, pairs = read_measured(str(folder / "netronome-colocation" / "train.jsonl.gz"))
    found = beside_others(pairing.shipped().parameters, groups, pairs, settings)
    errors, true, best = np.abs(found.predicted - found.measured), found.measured, chosen(found)
    print(
        f"\n{groups.size} groups: what is kept is off by {100 * errors.mean():.2f} points in the mean, "
        f"{100 * np.median(found.predicted - found.measured):+.2f} in the median "
        f"(as it is everywhere: {100 * np.abs(true - true.mean()).mean():.2f}), correlation "
        f"{np.corrcoef(found.predicted, found.measured)[0, 1]:.2f}; {100 * found.covered.mean():.1f} % "
        f"in 90 % intervals; the best of three neighbours is found for {100 * best.right.mean():.1f} %, "
        f"what is lost by others is {100 * best.lost.mean():.2f} points, by lot {100 * best.lot.mean():.2f}"
    )


def prices() -> None:
    """Print the costs of instructions and accesses, and their variation by fit and by element."""
    found = prices_of(shipped_fits().parameters)
    names = ("instruction", "waiting, IMEM", "waiting, EMEM", "busy, IMEM", "busy, EMEM", "way")
    prices_of_all = (found.instruction, *found.waiting, *found.service, found.way)
    print("| | ns | between fits | between elements |\n|---|---|---|---|")
    for name, one in zip(names, prices_of_all, strict=True):
        print(
            f"| {name} | {one.each.mean():.3g} | {100 * one.each.std() / one.each.mean():.0f} % "
            f"| {100 * one.spread:.0f} % |"
        )


def main() -> int:
    """Read the command line, and print all tables; return 2 if published tables are missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where netronome-scaling is")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--every", type=int, default=1, help="only each so many-th function")
    parser.add_argument("--wider", type=float, nargs="*", default=[WIDER])
    parser.add_argument("--details", action="store_true", help="by element that is unknown")
    given = parser.parse_args()
    folder = given.folder / "netronome-scaling"
    if not folder.is_dir():
        print(f"{folder}: is not there; name the folder of published measurements", file=sys.stderr)
        return 2
    prices()
    curves = {}
    for traffic in model.TRAFFIC:
        functions = read_curves(str(folder / f"{traffic}.csv.gz"))
        curves[traffic] = curves_of(functions, np.arange(0, len(functions.names), given.every))
    for wider in given.wider:
        print(f"\nspreads x {wider:g}\n")
        settings = Settings(CONFIDENCE, given.draws, wider)
        tables(curves, settings, given.details)
        neighbours(given.folder, settings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
