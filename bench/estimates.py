"""Compare estimates of the target `linux-xdp`, and those of simpler models, with measurements.

    estimates.py take OUT.jsonl [--paths K] [--seconds S] [--cpu N] [--target T] OBJECT...
    estimates.py compare OUT.jsonl [--calibration DIR] [--target T] [--limit X] [--families]
    estimates.py paths OUT.jsonl PATHS.csv --target T...
    estimates.py summary PATHS.csv

`take` analyses each XDP program of the objects, C sources and P4 programs, and measures the K paths with the largest estimates
in the running kernel. It appends a line for each program. Programs in the file are not measured
again, unless the machine was disturbed. Candidates for the slowest path are measured again, together
and with many more loads. An argument `@FILE` names a file with one object per line. `compare` prints
the errors of estimates. With the directory of a `slowpath calibrate`, it also prints the errors of
models fitted to the same experiments. These are instructions times a constant, a sum over
instructions and calls, and such a sum with the longest chain of dependent instructions. `paths`
writes a row for each path and target, and `summary` prints the errors in such a file.
"""

import argparse
import csv
import math
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from estimation.simpler import Model, fitted
from estimation.stored import NEARLY, QUIET, Program, contenders, read
from estimation.taking import Plan, take
from scipy.stats import spearmanr, t

from slowpath.bounds.options import choose_target
from slowpath.core.engine import targets

TARGETS = Path(__file__).parent.parent / "targets"
LEAST_NS = 10.0
"""Limit in ns; for faster programs, errors are reported in ns instead of as shares."""
FEW = 4
"""Minimum number of paths of a program for which the order of paths is compared."""


def estimating(name: str) -> Model:
    """Return a function that estimates the time of a path on a target, in nanoseconds."""
    target = choose_target(name)
    return lambda flow: targets.nanoseconds([targets.flow_of(flow)], target)[0]


def error_of_target(name: str) -> tuple[float, float]:
    """Return the ends of a target's error interval, as factors of an estimate."""
    file = Path(name) if Path(name).is_file() else TARGETS / f"{name}.toml"
    error = tomllib.loads(file.read_text())["timing"]["error"]
    return error["low"], error["high"]


def compare(given: argparse.Namespace) -> None:
    """Print the errors of a target's estimates, and those of simpler models."""
    measured = read(Path(given.out), given.limit)
    own = estimating(given.target)
    simpler = fitted(given.calibration) if given.calibration else {}
    for name, model in {given.target: own, **simpler}.items():
        print(f"\n{name}")
        print_errors(measured, model)
    low, high = error_of_target(given.target)
    print(f"\ninside of the interval: {share_inside(measured, own, low, high):.0%}")
    if given.families:
        print()
        for one in sorted(measured, key=lambda one: one["file"]):
            errors = [error_of(path, own) for path in known(one)]
            mape = mean(abs(error) for error in errors)
            where = f"{Path(one['file']).name}:{one['program']}"
            print(f"  {where:<60} {len(errors):>3}  {mape:6.1%}  bias {mean(errors):+.1%}")


def known(program: Program) -> list[dict[str, Any]]:
    """Return the paths of a program whose executed instructions are known; models need these."""
    return [path for path in program["paths"] if path["flow"] is not None]


def error_of(path: dict[str, Any], model: Model) -> float:
    """Return the relative error of a model's estimate, compared with a path's measured time."""
    return model(path["flow"]) / float(path["ns"]) - 1


def share_inside(measured: Sequence[Program], model: Model, low: float, high: float) -> float:
    """Return the fraction of long paths whose measured time is within the estimated interval.

    `low` and `high` are the ends of the interval, as factors of the estimate.
    """
    large = [path for one in measured for path in known(one) if path["program_ns"] >= LEAST_NS]
    return mean(low <= path["ns"] / model(path["flow"]) <= high for path in large)


