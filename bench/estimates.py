"""How near are estimates of the target `linux-xdp` to measurements, and to those of simpler models?

    estimates.py take OUT.jsonl [--paths K] [--seconds S] [--cpu N] [--target T] OBJECT...
    estimates.py compare OUT.jsonl [--calibration DIR] [--target T] [--limit X] [--families]

`take` analyses each XDP program of the objects, measures the K paths that are estimated to be the
slowest in the running kernel, and appends a line for each program; what is in the file already is
not measured again, unless the machine was disturbed then. An argument `@FILE` names a file with an
object a line. `compare` says how far off estimates are, and, with the directory of a `slowpath
calibrate`, how far off models are that were fitted to the same experiments: instructions times a
constant, a sum of what instructions and calls take, and such a sum with the longest chain of
instructions that wait for each other.
"""

import argparse
import json
import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.stats import spearmanr

from slowpath import engine
from slowpath.analysis.analyst import Audience
from slowpath.analysis.options import WrittenOptions, choose_target, read_request
from slowpath.analysis.session import Session
from slowpath.cli.errors import InputError
from slowpath.experiments.cores.observations import observations
from slowpath.experiments.results.folder import RunFolder
from slowpath.measurements.paths import slowest
from slowpath.measurements.programs import prepare_program
from slowpath.measurements.timing.bench import KernelBench
from slowpath.measurements.timing.sampling import Quota, measure
from slowpath.work.stopping import Stopping

Model = Callable[[str], float]
Stored = dict[str, Any]
"""A path, as its text has it."""
Counts = Callable[[Stored], Mapping[str, float]]

QUIET = 1.05
"""Measurements count whose samples were this near to undisturbed ones."""
ALONE = 1.1
"""And whose loop took this much of the quickest one at most: then no other CPU shared the core."""
LEAST_NS = 10.0
"""Of programs that take less than this, the difference is told, not its share."""
DEADLINE = 8.0
FEW = 4
"""Paths that an order makes sense of."""
NEARLY = 0.97
LATENCY = {
    "multiply": 3.0,
    "divide": 10.0,
    "load": 4.0,
    "atomic": 7.0,
    "renamed": 0.0,
    "constant": 0.0,
}


def take(given: argparse.Namespace) -> None:
    """Measures, and appends to the file."""
    out = Path(given.out)
    known = (
        {(one["file"], one["program"]) for one in read(out, given.limit)} if out.exists() else set()
    )
    cpu = max(os.sched_getaffinity(0)) if given.cpu is None else given.cpu
    station = engine.open_station(engine.open_kernel(), cpu)
    for file in objects(given.objects):
        try:
            for program in programs(file, station, known, given):
                with out.open("a") as lines:
                    lines.write(json.dumps(program) + "\n")
                count, limit = len(program["paths"]), program["limit"]
                print(f"{file} {program['program']}: {count} paths, limit {limit:.2f}", flush=True)
        except InputError as problem:
            print(f"{file}: {problem}", flush=True)


def objects(given: Sequence[str]) -> Iterator[str]:
    for name in given:
        if name.startswith("@"):
            yield from Path(name[1:]).read_text().split()
        else:
            yield name


