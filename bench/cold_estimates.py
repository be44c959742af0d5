#!/usr/bin/env python3
"""Compare estimates of times in cold caches with `slowpath measure --cache cold`.

    cold_estimates.py take OUT.jsonl [--paths K] [--seconds S] [--cpu N] OBJECT...
    cold_estimates.py compare OUT.jsonl [--target T]...

`take` analyses each XDP program of the objects, and measures the K paths with the largest estimates
in the running kernel, first in warm and then in cold caches. It appends a line for each program
with such a path. `compare` estimates the same paths with as many map entries as the measurement had
flows, and prints errors and the factors that cover 90 of 100 measurements. Times are those of the
program, without the loop of test runs.
"""

import argparse
import json
import os
from collections import defaultdict
from pathlib import Path
from statistics import mean, median
from typing import Any

from estimation.taking import flow_of, objects

from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.options import WrittenOptions, choose_target, read_request
from slowpath.core.engine import kernel, targets
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping
from slowpath.measure.bench import KernelBench
from slowpath.measure.cold import last_level, measure_cold
from slowpath.measure.machine import Files, processor
from slowpath.measure.programs import PreparedProgram, prepare_program, slowest
from slowpath.measure.sampling import ProgressCallbacks, StopCriteria, measure
from slowpath.measure.statistics import quantile

COVERED = 0.90
"""Share of the measurements that the printed factors cover."""
LEAST_NS = 10.0
"""Minimum time in cold caches, in ns, for a path to be compared.

Shorter times do not stand out from the noise of the test-run loop.
"""
EMPTY = '{"steps": [], "calls": []}'


def take(given: argparse.Namespace) -> None:
    """Measure programs with warm and cold caches, and append the results to a file."""
    out = Path(given.out)
    lines = out.read_text().splitlines() if out.exists() else []
    known = {(one["file"], one["program"]) for one in map(json.loads, lines)}
    cpu = max(os.sched_getaffinity(0)) if given.cpu is None else given.cpu
    cache_bytes = last_level(processor(Files(), cpu)["caches"])
    station = kernel.open_station(kernel.open_kernel(), cpu)
    options = WrittenOptions(target="linux-xdp", paths=given.paths, deadline=given.deadline)
    for file in objects(given.objects):
        try:
            analyses = Session(read_request([file], options)).analyse(RunContext(Stopping()))
            for analysed in analyses:
                name = analysed.result["program"]
                if (file, name) in known:
                    continue
                chosen = prepare_program(
                    station, analysed, lambda p: slowest(p, given.paths), lambda *_: True
                )
                paths = measured(station, chosen, cache_bytes, given.seconds)
                print(f"{file} {name}: {len(paths)} of {len(chosen.cases)} paths", flush=True)
                if paths:
                    record = {"file": file, "program": name, "paths": paths}
                    with out.open("a") as opened:
                        opened.write(json.dumps(record) + "\n")
        except InputError as problem:
            print(f"{file}: {problem}", flush=True)


def measured(
    station: kernel.Station, chosen: PreparedProgram, cache_bytes: int | None, seconds: float
) -> list[dict[str, Any]]:
    """Measure the prepared paths of a program; return those with a time in cold caches.

    `seconds` is the time for each path.
    """
    if not chosen.cases:
        return []
    quota = StopCriteria(0.02, max(1.0, seconds * len(chosen.cases)))
    outcome = measure(KernelBench(station, chosen.cases), quota, lambda _: True)
    chosen.record["baseline_ns"] = None if outcome.baseline is None else outcome.baseline.value
    rows = [chosen.record["paths"][number] for number in chosen.numbers]
    for row, found in zip(rows, outcome.subjects, strict=True):
        if found is not None:
            row["measured_ns"], row["spread_ns"] = found.run.value, found.run.spread
    callbacks = ProgressCallbacks(lambda *_: True, lambda _: True)
    measure_cold(station, chosen, cache_bytes, quota, callbacks)
    return [
        {
            "flow": flow_of(case),
            "warm_ns": row["measured_ns"],
            "baseline_ns": chosen.record["baseline_ns"],
            "cold": row["cold"],
        }
        for row, case in zip(rows, chosen.cases, strict=True)
        if row["cold"] is not None and not case.answered and flow_of(case) is not None
    ]


def compare(given: argparse.Namespace) -> None:
    """Print the errors of time estimates for each target, compared with the measurements."""
    programs = [json.loads(line) for line in Path(given.out).read_text().splitlines()]
    for name in given.target or ["linux-xdp"]:
        target = choose_target(name)
        (loop,) = targets.nanoseconds([targets.flow_of(EMPTY)], target)
        by_program = defaultdict[str, list[float]](list)
        for one in programs:
            for path in one["paths"]:
                flow, cold = targets.flow_of(path["flow"]), path["cold"]
                (run,) = targets.nanoseconds([flow], target, cold["flows"], cold["entry_bytes"])
                real = cold["measured_ns"] - path["baseline_ns"]
                if real >= LEAST_NS:
                    by_program[f"{one['file']} {one['program']}"].append((run - loop) / real)
        ratios = [ratio for found in by_program.values() for ratio in found]
        errors = [abs(ratio - 1) for ratio in ratios]
        own = [mean(abs(ratio - 1) for ratio in found) for found in by_program.values()]
        factors = sorted(1 / ratio for ratio in ratios)
        low, high = (quantile(factors, end) for end in ((1 - COVERED) / 2, (1 + COVERED) / 2))
        print(f"\n{name}: {len(ratios)} paths of {len(by_program)} programs")
        print(
            f"  error by paths: {mean(errors):.0%} in the mean, {median(errors):.0%} in the median"
        )
        print(f"  error by programs: {mean(own):.0%}, {median(own):.0%}")
        print(f"  measured times are {low:.2f} to {high:.2f} times the estimate for {COVERED:.0%}")
        for program, found in sorted(by_program.items()):
            print(f"    {program}: {', '.join(f'{ratio - 1:+.0%}' for ratio in found)}")


def main() -> None:
    """Run the subcommand that is named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    taking = commands.add_parser("take")
    taking.add_argument("out")
    taking.add_argument("objects", nargs="+")
    taking.add_argument("--paths", type=int, default=3)
    taking.add_argument("--seconds", type=float, default=1.5)
    taking.add_argument("--deadline", type=float, default=20.0)
    taking.add_argument("--cpu", type=int)
    taking.set_defaults(run=take)
    comparing = commands.add_parser("compare")
    comparing.add_argument("out")
    comparing.add_argument("--target", action="append")
    comparing.set_defaults(run=compare)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
