"""What was seen of programs whose path is known: the path, and how long it took."""

from collections.abc import Iterator
from typing import NamedTuple

from slowpath.cli.errors import InputError
from slowpath.engine import estimates
from slowpath.experiments.results.folder import ExperimentFolder
from slowpath.experiments.results.samples import points_from


class Observation(NamedTuple):
    """A program that was measured."""

    experiment: str
    flow: estimates.Flow
    ns: float  # a turn of the kernel's loop with the program in it


def observations(name: str, folder: ExperimentFolder) -> Iterator[Observation]:
    """The programs of an experiment, each once.

    None where packets vary, whose data are not hot; nor where branches cannot be predicted, which
    take other paths each time.

    Raises:
        InputError: when a file is damaged.
    """
    experiment = folder.experiment()
    unpredictable = experiment["component"].get("fixed", {}).get("predictable") == "no"
    if experiment["traffic"]["vary"] or unpredictable:
        return
    paths = folder.flows()
    known = set[str]()
    for point in points_from(folder.samples(), exact=False):
        for which, ns in (("component", point["program"]), ("baseline", point["baseline"])):
            text = paths.get(f"{which}-{point['value']}")
            if text is not None and text not in known:
                known.add(text)
                yield Observation(name, _flow(folder, text), ns)


def _flow(folder: ExperimentFolder, text: str) -> estimates.Flow:
    try:
        return estimates.flow_of(text)
    except ValueError as problem:
        raise InputError(str(folder.path / "flows.json"), str(problem)) from None