def programs(
    file: str, station: engine.Station, known: set[tuple[str, str]], given: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    options = WrittenOptions(target=given.target, paths=given.paths, deadline=DEADLINE)
    for analysed in Session(read_request([file], options)).analyse(Audience(Stopping())):
        name = analysed.result["program"]
        if (file, name) in known:
            continue
        chosen = prepare_program(
            station, analysed, lambda p: slowest(p, given.paths), lambda *_: True
        )
        if not chosen.cases:
            continue
        quota = Quota(0.01, max(1.0, given.seconds * len(chosen.cases)))
        try:
            outcome = measure(KernelBench(station, chosen.cases), quota, lambda _: True)
        except InputError as problem:
            print(f"{file} {name}: {problem}", flush=True)
            continue
        rows = []
        for case, number, found in zip(chosen.cases, chosen.numbers, outcome.subjects, strict=True):
            rank = chosen.record["paths"][number]["rank"] or 1
            estimate = analysed.result["paths"][rank - 1]["estimate"]
            if found is None or estimate is None:
                continue
            flow = engine.flow(case)
            rows.append(
                {
                    "ns": found.run.value,
                    "program_ns": found.net.value,
                    "loads": found.loads,
                    "estimate": estimate,
                    "instructions": case.instructions,
                    "answered": case.answered,
                    "flow": None if flow is None else flow.text(),
                }
            )
        yield {"file": file, "program": name, "limit": outcome.limit, "paths": rows}


def read(file: Path, limit: float) -> list[dict[str, Any]]:
    """The programs of a file that were measured undisturbed; of several times the last one."""
    found = dict[tuple[str, str], dict[str, Any]]()
    for line in file.read_text().splitlines():
        one = json.loads(line)
        # Where a call's answer had to be given, the call was not made, and not timed.
        one["paths"] = [path for path in one["paths"] if not path["answered"]]
        if one["limit"] <= limit and one["paths"]:
            found[one["file"], one["program"]] = one
    quickest = min((loop_ns(one) for one in found.values()), default=0.0)
    return [one for one in found.values() if loop_ns(one) <= ALONE * quickest]


def loop_ns(program: dict[str, Any]) -> float:
    """What the kernel's loop took without the program: more while another CPU shares the core."""
    return float(median(path["ns"] - path["program_ns"] for path in program["paths"]))


class Sum:
    """What is counted of a path, each at its price, added up."""

    def __init__(self, flows: Sequence[str], times: Sequence[float], counts: Counts) -> None:
        """Finds the prices by these paths and what they take."""
        self._counts = counts
        counted = [counts(json.loads(flow)) for flow in flows]
        self._columns = sorted({name for each in counted for name in each})
        weights = 1 / np.array(times)
        matrix = np.array([self._row(each) for each in counted])
        self._prices, _ = nnls(matrix * weights[:, None], np.array(times) * weights)

    def _row(self, counted: Mapping[str, float]) -> list[float]:
        return [counted.get(name, 0.0) for name in self._columns]

    def __call__(self, flow: str) -> float:
        """Nanoseconds of a path."""
        return float(np.array(self._row(self._counts(json.loads(flow)))) @ self._prices)


def constant(flow: Stored) -> Counter[str]:
    """The kernel's loop, and how many instructions there are."""
    return Counter(loop=1, instructions=len(flow["steps"]))


def calls(flow: Stored) -> Counter[str]:
    """The kernel's loop, and what is called."""
    counts = Counter(loop=1)
    for name, size, zero in flow["calls"]:
        counts[f"{name} {zero}" if "lookup" in name or "delete" in name else name] += 1
        counts["bytes"] += size if "hash" in name else 0
    return counts


def classes(flow: Stored) -> Counter[str]:
    """The same, and how many instructions there are of each class."""
    return calls(flow) + Counter(
        "jump" if jumps else work for work, _, _, jumps, _, _ in flow["steps"]
    )


def chains(flow: Stored) -> Counter[str]:
    """The same, and the longest chain of instructions that wait for each other."""
    ready, longest = [0.0] * 11, 0.0
    for work, reads, writes, _, _, _ in flow["steps"]:
        done = max((ready[one] for one in reads), default=0.0) + LATENCY.get(work, 1.0)
        longest = max(longest, done)
        if writes is not None:
            ready[writes] = done
    return classes(flow) + Counter(chain=round(longest))


SIMPLER: dict[str, Counts] = {
    "instructions x constant": constant,
    "sum": classes,
    "sum with chains": chains,
}


def fitted(directory: str) -> dict[str, Model]:
    """Simpler models, of the same experiments."""
    run = RunFolder(Path(directory))
    seen = [
        one
        for name in run.settings()["experiments"]
        if run.of(name).measured
        for one in observations(name, run.of(name))
    ]
    flows, times = [one.flow.text() for one in seen], [one.ns for one in seen]
    return {name: Sum(flows, times, counts) for name, counts in SIMPLER.items()}


def estimating(name: str) -> Model:
    """What a target estimates."""
    target = choose_target(name)
    return lambda flow: engine.nanoseconds([engine.flow_of(flow)], target)[0]


def compare(given: argparse.Namespace) -> None:
    """Prints how far off estimates are."""
    measured = read(Path(given.out), given.limit)
    own = None if given.target is None else estimating(given.target)
    models: dict[str, Model | None] = {
        "linux-xdp": own,
        **(fitted(given.calibration) if given.calibration else {}),
    }
    for name, model in models.items():
        print(f"\n{name}")
        told(measured, model, intervals=name == "linux-xdp")
    if given.families:
        print()
        for one in sorted(measured, key=lambda one: one["file"]):
            errors = [error_of(path, own) for path in one["paths"]]
            mape = mean(abs(error) for error in errors)
            where = f"{Path(one['file']).name}:{one['program']}"
            print(f"  {where:<60} {len(errors):>3}  {mape:6.1%}  bias {mean(errors):+.1%}")


def predicted(path: dict[str, Any], model: Model | None) -> float | None:
    if model is None:
        return float(path["estimate"]["ns"])
    return None if path["flow"] is None else model(path["flow"])


def error_of(path: dict[str, Any], model: Model | None) -> float:
    guess = predicted(path, model)
    return float("nan") if guess is None else guess / path["ns"] - 1


def told(measured: Sequence[dict[str, Any]], model: Model | None, *, intervals: bool) -> None:
    large, small, own = list[float](), list[float](), list[float]()
    by_program, orders, worst = defaultdict[int, list[float]](list), list[float](), list[float]()
    best_orders, unbiased = list[float](), list[float]()
    inside = 0
    for number, one in enumerate(measured):
        paths = [path for path in one["paths"] if predicted(path, model) is not None]
        for path in paths:
            error = abs(error_of(path, model))
            if path["program_ns"] < LEAST_NS:
                small.append(error * path["ns"])
                continue
            large.append(error)
            own.append(error * path["ns"] / path["program_ns"])
            by_program[number].append(error)
            estimate, guess = path["estimate"], predicted(path, model) or 0.0
            low, high = (estimate[end] / estimate["ns"] * guess for end in ("low_ns", "high_ns"))
            inside += low <= path["ns"] <= high
        times = [path["ns"] for path in paths]
        if len(paths) >= FEW and max(times) > 1.1 * min(times):
            guesses = [predicted(path, model) for path in paths]
            orders.append(float(spearmanr(guesses, times)[0]))
            best_orders.append(most_possible(paths))
        if len(paths) > 1:
            at = int(np.argmax([predicted(path, model) or 0.0 for path in paths]))
            worst.append(times[at] / max(times))
            unbiased.append(of_the_slowest(paths, at))
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
    for what, found in (("measured", worst), ("by other loads", unbiased)):
        share = mean(one >= NEARLY for one in found) if found else 1.0
        print(
            f"  the slowest by estimate takes 97 % of the slowest, {what}, or more: {share:.0%} "
            f"of {len(found)}"
        )
    if intervals:
        print(f"  inside of the interval: {inside / max(len(large), 1):.0%}")


def halves(paths: Sequence[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """What the paths of a program took in every other load, and in the loads between."""
    loads = np.array([path["loads"] for path in paths], dtype=float)
    return np.nanmean(loads[:, ::2], axis=1), np.nanmean(loads[:, 1::2], axis=1)


def of_the_slowest(paths: Sequence[dict[str, Any]], at: int) -> float:
    """What a path takes of what the slowest one does.

    Of paths that take nearly the same, the one with the largest measured time is mostly one that
    was measured too high. So the slowest one is chosen by half of the loads, and its time is that
    of the other half.
    """
    one, other = halves(paths)
    found = (judge[at] / judge[np.argmax(choice)] for choice, judge in ((one, other), (other, one)))
    return float(np.mean(list(found)))


def most_possible(paths: Sequence[dict[str, Any]]) -> float:
    """How well the order of true times would agree with that of measured ones.

    By the order of two halves of the measurement (Spearman-Brown, and correction for attenuation).
    """
    between = float(spearmanr(*halves(paths))[0])
    return math.sqrt(max(2 * between / (1 + between), 0.0)) if between > -1 else 0.0


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
    taking.set_defaults(run=take)
    comparing = commands.add_parser("compare")
    comparing.add_argument("out")
    comparing.add_argument("--calibration")
    comparing.add_argument("--target", help="another one than was measured beside")
    comparing.add_argument("--limit", type=float, default=QUIET)
    comparing.add_argument("--families", action="store_true", help="each program by itself")
    comparing.set_defaults(run=compare)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
