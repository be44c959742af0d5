"""Table 8 and Figure 8 of the Tomur paper: measurements that models need, by choice of points.

The paper's full profiling has 3,200 times the measurements of the other methods. Here the grid has
1,024 times the quota, and all of it is simulated.
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
from slowpath.contention.profiling.sampling import (
    Attribute,
    Plan,
    Point,
    Sample,
    Space,
    active,
    adaptive,
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
"""MAPE of full, random and adaptive profiling in the paper, in %."""
ATTRIBUTES = (
    Attribute("flow_count", 2_000, 400_000, 16_000),
    Attribute("packet_size_bytes", 64, 1500, 1500),
)
STEPS, LEVELS = 32, 40
QUOTA = 40
"""Number of measurements of each method except full profiling.

Full profiling has 1,024 times as many: 40 levels under 32 x 32 kinds of traffic.
"""
SEEDS = 5
"""Number of repetitions of each method with different seeds; figures are means over them."""
TESTS = 400
QUOTAS = (20, 40, 60)
"""Numbers of measurements that Figure 8 compares."""
METHODS: Mapping[str, Callable[[Space, int, int], Plan]] = {
    "random": random,
    "adaptive": lambda space, quota, seed: adaptive(space, quota, seed=seed),
    "active": lambda space, quota, seed: active(space, quota, seed=seed),
}
TREES, OURS = "published", "average"
"""Recipes of the compared models: that of the paper, and ours for tables without traffic of
devices."""
_WARM_UP, _MEASURED = 10.0, 5.0
"""Duration of each run in ms, before and during the measurement. A run takes 22 ms of CPU time."""


class Nic(NamedTuple):
    """A function on the simulated NIC, with the competitors of each contention level.

    The competitors are instances of `mem-bench`.
    """

    name: str
    benches: Sequence[tuple[Bench, ...]]
    levels: Levels
    settings: Settings

    def space(self) -> Space:
        """Return the points from which plans choose: combinations of traffic and contention."""
        known = [[self.levels[some][name] for name in COLUMNS] for some in self.benches]
        return Space(ATTRIBUTES, np.log1p(np.array(known)))

    def mix(self, point: Point) -> list[SimulatedClient]:
        """Return the simulated clients at a point: the function and its competitors."""
        return [function(self.name, _traffic(point)), *competitors(self.benches[point.level])]

    def measure(self, point: Point) -> float:
        """Simulate the throughput at a point, with noise that depends on the point."""
        settings = self.settings._replace(seed=zlib.crc32(repr(point).encode()))
        (found,) = run_all([self.mix(point)], settings)
        return float(found["clients"][0]["throughput"])

    def table(self, samples: Sequence[Sample]) -> str:
        """Format measured points as a memory table in CSV format."""
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
    """Return sets of competitors: none, and `mem-bench` with published settings.

    They are the same for all functions.
    """
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
    """Return the functions of the table on the simulated NIC, with their competitors, by name."""
    benches = _benches()
    settings = kept.settings._replace(warm_up_ms=_WARM_UP, measured_ms=_MEASURED)
    levels = levels_of(benches, settings)
    return {name: Nic(name, benches, levels, settings) for name in PAPER}


def _sampled(kept: Kept, nic: Nic, method: str, quota: int, seed: int) -> Rows:
    def make() -> str:
        return nic.table(measured(METHODS[method](nic.space(), quota, seed), nic.measure))

    return _rows(kept.file(f"sampled/{nic.name}.{method}.{quota}.{seed}.csv", make))


def _full(kept: Kept, nic: Nic) -> Rows:
    """Simulate all points of the grid of traffic and contention levels.

    Results are stored level by level, so that an interrupted run loses little.
    """
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
    """Write a text to a file unless the file contains it already; return the rows of the file."""
    if not file.is_file() or file.read_text() != text:
        file.write_text(text)
    return _rows(file)


def _rows(file: Path) -> Rows:
    return rows_of(read_memory([str(file)]))


def _tests(kept: Kept, nic: Nic) -> Rows:
    """Measure random points for testing models; the logarithm of their number of flows is uniform.

    Training points have uniform flows. With uniform test points, few of them would show contention,
    and all methods would be equally good.
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


def relative_errors(recipe: str, rows: Rows, tests: Rows) -> Floats:
    """Train a model on rows, and return its relative errors on other rows, `tests`."""
    predicted = np.exp(fit_stage(RECIPES[recipe], rows).log_throughput(tests.columns))
    return np.abs(predicted / tests.throughput - 1)


def _errors(kept: Kept, nic: Nic, method: str, quota: int, recipe: str) -> Floats:
    """Return the errors of models that were trained on points chosen by one method, for all seeds.

    `quota` is the number of points.
    """
    tests = _tests(kept, nic)
    sampled = (_sampled(kept, nic, method, quota, seed) for seed in range(SEEDS))
    return np.concatenate([relative_errors(recipe, rows, tests) for rows in sampled])


def table(kept: Kept, *, grid: bool) -> str:
    """Return the table of prediction errors by function and profiling method.

    Without `grid`, full profiling is left out.
    """
    lines = list[figures.Row]()
    for name, nic in nics(kept).items():
        line: figures.Row = {"name": name}
        if grid:
            errors = relative_errors(TREES, _full(kept, nic), _tests(kept, nic))
            line["full"] = 100 * float(errors.mean())
        for method in METHODS:
            for recipe in (TREES, OURS):
                errors = _errors(kept, nic, method, QUOTA, recipe)
                line[f"{method} {recipe}"] = 100 * float(errors.mean())
        line |= dict(
            zip(("paper full", "paper random", "paper adaptive"), PAPER[name], strict=True)
        )
        lines.append(line)
    columns = [figures.Column("", "name")]
    if grid:
        columns.append(figures.Column("full, 40,960 rows, trees: MAPE, %", "full", 1))
    for method in METHODS:
        for recipe, word in ((TREES, "trees"), (OURS, "ours")):
            columns.append(figures.Column(f"{method}, {word}: MAPE, %", f"{method} {recipe}", 1))
    papers = [
        figures.Column(f"paper: {one}", f"paper {one}", 1) for one in ("full", "random", "adaptive")
    ]
    return figures.markdown(lines, [*columns, *papers])


def by_quota(kept: Kept, name: str = "FlowClassifier") -> str:
    """Return the table of errors by number of measurements (Figure 8 of the paper)."""
    nic, lines = nics(kept)[name], list[figures.Row]()
    for quota in QUOTAS:
        line: figures.Row = {"quota": quota}
        for method in METHODS:
            for recipe in (TREES, OURS):
                errors = _errors(kept, nic, method, quota, recipe)
                line[f"{method} {recipe}"] = 100 * float(errors.mean())
        lines.append(line)
    columns = [figures.Column("measurements", "quota")]
    for method in METHODS:
        for recipe, word in ((TREES, "trees"), (OURS, "ours")):
            columns.append(figures.Column(f"{method}, {word}: MAPE, %", f"{method} {recipe}", 1))
    return figures.markdown(lines, columns)
