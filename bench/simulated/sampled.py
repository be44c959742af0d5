"""Table 8 and Figure 8: how many measurements it takes, by which points are measured.

The paper's full profiling has 3,200 times the measurements of the others. Here the grid has
1,024 times as many as the quota, and all of it is simulated.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import figures
import numpy as np
from numpy.typing import NDArray

from nic_profiles import (
    COLUMNS,
    Bench,
    Levels,
    MemBench,
    Settings,
    Traffic,
    competitors,
    function,
    levels_of,
    run_all,
    written,
)
from nic_simulation import SimulatedClient
from simulated.kept import Kept
from slowpath.contention.memory.features import Rows
from slowpath.contention.memory.recipes import RECIPES, fit_stage
from slowpath.contention.model import rows_of
from slowpath.contention.profiling.adaptive import active, adaptive
from slowpath.contention.profiling.sampling import (
    Attribute,
    Plan,
    Point,
    Sample,
    Space,
    full,
    measured,
    point,
    random,
)
from slowpath.contention.reading import read_memory

Floats = NDArray[np.float64]

PAPER = {
    "FlowClassifier": (2.3, 14.4, 2.9), "NAT": (2.9, 9.6, 3.1), "FlowTracker": (3.4, 38.9, 3.4),
    "FlowMonitor": (4.5, 12.3, 4.8), "FlowStats": (5.3, 9.8, 4.9), "IPTunnel": (5.3, 8.5, 5.9),
}  # fmt: skip
"""MAPE of full, random and adaptive profiling there, in %."""
ATTRIBUTES = (
    Attribute("flow_count", 2_000, 400_000, 16_000),
    Attribute("packet_size_bytes", 64, 1500, 1500),
)
STEPS, LEVELS = 32, 40
QUOTA = 40
"""Full profiling has 1,024 times as many: 40 levels under 32 x 32 kinds of traffic."""
SEEDS = 5
"""Draws of each way to choose points; figures are means over them."""
TESTS = 400
QUOTAS = (20, 40, 60)
"""Of Figure 8."""
WAYS: Mapping[str, Callable[[Space, int, int], Plan]] = {
    "random": random,
    "adaptive": lambda space, quota, seed: adaptive(space, quota, seed=seed),
    "active": lambda space, quota, seed: active(space, quota, seed=seed),
}
TREES, OURS = "published", "average"
"""The paper's learner, and ours for tables without traffic of devices."""
_FAIR = 0.10
_WARM_UP, _MEASURED = 10.0, 5.0
"""Milliseconds of each run: of a quarter of a million, each takes 22 ms of CPU time."""


class Nic(NamedTuple):
    """A function beside `mem-bench` at levels, on the simulated NIC."""

    name: str
    benches: Sequence[tuple[Bench, ...]]
    levels: Levels
    settings: Settings

    def space(self) -> Space:
        """What can be measured; of levels, logarithms of counters are known."""
        known = [[self.levels[some][name] for name in COLUMNS] for some in self.benches]
        return Space(ATTRIBUTES, np.log1p(np.array(known)))

    def mix(self, point: Point) -> list[SimulatedClient]:
        """What runs."""
        return [function(self.name, _traffic(point)), *competitors(self.benches[point.level])]

    def measure(self, point: Point) -> float:
        """Throughput, with noise that is another one at each point."""
        settings = self.settings._replace(seed=zlib.crc32(repr(point).encode()))
        (found,) = run_all([self.mix(point)], settings)
        return float(found["clients"][0]["throughput"])

    def table(self, samples: Sequence[Sample]) -> str:
        """A memory table of what was measured."""
        rows = [
            {
                "flow_count": _traffic(point).flows,
                "packet_size_bytes": _traffic(point).size,
                **self.levels[self.benches[point.level]],
                "throughput": throughput,
            }
            for point, throughput in samples
        ]
        return written(rows, self.name, {"mtbr": "0"})


def _traffic(point: Point) -> Traffic:
    values = point.values()
    return Traffic(int(values["flow_count"]), int(values["packet_size_bytes"]), 0.0)


def _benches() -> list[tuple[Bench, ...]]:
    """Nobody, and `mem-bench` as published, the same for all functions."""
    draw = np.random.default_rng(8)
    found = list[tuple[Bench, ...]]([()])
    for at in range(LEVELS - 1):
        instances = 1 + at % 3
        size = float(np.exp(draw.uniform(np.log(0.5), np.log(12.0)))) / instances
        lines = float(np.exp(draw.uniform(np.log(3e6), np.log(1.2e8)))) / instances
        pattern = "step" if at % 2 else "stream"
        found.append((MemBench(pattern, round(size, 2), round(lines, -4), instances),))  # type: ignore[arg-type]
    return found


def nics(kept: Kept) -> dict[str, Nic]:
    """One for each function."""
    benches = _benches()
    settings = kept.settings._replace(warm_up_ms=_WARM_UP, measured_ms=_MEASURED)
    levels = levels_of(benches, settings)
    return {name: Nic(name, benches, levels, settings) for name in PAPER}


