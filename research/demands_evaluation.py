"""Quality of predictions on published functions.

Predictions do not know the elements of these functions. Only calls of the CRC unit, which no count
of a source covers, have their fitted demands.
"""

from typing import NamedTuple

import numpy as np

from cores_evaluation import at_cores, curves_of, inside
from slowpath.insights.cores.curves import Curves
from slowpath.insights.cores.functions import CRC, Array, Functions, flag
from slowpath.insights.cores.groups import FUNCTIONS, Groups, Paired
from slowpath.insights.cores.knee import CORES, knees
from slowpath.insights.cores.network import works
from slowpath.insights.cores.pairs import position_bias
from slowpath.insights.cores.scores import FIRST, SECOND
from slowpath.insights.demands.draws import (
    DRAWS,
    WIDER,
    Draws,
    drawn,
    interval,
    repeated,
    throughput,
)
from slowpath.insights.demands.neighbours import of_columns
from slowpath.insights.demands.prices import Fits, needed, prices_of
from slowpath.insights.demands.published import ELEMENTS, published
from slowpath.insights.demands.sharing import advise, beside

_GIGA = 1e9


class Outcome(NamedTuple):
    """Comparison of predictions with measurements, by function."""

    knee: Array  # |advised - measured|, cores
    throughput: Array  # predicted / measured - 1 at each of CORES, shape (functions, 7)
    covered: Array  # 1 if the interval contains the measured knee
    width: Array  # width of the interval, cores
    within: Array  # 1 if the interval contains the measured throughput, shape (functions, 7)
    share: Array  # measured throughput at the advised cores / greatest measured one


class Settings(NamedTuple):
    """Settings of predictions."""

    confidence: float  # confidence of intervals
    draws: int = DRAWS
    wider: float = WIDER


def compared(fits: Fits, curves: Curves, way: Settings, without: str | None = None) -> Outcome:
    """Compare predictions for functions with measurements.

    Args:
        fits: fits from which prices are learnt.
        curves: measured functions.
        way: settings of predictions.
        without: an element that is excluded from prices.
    """
    draws = _needed(fits, curves.functions, way, without)
    low, middle, high = interval(throughput(draws, CORES) * _GIGA, way.confidence)
    advice = advise(draws, fits.noise, way.confidence).advice
    truth = knees(curves.throughput)
    return Outcome(
        np.abs(advice.cores - truth).astype(float),
        middle / curves.throughput - 1,
        inside(advice.low, advice.high, truth),
        (advice.high - advice.low).astype(float),
        inside(low, high, curves.throughput),
        at_cores(curves.throughput, advice.cores.astype(float)) / curves.throughput.max(1),
    )


def left_out(fits: Fits, curves: Curves, way: Settings) -> dict[str, Outcome]:
    """Compare functions with an element against prices learnt without it, for each element."""
    found = {}
    for element in ELEMENTS:
        there = np.flatnonzero(_has(curves.functions, element))
        if len(there):
            found[element] = compared(fits, curves_of(curves, there), way, element)
    return found


def without_filters(curves: Curves) -> Curves:
    """Return the functions without filter rules, which are easier to predict."""
    return curves_of(curves, np.flatnonzero(_has(curves.functions, "filter") == 0))


class Beside(NamedTuple):
    """Shares of solo throughput that functions keep beside others, shape (functions,)."""

    predicted: Array  # median
    measured: Array
    covered: Array  # 1 if the interval contains the measured share


def beside_others(parameters: Array, groups: Groups, pairs: Paired, way: Settings) -> Beside:
    """Predict members of published pairs as sources, beside neighbours known by columns.

    Functions are ordered by their position in the pair (first, second), then by group and pair.
    """
    members = np.arange(groups.size)[:, None] * FUNCTIONS
    places = [(members + one).ravel() for one in (FIRST, SECOND)]
    own = groups.functions.selected(np.concatenate(places))
    other = groups.functions.selected(np.concatenate(places[::-1]))
    fits = Fits((parameters,), np.zeros((0, 0)))
    others = repeated(of_columns(parameters, other), way.draws)
    kept = beside(_needed(fits, own, way), others).own
    low, middle, high = interval(kept, way.confidence)
    # The position in a pair affects the throughput, which is an artefact of the measurement.
    fair = pairs.throughput / np.exp(position_bias(groups, pairs))
    alone = groups.alone.throughput
    measured = np.concatenate(
        [(fair[..., at] / alone[:, place]).ravel() for at, place in enumerate((FIRST, SECOND))]
    )
    return Beside(middle, measured, inside(low, high, measured))


class Chosen(NamedTuple):
    """Quality of the advised neighbour for each function, among the three in its group."""

    right: Array  # 1 if the advised neighbour is the best one
    lost: Array  # difference of the kept share to that beside the best one
    lot: Array  # mean difference for a random neighbour


def chosen(found: Beside) -> Chosen:
    """Evaluate the advised neighbours for members of published groups."""
    every = [
        np.moveaxis(one.reshape(2, -1, len(FIRST)), 1, 0)
        for one in (found.predicted, found.measured)
    ]
    right, lost, lot = list[Array](), list[Array](), list[Array]()
    for member in range(FUNCTIONS):
        said, true = (one[:, np.stack([FIRST, SECOND]) == member] for one in every)
        best, most = said.argmax(1), true.max(1)
        right.append(np.asarray(best == true.argmax(1), float))
        lost.append(most - true[np.arange(len(true)), best])
        lot.append(most - true.mean(1))
    return Chosen(*map(np.concatenate, (right, lost, lot)))


def _has(functions: Functions, element: str) -> Array:
    work = works(functions)
    names = {
        "mapper": ("control",),
        "filter": ("rules",),
        "demux": ("demux", "demux+conn"),
        "conn": ("conn", "demux+conn"),
    }.get(element, (element,))
    return np.asarray(np.sum([work[name] for name in names], axis=0))


def _needed(fits: Fits, functions: Functions, way: Settings, without: str | None = None) -> Draws:
    """Return demands from counts and prices, with the fitted demands of CRC calls."""
    prices = prices_of(fits.parameters, without)
    draws = drawn(prices, published(functions), draws=way.draws, wider=way.wider)
    none = dict.fromkeys(map(flag, CRC), np.zeros(functions.size))
    bare = Functions({**functions.columns, **none})
    every, others = (needed(fits.parameters, one) for one in (functions, bare))
    return draws._replace(
        waiting=draws.waiting + (every.waiting - others.waiting)[draws.fit],
        computing=draws.computing + (every.computing - others.computing)[draws.fit],
        shared=draws.shared + (every.shared - others.shared)[draws.fit],
    )
