"""Table 4 of the Tomur paper: combined effect of several resources, by execution pattern."""

import json
from collections.abc import Sequence
from typing import Literal, NamedTuple

import figures
import numpy as np
from numpy.typing import NDArray

from accelerator_queues import identify
from nic_profiles import (
    Bench,
    MemBench,
    MemoryRun,
    Settings,
    competitors,
    function,
    levels_of,
    memory_table,
)
from nic_simulation import SimulatedClient
from run_to_completion import Accelerator, beside, beside_all, completion
from simulated.functions import DEFAULT
from simulated.kept import Kept
from slowpath.contention.accelerators import CoRun, Others, measured_waits, throughputs
from slowpath.contention.memory.recipes import fit_stage
from slowpath.contention.model import COMPOSITIONS, Composition, Pattern, choose, rows_of
from slowpath.contention.reading import read_memory

Floats = NDArray[np.float64]

PATTERNS: tuple[Pattern, ...] = ("pipeline", "run-to-completion")
USES = {"NF1": ("regex",), "NF2": ("regex", "compression")}
PAPER = {
    ("NF1", "pipeline"): (9.8, 0.7, 0.7), ("NF1", "run-to-completion"): (8.7, 12.4, 1.3),
    ("NF2", "pipeline"): (21.9, 1.8, 1.8), ("NF2", "run-to-completion"): (14.6, 7.6, 1.6),
}  # fmt: skip
"""MAPE of sum, min and Tomur in the paper, in %."""
MIXES = 100
DRAWN = 46
"""Seed for drawing the mixes. The seeds 44 and 1001 were used while models were developed."""
_PROFILE = 80
_REPEATED = 3
_SOLO = 40
_LIMITED = 0.9
_MAX_CONTENDED = {("NF2", "pipeline"): 2}
"""Maximum number of contended resources for some functions and patterns.

The function NF2 has three threads in a pipeline, and uses four of the eight cores.
"""
_BENCHES: dict[str, list[SimulatedClient]] = {
    "regex": [
        {"function": "regex-bench", "packet_bytes": 1500, "mtbr": mtbr}
        for mtbr in (0.0, 100.0, 200.0, 300.0, 450.0, 600.0, 900.0, 1200.0)
    ],
    "compression": [
        {"function": "compression-bench", "packet_bytes": size}
        for size in (500, 1000, 2000, 3000, 4000, 6000, 9000)
    ],
}
"""For each accelerator, the benches from which request times and waits are determined."""
_HEADER = 54
_WARM_UP_MS = 100.0
"""Simulated time before measurements in ms.

After 20 ms, these functions would have received packets of only two fifths of their flows. Parts of
the data of other functions would not be cached yet, more parts for slower functions.
"""


class Level(NamedTuple):
    """Competitors of a function in a mix: some for memory, and one for each accelerator."""

    memory: tuple[Bench, ...]
    accelerators: dict[str, SimulatedClient]


class Parts(NamedTuple):
    """Throughputs predicted with contention for single resources and for all, and measured ones."""

    parts: Floats  # [resource, mix]
    solo: Floats
    together: Floats  # predicted for all of them
    measured: Floats


def table(kept: Kept) -> str:
    """Return the table of prediction errors by function and execution pattern, as Markdown."""
    lines = []
    kept = kept._replace(settings=kept.settings._replace(warm_up_ms=_WARM_UP_MS))
    for name in USES:
        for pattern in PATTERNS:
            found = parts_of(kept, name, pattern)
            line: figures.Row = {"name": name, "pattern": pattern, "rows": len(found.solo)}
            line["drop"] = 100 * float(np.mean(1 - found.measured / found.solo))
            predicted: dict[str, Floats] = {"slowpath": found.together}
            baselines: tuple[Composition, ...] = ("sum", "min")
            for baseline in baselines:
                predicted[baseline] = COMPOSITIONS[baseline](found.parts, found.solo)
            for method, values in predicted.items():
                line[method] = 100 * float(np.mean(np.abs(values / found.measured - 1)))
            paper = zip(("paper_sum", "paper_min", "paper"), PAPER[name, pattern], strict=True)
            lines.append(line | dict(paper))
    columns = [
        figures.Column("", "name"),
        figures.Column("pattern", "pattern"),
        figures.Column("rows", "rows"),
        figures.Column("drop, %", "drop", 1),
        figures.Column("sum: MAPE, %", "sum", 1),
        figures.Column("min", "min", 1),
        figures.Column("slowpath", "slowpath", 1),
        figures.Column("paper: sum", "paper_sum", 1),
        figures.Column("paper: min", "paper_min", 1),
        figures.Column("paper", "paper", 1),
    ]
    return figures.markdown(lines, columns)


