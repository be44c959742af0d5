"""Simple models of a path's time, to compare with slowpath's estimates.

They are fitted to the experiments of a calibration.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from slowpath.calibrate.experiments.folder import RunFolder
from slowpath.calibrate.observations import observations

Model = Callable[[str], float]
"""Function that returns the time of a path in nanoseconds. Its argument is the text of the path."""
Stored = dict[str, Any]
"""A path, decoded from its text."""
Counts = Callable[[Stored], Mapping[str, float]]

LATENCY = {
    "multiply": 3.0,
    "divide": 10.0,
    "load": 4.0,
    "atomic": 7.0,
    "renamed": 0.0,
    "constant": 0.0,
}


class Sum:
    """A linear model of a path's time.

    The time is the sum of counts of the path, such as instructions, each times a fitted price.
    """

    def __init__(self, flows: Sequence[str], times: Sequence[float], counts: Counts) -> None:
        """Fit a price for each count to measured times of paths.

        `counts` returns the counts of a path, which is given as JSON in `flows`.
        """
        self._counts = counts
        counted = [counts(json.loads(flow)) for flow in flows]
        self._columns = sorted({name for each in counted for name in each})
        weights = 1 / np.array(times)
        matrix = np.array([self._row(each) for each in counted])
        self._prices, _ = nnls(matrix * weights[:, None], np.array(times) * weights)

    def _row(self, counted: Mapping[str, float]) -> list[float]:
        return [counted.get(name, 0.0) for name in self._columns]

    def __call__(self, flow: str) -> float:
        """Return the predicted time of a path in nanoseconds."""
        return float(np.array(self._row(self._counts(json.loads(flow)))) @ self._prices)


def constant(flow: Stored) -> Counter[str]:
    """Return the counts of the simplest model: 1 for the kernel's loop, and instructions."""
    return Counter(loop=1, instructions=len(flow["steps"]))


def calls(flow: Stored) -> Counter[str]:
    """Return the counts of a model of calls.

    They are 1 for the kernel's loop of test runs, the number of calls of each kind, and the bytes
    of calls for hash maps.
    """
    counts = Counter(loop=1)
    for name, size, zero in flow["calls"]:
        counts[f"{name} {zero}" if "lookup" in name or "delete" in name else name] += 1
        counts["bytes"] += size if "hash" in name else 0
    return counts


def classes(flow: Stored) -> Counter[str]:
    """Return the counts of `calls`, and the number of instructions of each class, such as jumps."""
    return calls(flow) + Counter(
        "jump" if jumps else work for work, _, _, jumps, _, _ in flow["steps"]
    )


def chains(flow: Stored) -> Counter[str]:
    """Return the counts of `classes`, and the latency of the longest chain of instructions.

    In a chain, each instruction needs the result of the one before it.
    """
    ready, longest = [0.0] * 11, 0.0
    for work, reads, writes, _, _, _ in flow["steps"]:
        done = max((ready[one] for one in reads), default=0.0) + LATENCY.get(work, 1.0)
        longest = max(longest, done)
        if writes is not None:
            ready[writes] = done
    return classes(flow) + Counter(chain=round(longest))


SIMPLER: dict[str, Counts] = {
    "instructions x constant": constant,
    "sum": classes,
    "sum with chains": chains,
}


def fitted(directory: str) -> dict[str, Model]:
    """Fit the simple models to the measured times of a calibration; return them by name."""
    run = RunFolder(Path(directory))
    names = [name for name in run.settings()["experiments"] if run.of(name).measured]
    seen = list(observations({name: run.of(name) for name in names}))
    flows, times = [one.flow.text() for one in seen], [one.ns for one in seen]
    return {name: Sum(flows, times, counts) for name, counts in SIMPLER.items()}
