#!/usr/bin/env python3
"""Compare two calibrations: do they agree within their own intervals?

Takes two directories of `slowpath calibrate`. Experiments with equal functions and segments in both
are compared parameter by parameter. Two estimates agree if their difference is at most the root of
the sum of the squares of the half widths of their 90 % intervals; 90 % of them should agree. If
functions or segments differ, parameters have different meanings. These experiments are listed
separately, and their predictions at the measured values are compared by the intervals of
predictions. A machine's target file has no intervals. Its parameters determine times of programs, so
these are compared for every program of both runs.
"""

import argparse
import json
import tomllib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import hypot
from pathlib import Path
from typing import NamedTuple

import numpy as np

from slowpath.calibrate.experiments.documents import ModelDocument
from slowpath.calibrate.experiments.evaluation import evaluate as evaluated
from slowpath.calibrate.experiments.folder import RunFolder
from slowpath.calibrate.observations import observations
from slowpath.core.engine import targets as engine
from slowpath.core.engine.targets import described_target
from slowpath.models.documents import FittedModel
from slowpath.models.parts import evaluate

TARGET = "linux-xdp.toml"


class Compared(NamedTuple):
    """A parameter or time, with its values in both calibrations and the allowed difference."""

    name: str
    one: float
    other: float
    allowed: float

    @property
    def agree(self) -> bool:
        """Return true if the difference of both values can be due to chance."""
        return abs(self.one - self.other) <= self.allowed

    def line(self) -> str:
        """Format both values, their difference and the allowed difference as a line."""
        apart = abs(self.one - self.other)
        values = f"{self.one:12.5g} {self.other:12.5g}"
        return f"  {self.name:44} {values}  {apart:.3g} apart, {self.allowed:.3g} allowed"


def parameters(name: str, one: FittedModel, other: FittedModel) -> Iterator[Compared]:
    for number, (left, right) in enumerate(zip(one["segments"], other["segments"], strict=True), 1):
        for first, second in zip(left["parameters"], right["parameters"], strict=True):
            if first["low"] is None or second["low"] is None:
                continue  # as many points as parameters: no interval
            widths = [(each["high"] - each["low"]) / 2 for each in (first, second)]
            where = f"{name}, segment {number}, {first['name']}"
            yield Compared(where, first["value"], second["value"], hypot(*widths))


def predictions(one: ModelDocument, other: ModelDocument) -> Iterator[Compared]:
    places = [point["value"] for point in one["points"]]
    left, right = (evaluate(each["model"], places) for each in (one, other))
    for at, place in enumerate(places):
        up = left.y[at] < right.y[at]
        widths = [
            float(abs((each.high if above else each.low)[at] - each.y[at]))
            for each, above in ((left, up), (right, not up))
        ]
        name = f"{one['experiment']}, {one['parameter']} = {place:,}"
        yield Compared(name, float(left.y[at]), float(right.y[at]), hypot(*widths))


def shape(model: FittedModel) -> list[tuple[str, float, float]]:
    return [(one["template"], one["from"], one["to"]) for one in model["segments"]]


def short(model: FittedModel) -> str:
    return ", ".join(f"{one['template']} to {one['to']:,.0f}" for one in model["segments"])


def read(run: RunFolder, derive: bool) -> dict[str, ModelDocument]:
    names = [name for name in run.settings()["experiments"] if run.of(name).measured]
    if derive:
        return {name: evaluated(run.of(name))["result"] for name in names}
    return {name: json.loads((run.of(name).path / "model.json").read_text()) for name in names}


def share(found: Sequence[Compared]) -> str:
    agree = sum(one.agree for one in found)
    return f"{agree} of {len(found)} agree ({agree / max(len(found), 1):.1%})"


def models(runs: Sequence[RunFolder], derive: bool) -> None:
    one, other = (read(run, derive) for run in runs)
    same: list[Compared] = []
    apart: list[tuple[str, list[Compared]]] = []
    every: list[Compared] = []
    for name in one:
        if name not in other or one[name]["exact"]:
            continue
        first, second = one[name]["model"], other[name]["model"]
        if first is None or second is None:
            print(f"{name}: a run has no model of it")
            continue
        at_points = list(predictions(one[name], other[name]))
        every += at_points
        if shape(first) == shape(second):
            same += parameters(name, first, second)
        else:
            apart.append((f"{name}: {short(first)} | {short(second)}", at_points))
    print(f"parameters of the same functions: {share(same)}")
    for compared in same:
        if not compared.agree:
            print(compared.line())
    lines = [compared for _, found in apart for compared in found]
    print(f"\n{len(apart)} experiments have other functions or segments; of their predictions, ")
    print(f"{share(lines)}")
    for words, found in apart:
        print(f"  {words}: {share(found)}")
        for compared in found:
            if not compared.agree:
                print(f"  {compared.line()}")
    print(f"\npredictions of all models at all points: {share(every)}")


def targets(runs: Sequence[RunFolder]) -> None:
    files = [run.path / TARGET for run in runs]
    if not all(file.exists() for file in files):
        return
    texts = [file.read_text() for file in files]
    known = [described_target(str(f), t) for f, t in zip(files, texts, strict=True)]
    limits = tomllib.loads(texts[0])["timing"]["error"]
    flows = {
        each.flow.text(): each.flow
        for run in runs
        for each in observations(
            {name: run.of(name) for name in run.settings()["experiments"] if run.of(name).measured}
        )
    }
    one, other = (np.array(engine.nanoseconds(list(flows.values()), target)) for target in known)
    apart = np.abs(one - other) / ((one + other) / 2)
    inside = (other >= limits["low"] * one) & (other <= limits["high"] * one)
    print(f"\ntimes of {len(flows)} programs by both target files: {np.median(apart):.1%} apart in")
    print(f"the median, {np.quantile(apart, 0.9):.1%} for 90 %, {apart.max():.1%} at most;")
    print(f"{inside.mean():.1%} of them within the error that the first one states")
    print_differences(*(dict(numbers(tomllib.loads(text)["timing"])) for text in texts))


def numbers(table: dict[str, object], before: str = "") -> Iterator[tuple[str, float]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from numbers(value, f"{before}{key} ")
        elif isinstance(value, int | float):
            yield before + key, float(value)


def print_differences(one: dict[str, float], other: dict[str, float]) -> None:
    """Print the distribution of the differences between parameters, and the largest differences."""
    apart = {
        key: abs(one[key] - other[key]) / (max(abs(one[key]), abs(other[key])) or 1.0)
        for key in one.keys() & other.keys()
    }
    limits = (0.0, 0.02, 0.05, 0.1, 0.2)
    text = ", ".join(f"{sum(x <= limit for x in apart.values())} {limit:.0%}" for limit in limits)
    print(f"{len(apart)} parameters; no further apart than: {text}")
    for key in sorted(apart, key=lambda key: (-apart[key], key)):
        if apart[key] > limits[-1]:
            print(f"  {key:44} {one[key]:12.5g} {other[key]:12.5g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+", metavar="DIR", help="two or more")
    parser.add_argument(
        "--again", action="store_true", help="derive the models again, from samples"
    )
    given = parser.parse_args()
    for one, other in pairwise(given.runs):
        print(f"{one} and {other}")
        runs = RunFolder(one), RunFolder(other)
        models(runs, given.again)
        targets(runs)


if __name__ == "__main__":
    main()
