"""Observed times of programs with known paths, and prices of kernel calls."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from slowpath.calibrate.core_model.description import CallPrice
from slowpath.calibrate.experiments.documents import Sample
from slowpath.calibrate.experiments.folder import ExperimentFolder
from slowpath.core.engine import estimates
from slowpath.core.errors import InputError
from slowpath.measure.statistics import quantile

if TYPE_CHECKING:
    import numpy as np


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


_HASHED = ("hash", "percpu_hash", "lru_hash", "lru_percpu_hash")
_KEYS = "key bytes"
"""The column of what all hash maps have in common: they hash the key, and compare it."""
_BY_BYTES = (
    "csum_diff",
    "loop",
    "perf_event_output",
    "ringbuf_output",
    "trace_printk",
    "trace_vprintk",
)
"""Helpers whose price depends on how much they work on, of all cases in the same way."""
_CASES = ("grow", "shrink", "new")
"""Cases of calls that are told apart, besides numbers of what is printed."""
_TELLING = ("map_lookup", "ringbuf_reserve", "map_delete", "tail_call")
"""Calls whose result tells what they have done: nothing was found, or deleted, or they go on."""


def _case(call: tuple[str, int, bool | None]) -> str:
    """The call, and whether it returned 0."""
    name, _, zero = call
    return f"{name}?" if zero and name.startswith(_TELLING) else name


def _sized(name: str) -> str | None:
    """The column of what a byte more takes, if there is one."""
    helper, *of = name.split(".")
    if of and of[0] in _HASHED:
        return _KEYS
    return f"{helper} bytes" if helper in _BY_BYTES else None


class Prices:
    """The calls of some observations as columns of a linear model."""

    def __init__(self, seen: Sequence[Observation]) -> None:
        """Each call is a column, with one more for the bytes that it works on."""
        calls = [one.flow.calls for one in seen]
        cases = {_case(call) for each in calls for call in each}
        sized = {_sized(name) for each in calls for name, _, _ in each} | {_KEYS}
        self.columns = [*sorted(cases), *sorted(one for one in sized if one is not None)]
        self._calls = calls

    def matrix(self) -> "np.ndarray":
        """How often each observation has each column."""
        import numpy as np

        number = {name: at for at, name in enumerate(self.columns)}
        matrix = np.zeros((len(self._calls), len(self.columns)))
        for row, calls in enumerate(self._calls):
            for call in calls:
                name, size, _ = call
                matrix[row, number[_case(call)]] += 1
                sized = _sized(name)
                if sized is not None:
                    matrix[row, number[sized]] += size
        return matrix

    def free(self) -> dict[str, CallPrice]:
        """All calls for nothing."""
        names = {name.removesuffix("?") for name in self.columns if not name.endswith(" bytes")}
        return {name: {"cycles": 0.0, "zero_cycles": 0.0} for name in names}

    def named(self, cycles: Sequence[float]) -> dict[str, CallPrice]:
        """The prices of the columns, by calls."""
        known: Mapping[str, float] = dict(zip(self.columns, map(float, cycles), strict=True))
        found = dict[str, CallPrice]()
        for column, price in known.items():
            if column.endswith(" bytes"):
                continue
            name = column.removesuffix("?")
            one = found.setdefault(name, {})
            one["zero_cycles" if column.endswith("?") else "cycles"] = price
        for name, one in found.items():
            one.setdefault("cycles", one.get("zero_cycles", 0.0))
            sized = _sized(name)
            if sized is not None:
                one["byte_cycles"] = known[sized]
        return found | _dearest(found)


def _dearest(found: Mapping[str, CallPrice]) -> dict[str, CallPrice]:
    """For calls of which only single cases were measured: the dearest one."""
    others = dict[str, CallPrice]()
    for name, price in sorted(found.items()):
        whole, _, case = name.rpartition(".")
        if case in _CASES and whole not in found:
            known = others.setdefault(whole, price)
            others[whole] = max(known, price, key=lambda one: one["cycles"])
    return others
