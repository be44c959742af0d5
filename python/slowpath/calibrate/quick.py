"""Calibrates a machine in half a minute: a few experiments scale the nearest shipped target.

The experiments measure the clock, the loop of test runs, and the components that most programs
consist of. The core's parameters start at those of the base target, or at default values if it is
of another family, and change only as far as the measurements require. Costs of calls without an
experiment change by the median ratio of the measured costs in their group. Models of the growth
with map entries change by the ratio of one measurement.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple, cast

from slowpath.bounds.default_target import nearest_target
from slowpath.calibrate.description import (
    CallPrice,
    Machine,
    parameters_of,
    start_values,
)
from slowpath.calibrate.experiments.specification import (
    Experiment,
    shipped_experiment,
    with_range,
)
from slowpath.calibrate.fitting import Fitted, Prior, fit_near
from slowpath.calibrate.observations import Observation
from slowpath.core.engine import targets

SECONDS = 0.25
"""Time limit of each experiment; its loads may take longer."""
PRECISION = 3.0
"""Requested precision of times, in percent."""

_POINTS: Mapping[str, tuple[int, int, int]] = {
    "mixture-parse": (64, 512, 3),
    "mixture-turn": (64, 512, 2),
    "mixture-compute": (64, 512, 3),
    "mixture-write": (64, 512, 2),
    "arithmetic-add": (64, 512, 2),
    "arithmetic-move": (16, 128, 2),
    "arithmetic-multiply": (16, 128, 2),
    "arithmetic-divide": (8, 64, 2),
    "parser-branches": (4, 16, 2),
    "loops": (8, 64, 2),
    "calls": (8, 64, 2),
    "copy-bytes": (64, 512, 2),
    "state-reads": (4, 32, 2),
    "state-writes": (4, 32, 2),
    "state-atomic-adds": (4, 32, 2),
    "array-hot-repeats": (4, 32, 2),
    "checksum-helper": (64, 512, 2),
    "table-exact-hit-repeats": (1, 8, 2),
    "table-exact-miss-repeats": (1, 8, 2),
    "table-exact-hot-key-bytes": (4, 64, 2),
    "table-lru-hit-repeats": (1, 8, 2),
    "table-percpu-hit-repeats": (1, 8, 2),
    "table-lpm-hit-repeats": (1, 8, 2),
    "table-lpm-miss-repeats": (1, 8, 2),
    "helper-map-update-elem-hash": (1, 8, 2),
    "helper-map-insert-delete-hash": (1, 8, 2),
    "helper-map-update-elem-lru-hash": (1, 8, 2),
    "helper-ktime-get-ns": (1, 8, 2),
    "helper-get-prandom-u32": (1, 8, 2),
    "helper-xdp-adjust-meta": (1, 8, 2),
    "helper-ringbuf-output": (1, 8, 2),
    "helper-redirect": (1, 8, 2),
    "tail-calls": (1, 8, 2),
    "mixture-parse-turn": (4, 26, 4),
    "parser-fields": (2, 14, 4),
    "table-ternary-linear-repeats": (1, 3, 2),
    "table-ternary-tuples-repeats": (1, 3, 2),
}
"""First and last value of the parameter of each experiment, and the number of values."""
GROWTH = {"table-exact-entries": (100, 100_000, 2)}
"""Experiment whose growth with map entries scales the models of growth."""


def quick_experiments() -> list[Experiment]:
    """Return the experiments of a quick calibration, with few values each."""
    values = {**_POINTS, **GROWTH}
    return [with_range(shipped_experiment(name), *points) for name, points in values.items()]


class Base(NamedTuple):
    """The shipped target that a quick calibration scales."""

    name: str
    text: str
    foreign: bool  # true if its machine is of another family than this machine's CPU


def nearest_base() -> Base:
    """Return the shipped target that is nearest to this machine's CPU."""
    found = nearest_target()
    text = targets.target_text(found.target) or ""
    return Base(found.target, text, foreign=found.foreign_cpu is not None)


