"""From a run of experiments to the target file of the machine."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING, NamedTuple, cast

from slowpath.experiments.cores.description import Machine
from slowpath.experiments.cores.fitting import Fitted, fit
from slowpath.experiments.cores.models import models_text
from slowpath.experiments.cores.observations import Observation, observations
from slowpath.experiments.results.documents import ModelDocument
from slowpath.experiments.results.folder import RunFolder, write

if TYPE_CHECKING:
    from slowpath.measurements.environment import Environment

_FEWEST = 200
"""Programs that it takes at least to tell parameters apart."""


class Derived(NamedTuple):
    """The machine as a target, and how well it explains the experiments."""

    text: str
    file: str
    programs: int
    error: float  # median, in parts of the time


def derive(
    folder: RunFolder, documents: Sequence[ModelDocument], go_on: Callable[[float], bool]
) -> Derived | None:
    """Writes the target file of a run, with its models; None where too little was measured for one.

    Raises:
        InputError: when a file is damaged, or cannot be written.
    """
    seen, places, dates = list[Observation](), list["Environment"](), list[str]()
    spread = set[str]()
    for document in documents:
        name = document["experiment"]
        into = folder.of(name)
        found = list(observations(name, into))
        where = [one for one in into.environments() if one is not None]
        if found and where:
            seen += found
            places += cast("list[Environment]", where)
            dates.append(into.measurement()["date"])
        if into.experiment()["traffic"]["vary"]:
            spread.add(name)
    machine = _machine(places, dates)
    if len(seen) < _FEWEST or machine is None:
        return None
    fitted: Fitted = fit(seen, machine, go_on)
    file = folder.path / "linux-xdp.toml"
    text = fitted.text + models_text(documents, frozenset(spread))
    write(file, text)
    error = median(abs(one) for one in fitted.errors)
    return Derived(text, str(file), len(seen), error)


def _machine(places: Sequence["Environment"], dates: Sequence[str]) -> Machine | None:
    """What is said of the machine; None where its clock is not known."""
    clocks = [place["pace"]["clock_hz"] for place in places if place["pace"] is not None]
    if not clocks:
        return None
    clock = round(median(clocks), -7)
    processor = places[0]["processor"]["model"] or "an unknown processor"
    release = places[0]["kernel"]["release"] or "of unknown version"
    words = f"{processor} at {clock / 1e9:.2f} GHz, Linux {release}"
    return {"machine": words, "date": min(dates)[:10], "clock_hz": int(clock)}
