"""Derives this machine's target file from the measurements in a folder of experiments.

A quick calibration takes half a minute: it measures a few experiments, and scales the target of the
most similar machine among those shipped with slowpath (the base). The experiments measure the clock
frequency, the kernel's loop of test runs, and the components that most programs use. The core's
parameters start at those of the base, or at default values if its CPU is of another family, and
change only as far as the measurements require. Costs of calls without an experiment change by the
median ratio of the measured costs in their group. Models of the growth with map entries change by
the ratio of one measurement.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, NamedTuple, cast

from slowpath.bounds.default_target import nearest_target
from slowpath.calibrate.description import (
    NAME,
    CallPrice,
    Machine,
    Quality,
    parameters_of,
    quality,
    quoted,
    start_values,
)
from slowpath.calibrate.experiments.documents import ModelDocument
from slowpath.calibrate.experiments.folder import ExperimentFolder, RunFolder, write
from slowpath.calibrate.experiments.specification import Experiment, shipped_experiment, with_range
from slowpath.calibrate.fitting import Fitted, Prior, fit, fit_near
from slowpath.calibrate.observations import Observation, observations
from slowpath.core.engine import targets
from slowpath.models.documents import Segment

if TYPE_CHECKING:
    from slowpath.measure.environment import Environment

# --- quick calibration ----------------------------------------------------------------------------

SECONDS = 0.25
"""Time limit of each experiment in a quick calibration, in seconds, without the loading of
programs.
"""
PRECISION = 3.0
"""Requested precision of times in a quick calibration, in percent of the time."""

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
"""Experiments of a quick calibration, each with the first and the last value of its swept
parameter, and the number of values.
"""
GROWTH = {"table-exact-entries": (100, 100_000, 2)}
"""Experiment that measures how times grow with the number of map entries. The result scales the
base target's models of this growth.
"""


def quick_experiments() -> list[Experiment]:
    """Return the experiments of a quick calibration, each with few parameter values."""
    values = {**_POINTS, **GROWTH}
    return [with_range(shipped_experiment(name), *points) for name, points in values.items()]


class Base(NamedTuple):
    """The target shipped with slowpath that a quick calibration scales."""

    name: str
    text: str
    foreign: bool  # true if its machine is of another family than this machine's CPU


def nearest_base() -> Base:
    """Return the shipped target whose machine is most similar to this machine's CPU."""
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
    """Return the base target's parameters, changed as far as the measured `programs` require.

    Calls without a measurement get scaled costs of the base target. The parameters `callbacks`
    (`go_on` and `progress`) and `checks` have the same meaning as in `fit_near`.
    """
    timing = tomllib.loads(base.text)["timing"]
    clock_ratio = machine["clock_hz"] / timing["clock_hz"]
    known = cast("Mapping[str, CallPrice]", timing["call"])
    # For a CPU of another family, default values are better start values than those of the base.
    parameters = start_values() if base.foreign else parameters_of(timing)
    prior = Prior(parameters, partial(scaled_calls, known, clock_ratio))
    return fit_near(prior, programs, machine, callbacks, checks)


_GROUPS = (
    re.compile(r"map_lookup_elem\.(?!.*array)|redirect_map"),
    re.compile(r"map_(update|delete)_elem"),
    re.compile(r"ktime|jiffies|prandom"),
)
"""Groups of kernel calls whose costs differ between two machines by about the same ratio. All calls
that match none of these patterns form one more group.
"""