def print_errors(measured: Sequence[Program], model: Model) -> None:
    """Print the errors of a model's estimates for all measured paths."""
    large, small, own = list[float](), list[float](), list[float]()
    by_program, orders, worst = defaultdict[int, list[float]](list), list[float](), list[float]()
    best_orders = list[float]()
    for number, one in enumerate(measured):
        paths = known(one)
        for path in paths:
            error = abs(error_of(path, model))
            if path["program_ns"] < LEAST_NS:
                small.append(error * path["ns"])
                continue
            large.append(error)
            own.append(error * path["ns"] / path["program_ns"])
            by_program[number].append(error)
        times = [path["ns"] for path in paths]
        guesses = [model(path["flow"]) for path in paths]
        if len(paths) >= FEW and max(times) > 1.1 * min(times):
            orders.append(float(spearmanr(guesses, times)[0]))
            best_orders.append(most_possible(paths))
        if len(paths) > 1:
            worst.append(of_the_slowest(paths, int(np.argmax(guesses))))
    programs = [mean(errors) for errors in by_program.values()]
    print(f"  paths of {LEAST_NS:.0f} ns or more: {len(large)}, of {len(programs)} programs")
    print(f"  error, by paths: {mean(large):.1%} in the mean, {median(large):.1%} in the median")
    print(f"  error, by programs: {mean(programs):.1%}, {median(programs):.1%}")
    print(f"  of what the program adds: {mean(own):.1%}, {median(own):.1%}")
    if small:
        print(f"  below: {len(small)} paths, {median(small):.2f} ns in the median")
    if orders:
        print(
            f"  order inside of programs (Spearman): {median(orders):.2f} in the median; "
            f"{median(best_orders):.2f} if estimates were true"
        )
    if worst:
        print(
            f"  the slowest by estimate takes {NEARLY:.0%} of the slowest or more: "
            f"{mean(one >= NEARLY for one in worst):.0%} of {len(worst)}"
        )


