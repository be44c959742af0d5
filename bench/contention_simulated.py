#!/usr/bin/env python3
"""How well throughput beside others is predicted on the simulated NIC: the paper's Table 2.

    bench/contention_simulated.py FOLDER [--functions NAME...] [--rows N] [--mixes N]
        [--recipe NAME] [--threads N] [--markdown]

Nine functions are profiled beside `mem-bench` and `regex-bench`; then they run in combinations of
two to four under nine traffic profiles, which no model has seen, and predictions are compared with
what they did there. What was simulated is kept in FOLDER, and not simulated again. All of it is
simulated (docs/contention.md, "The simulated NIC"), with the noise of the published measurements.
"""

import argparse
import hashlib
import itertools
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowpath.contention.accelerator.service import fit_request_time
from slowpath.contention.baselines import Slomo, fit_slomo
from slowpath.contention.beside import query_beside
from slowpath.contention.composition import COMPOSITIONS
from slowpath.contention.memory.learning.recipes import RECIPES
from slowpath.contention.model import Choice, FunctionModel, Profiles, choose, learn
from slowpath.contention.prediction import predict
from slowpath.contention.simulated.profiling import (
    Levels,
    MemoryRun,
    levels_of,
    memory_table,
    own_table,
    request_table,
)
from slowpath.contention.simulated.runs import MemBench, Settings, Traffic, function, run_all
from slowpath.contention.tables.profiles import Query
from slowpath.contention.tables.reading import read_accelerator, read_memory, read_own_contention

FUNCTIONS = (
    "ACL", "NIDS", "IPTunnel", "IPRouter", "FlowClassifier", "FlowTracker", "FlowStats",
    "FlowMonitor", "NAT",
)  # fmt: skip
"""Those of the paper's Table 2, in its order."""
PAPER = dict(zip(FUNCTIONS, ((1.3, 1.2), (16.2, 1.5), (62.9, 3.8), (4.2, 3.8), (7.5, 3.8),
                             (4.9, 3.9), (11.7, 4.3), (40.9, 4.5), (8.2, 6.4)), strict=True))  # fmt: skip
"""MAPE of SLOMO and Tomur there, in %."""
REGEX = ("NIDS", "FlowMonitor")
DEFAULT = Traffic(16_000, 1500, 600.0)
TRAFFIC = (
    DEFAULT,
    Traffic(4_000, 1400, 100.0), Traffic(64_000, 1300, 1000.0),
    Traffic(5_000, 512, 600.0), Traffic(20_000, 500, 1000.0), Traffic(50_000, 540, 100.0),
    Traffic(3_000, 1024, 1000.0), Traffic(12_000, 1000, 100.0), Traffic(90_000, 960, 600.0),
)  # fmt: skip
"""The nine profiles that are asked about; the paper does not say which its nine are."""
Floats = NDArray[np.float64]

_BENCHES = 40
_NEAR, _FAIR = 0.05, 0.10
_QUIET = 10


def _benches(draw: np.random.Generator) -> list[MemBench | None]:
    """Levels of `mem-bench`."""
    found: list[MemBench | None] = []
    for number in range(_BENCHES):
        pattern = ("stream", "step")[int(draw.integers(2))]
        size = float(np.exp(draw.uniform(np.log(0.5), np.log(12.0))))
        lines = float(np.exp(draw.uniform(np.log(3e6), np.log(1.5e8))))
        found.append(MemBench(pattern, round(size, 2), round(lines, -4), 1 + number % 3))
    return found


def _drawn(draw: np.random.Generator) -> Traffic:
    flows = int(np.exp(draw.uniform(np.log(2000), np.log(120_000))))
    return Traffic(flows, int(draw.integers(256, 1501)), 0.0)


class Data(NamedTuple):
    """Where tables and outcomes are, and how they are made."""

    folder: Path
    settings: Settings

    def text(self, name: str, made: Callable[[], str]) -> Path:
        """A file, made by a function unless it is there."""
        file = self.folder / name
        if not file.is_file():
            started = time.monotonic()
            text = made()
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
        return file


