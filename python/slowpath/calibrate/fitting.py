"""Fits the model of a CPU core to the measured times of programs.

The search first changes all parameters together, with a linear approximation of the model. It
starts from default values, from the core of the built-in target, and from random points near the
better result. The model is neither smooth nor continuous, so the search then changes one parameter
after the other. For given parameters, non-negative least squares yields the costs (prices) of calls
of the kernel. The loss measures errors as shares of the time; large errors count less than their
square. The same observations yield the same parameters.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from slowpath.calibrate.description import (
    PARAMETERS,
    CallPrice,
    Machine,
    Parameters,
    clipped,
    documented,
    start_values,
    target_text,
    timing_text,
)
from slowpath.calibrate.observations import Observation, PriceModel
from slowpath.core.engine import targets
from slowpath.core.schema.derived import USUAL_ENDS
from slowpath.measure.statistics import quantile

if TYPE_CHECKING:
    import numpy as np

_USUAL_ERROR = 0.03
"""Error, as a share of the time, above which the loss grows more slowly than with the square, so
that outliers matter less.
"""
_STEP, _LEAST_STEP, _MOST_STEP = 0.1, 0.01, 0.6
"""First, least and largest relative change of a single parameter."""
_SLOPE = 0.04
"""Relative change of a parameter by which its derivative is computed numerically."""
_LEAP, _LEAST_LEAP, _MOST_LEAP = 0.25, 0.01, 0.4
"""First, least and largest relative change of a parameter when all parameters move together."""
_LEAPS = 6  # maximum number of joint moves from a start
_DAMPING = 0.01
"""Weight of the size of a step that changes all parameters: a change of a parameter by 100 % costs
as much as an error of this size.
"""
_ANCHORING = 0.004
"""Weight of the distance from the base target's parameters: a difference of 100 % costs as much as
an error of this size.
"""
_BETTER = 1e-6  # minimum decrease of the loss for a move
_RESTARTS = 2  # number of random starts
_SHAKE = 0.25  # maximum relative change of a parameter at a random start
_SETTLING = 4
"""Number of iterations in which the prices of calls are fitted. After these, they agree with the
overlap of calls and other code.
"""
_OUTSIDE = 0.05
"""Share of check programs whose times may be below the interval of estimates; the same share may be
above it.
"""


class Fitted(NamedTuple):
    """The parameters of a core that fit the measured times best, and their errors."""

    text: str  # target description
    parameters: Parameters
    calls: dict[str, CallPrice]
    errors: list[float]  # error on each observation, as a share of its time


Calls = dict[str, CallPrice]
"""Costs of kernel calls, by the name of the call."""


class Prior(NamedTuple):
    """Parameters and costs of another machine, as starting point for a fit to few programs."""

    parameters: Parameters  # the result stays near them as far as the programs allow
    with_others: Callable[[Calls], Calls]  # adds the costs of calls that no program has


class _Fit:
    def __init__(
        self, programs: Sequence[Observation], machine: Machine, prior: Prior | None = None
    ) -> None:
        import numpy as np

        self._machine = machine
        self._prior = prior
        self._flows = [one.flow for one in programs]
        self._prices = PriceModel(programs)
        self._matrix = self._prices.matrix()
        self._cycles = self._in_cycles([one.ns for one in programs])
        points = Counter(one.experiment for one in programs)
        counts = np.array([points[one.experiment] for one in programs])
        # A point counts less if its experiment has many points.
        self._weights = 1 / self._cycles / counts**0.25

    def _in_cycles(self, nanoseconds: Sequence[float]) -> "np.ndarray":
        import numpy as np

        return np.array(nanoseconds) * self._machine["clock_hz"] / 1e9

    def text(self, parameters: Parameters, prices: "np.ndarray", error: tuple[float, float]) -> str:
        """Return the text of a target with these core parameters and prices of calls.

        `error` has the ends of the interval of estimates, as factors.
        """
        calls = self._calls(prices)
        return target_text(timing_text(self._machine, parameters, calls, error))

    def _calls(self, prices: "np.ndarray") -> Calls:
        calls = self._prices.named(prices.tolist())
        return calls if self._prior is None else self._prior.with_others(calls)

    def _predicted(self, parameters: Parameters, prices: "np.ndarray") -> "np.ndarray":
        text = self.text(parameters, prices, USUAL_ENDS)
        target = targets.described_target("fitted", text)
        return self._in_cycles(targets.nanoseconds(self._flows, target))

    def errors(self, parameters: Parameters, prices: "np.ndarray") -> "np.ndarray":
        """Return the relative errors of the predicted times of all observations."""
        found: np.ndarray = self._predicted(parameters, prices) / self._cycles - 1
        return found

    def solve(
        self, parameters: Parameters, prices: "np.ndarray"
    ) -> tuple["np.ndarray", "np.ndarray"]:
        """Return improved prices of calls, and the relative errors of all observations with them.

        The model is linear: the time of a path without calls plus the costs of its calls. This is
        nearly exact even for calls that run in parallel to the code around them, because they
        occupy the core's issue slots. The weights of large errors are those of the loss.
        """
        from scipy.optimize import nnls

        predicted = self._predicted(parameters, prices)
        weights = self._weights * _damped(predicted / self._cycles - 1)
        code = predicted - self._matrix @ prices  # cycles without calls
        calls = (self._cycles - code) * weights
        matrix = self._matrix * weights[:, None]
        # SciPy's default of three iterations for each price is sometimes too low.
        better, _ = nnls(matrix, calls, maxiter=100 * matrix.shape[1])
        return better, (code + self._matrix @ better - self._cycles) / self._cycles

    def settled(
        self, parameters: Parameters, prices: "np.ndarray | None" = None
    ) -> tuple["np.ndarray", float]:
        """Return the prices of calls that fit these parameters best, and the loss with them.

        `prices` are start values; None stands for 0.
        """
        import numpy as np

        if prices is None:
            prices = np.zeros(self._matrix.shape[1])
        found = list[tuple[float, np.ndarray]]()
        for _ in range(_SETTLING):
            prices, _ = self.solve(parameters, prices)
            found.append((self.loss(self.errors(parameters, prices)), prices))
        least, prices = min(found, key=lambda one: one[0])
        return prices, least

    def loss(self, errors: "np.ndarray") -> float:
        """Return the mean loss of relative errors; large errors count less than their square."""
        parts = ((1 + (errors / _USUAL_ERROR) ** 2) ** 0.5) - 1
        return float(parts.mean())

    def leap(
        self, start: Parameters, go_on: Callable[[float], bool], progress: Callable[[float], None]
    ) -> "_Found":
        """Change all parameters together, step by step, until no such step reduces the loss.

        `go_on` gets the loss and returns false to stop; `progress` gets the finished share of this
        stage.
        """
        best, reach = _Found(start, *self.settled(start)), _LEAP
        for leaps in range(_LEAPS):
            progress(leaps / _LEAPS)
            slopes = self._slopes(best, go_on)
            if slopes is None:
                break
            further = None
            while further is None and reach >= _LEAST_LEAP:
                further = self._landed(best, slopes, reach)
                reach = reach * 0.4 if further is None else min(_MOST_LEAP, reach * 1.5)
            if further is None:
                break
            best = further
        return best

    def _slopes(
        self, best: "_Found", go_on: Callable[[float], bool]
    ) -> "dict[str, np.ndarray] | None":
        """Return the derivatives of all errors with respect to relative changes of each parameter.

        Parameters that are fixed or whole numbers are left out. Return None if `go_on` returned
        false.
        """
        errors = self.errors(best.parameters, best.prices)
        slopes: dict[str, np.ndarray] = {}
        for name, known in PARAMETERS.items():
            if known.fixed or known.whole:
                continue
            if not go_on(best.loss):
                return None
            value = best.parameters[name]
            moved = [clipped(name, value * (1 + part)) for part in (_SLOPE, -_SLOPE)]
            tried = max(moved, key=lambda one: abs(one - value))
            part = tried / value - 1
            if part:
                changed = self.errors({**best.parameters, name: tried}, best.prices)
                slopes[name] = (changed - errors) / part
        return slopes

    def _landed(
        self, best: "_Found", slopes: "dict[str, np.ndarray]", reach: float
    ) -> "_Found | None":
        """Return the parameters that minimise the linearised errors; None if they are not better.

        `slopes` has the derivatives of the errors. No parameter changes by more than the share
        `reach` of its value.
        """
        import numpy as np
        from scipy.optimize import lsq_linear

        errors = self.errors(best.parameters, best.prices)
        weights = _damped(errors)
        calls = self._matrix / self._cycles[:, None]
        moving = np.array(list(slopes.values())).T
        strength = _DAMPING if self._prior is None else _ANCHORING
        damping = strength * len(errors) ** 0.5 * np.eye(len(slopes))
        still = np.zeros((len(slopes), calls.shape[1]))
        matrix = np.block([[np.hstack([moving, calls]) * weights[:, None]], [damping, still]])
        home = np.array([self._way_home(name, best.parameters[name]) for name in slopes])
        left = np.concatenate([(calls @ best.prices - errors) * weights, damping @ home])
        most = np.concatenate([np.full(len(slopes), reach), np.full(calls.shape[1], np.inf)])
        least = np.concatenate([np.full(len(slopes), -reach), np.zeros(calls.shape[1])])
        found = lsq_linear(matrix, left, (least, most)).x
        parts = dict(zip(slopes, found.tolist(), strict=False))
        tried = best.parameters | {
            name: clipped(name, best.parameters[name] * (1 + part)) for name, part in parts.items()
        }
        prices, loss = self.settled(tried, np.maximum(found[len(slopes) :], 0))
        return _Found(tried, prices, loss) if loss < best.loss - _BETTER else None

    def _way_home(self, name: str, value: float) -> float:
        """Return the relative change that would set a parameter to its value in the prior.

        0 without one.
        """
        prior = self._prior
        return 0.0 if prior is None else clipped(name, prior.parameters[name]) / value - 1

    def descend(
        self, best: "_Found", go_on: Callable[[float], bool], progress: Callable[[float], None]
    ) -> "_Found":
        """Change one parameter after the other until all steps are small.

        `go_on` gets the loss and returns false to stop; `progress` gets the finished share of this
        stage.
        """
        steps = {name: _STEP for name, known in PARAMETERS.items() if not known.fixed}
        while any(step >= _LEAST_STEP for step in steps.values()):
            for name, step in steps.items():
                if step < _LEAST_STEP:
                    continue
                progress(_share(steps.values()))
                if not go_on(best.loss):
                    return best
                better = self._along(best, name, step)
                if better is None:
                    steps[name] = step * 0.6
                else:
                    best = better
                    steps[name] = min(_MOST_STEP, step * 1.5)
        return best

    def _along(self, best: "_Found", name: str, step: float) -> "_Found | None":
        for factor in (1 + step, 1 / (1 + step)):
            tried = {**best.parameters, name: clipped(name, best.parameters[name] * factor)}
            if tried[name] == best.parameters[name]:
                continue
            # If calls overlap other code, their prices need several iterations, so the previous
            # prices may be better.
            for prices in (best.prices, self.solve(tried, best.prices)[0]):
                loss = self.loss(self.errors(tried, prices))
                if loss < best.loss - _BETTER:
                    return _Found(tried, prices, loss)
        return None

    def described(self, found: "_Found", error: tuple[float, float]) -> Fitted:
        """Return the result of the fit for the parameters and prices in `found`.

        `error` has the ends of the interval of estimates, as factors.
        """
        errors = self.errors(found.parameters, found.prices).tolist()
        calls = self._calls(found.prices)
        text = self.text(found.parameters, found.prices, error)
        return Fitted(text, found.parameters, calls, errors)


def _damped(errors: "np.ndarray") -> "np.ndarray":
    """Return a weight for each error, so that the sum of weighted squares approximates the loss."""
    damped: np.ndarray = (1 + (errors / _USUAL_ERROR) ** 2) ** -0.25
    return damped


class _Found(NamedTuple):
    parameters: Parameters
    prices: "np.ndarray"
    loss: float


def _share(steps: Iterable[float]) -> float:
    """Estimate the finished share of a descent from the step sizes, which shrink to a limit."""
    total = math.log(_STEP / _LEAST_STEP)
    done = [min(max(math.log(_STEP / step) / total, 0.0), 1.0) for step in steps]
    return sum(done) / len(done)


def _part(progress: Callable[[float], None], stage: int) -> Callable[[float], None]:
    """Return a callback that converts progress of one stage to progress of the whole search.

    The stages are joint changes from two start points, joint changes from `_RESTARTS` random
    points, and the final descent.
    """
    return lambda share: progress((stage + share) / (_RESTARTS + 3))


def _nearest(known: Parameters) -> Parameters:
    return {name: clipped(name, value) for name, value in known.items()}


def fit(
    programs: Sequence[Observation],
    machine: Machine,
    go_on: Callable[[float], bool] = lambda _: True,
    checks: Sequence[Observation] = (),
    progress: Callable[[float], None] = lambda _: None,
) -> Fitted:
    """Return the core parameters whose estimates are closest to the measured times of programs.

    Args:
        programs: Programs with measured times.
        machine: Description of the machine.
        go_on: Gets the current loss; if it returns false, the search ends with the best
            parameters so far.
        checks: Programs that the fit does not use. If their times deviate from the estimates, the
            interval of estimates widens.
        progress: Gets the finished share of the search.
    """
    search = _Fit(programs, machine)
    stages = count()

    def leap(start: Parameters) -> _Found:
        return search.leap(start, go_on, _part(progress, next(stages)))

    found = (leap(start) for start in (start_values(), _nearest(documented())))
    best = min(found, key=lambda one: one.loss)
    draw = random.Random(0)  # noqa: S311 - no secret
    for _ in range(_RESTARTS):
        shaken = {
            name: value
            if PARAMETERS[name].fixed
            else clipped(name, value * (1 + draw.uniform(-_SHAKE, _SHAKE)))
            for name, value in best.parameters.items()
        }
        best = min(best, leap(shaken), key=lambda found: found.loss)
    best = search.descend(best, go_on, _part(progress, next(stages)))
    return _described(search, best, checks)


def fit_near(
    prior: Prior,
    programs: Sequence[Observation],
    machine: Machine,
    callbacks: tuple[Callable[[float], bool], Callable[[float], None]],
    checks: Sequence[Observation],
) -> Fitted:
    """Return core parameters that fit few measured programs, near those of another machine.

    Args:
        prior: Parameters and costs of the other machine.
        programs: Programs with measured times.
        machine: Description of the machine.
        callbacks: `go_on` and `progress`, as in `fit`.
        checks: Programs that the fit does not use, as in `fit`.
    """
    go_on, progress = callbacks
    start = _nearest(prior.parameters)
    search = _Fit(programs, machine, prior)
    return _described(search, search.leap(start, go_on, progress), checks)


def _described(search: _Fit, best: _Found, checks: Sequence[Observation]) -> Fitted:
    """Return the result of a fit.

    The interval of estimates covers the times of the check programs.
    """
    fitted = search.described(best, USUAL_ENDS)
    if not checks:
        return fitted
    target = targets.described_target("fitted", fitted.text)
    estimated = targets.nanoseconds([one.flow for one in checks], target)
    ratios = [one.ns / ns for one, ns in zip(checks, estimated, strict=True)]
    return search.described(best, ends(ratios))


def ends(ratios: Sequence[float]) -> tuple[float, float]:
    """Return the lower and the upper end of the interval of estimates, as factors of the estimate.

    `ratios` are the measured times of check programs, divided by their estimates.
    """
    low, high = USUAL_ENDS
    return min(low, quantile(ratios, _OUTSIDE)), max(high, quantile(ratios, 1 - _OUTSIDE))