def halves(paths: Sequence[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """Return two mean times for each path: each from one half of its measurements."""
    loads = np.array([path["loads"] for path in paths], dtype=float)
    return np.nanmean(loads[:, ::2], axis=1), np.nanmean(loads[:, 1::2], axis=1)


def of_the_slowest(paths: Sequence[dict[str, Any]], at: int) -> float:
    """Return the measured time of the path `at`, divided by that of the slowest path.

    Among paths with nearly equal times, the largest measured time is usually too high. If several
    paths may be the slowest, only the times of their joint repetition (`again`) therefore count.
    """
    several = [paths[one]["again"] for one in contenders(paths)]
    if paths[at]["again"] is None or len(several) == 1:
        return float(paths[at]["ns"] / max(path["ns"] for path in paths))
    times = [np.nanmean(np.array(loads, dtype=float)) for loads in several if loads is not None]
    return float(np.nanmean(np.array(paths[at]["again"], dtype=float)) / max(times))


def most_possible(paths: Sequence[dict[str, Any]]) -> float:
    """Return the highest rank correlation with measured times that any estimates could reach.

    It follows from the correlation between two halves of the measurement (Spearman-Brown, and
    correction for attenuation).
    """
    between = float(spearmanr(*halves(paths))[0])
    return math.sqrt(max(2 * between / (1 + between), 0.0)) if between > -1 else 0.0


COLUMNS = ("program", "instructions", "measured_ns", "half_width_ns", "program_ns")
"""Columns of a file with paths, before those of targets. `measured_ns` includes the kernel's loop,
`program_ns` does not, and `half_width_ns` is that of the 95 % interval of `measured_ns`."""
ENDS = ("ns", "low_ns", "high_ns")
"""Suffixes of the columns with a target's estimate for `measured_ns`, and with the ends of its
interval."""
STABLE = 0.05
"""Maximum half width of the 95 % interval of a path's measured time, as a share of the time.

Paths with wider intervals are left out.
"""


def half_width(loads: Sequence[float | None]) -> float:
    """Return half the width of the 95 % interval of a mean over loads (Student's t).

    `loads` are the mean times of single loads of the programs.
    """
    known = np.array([one for one in loads if one is not None])
    if len(known) < 2:  # noqa: PLR2004 - two loads have a spread
        return math.inf
    return float(t.ppf(0.975, len(known) - 1) * known.std(ddof=1) / math.sqrt(len(known)))


def write_paths(given: argparse.Namespace) -> None:
    """Write a CSV file with a row for each measured path, and the estimates of each target."""
    targets = [(estimating(name), *error_of_target(name)) for name in given.target]
    names = [target_name(name) for name in given.target]
    with Path(given.csv).open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow((*COLUMNS, *(f"{name}_{end}" for name in names for end in ENDS)))
        for one in sorted(read(Path(given.out), given.limit), key=lambda one: named(one["file"])):
            for path in known(one):
                times = [path["ns"], half_width(path["loads"]), path["program_ns"]]
                for model, low, high in targets:
                    guess = model(path["flow"])
                    times += [guess, low * guess, high * guess]
                row = (named(one["file"]), path["instructions"], *(f"{time:.2f}" for time in times))
                writer.writerow(row)


def named(file: str) -> str:
    """Return the file name of a program with its folder, to distinguish equal names."""
    return "/".join(Path(file).parts[-2:])


def target_name(target: str) -> str:
    """Return the name of a shipped target, or of the folder with the target of a calibration."""
    return Path(target).parent.name if Path(target).is_file() else target


def summarise(given: argparse.Namespace) -> None:
    """Print the errors of each target's estimates for the paths in a CSV file."""
    with Path(given.csv).open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    long = [row for row in rows if float(row["program_ns"]) >= LEAST_NS]
    stable = [r for r in long if float(r["half_width_ns"]) <= STABLE * float(r["measured_ns"])]
    count = len({row["program"] for row in stable})
    print(f"{len(stable)} paths of {count} programs; {len(long) - len(stable)} unstable left out")
    print("target                   mean error   median   90th percentile   in the interval")
    times = np.array([float(row["measured_ns"]) for row in stable])
    for name in (name for name in rows[0] if name.endswith("_high_ns")):
        target = name.removesuffix("_high_ns")
        guess, low, high = (
            np.array([float(row[f"{target}_{end}"]) for row in stable]) for end in ENDS
        )
        errors = np.abs(guess / times - 1)
        inside = (low <= times) & (times <= high)
        print(
            f"{target:24} {errors.mean():10.1%} {np.median(errors):8.1%}"
            f" {np.quantile(errors, 0.9):17.1%} {inside.mean():17.1%}"
        )


def measuring(given: argparse.Namespace) -> None:
    """Measure paths of programs, and append the results to the file `given.out`."""
    plan = Plan(
        target=given.target,
        paths=given.paths,
        seconds=given.seconds,
        deadline=given.deadline,
        limit=given.limit,
        cpu=given.cpu,
    )
    take(Path(given.out), given.objects, plan)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    taking = commands.add_parser("take")
    taking.add_argument("out")
    taking.add_argument("objects", nargs="+")
    taking.add_argument("--paths", type=int, default=50)
    taking.add_argument("--seconds", type=float, default=0.15, help="for each path")
    taking.add_argument("--cpu", type=int)
    taking.add_argument("--target", default="linux-xdp")
    taking.add_argument("--limit", type=float, default=QUIET)
    taking.add_argument("--deadline", type=float, default=8.0, help="seconds to analyse a program")
    taking.set_defaults(run=measuring)
    comparing = commands.add_parser("compare")
    comparing.add_argument("out")
    comparing.add_argument("--calibration")
    comparing.add_argument("--target", default="linux-xdp")
    comparing.add_argument("--limit", type=float, default=QUIET)
    comparing.add_argument("--families", action="store_true", help="each program by itself")
    comparing.set_defaults(run=compare)
    writing = commands.add_parser("paths")
    writing.add_argument("out")
    writing.add_argument("csv")
    writing.add_argument("--target", nargs="+", default=["linux-xdp"])
    writing.add_argument("--limit", type=float, default=QUIET)
    writing.set_defaults(run=write_paths)
    summing = commands.add_parser("summary")
    summing.add_argument("csv")
    summing.set_defaults(run=summarise)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
