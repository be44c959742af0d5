"""From a run of experiments to the target file of the machine."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING, NamedTuple, cast

from slowpath.engine import estimates, targets
from slowpath.experiments.cores.description import NAME, Machine
from slowpath.experiments.cores.fitting import Fitted, fit
from slowpath.experiments.cores.models import models_text
from slowpath.experiments.cores.observations import Observation, observations
from slowpath.experiments.cores.quality import Quality, quality
from slowpath.experiments.results.documents import ModelDocument
from slowpath.experiments.results.folder import ExperimentFolder, RunFolder, write

if TYPE_CHECKING:
    from slowpath.measurements.environment import Environment

_FEWEST = 200
"""Programs that it takes at least to tell parameters apart."""
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
"""Experiments that nothing is fitted to: loops, stores, loads and calls go together in them as they
do in whole programs, and others tell the price of each."""


class Derived(NamedTuple):
    """The machine as a target, and how well it explains the experiments."""

    text: str
    file: str
    programs: int
    error: float  # median, in parts of the time
    quality: Quality


def derive(
    folder: RunFolder,
    documents: Sequence[ModelDocument],
    go_on: Callable[[float], bool],
    progress: Callable[[float], None] = lambda _: None,
) -> Derived | None:
    """Writes the target file of a run, with its models; None where too little was measured for one.

    `progress` is told which share of the search for the core is done.

    Raises:
        InputError: when a file is damaged, or cannot be written.
    """
    places, dates = list["Environment"](), list[str]()
    spread, folders = set[str](), dict[str, ExperimentFolder]()
    for document in documents:
        name = document["experiment"]
        into = folder.of(name)
        where = [one for one in into.environments() if one is not None]
        if where and into.flows():
            folders[name] = into
            places += cast("list[Environment]", where)
            dates.append(into.measurement()["date"])
        if into.experiment()["traffic"]["vary"]:
            spread.add(name)
    machine = _machine(places, dates)
    observed = list(observations(folders))
    seen = [one for one in observed if one.experiment not in _CHECKS]
    checks = [one for one in observed if one.experiment in _CHECKS]
    if len(seen) < _FEWEST or machine is None:
        return None
    fitted: Fitted = fit(seen, machine, go_on, checks, progress)
    file = folder.path / "linux-xdp.toml"
    measured = [folder.of(document["experiment"]).measurement() for document in documents]
    found = quality(
        [one["notes"] for one in measured],
        [one.get("compiler") for one in measured],
        _errors(fitted.text, checks),
    )
    text = fitted.text + found.text() + models_text(documents, frozenset(spread))
    write(file, text)
    error = median(abs(one) for one in fitted.errors)
    return Derived(text, str(file), len(seen), error, found)


def _errors(text: str, checks: Sequence[Observation]) -> list[float]:
    """Of each check program, in parts of its time."""
    target = targets.described_target(NAME, text)
    estimated = estimates.nanoseconds([one.flow for one in checks], target)
    return [ns / one.ns - 1 for one, ns in zip(checks, estimated, strict=True)]


def _machine(places: Sequence["Environment"], dates: Sequence[str]) -> Machine | None:
    """Describe the machine; None where its clock is not known."""
    clocks = [place["pace"]["clock_hz"] for place in places if place["pace"] is not None]
    if not clocks:
        return None
    clock = round(median(clocks), -7)
    processor = places[0]["processor"]["model"] or "an unknown processor"
    release = places[0]["kernel"]["release"] or "of unknown version"
    words = f"{processor} at {clock / 1e9:.2f} GHz, Linux {release}"
    return {"machine": words, "date": min(dates)[:10], "clock_hz": int(clock)}
