"""Measures those paths of programs that have the highest time estimates."""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from estimation.stored import NEARLY, Program, contenders, is_undecided, read
from slowpath.bounds.analyst import RunContext, Session
from slowpath.bounds.options import WrittenOptions, read_request
from slowpath.bounds.outcomes import Analysed
from slowpath.core.engine import kernel, targets
from slowpath.core.errors import InputError
from slowpath.core.jobs import Stopping
from slowpath.measure.bench import KernelBench
from slowpath.measure.programs import PreparedProgram, prepare_program, slowest
from slowpath.measure.sampling import Measured, StopCriteria, measure


class Plan(NamedTuple):
    """Settings for measuring the paths of programs."""

    target: str
    paths: int  # maximum for a program
    seconds: float  # of each path
    deadline: float  # seconds for analysing a program
    limit: float  # measurements that were disturbed more are repeated
    cpu: int | None


AGAIN = StopCriteria(1.0, 1.5, 12)
"""Stop criteria for the joint measurement of paths that may be the slowest one; `seconds` is per
path."""


def take(out: Path, files: Sequence[str], plan: Plan) -> None:
    """Measure the programs in files, and append the results to the file `out`."""
    known = dict[tuple[str, str], Program]()
    if out.exists():
        known = {(one["file"], one["program"]): one for one in read(out, plan.limit)}
    cpu = max(os.sched_getaffinity(0)) if plan.cpu is None else plan.cpu
    station = kernel.open_station(kernel.open_kernel(), cpu)
    for file in objects(files):
        try:
            for program in programs(file, station, known, plan):
                with out.open("a") as lines:
                    lines.write(json.dumps(program) + "\n")
                summary = f"{len(program['paths'])} paths, limit {program['limit']:.2f}"
                print(f"{file} {program['program']}: {summary}", flush=True)
        except InputError as problem:
            print(f"{file}: {problem}", flush=True)


def objects(names: Sequence[str]) -> Iterator[str]:
    """Yield names of object files. An argument `@FILE` is replaced by the names in FILE."""
    for name in names:
        if name.startswith("@"):
            yield from Path(name[1:]).read_text().split()
        else:
            yield name


def programs(
    file: str, station: kernel.Station, known: Mapping[tuple[str, str], Program], plan: Plan
) -> Iterator[Program]:
    """Measure the programs of a file that have no final result in `known`; yield the results."""
    options = WrittenOptions(target=plan.target, paths=plan.paths, deadline=plan.deadline)
    for analysed in Session(read_request([file], options)).analyse(RunContext(Stopping())):
        name = analysed.result["program"]
        before = known.get((file, name))
        if before is not None and not is_undecided(before):
            continue
        chosen = prepare_program(
            station, analysed, lambda p: slowest(p, plan.paths), lambda *_: True
        )
        if not chosen.cases:
            continue
        try:
            if before is None:
                limit, paths = first(station, analysed, chosen, plan.seconds)
                before = {"file": file, "program": name, "limit": limit, "paths": paths}
            if not before["paths"]:
                continue
            if is_undecided(before):
                decide(station, chosen.cases, before["paths"])
        except InputError as problem:
            print(f"{file} {name}: {problem}", flush=True)
            continue
        yield before


def first(
    station: kernel.Station, analysed: Analysed, chosen: PreparedProgram, seconds: float
) -> tuple[float, list[dict[str, Any]]]:
    """Measure all paths of a program once; return a limit, and a record for each path.

    Samples above the limit, a ratio of busy-loop times, count as disturbed.
    """
    quota = StopCriteria(0.01, max(1.0, seconds * len(chosen.cases)))
    outcome = measure(KernelBench(station, chosen.cases), quota, lambda _: True)
    rows = []
    for case, number, found in zip(chosen.cases, chosen.numbers, outcome.subjects, strict=True):
        rank = chosen.record["paths"][number]["rank"] or 1
        estimate = analysed.result["paths"][rank - 1]["estimate"]
        # A helper call with a replaced result does not run, so its time is not measured.
        if found is None or estimate is None or case.answered:
            continue
        rows.append(
            {
                "ns": found.run.value,
                "program_ns": found.net.value,
                "loads": found.loads,
                "again": None,
                "estimate": estimate,
                "instructions": case.instructions,
                "flow": flow_of(case),
            }
        )
    return outcome.limit, rows


def flow_of(case: kernel.Case) -> str | None:
    """Return a path's executed instructions as JSON text, which models read; None if unknown."""
    flow = targets.flow(case)
    return None if flow is None else flow.text()


def decide(
    station: kernel.Station, cases: Sequence[kernel.Case], paths: Sequence[dict[str, Any]]
) -> None:
    """Measure those paths together that may be the slowest, and add the times to their records.

    If many paths take nearly the same time, the largest measured time is probably too high. The
    earlier times, by which these paths were selected, therefore no longer count. The programs are
    loaded and measured again until it is certain whether the path with the highest estimate takes
    nearly as long as the slowest.
    """
    several = [paths[one] for one in contenders(paths)]
    flows = [(case.instructions, flow_of(case)) for case in cases]
    selected = list[tuple[dict[str, Any], kernel.Case]]()
    for path in several:
        key = (path["instructions"], path["flow"])
        if key in flows:
            at = flows.index(key)
            flows[at] = (-1, None)
            selected.append((path, cases[at]))
    guessed = int(np.argmax([path["estimate"]["warm"]["ns"] for path, _ in selected]))
    quota = AGAIN._replace(
        seconds=AGAIN.seconds * len(selected), decided=lambda found: is_known(found, guessed)
    )
    outcome = measure(KernelBench(station, [case for _, case in selected]), quota, lambda _: True)
    for (path, _), found in zip(selected, outcome.subjects, strict=True):
        path["again"] = None if found is None else found.loads


def is_known(found: Sequence[Measured | None], guessed: int) -> bool:
    """Return true if it is certain whether the path with the highest estimate is nearly slowest.

    `guessed` is the index of this path.
    """
    one = found[guessed]
    if one is None:
        return True
    slowest = max((each.run for each in found if each is not None), key=lambda run: run.value)
    doubt = math.hypot(one.run.interval.half_width, slowest.interval.half_width)
    return abs(one.run.value - NEARLY * slowest.value) > doubt