def profile(
    data: Data, name: str, rows: int, benches: list[MemBench | None], levels: Callable[[], Levels]
) -> None:
    """The tables of a function."""
    draw = np.random.default_rng(FUNCTIONS.index(name))
    chosen = [None] * _QUIET + [benches[int(draw.integers(_BENCHES))] for _ in range(rows - _QUIET)]
    runs = [MemoryRun(_drawn(draw), bench) for bench in chosen]
    data.text(f"{name}.memory.csv", lambda: memory_table(name, runs, data.settings, levels()))
    usual = [MemoryRun(DEFAULT, bench) for bench in (None, *benches)]
    data.text(f"{name}.default.csv", lambda: memory_table(name, usual, data.settings, levels()))
    data.text(f"{name}.own.csv", lambda: own_table(name, TRAFFIC, data.settings))
    data.text(f"{name}.solo.json", lambda: json.dumps(_solo(name, data.settings)))
    longer = data.settings._replace(measured_ms=40.0)
    if name in REGEX:
        for traffic in TRAFFIC:
            ratios = [traffic._replace(mtbr=mtbr) for mtbr in (50.0, 400.0, 750.0, 1100.0)]
            data.text(
                f"{name}.regex.{traffic.size}.csv",
                lambda ratios=ratios: request_table(name, ratios, longer),
            )


def _solo(name: str, settings: Settings) -> list[float]:
    found = run_all([[function(name, traffic)] for traffic in TRAFFIC], settings)
    return [outcome["clients"][0]["throughput"] for outcome in found]


class Known(NamedTuple):
    """What was learnt of a function: a model for each size of packets, and what to compare with.

    The accelerator's model has no packet size, so each size that is asked about has its own.
    """

    models: dict[int, FunctionModel]
    slomo: Slomo
    solo: list[float]  # by traffic profile


def learnt(data: Data, name: str, recipe: str | None) -> Known:
    """The models of a function."""
    folder = data.folder
    memory = read_memory([str(folder / f"{name}.memory.csv")])
    own = read_own_contention(str(folder / f"{name}.own.csv"), memory.origin)
    choice: Choice = choose(memory, None if recipe is None else RECIPES[recipe])
    without = learn(Profiles(memory, None, own), choice)
    models = {}
    for traffic in TRAFFIC:
        models[traffic.size] = without
        if name in REGEX:
            accelerator = read_accelerator(
                str(folder / f"{name}.regex.{traffic.size}.csv"), memory.origin
            )
            # Nothing else of the model depends on the accelerator.
            models[traffic.size] = without._replace(
                accelerator=accelerator, request_time=fit_request_time(accelerator)
            )
    usual = read_memory([str(folder / f"{name}.default.csv")])
    solo = json.loads((folder / f"{name}.solo.json").read_text())
    print(f"{name}: {choice.recipe.name}", file=sys.stderr, flush=True)
    return Known(models, fit_slomo(usual, solo[0]), solo)


def mixes(names: Sequence[str], count: int | None) -> list[tuple[int, tuple[str, ...]]]:
    """Traffic profile and functions of each mix: all, or so many of them for each profile."""
    sets = [one for size in (2, 3, 4) for one in itertools.combinations(names, size)]
    found = []
    for at in range(len(TRAFFIC)):
        order = np.random.default_rng(100 + at).permutation(len(sets))
        found += [(at, sets[one]) for one in order[:count]]
    return found


def measured(data: Data, asked: Sequence[tuple[int, tuple[str, ...]]]) -> list[list[float]]:
    """Throughput of each function of each mix."""

    def made() -> str:
        runs = [[function(name, TRAFFIC[at]) for name in names] for at, names in asked]
        found = run_all(runs, data.settings._replace(seed=1))
        return json.dumps([[one["throughput"] for one in mix["clients"]] for mix in found])

    name = hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:12]
    return json.loads(data.text(f"mixes.{name}.json", made).read_text())


class Row(NamedTuple):
    """A function in a mix: relative errors."""

    name: str
    traffic: int
    off: dict[str, float]
    covered: bool
    outside: bool
    drop: float  # of throughput, beside that alone


def evaluated(
    known: dict[str, Known], asked: Sequence[tuple[int, tuple[str, ...]]], truth: list[list[float]]
) -> list[Row]:
    """All predictions."""
    rows = []
    for name in known:
        for at, traffic in enumerate(TRAFFIC):
            queries, wanted = [], []
            model = known[name].models[traffic.size]
            for (profile_at, names), throughput in zip(asked, truth, strict=True):
                if profile_at != at or name not in names:
                    continue
                others = [(one, known[one].models[traffic.size]) for one in names if one != name]
                queries.append(query_beside((name, model), others, traffic))
                wanted.append(throughput[names.index(name)])
            if queries:
                rows += _rows(known, name, at, queries, np.array(wanted))
    return rows


