"""Measured times of programs with known paths, and the linear model of call prices."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from slowpath.calibrate.description import CallPrice
from slowpath.calibrate.experiments.documents import Sample
from slowpath.calibrate.experiments.folder import ExperimentFolder
from slowpath.core.engine import targets
from slowpath.core.errors import InputError
from slowpath.measure.statistics import quantile

if TYPE_CHECKING:
    import numpy as np

_QUICK, _ALONE = 0.08, 1.12
"""The `_QUICK` quantile of a program's times is its time on an unshared core. A sample is disturbed
if one of its two programs took more than `_ALONE` times as long. Throughput halves when another CPU
shares the core, so a mean over both states describes neither. The two programs run one after the
other, so that one may be disturbed alone."""
_FEWEST = 2
"""Minimum number of undisturbed samples of a point."""


class Observation(NamedTuple):
    """A measured program."""

    experiment: str
    flow: targets.Flow
    ns: float  # time of one iteration of the kernel's loop that runs the program


class _Seen(NamedTuple):
    folder: ExperimentFolder
    paths: Mapping[str, str]
    samples: list[Sample]

    def path(self, which: str, sample: Sample) -> str | None:
        return self.paths.get(f"{which}-{sample.value}")


def observations(folders: Mapping[str, ExperimentFolder]) -> Iterator[Observation]:
    """Yield the programs of experiments, each once, with their times on an unshared core.

    Experiments with varying packets are left out because their data are not in the cache;
    experiments with unpredictable branches, because their path changes with each run. Points with
    fewer than two undisturbed samples are left out, too.

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
    """Return the times close to the time on an unshared core, or else the least time."""
    return [time for time in times if time <= _ALONE * quick] or [min(times)]


def _flow(folder: ExperimentFolder, text: str) -> targets.Flow:
    try:
        return targets.flow_of(text)
    except ValueError as problem:
        raise InputError(str(folder.path / "flows.json"), str(problem)) from None


_HASHED = ("hash", "percpu_hash", "lru_hash", "lru_percpu_hash")
_KEYS = "key bytes"
"""Column shared by all hash maps: the price of hashing and comparing a key byte."""
_BY_BYTES = (
    "csum_diff",
    "loop",
    "perf_event_output",
    "ringbuf_output",
    "trace_printk",
    "trace_vprintk",
)
"""Helpers with a price per byte that is the same in all cases of a helper."""
_CASES = ("grow", "shrink", "new")
"""Cases of calls with separate prices, besides numbers of printed values."""
_TELLING = ("map_lookup", "ringbuf_reserve", "map_delete", "tail_call")
"""Calls with separate prices for a result of 0, as their result depends on the work done: a hit or
miss, a deletion, a tail call taken or not."""


def _case(call: tuple[str, int, bool | None]) -> str:
    """Return the name of a call's column; `?` marks a result of 0."""
    name, _, zero = call
    return f"{name}?" if zero and name.startswith(_TELLING) else name


def _sized(name: str) -> str | None:
    """Return the column of a call's price per byte, if it has one."""
    helper, *of = name.split(".")
    if of and of[0] in _HASHED:
        return _KEYS
    return f"{helper} bytes" if helper in _BY_BYTES else None


class PriceModel:
    """Linear model of call prices: a row for each observation, a column for each price."""

    def __init__(self, seen: Sequence[Observation]) -> None:
        calls = [one.flow.calls for one in seen]
        cases = {_case(call) for each in calls for call in each}
        sized = {_sized(name) for each in calls for name, _, _ in each} | {_KEYS}
        self.columns = [*sorted(cases), *sorted(one for one in sized if one is not None)]
        self._calls = calls

    def matrix(self) -> "np.ndarray":
        """Return the number of calls or bytes of each observation, by column."""
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
        """Return a price of zero for each call."""
        names = {name.removesuffix("?") for name in self.columns if not name.endswith(" bytes")}
        return {name: {"cycles": 0.0, "zero_cycles": 0.0} for name in names}

    def named(self, cycles: Sequence[float]) -> dict[str, CallPrice]:
        """Convert prices by column to prices by call."""
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
    """Return the highest price of the cases for calls that were measured in single cases only."""
    others = dict[str, CallPrice]()
    for name, price in sorted(found.items()):
        whole, _, case = name.rpartition(".")
        if case in _CASES and whole not in found:
            known = others.setdefault(whole, price)
            others[whole] = max(known, price, key=lambda one: one["cycles"])
    return others
