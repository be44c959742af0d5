"""Observations of programs whose path is known: the path, and its time."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from slowpath.cli.errors import InputError
from slowpath.engine import estimates
from slowpath.experiments.results.documents import Sample
from slowpath.experiments.results.folder import ExperimentFolder
from slowpath.measurements.timing.statistics import quantile

_QUICK, _ALONE = 0.08, 1.12
"""This quantile of what a program took is what it takes on a core that nobody shares; a sample in
which one of its two programs took more than so many times that was disturbed. Throughput halves
where another CPU shares the core, and a mean of both is true of neither. The two run one after the
other, so that one of them may be disturbed alone."""
_FEWEST = 2
"""Undisturbed samples that a point needs."""


class Observation(NamedTuple):
    """A program that was measured."""

    experiment: str
    flow: estimates.Flow
    ns: float  # a turn of the kernel's loop with the program in it


class _Seen(NamedTuple):
    folder: ExperimentFolder
    paths: Mapping[str, str]
    samples: list[Sample]

    def path(self, which: str, sample: Sample) -> str | None:
        return self.paths.get(f"{which}-{sample.value}")


def observations(folders: Mapping[str, ExperimentFolder]) -> Iterator[Observation]:
    """The programs of experiments, each once, as they are on a core that nobody shares.

    None where packets vary, whose data are not hot; nor where branches cannot be predicted, which
    take other paths each time; nor points that were disturbed in all samples.

    Raises:
        InputError: when a file is damaged.
    """
    seen = {
        name: _Seen(folder, folder.flows(), folder.samples())
        for name, folder in folders.items()
        if _is_hot(folder)
    }
    quick = _quick(seen)
    for name, one in seen.items():
        alone = dict[int, list[Sample]]()
        for sample in one.samples:
            baseline = one.path("baseline", sample)
            if baseline is not None and sample.baseline <= _ALONE * quick[baseline]:
                alone.setdefault(sample.value, []).append(sample)
        yield from _programs(name, one, alone)


def _is_hot(folder: ExperimentFolder) -> bool:
    experiment = folder.experiment()
    unpredictable = experiment["component"].get("fixed", {}).get("predictable") == "no"
    return not experiment["traffic"]["vary"] and not unpredictable


def _quick(seen: Mapping[str, _Seen]) -> dict[str, float]:
    """Return the undisturbed time of each baseline program, over all its experiments."""
    times = dict[str, list[float]]()
    for one in seen.values():
        for sample in one.samples:
            baseline = one.path("baseline", sample)
            if baseline is not None:
                times.setdefault(baseline, []).append(sample.baseline)
    return {path: quantile(found, _QUICK) for path, found in times.items()}


def _programs(name: str, one: _Seen, alone: Mapping[int, list[Sample]]) -> Iterator[Observation]:
    known = set[str]()
    taken = dict[int, list[float]]()
    for sample in one.samples:
        taken.setdefault(sample.value, []).append(sample.component)
    for value, samples in sorted(alone.items()):
        if len(samples) < _FEWEST:
            continue
        quick = quantile(taken[value], _QUICK)
        for which, times in (
            ("component", _undisturbed([sample.component for sample in samples], quick)),
            ("baseline", [sample.baseline for sample in samples]),
        ):
            text = one.path(which, samples[0])
            if text is not None and text not in known:
                known.add(text)
                yield Observation(name, _flow(one.folder, text), statistics.median(times))


def _undisturbed(times: Sequence[float], quick: float) -> Sequence[float]:
    """The times near that of a core that nobody shares; the least one if there are none."""
    return [time for time in times if time <= _ALONE * quick] or [min(times)]


def _flow(folder: ExperimentFolder, text: str) -> estimates.Flow:
    try:
        return estimates.flow_of(text)
    except ValueError as problem:
        raise InputError(str(folder.path / "flows.json"), str(problem)) from None