def drawn(name: str, pattern: Pattern, count: int = MIXES) -> list[Level]:
    """Draw random sets of competitors, each for at least two resources.

    Equal arguments give equal sets. `count` is the number of sets.
    """
    draw = np.random.default_rng([DRAWN, *f"{name} {pattern}".encode()])
    resources = ("memory", *USES[name])
    count_contended = _MAX_CONTENDED.get((name, pattern), len(resources))
    found = []
    for _ in range(count):
        chosen = [resources[one] for one in draw.permutation(len(resources))[:count_contended]]
        memory = (_mem_bench(draw),) if "memory" in chosen else ()
        found.append(
            Level(memory, {one: _client(draw, one) for one in USES[name] if one in chosen})
        )
    return found


def _mem_bench(draw: np.random.Generator) -> MemBench:
    lines = float(np.exp(draw.uniform(np.log(3e6), np.log(1.5e8))))
    size = float(np.exp(draw.uniform(np.log(0.5), np.log(12.0))))
    return MemBench("step" if draw.integers(2) else "stream", round(size, 2), round(lines, -4))


def _client(draw: np.random.Generator, resource: str) -> SimulatedClient:
    """Draw a random competitor for the accelerator `resource`.

    A third of the competitors send requests without pause.
    """
    one: SimulatedClient
    if resource == "regex":
        mtbr = round(float(draw.uniform(0, 1200)), 1)
        one = {"function": "regex-bench", "packet_bytes": 1500, "mtbr": mtbr}
    else:
        one = {"function": "compression-bench", "packet_bytes": int(draw.integers(500, 9000))}
    rate = float(np.exp(draw.uniform(np.log(1e5), np.log(2e6))))
    return one if draw.integers(3) == 0 else {**one, "rate": round(rate)}


def parts_of(kept: Kept, name: str, pattern: Pattern) -> Parts:
    """Predict a function's throughput with contention for each resource alone.

    Also measure its throughput with contention for all of them.
    """
    full_name, levels = f"{name}-{pattern}", drawn(name, pattern)
    mixes = [
        [function(full_name, DEFAULT), *competitors(one.memory), *one.accelerators.values()]
        for one in levels
    ]
    truth = kept.throughputs(f"{full_name}.mixes", mixes, kept.settings._replace(seed=4))
    measured = np.array([one[0] for one in truth])
    runs = [[function(full_name, DEFAULT)]] * _SOLO
    alone = kept.throughputs(f"{full_name}.solo", runs, _longer(kept))
    solo = np.full(len(levels), float(np.mean(alone)))
    by_accelerator = _served if pattern == "pipeline" else _waited
    each = [by_accelerator(kept, full_name, one, levels, solo) for one in USES[name]]
    memory = _memory(kept, full_name, pattern, levels)
    parts = np.minimum(np.array([memory, *each]), solo)
    if pattern == "pipeline":
        together = COMPOSITIONS[pattern](parts, solo)
    else:
        together = _completed(kept, full_name, USES[name], levels, (float(solo[0]), memory))
    return Parts(parts, solo, together, measured)


def _memory(kept: Kept, name: str, pattern: Pattern, levels: Sequence[Level]) -> Floats:
    """Predict throughput with contention for memory only.

    The kind of memory model is chosen by its errors on training rows.
    """
    draw = np.random.default_rng(45)
    sets: list[tuple[Bench, ...]] = [()] * 5 + [(_mem_bench(draw),) for _ in range(_PROFILE)]
    # In a pipeline, accelerators would hide the effect of memory contention, so omit matches.
    traffic = DEFAULT if pattern == "run-to-completion" else DEFAULT._replace(mtbr=0.0)
    runs = [MemoryRun(traffic, some) for some in sets]
    file = kept.file(
        f"{name}.memory.{kept.settings.warm_up_ms:g}-ms.csv",
        lambda: memory_table(name, runs, kept.settings),
    )
    rows = rows_of(read_memory([str(file)]))
    stage = fit_stage(choose(read_memory([str(file)])).recipe, rows)
    benches = [one.memory for one in levels]

    def make() -> list[dict[str, float]]:
        known = levels_of(benches, kept.settings)
        return [dict(known[one]) for one in benches]

    known = kept.value("levels", json.dumps(benches), make)
    columns = {key: np.array([one[key] for one in known]) for key in known[0]}
    columns["flow_count"] = np.full(len(levels), float(DEFAULT.flows))
    columns["packet_size_bytes"] = np.full(len(levels), float(DEFAULT.size))
    return np.asarray(np.exp(stage.log_throughput(columns)))