def fit_quickly(
    base: Base,
    programs: Sequence[Observation],
    machine: Machine,
    callbacks: tuple[Callable[[float], bool], Callable[[float], None]],
    checks: Sequence[Observation],
) -> Fitted:
    """Return the base target's parameters, changed as far as the programs require.

    Calls without a measurement get scaled costs of the base target. `callbacks` are `go_on` and
    `progress`, and `checks` the programs that the fit does not use, as in `fit`.
    """
    timing = tomllib.loads(base.text)["timing"]
    clock_ratio = machine["clock_hz"] / timing["clock_hz"]
    known = cast("Mapping[str, CallPrice]", timing["call"])
    # Default values are nearer to an unknown core than those of another family.
    parameters = start_values() if base.foreign else parameters_of(timing)
    prior = Prior(parameters, partial(scaled_calls, known, clock_ratio))
    return fit_near(prior, programs, machine, callbacks, checks)


_GROUPS = (
    re.compile(r"map_lookup_elem\.(?!.*array)|redirect_map"),
    re.compile(r"map_(update|delete)_elem"),
    re.compile(r"ktime|jiffies|prandom"),
)
"""Calls whose costs differ between machines by about the same ratio; all others form a group."""


def scaled_calls(
    base: Mapping[str, CallPrice], clock_ratio: float, measured: Mapping[str, CallPrice]
) -> dict[str, CallPrice]:
    """Return costs for all calls of a base target: measured ones, else the base's, scaled.

    `clock_ratio` is the clock frequency of the machine, divided by that of the base. A group
    without a measurement takes the same time as on the base target.
    """

    def group(name: str) -> int:
        found = (at for at, pattern in enumerate(_GROUPS) if pattern.match(name))
        return next(found, len(_GROUPS))

    ratios: dict[int, list[float]] = {}
    for name, price in measured.items():
        if base.get(name, {}).get("cycles", 0.0) > 0 and price["cycles"] > 0:
            ratios.setdefault(group(name), []).append(price["cycles"] / base[name]["cycles"])
    scales = {at: median(found) for at, found in ratios.items()}
    scaled = {
        name: _scaled(price, scales.get(group(name), clock_ratio)) for name, price in base.items()
    }
    return {**scaled, **measured}


def _scaled(price: CallPrice, factor: float) -> CallPrice:
    cycles = cast("Mapping[str, float]", price)
    return cast("CallPrice", {key: value * factor for key, value in cycles.items()})


class GrowthSample(NamedTuple):
    """A program whose packets choose among map entries at random, and its median time."""

    flow: targets.Flow
    entries: int
    ns: float


def growth_ratio(fitted: str, found: Sequence[GrowthSample]) -> float:
    """Return the measured growth with map entries, divided by the growth that a target estimates.

    `fitted` is the text of the target, with the base's models. Return 1 unless both grow.
    """
    if not found:
        return 1.0
    target = targets.described_target("fitted", fitted)
    first, last = (pick(found, key=lambda one: one.entries) for pick in (min, max))
    few, many = (targets.nanoseconds([one.flow], target, one.entries)[0] for one in (first, last))
    measured = last.ns - first.ns
    return measured / (many - few) if many > few and measured > 0 else 1.0


_FACTORS = {"exponential": 2}
"""Number of parameters that scale the values of a template; of other templates, all do."""


def models_of(base: Base, ratio: float) -> str:
    """Return the base target's models as TOML text, with the growth with map entries scaled."""
    return "".join(f"{line}\n" for line in _scaled_models(base, ratio))


def _scaled_models(base: Base, ratio: float) -> Iterator[str]:
    models = base.text[base.text.index("\n[timing.model.") :]
    is_scaled = False
    for line in models.splitlines():
        if line.startswith("["):
            is_scaled = False
        elif line.startswith("calls = "):
            is_scaled = True
        yield _scaled_segment(line, ratio) if is_scaled and "template = " in line else line


def _scaled_segment(line: str, ratio: float) -> str:
    (segment,) = tomllib.loads(f"segments = [{line.strip().rstrip(',')}]")["segments"]
    template = str(segment["template"])
    factor = 1 / ratio if template.startswith("inverse-") else ratio
    scaled = _FACTORS.get(template.removeprefix("inverse-"), len(segment["parameters"]))
    segment["parameters"] = [
        value * factor if at < scaled else value for at, value in enumerate(segment["parameters"])
    ]
    for limit in ("at_least", "at_most"):
        if limit in segment:
            segment[limit] *= ratio
    cells = ", ".join(f"{key} = {json.dumps(value)}" for key, value in segment.items())
    return f"    {{ {cells} }},"