def _rows(
    known: dict[str, Known], name: str, at: int, queries: list[Query], wanted: Floats
) -> list[Row]:
    traffic = TRAFFIC[at]
    model = known[name].models[traffic.size]
    columns = {
        column: np.concatenate([query.columns[column] for query in queries])
        for column in queries[0].columns
    }
    accelerated = queries[0].mtbr is not None
    query = Query(
        name,
        tuple(str(number) for number in range(len(queries))),
        columns,
        np.concatenate([query.mtbr for query in queries]) if accelerated else None,
        np.concatenate([query.queued for query in queries]) if accelerated else None,
    )
    found = predict(model, query, 0.9)
    solo = np.full(len(queries), known[name].solo[at])
    parts = [found.memory] if found.accelerator is None else [found.memory, found.accelerator]
    # What each resource alone would leave of the throughput alone.
    left = np.minimum(np.array(parts), solo)
    predicted = {
        "slowpath": found.throughput,
        "SLOMO": known[name].slomo.predict(columns, solo),
        "sum": COMPOSITIONS["sum"](left, solo),
        "min": COMPOSITIONS["min"](left, solo),
        "constant": solo,
    }
    off = {way: np.abs(values / wanted - 1) for way, values in predicted.items()}
    return [
        Row(
            name,
            at,
            {way: float(values[row]) for way, values in off.items()},
            bool(found.low[row] <= wanted[row] <= found.high[row]),
            bool(found.outside[row]),
            float(1 - wanted[row] / solo[row]),
        )
        for row in range(len(queries))
    ]


def report(rows: list[Row], markdown: bool) -> None:
    """A table by function."""
    ways = ("slowpath", "SLOMO", "sum", "min", "constant")
    head = ["function", "rows", "drop, median %", *(f"{way}, %" for way in ways), "within 5 %",
            "within 10 %", "covered, %", "outside, %", "paper: SLOMO", "paper"]  # fmt: skip
    if markdown:
        print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    else:
        print("  ".join(head))
    names = [name for name in FUNCTIONS if any(row.name == name for row in rows)]
    groups = {name: [row for row in rows if row.name == name] for name in names}
    for name, some in {**groups, "all": rows}.items():
        off = np.array([row.off["slowpath"] for row in some])
        cells = [
            name,
            str(len(some)),
            f"{100 * float(np.median([row.drop for row in some])):.1f}",
            *(f"{100 * np.mean([row.off[way] for row in some]):.1f}" for way in ways),
            f"{100 * np.mean(off <= _NEAR):.0f}",
            f"{100 * np.mean(off <= _FAIR):.0f}",
            f"{100 * np.mean([row.covered for row in some]):.0f}",
            f"{100 * np.mean([row.outside for row in some]):.0f}",
            *(f"{one:.1f}" for one in PAPER.get(name, (17.5, 3.7))),
        ]
        print(f"| {' | '.join(cells)} |" if markdown else "  ".join(f"{c:>14}" for c in cells))


def main() -> int:
    """Profiles, runs, predicts, reports."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where tables and outcomes are kept")
    parser.add_argument("--rows", type=int, default=150, help="rows of each memory table")
    parser.add_argument("--mixes", type=int, help="combinations for each traffic, instead of all")
    parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=FUNCTIONS)
    parser.add_argument("--recipe", default=None, help="the memory model, instead of the choice")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    data = Data(given.folder, Settings(20.0, 10.0, threads=given.threads))
    benches = _benches(np.random.default_rng(1000))
    known_levels: list[Levels] = []

    def levels() -> Levels:
        if not known_levels:
            known_levels.append(levels_of((None, *benches), data.settings))
        return known_levels[0]

    for name in given.functions:
        profile(data, name, given.rows, benches, levels)
    asked = mixes(given.functions, given.mixes)
    truth = measured(data, asked)
    known = {name: learnt(data, name, given.recipe) for name in given.functions}
    report(evaluated(known, asked, truth), given.markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
