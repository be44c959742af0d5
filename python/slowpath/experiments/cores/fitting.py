"""The parameters of a core that explain what was measured on it.

A descent along one parameter after the other, as the model has kinks and steps, from a usual core
and from the one of the documented machine, and again from near the better end. Given the
parameters, the prices of calls follow by non-negative least squares. What is made small is the
error in parts of the time, large ones counting less than their square. The same observations yield
the same parameters.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from slowpath.engine import estimates, targets
from slowpath.experiments.cores.description import (
    CallPrice,
    Machine,
    documented,
    target_text,
    timing_text,
)
from slowpath.experiments.cores.observations import Observation
from slowpath.experiments.cores.parameters import PARAMETERS, Parameters, clipped, first
from slowpath.experiments.cores.prices import Prices

if TYPE_CHECKING:
    import numpy as np

_USUAL_ERROR = 0.03
"""Errors above this part count less than their square."""
_STEP, _LEAST_STEP, _MOST_STEP = 0.3, 0.01, 0.6
_RESTARTS = 6
_SHAKE = 0.25
_ERROR = (0.92, 1.14)
"""Between these parts of the estimates are 90 of 100 measurements of whole programs: those of
`bench/estimates.py`. Experiments by themselves are nearer."""


class Fitted(NamedTuple):
    """A core, and how well it explains what was seen."""

    text: str  # the target's description
    parameters: Parameters
    calls: dict[str, CallPrice]
    errors: list[float]  # of each observation, in parts of the time


class _Fit:
    def __init__(self, seen: Sequence[Observation], machine: Machine) -> None:
        import numpy as np

        self._machine = machine
        self._flows = [one.flow for one in seen]
        self._prices = Prices(seen)
        self._matrix = self._prices.matrix()
        self._cycles = self._in_cycles([one.ns for one in seen])
        many = Counter(one.experiment for one in seen)
        shares = np.array([many[one.experiment] for one in seen])
        # Of an experiment with many points, each counts less.
        self._weights = 1 / self._cycles / shares**0.25
        self._free = self._prices.free()

    def _in_cycles(self, nanoseconds: Sequence[float]) -> "np.ndarray":
        import numpy as np

        return np.array(nanoseconds) * self._machine["clock_hz"] / 1e9

    def solve(self, parameters: Parameters) -> tuple[list[float], list[float]]:
        """The prices of calls, and the error of each observation."""
        from scipy.optimize import nnls

        text = target_text(timing_text(self._machine, parameters, self._free, _ERROR))
        target = targets.described_target("fitted", text)
        without = self._in_cycles(estimates.nanoseconds(self._flows, target))
        left = (self._cycles - without) * self._weights
        matrix = self._matrix * self._weights[:, None]
        # Three turns for each price, as it has them by itself, are too few now and then.
        prices, _ = nnls(matrix, left, maxiter=100 * matrix.shape[1])
        predicted = without + self._matrix @ prices
        return list(prices), list((predicted - self._cycles) / self._cycles)

    def loss(self, parameters: Parameters) -> float:
        """How far off the model is."""
        _, errors = self.solve(parameters)
        parts = (((1 + (error / _USUAL_ERROR) ** 2) ** 0.5) - 1 for error in errors)
        return float(sum(parts) / len(errors))

    def descend(
        self, start: Parameters, go_on: Callable[[float], bool]
    ) -> tuple[Parameters, float]:
        """The best parameters near some; until all steps are small."""
        best, least = start, self.loss(start)
        steps = {name: _STEP for name, known in PARAMETERS.items() if not known.fixed}
        while any(step >= _LEAST_STEP for step in steps.values()):
            for name, step in steps.items():
                if step < _LEAST_STEP:
                    continue
                if not go_on(least):
                    return best, least
                better = self._along(best, least, name, step)
                if better is None:
                    steps[name] = step * 0.6
                else:
                    best, least = better
                    steps[name] = min(_MOST_STEP, step * 1.5)
        return best, least

    def _along(
        self, best: Parameters, least: float, name: str, step: float
    ) -> tuple[Parameters, float] | None:
        for factor in (1 + step, 1 / (1 + step)):
            tried = {**best, name: clipped(name, best[name] * factor)}
            if tried[name] == best[name]:
                continue
            loss = self.loss(tried)
            if loss < least - 1e-7:
                return tried, loss
        return None

    def described(self, parameters: Parameters) -> Fitted:
        prices, errors = self.solve(parameters)
        calls = self._prices.named(prices)
        text = target_text(timing_text(self._machine, parameters, calls, _ERROR))
        return Fitted(text, parameters, calls, errors)


def _nearest(known: Parameters) -> Parameters:
    return {name: clipped(name, value) for name, value in known.items()}


def fit(
    seen: Sequence[Observation], machine: Machine, go_on: Callable[[float], bool] = lambda _: True
) -> Fitted:
    """The core that explains the observations best; `go_on` is told how far off it is until then.

    When that says no, the best so far is taken.
    """
    search = _Fit(seen, machine)
    begun = (search.descend(start, go_on) for start in (first(), _nearest(documented())))
    best, least = min(begun, key=lambda found: found[1])
    luck = random.Random(0)  # noqa: S311 - no secret
    for _ in range(_RESTARTS):
        shaken = {
            name: value
            if PARAMETERS[name].fixed
            else clipped(name, value * (1 + luck.uniform(-_SHAKE, _SHAKE)))
            for name, value in best.items()
        }
        found, loss = search.descend(shaken, go_on)
        if loss < least:
            best, least = found, loss
    return search.described(best)