def _clients(kept: Kept, resource: str, levels: Sequence[Level]) -> tuple[Floats, Floats]:
    """Return request times and rates of an accelerator's competitor, for each set in `levels`.

    The rate is 0 for sets without this competitor, and infinite if it never pauses.
    """
    clients = [one.accelerators.get(resource) for one in levels]
    times = [1e-6 if one is None else _time(kept, one) for one in clients]
    rates = [0.0 if one is None else one.get("rate", np.inf) for one in clients]
    return np.array(times), np.array(rates)


def _served(kept: Kept, name: str, resource: str, levels: Sequence[Level], solo: Floats) -> Floats:
    """Predict the throughput of a pipeline that only the accelerator `resource` limits."""
    times, rates = _clients(kept, resource, levels)
    # Select the runs in which this accelerator is the only limit.
    limited = [
        one for one in _co_runs(kept, name, resource, 2) if one.throughput < _LIMITED * solo[0]
    ]
    own_time = identify(limited).request_time
    both = np.stack([np.full(len(levels), own_time), times], axis=-1)
    limits = np.stack([np.full(len(levels), np.inf), rates], axis=-1)
    return throughputs(np.ones_like(both), both, limits)[:, 0]


def _waited(kept: Kept, name: str, resource: str, levels: Sequence[Level], solo: Floats) -> Floats:
    """Predict the throughput of a run-to-completion function that waits for one accelerator."""
    times, rates = _clients(kept, resource, levels)
    waits = measured_waits(float(solo[0]), _co_runs(kept, name, resource, 1))
    others = Others(np.ones((len(levels), 1)), times[:, None], rates[:, None])
    return beside(solo, np.full(len(levels), _own_time(kept, resource)), waits, others)


def _completed(
    kept: Kept,
    name: str,
    resources: Sequence[str],
    levels: Sequence[Level],
    memory: tuple[float, Floats],
) -> Floats:
    """Predict the throughput of a run-to-completion function with contention for all resources.

    `memory` has its solo throughput, and its throughput with contention for memory only.
    """
    solo, left = memory
    accelerators = [
        Accelerator(_own_time(kept, one), *_scattering(kept, one), _co_runs(kept, name, one, 1))
        for one in resources
    ]
    clients = [_clients(kept, one, levels) for one in resources]
    others = [
        Others(np.ones((len(levels), 1)), times[:, None], rates[:, None])
        for times, rates in clients
    ]
    return beside_all(completion(solo, accelerators), 1 / left - 1 / solo, others)


def _scattering(kept: Kept, resource: str) -> tuple[float, float]:
    """Return the time of an accelerator request without matches, and the time that a match adds."""
    if resource != "regex":
        return 0.0, 0.0
    less, more = (
        _time(kept, {"function": "regex-bench", "packet_bytes": DEFAULT.size, "mtbr": mtbr})
        for mtbr in (0.0, 1.0)
    )
    return less, (more - less) / (1e-6 * (DEFAULT.size - _HEADER))


def _co_runs(kept: Kept, name: str, resource: str, count: int) -> list[CoRun]:
    """Measure a function next to `count` competitors that always have a request at an accelerator.

    The results are means of several runs.
    """
    benches = _BENCHES[resource]
    mixes = [[function(name, DEFAULT), *[one] * count] for one in benches] * _REPEATED
    found = kept.throughputs(f"{name}.{resource}", mixes, _longer(kept))
    means = np.array([mix[0] for mix in found]).reshape(_REPEATED, -1).mean(axis=0)
    return [
        CoRun(count, _time(kept, one), float(mean))
        for one, mean in zip(benches, means, strict=True)
    ]


def _longer(kept: Kept) -> Settings:
    """Return simulation settings with twice the measuring time.

    Differences of results need more precision than the results.
    """
    return kept.settings._replace(measured_ms=2 * kept.settings.measured_ms)


def _time(kept: Kept, client: SimulatedClient) -> float:
    """Return the request time of a competitor.

    It comes from a line fitted to runs of competitors alone.
    """
    resource = client["function"].removesuffix("-bench")
    benches = _BENCHES[resource]
    found = kept.throughputs(f"alone.{resource}", [[one] for one in benches], kept.settings)
    times = 1 / np.array([one[0] for one in found])
    key: Literal["mtbr", "packet_bytes"] = "mtbr" if resource == "regex" else "packet_bytes"
    line = np.polyfit([one[key] for one in benches], times, 1, w=1 / times)
    return float(np.polyval(line, client[key]))


def _own_time(kept: Kept, resource: str) -> float:
    """Return the function's request time, measured with a competitor that sends equal requests."""
    one: SimulatedClient = {
        "function": f"{resource}-bench",
        "packet_bytes": DEFAULT.size,
        "mtbr": DEFAULT.mtbr,
    }
    return _time(kept, one)