def scaled_calls(
    base: Mapping[str, CallPrice], clock_ratio: float, measured: Mapping[str, CallPrice]
) -> dict[str, CallPrice]:
    """Return costs for all calls of a base target: measured costs, else scaled base costs.

    `clock_ratio` is the clock frequency of the machine, divided by that of the base. A group of
    calls without a measurement takes the same time as on the base target.
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
    """Measured median time of a program that looks up random entries of a map."""

    flow: targets.Flow
    entries: int
    ns: float


def growth_ratio(fitted: str, found: Sequence[GrowthSample]) -> float:
    """Return how much faster times grow with the number of map entries than the target predicts.

    The result is the measured growth divided by the predicted growth. It is 1 unless both are
    positive. `fitted` is the text of the target with the base's models, `found` has the
    measurements.
    """
    if not found:
        return 1.0
    target = targets.described_target("fitted", fitted)
    first, last = (pick(found, key=lambda one: one.entries) for pick in (min, max))
    few, many = (targets.nanoseconds([one.flow], target, one.entries)[0] for one in (first, last))
    measured = last.ns - first.ns
    return measured / (many - few) if many > few and measured > 0 else 1.0


_FACTORS = {"exponential": 2}
"""Number of leading parameters of a template (kind of function) that are factors of its values. For
templates without an entry, all parameters are.
"""


def models_of(base: Base, ratio: float) -> str:
    """Return the cost models of the base target as TOML, those of map entries scaled by `ratio`."""
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


# --- target file ----------------------------------------------------------------------------------

_BY_KEY = ("map_lookup_elem", "map_update_elem", "map_delete_elem")
"""Helpers that look up a key, so that their time depends on the number of map entries."""


def models_text(documents: Sequence[ModelDocument], varied: frozenset[str]) -> str:
    """Return a TOML table for each cost model, sorted by the name of its experiment.

    `varied` has the experiments in which packets differ. If such an experiment sweeps the entries
    of a map, estimates use its model for the time of map lookups.
    """
    tables = [
        "\n".join(_table(document, varied=document["experiment"] in varied))
        for document in sorted(documents, key=lambda document: document["experiment"])
        if document["model"] is not None and len(document["model"]["x"]) == 1
    ]
    return "".join(f"\n{table}\n" for table in tables)


def _table(document: ModelDocument, *, varied: bool) -> Iterator[str]:
    model = document["model"]
    assert model is not None  # noqa: S101 - only documents with a model
    yield f"[timing.model.{document['experiment']}]"
    yield f"description = {quoted(document['description'])}"
    yield f"parameter = {quoted(document['parameter'])}"
    calls = _calls(document) if varied else []
    if calls:
        yield f"calls = {json.dumps(calls)}"
        yield f"found = {json.dumps(_hits(document))}"
        size = _entry_bytes(document)
        if size is not None:
            yield f"entry_bytes = {size}"
    yield f"smape = {model['errors']['smape']:.4f}"
    if model["held_out"] is not None:
        yield f"held_out_smape = {model['held_out']['smape']:.4f}"
    yield f"data_sha256 = {quoted(document['samples_sha256'] or '')}"
    segments = [f"    {_segment(one)}," for one in model["segments"]]
    yield "\n".join(["segments = [", *segments, "]"])
    residuals = model["residuals"]
    if residuals is not None:
        yield f"residuals = {{ x = {_list(residuals['x'])}, share = {_list(residuals['share'])} }}"


def _segment(segment: Segment) -> str:
    cells = {
        "from": _number(segment["from"]),
        "to": _number(segment["to"]),
        "template": quoted(segment["template"]),
        "parameters": _list(one["value"] for one in segment["parameters"]),
    }
    if segment["origin"] != 0:
        cells["origin"] = _number(segment["origin"])
    for name, limit in (("at_least", segment["at_least"]), ("at_most", segment["at_most"])):
        if limit is not None:
            cells[name] = _number(limit)
    if segment["extrapolates"]:
        cells["extrapolates"] = "true"
    return f"{{ {', '.join(f'{name} = {cell}' for name, cell in cells.items())} }}"


def _list(values: Iterable[float]) -> str:
    return f"[{', '.join(map(_number, values))}]"


def _number(value: float) -> str:
    """Format a number with all digits: a model can be the small difference of large terms."""
    return str(int(value)) if value == int(value) and abs(value) < 1e9 else repr(float(value))  # noqa: PLR2004


def _calls(document: ModelDocument) -> list[str]:
    """Return the helper calls whose growth with map entries this experiment measures."""
    if document["parameter"] != "entries":
        return []
    fixed = document["fixed"]
    if document["kind"] == "table-lpm" and fixed.get("method") == "lpm":
        types = "lpm_trie"
    elif document["kind"] in {"table-exact", "table-array"} and "map" in fixed:
        types = str(fixed["map"])
    else:
        return []
    helpers = _BY_KEY if _hits(document) else _BY_KEY[:1]
    return [f"{helper}.{types}" for helper in helpers]


_HEADER, _POINTER = 64, 8
"""Bytes of memory that the kernel needs for an element in addition to its content: in a hash map,
and in a per-CPU array. The same values are in `Room::of` of `crates/estimate/src/code.rs`.
"""


def _entry_bytes(document: ModelDocument) -> int | None:
    """Return the memory of an element of the experiment's map in bytes; None for tries.

    The lookup in a trie takes longer with more entries for another reason, too: the trie gets
    deeper.
    """
    fixed = document["fixed"]
    value = int(fixed.get("value_bytes", 0))
    if document["kind"] == "table-array":
        return value + (_POINTER if fixed.get("map") == "percpu_array" else 0)
    if document["kind"] == "table-exact":
        return int(fixed.get("key_bytes", 0)) + value + _HEADER
    return None


def _hits(document: ModelDocument) -> bool:
    """Return true if the lookups in an experiment find an entry."""
    return document["fixed"].get("hit") != "no"


_FEWEST = 200
"""Minimum number of measured programs for a fit; fewer do not determine the parameters."""
_FEWEST_QUICK = 30
"""Minimum number of measured programs for a fit that scales another target."""
_CHECKS = (
    "checksum-update",
    "copy-many-bytes",
    "mixture-parse-turn",
    "mixture-write",
    "parser-fields",
    "table-ternary-linear-repeats",
    "table-ternary-tuples-key-bytes",
    "table-ternary-tuples-repeats",
)
"""Experiments that check the fit: the fit does not use their programs. Like real programs, they
combine loops, stores, loads and calls; other experiments measure each of these alone.
"""


class Derived(NamedTuple):
    """The target file that was derived for this machine, with its errors."""

    text: str  # text of the target file
    file: str  # path of the target file
    programs: int  # number of programs in the fit
    error: float  # median error on these programs, as a share of the time
    quality: Quality


def derive(
    folder: RunFolder,
    documents: Sequence[ModelDocument],
    go_on: Callable[[float], bool],
    progress: Callable[[float], None] = lambda _: None,
    *,
    base: Base | None = None,
) -> Derived | None:
    """Fit a target to this machine and write its file; return None if too little was measured.

    Args:
        folder: Folder of the run.
        documents: Results of the experiments.
        go_on: Gets the current loss of the fit; returns false to stop it.
        progress: Gets the finished share of the fit.
        base: Shipped target that a quick calibration scales; None for a full calibration.

    Raises:
        InputError: when a file is damaged or cannot be written.
    """
    environments, dates = list["Environment"](), list[str]()
    varied, folders = set[str](), dict[str, ExperimentFolder]()
    for document in documents:
        name = document["experiment"]
        experiment = folder.of(name)
        known = [one for one in experiment.environments() if one is not None]
        if known and experiment.flows():
            folders[name] = experiment
            environments += cast("list[Environment]", known)
            dates.append(experiment.measurement()["date"])
        if experiment.experiment()["traffic"]["vary"]:
            varied.add(name)
    machine = _machine(environments, dates, base)
    all_programs = list(observations(folders))
    programs = [one for one in all_programs if one.experiment not in _CHECKS]
    checks = [one for one in all_programs if one.experiment in _CHECKS]
    if len(programs) < (_FEWEST if base is None else _FEWEST_QUICK) or machine is None:
        return None
    if base is None:
        fitted = fit(programs, machine, go_on, checks, progress)
        models = models_text(documents, frozenset(varied))
    else:
        fitted = fit_quickly(base, programs, machine, (go_on, progress), checks)
        ratio = growth_ratio(fitted.text + models_of(base, 1.0), _growth_samples(folders))
        models = models_of(base, ratio)
    file = folder.path / "linux-xdp.toml"
    measurements = [folder.of(document["experiment"]).measurement() for document in documents]
    found = quality(
        [one["notes"] for one in measurements],
        [one.get("compiler") for one in measurements],
        _errors(fitted.text, checks),
        None if base is None else base.name,
    )
    text = fitted.text + found.text() + models
    write(file, text)
    error = median(abs(one) for one in fitted.errors)
    return Derived(text, str(file), len(programs), error, found)


def _errors(text: str, checks: Sequence[Observation]) -> list[float]:
    """Return the relative errors of a target's estimates for check programs.

    `text` is the text of the target.
    """
    target = targets.described_target(NAME, text)
    estimated = targets.nanoseconds([one.flow for one in checks], target)
    return [ns / one.ns - 1 for one, ns in zip(checks, estimated, strict=True)]


def _growth_samples(folders: Mapping[str, ExperimentFolder]) -> list[GrowthSample]:
    """Return the measurements of a quick calibration for the growth of times with map entries."""
    found = []
    for name in GROWTH:
        if name not in folders:
            continue
        flows, times = folders[name].flows(), dict[int, list[float]]()
        for sample in folders[name].samples():
            times.setdefault(sample.value, []).append(sample.component)
        found += [
            GrowthSample(targets.flow_of(flows[f"component-{value}"]), value, median(ns))
            for value, ns in times.items()
            if f"component-{value}" in flows
        ]
    return found


def _machine(
    environments: Sequence["Environment"], dates: Sequence[str], base: Base | None
) -> Machine | None:
    """Describe the measured machine; return None if its clock frequency is unknown."""
    clocks = [one["pace"]["clock_hz"] for one in environments if one["pace"] is not None]
    if not clocks:
        return None
    clock = round(median(clocks), -7)
    processor = environments[0]["processor"]["model"] or "an unknown processor"
    release = environments[0]["kernel"]["release"] or "of unknown version"
    words = f"{processor} at {clock / 1e9:.2f} GHz, Linux {release}"
    if base is not None:
        words += f", quick calibration from {base.name}"
    return {"machine": words, "date": min(dates)[:10], "clock_hz": int(clock)}
