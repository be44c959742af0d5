"""Derives this machine's target file from the measurements in a folder of experiments."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, NamedTuple, cast

from slowpath.calibrate.description import NAME, Machine, Quality, quality, quoted
from slowpath.calibrate.experiments.documents import ModelDocument
from slowpath.calibrate.experiments.folder import ExperimentFolder, RunFolder, write
from slowpath.calibrate.fitting import fit
from slowpath.calibrate.observations import Observation, observations
from slowpath.calibrate.quick import (
    GROWTH,
    Base,
    GrowthSample,
    fit_quickly,
    growth_ratio,
    models_of,
)
from slowpath.core.engine import targets
from slowpath.models.documents import Segment

if TYPE_CHECKING:
    from slowpath.measure.environment import Environment

_BY_KEY = ("map_lookup_elem", "map_update_elem", "map_delete_elem")
"""Helpers that look up a key, so that their time depends on the number of entries of a map."""


def models_text(documents: Sequence[ModelDocument], varied: frozenset[str]) -> str:
    """Return a TOML table for each cost model, sorted by the name of its experiment.

    `varied` has the experiments whose packets vary. If such an experiment sweeps the entries of a
    map, the target file uses its model for the time of map lookups.
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
    """Format a number with all digits, because a model can be a small difference of large terms."""
    return str(int(value)) if value == int(value) and abs(value) < 1e9 else repr(float(value))  # noqa: PLR2004


def _calls(document: ModelDocument) -> list[str]:
    """Return the helper calls whose time this experiment measures by the number of map entries."""
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
"""Bytes that the kernel keeps beside an element of a hash map, and of a per-CPU array, as
`Room::of` in `crates/estimate/src/code.rs` has them."""


def _entry_bytes(document: ModelDocument) -> int | None:
    """Return the memory of an element of the measured map in bytes; None for tries.

    A lookup in a trie also gets longer because the trie gets deeper.
    """
    fixed = document["fixed"]
    value = int(fixed.get("value_bytes", 0))
    if document["kind"] == "table-array":
        return value + (_POINTER if fixed.get("map") == "percpu_array" else 0)
    if document["kind"] == "table-exact":
        return int(fixed.get("key_bytes", 0)) + value + _HEADER
    return None


def _hits(document: ModelDocument) -> bool:
    """Return true if the lookups of an experiment find entries."""
    return document["fixed"].get("hit") != "no"


_FEWEST = 200
"""Minimum number of programs for a fit; fewer programs do not determine the parameters."""
_FEWEST_QUICK = 30
"""Minimum number of programs for a fit that scales another target."""
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
"""Experiments held out from the fit, as check programs. Like whole programs, they combine loops,
stores, loads and calls; other experiments measure the price of each of these alone."""


class Derived(NamedTuple):
    """The target file that was derived for this machine, and its errors on the experiments."""

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
    """Fit this machine's target and write its file; return None if too little was measured.

    `go_on` gets the current loss of the fit, and returns false to stop. `progress` gets the
    finished share of the fit. `base` is the shipped target that a quick calibration scales; None
    for a full calibration.

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
    """Return the relative error of the estimate for each check program."""
    target = targets.described_target(NAME, text)
    estimated = targets.nanoseconds([one.flow for one in checks], target)
    return [ns / one.ns - 1 for one, ns in zip(checks, estimated, strict=True)]


def _growth_samples(folders: Mapping[str, ExperimentFolder]) -> list[GrowthSample]:
    """Return the programs of a quick calibration that look up random entries of a map."""
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
    """Describe the machine; return None if its clock is unknown."""
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
