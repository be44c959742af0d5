"""Measured times of programs with known paths, and a linear model of the costs of kernel calls.

Both are the input of fitting a model of the CPU core.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from slowpath.calibrate.description import CallPrice
from slowpath.calibrate.experiments.documents import Sample
from slowpath.calibrate.experiments.folder import ExperimentFolder
from slowpath.core import codes
from slowpath.core.engine import targets
from slowpath.core.errors import InputError
from slowpath.measure.statistics import quantile

if TYPE_CHECKING:
    import numpy as np

_QUICK, _ALONE = 0.08, 1.12
"""Criteria for times that no other CPU on the core disturbed. The `_QUICK` quantile of a program's
times is its time on an unshared core; times above `_ALONE` times this quantile are disturbed. A
mean over all times would describe neither state of the core, because throughput halves while
another CPU shares it. The two programs of a sample run one after the other, so only one of them may
be disturbed.
"""
_FEWEST = 2
"""Minimum number of undisturbed samples that a point (value of the swept parameter) needs."""


class Observation(NamedTuple):
    """A program with a known path, and its measured time."""

    experiment: str  # name of the experiment
    flow: targets.Flow  # path of the program
    ns: float  # time of one iteration of the kernel's loop that runs the program


class _Measured(NamedTuple):
    folder: ExperimentFolder
    paths: Mapping[str, str]
    samples: list[Sample]

    def path(self, which: str, sample: Sample) -> str | None:
        return self.paths.get(f"{which}-{sample.value}")


def observations(folders: Mapping[str, ExperimentFolder]) -> Iterator[Observation]:
    """Yield each program of the experiments once, with its time on an unshared core.

    Three kinds of programs are excluded: those of experiments with varying packets, whose data are
    not in the cache; those of experiments with unpredictable branches, whose path changes with each
    run; and those with fewer than two undisturbed samples.

    Raises:
        InputError: when a file is damaged.
    """
    measured = {
        name: _Measured(folder, folder.flows(), folder.samples())
        for name, folder in folders.items()
        if _is_hot(folder)
    }
    quick = _quick_baselines(measured)
    for name, one in measured.items():
        undisturbed = dict[int, list[Sample]]()
        for sample in one.samples:
            baseline = one.path("baseline", sample)
            if baseline is not None and sample.baseline <= _ALONE * quick[baseline]:
                undisturbed.setdefault(sample.value, []).append(sample)
        yield from _programs(name, one, undisturbed)


def _is_hot(folder: ExperimentFolder) -> bool:
    experiment = folder.experiment()
    unpredictable = experiment["component"].get("fixed", {}).get("predictable") == "no"
    return not experiment["traffic"]["vary"] and not unpredictable


def _quick_baselines(measured: Mapping[str, _Measured]) -> dict[str, float]:
    """Return the time of each baseline program on an unshared core, by the path of the program.

    A baseline lacks the component that is measured. Several experiments can have the same one.
    """
    times = dict[str, list[float]]()
    for one in measured.values():
        for sample in one.samples:
            baseline = one.path("baseline", sample)
            if baseline is not None:
                times.setdefault(baseline, []).append(sample.baseline)
    return {path: quantile(found, _QUICK) for path, found in times.items()}


def _programs(
    name: str, one: _Measured, undisturbed: Mapping[int, list[Sample]]
) -> Iterator[Observation]:
    """Yield the programs of an experiment with their median times; each path counts once.

    `undisturbed` has the samples whose baseline ran on an unshared core, by value of the parameter.
    """
    known = set[str]()
    all_times = dict[int, list[float]]()
    for sample in one.samples:
        all_times.setdefault(sample.value, []).append(sample.component)
    for value, samples in sorted(undisturbed.items()):
        if len(samples) < _FEWEST:
            continue
        quick = quantile(all_times[value], _QUICK)
        for which, times in (
            ("component", _undisturbed([sample.component for sample in samples], quick)),
            ("baseline", [sample.baseline for sample in samples]),
        ):
            text = one.path(which, samples[0])
            if text is not None and text not in known:
                known.add(text)
                yield Observation(name, _flow(one.folder, text), statistics.median(times))


def _undisturbed(times: Sequence[float], quick: float) -> Sequence[float]:
    """Return the times that are close to `quick`, the time on an unshared core.

    If there are none, return only the shortest time.
    """
    return [time for time in times if time <= _ALONE * quick] or [min(times)]


def _flow(folder: ExperimentFolder, text: str) -> targets.Flow:
    try:
        return targets.flow_of(text)
    except ValueError as problem:
        raise InputError(
            codes.EXPERIMENT_FOLDER_UNUSABLE, str(folder.path / "flows.json"), str(problem)
        ) from None


_HASHED = ("hash", "percpu_hash", "lru_hash", "lru_percpu_hash")
_KEYS = "key bytes"
"""Name of the model's column for hashing and comparing a byte of a key, which costs the same for
all hash maps.
"""
_BY_BYTES = (
    "csum_diff",
    "loop",
    "perf_event_output",
    "ringbuf_output",
    "trace_printk",
    "trace_vprintk",
)
"""Helpers whose cost grows with the number of bytes that they process. The price per byte is the
same for all calls of a helper.
"""
_CASES = ("grow", "shrink", "new")
"""Last parts of the names of calls that have separate prices. For calls that print, the number of
printed values is such a part, too.
"""
_TELLING = ("map_lookup", "ringbuf_reserve", "map_delete", "tail_call")
"""Calls that have a separate price if they return 0, which shows that they did other work: a missed
lookup, a deletion, or a tail call that was not taken.
"""


def _case(call: tuple[str, int, bool | None]) -> str:
    """Return the name of the model's column that has the cost of a call.

    `call` has the call's name, number of bytes, and whether its result is 0. The name ends with `?`
    if the result is 0 and this case has a separate cost.
    """
    name, _, zero = call
    return f"{name}?" if zero and name.startswith(_TELLING) else name


def _byte_column(name: str) -> str | None:
    """Return the name of the model's column for the bytes that a call processes.

    None without one.
    """
    helper, *map_type = name.split(".")
    if map_type and map_type[0] in _HASHED:
        return _KEYS
    return f"{helper} bytes" if helper in _BY_BYTES else None


class PriceModel:
    """Linear model of the costs of kernel calls: rows are observations, columns unknown costs."""

    def __init__(self, programs: Sequence[Observation]) -> None:
        self._calls = [one.flow.calls for one in programs]
        cases = {_case(call) for calls in self._calls for call in calls}
        by_bytes = {_byte_column(name) for calls in self._calls for name, _, _ in calls} | {_KEYS}
        self.columns = [*sorted(cases), *sorted(one for one in by_bytes if one is not None)]

    def matrix(self) -> "np.ndarray":
        """Return how often each observation (row) incurs each unknown cost (column).

        This is a number of calls, or of processed bytes.
        """
        import numpy as np

        number = {name: at for at, name in enumerate(self.columns)}
        matrix = np.zeros((len(self._calls), len(self.columns)))
        for row, calls in enumerate(self._calls):
            for call in calls:
                name, size, _ = call
                matrix[row, number[_case(call)]] += 1
                column = _byte_column(name)
                if column is not None:
                    matrix[row, number[column]] += size
        return matrix

    def free(self) -> dict[str, CallPrice]:
        """Return prices of 0 for all calls, by name."""
        names = {name.removesuffix("?") for name in self.columns if not name.endswith(" bytes")}
        return {name: {"cycles": 0.0, "zero_cycles": 0.0} for name in names}

    def named(self, cycles: Sequence[float]) -> dict[str, CallPrice]:
        """Convert the fitted costs of columns to prices by the names of calls."""
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
            byte_column = _byte_column(name)
            if byte_column is not None:
                one["byte_cycles"] = known[byte_column]
        return found | _highest(found)


def _highest(found: Mapping[str, CallPrice]) -> dict[str, CallPrice]:
    """Return prices for calls with prices only for special cases: the highest of these."""
    highest = dict[str, CallPrice]()
    for name, price in sorted(found.items()):
        call, _, case = name.rpartition(".")
        if case in _CASES and call not in found:
            known = highest.setdefault(call, price)
            highest[call] = max(known, price, key=lambda one: one["cycles"])
    return highest