def _sampled(kept: Kept, nic: Nic, way: str, quota: int, seed: int) -> Rows:
    def made() -> str:
        return nic.table(measured(WAYS[way](nic.space(), quota, seed), nic.measure))

    return _rows(kept.file(f"sampled/{nic.name}.{way}.{quota}.{seed}.csv", made))


def _full(kept: Kept, nic: Nic) -> Rows:
    """All of the grid, level by level, so that nothing is lost when it ends early."""
    points = [one.point for one in measured(full(nic.space(), STEPS), lambda _: 1.0)]
    samples = list[Sample]()
    for level in range(LEVELS):
        some = [point for point in points if point.level == level]
        settings = nic.settings._replace(seed=1000 + level)
        mixes = [nic.mix(point) for point in some]
        found = kept.throughputs(f"sampled/{nic.name}.full.{level}", mixes, settings)
        samples += [Sample(point, one[0]) for point, one in zip(some, found, strict=True)]
    return _written(kept.folder / f"sampled/{nic.name}.full.csv", nic.table(samples))


def _written(file: Path, text: str) -> Rows:
    """What a file then has, whatever it had before."""
    if not file.is_file() or file.read_text() != text:
        file.write_text(text)
    return _rows(file)


def _rows(file: Path) -> Rows:
    return rows_of(read_memory([str(file)]))


def _tests(kept: Kept, nic: Nic) -> Rows:
    """Points at random, that nobody learns from: each order of magnitude of flows as likely.

    Where flows are even from least to most, as points that are learnt from are drawn, few of them
    are where anything happens, and all ways are as good.
    """
    draw, (flows, size) = np.random.default_rng(81), ATTRIBUTES
    points = [
        point(
            int(draw.integers(LEVELS)),
            {
                flows.name: flows.at(
                    float(np.exp(draw.uniform(*np.log([flows.least, flows.most]))))
                ),
                size.name: size.inside(draw.random()),
            },
        )
        for _ in range(TESTS)
    ]
    settings = nic.settings._replace(seed=3)
    found = kept.throughputs(
        f"sampled/{nic.name}.tests", [nic.mix(one) for one in points], settings
    )
    samples = [Sample(point, one[0]) for point, one in zip(points, found, strict=True)]
    return _written(kept.folder / f"sampled/{nic.name}.tests.csv", nic.table(samples))


def off(recipe: str, rows: Rows, tests: Rows) -> Floats:
    """Relative errors of a model of these rows."""
    said = np.exp(fit_stage(RECIPES[recipe], rows).log_throughput(tests.columns))
    return np.abs(said / tests.throughput - 1)


def _mean_off(kept: Kept, nic: Nic, way: str, quota: int, recipe: str) -> Floats:
    """Relative errors under all seeds."""
    tests = _tests(kept, nic)
    some = [off(recipe, _sampled(kept, nic, way, quota, seed), tests) for seed in range(SEEDS)]
    return np.concatenate(some)


def table(kept: Kept, *, grid: bool) -> str:
    """By function; without `grid`, full profiling is left out."""
    lines = list[figures.Row]()
    for name, nic in nics(kept).items():
        line: figures.Row = {"name": name}
        if grid:
            errors = off(TREES, _full(kept, nic), _tests(kept, nic))
            line["full"] = 100 * float(errors.mean())
            line["full fair"] = 100 * float((errors <= _FAIR).mean())
        for way in WAYS:
            for recipe in (TREES, OURS):
                errors = _mean_off(kept, nic, way, QUOTA, recipe)
                line[f"{way} {recipe}"] = 100 * float(errors.mean())
                line[f"{way} {recipe} fair"] = 100 * float((errors <= _FAIR).mean())
        line |= dict(
            zip(("paper full", "paper random", "paper adaptive"), PAPER[name], strict=True)
        )
        lines.append(line)
    columns = [figures.Column("", "name")]
    if grid:
        columns += _pair("full, 40,960 rows, trees", "full")
    for way in WAYS:
        for recipe, word in ((TREES, "trees"), (OURS, "ours")):
            columns += _pair(f"{way}, {word}", f"{way} {recipe}")
    papers = [
        figures.Column(f"paper: {one}", f"paper {one}", 1) for one in ("full", "random", "adaptive")
    ]
    return figures.markdown(lines, [*columns, *papers])


def _pair(heading: str, key: str) -> list[figures.Column]:
    return [
        figures.Column(f"{heading}: MAPE, %", key, 1),
        figures.Column("within 10 %", f"{key} fair", 0),
    ]


def by_quota(kept: Kept, name: str = "FlowClassifier") -> str:
    """Figure 8, as a table."""
    nic, lines = nics(kept)[name], list[figures.Row]()
    for quota in QUOTAS:
        line: figures.Row = {"quota": quota}
        for way in WAYS:
            for recipe in (TREES, OURS):
                errors = _mean_off(kept, nic, way, quota, recipe)
                line[f"{way} {recipe}"] = 100 * float(errors.mean())
        lines.append(line)
    columns = [figures.Column("measurements", "quota")]
    for way in WAYS:
        for recipe, word in ((TREES, "trees"), (OURS, "ours")):
            columns.append(figures.Column(f"{way}, {word}: MAPE, %", f"{way} {recipe}", 1))
    return figures.markdown(lines, columns)
