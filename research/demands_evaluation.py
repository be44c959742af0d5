"""Judges throughput that is predicted from counts and prices, for published functions.

Counts are numbers of instructions and memory accesses for each packet; prices are their costs in
time. Functions are chains of elements, but predictions use only the counts of a chain, not its
list of elements. Calls of the CRC unit have their fitted demands, because counts of a source do
not include them.
"""

from typing import NamedTuple

import numpy as np

from slowpath.insights.cores.assessment import advise, beside, of_columns
from slowpath.insights.cores.curves import CORES, Curves, knees
from slowpath.insights.cores.functions import CRC, Array, Functions, flag
from slowpath.insights.cores.groups import FIRST, FUNCTIONS, SECOND, Groups, Paired
from slowpath.insights.cores.network import works
from slowpath.insights.cores.pairs import position_bias
from slowpath.insights.cores.prices import (
    DRAWS,
    ELEMENTS,
    WIDER,
    Draws,
    Fits,
    drawn,
    interval,
    needed,
    prices_of,
    published,
    repeated,
    throughput,
)
from slowpath.reproduce.insights import at_cores, curves_of, inside

_GIGA = 1e9


class Outcome(NamedTuple):
    """Errors of the predictions for functions, which use only counts and prices."""

    knee: Array  # |advised - measured|, cores
    throughput: Array  # predicted / measured - 1 at each of CORES, shape (functions, 7)
    covered: Array  # 1 if the interval contains the measured knee
    width: Array  # width of the interval, cores
    within: Array  # 1 if the interval contains the measured throughput, shape (functions, 7)
    share: Array  # measured throughput at the advised cores / maximum measured throughput


class Settings(NamedTuple):
    """Settings of throughput predictions."""

    confidence: float  # confidence of intervals
    draws: int = DRAWS
    wider: float = WIDER


def compared(fits: Fits, curves: Curves, settings: Settings, without: str | None = None) -> Outcome:
    """Compare predicted throughput and numbers of cores with measurements.

    Args:
        fits: Fitted parameters, from which the costs of instructions and accesses are derived.
        curves: Measured functions.
        settings: Settings of predictions.
        without: Element (such as `filter`) from which no costs are derived; None to use all.
    """
    draws = _needed(fits, curves.functions, settings, without)
    low, middle, high = interval(throughput(draws, CORES) * _GIGA, settings.confidence)
    advice = advise(draws, fits.noise, settings.confidence).advice
    truth = knees(curves.throughput)
    return Outcome(
        np.abs(advice.cores - truth).astype(float),
        middle / curves.throughput - 1,
        inside(advice.low, advice.high, truth),
        (advice.high - advice.low).astype(float),
        inside(low, high, curves.throughput),
        at_cores(curves.throughput, advice.cores.astype(float)) / curves.throughput.max(1),
    )


def left_out(fits: Fits, curves: Curves, settings: Settings) -> dict[str, Outcome]:
    """Judge predictions for the functions that contain an element, for each element.

    Costs of instructions and accesses are then derived from the other elements only.
    """
    found = {}
    for element in ELEMENTS:
        indices = np.flatnonzero(_has(curves.functions, element))
        if len(indices):
            found[element] = compared(fits, curves_of(curves, indices), settings, element)
    return found


def without_filters(curves: Curves) -> Curves:
    """Return the functions without filter rules, which are easier to predict."""
    return curves_of(curves, np.flatnonzero(_has(curves.functions, "filter") == 0))


class Beside(NamedTuple):
    """Shares of solo throughput that functions keep next to a neighbour; one item per function."""

    predicted: Array  # median
    measured: Array
    covered: Array  # 1 if the interval contains the measured share


def beside_others(parameters: Array, groups: Groups, pairs: Paired, settings: Settings) -> Beside:
    """Predict the share of its solo throughput that each function keeps in a measured pair.

    The demands of the function follow from its counts of instructions and accesses. Those of its
    neighbour follow from its published description. Results are ordered by the position in the pair
    (first, second), then by group and pair.
    """
    members = np.arange(groups.size)[:, None] * FUNCTIONS
    places = [(members + one).ravel() for one in (FIRST, SECOND)]
    own = groups.functions.selected(np.concatenate(places))
    other = groups.functions.selected(np.concatenate(places[::-1]))
    fits = Fits((parameters,), np.zeros((0, 0)))
    others = repeated(of_columns(parameters, other), settings.draws)
    kept = beside(_needed(fits, own, settings), others).own
    low, middle, high = interval(kept, settings.confidence)
    # Remove the effect of the position in a pair, an artefact of the measurement.
    unbiased = pairs.throughput / np.exp(position_bias(groups, pairs))
    alone = groups.alone.throughput
    measured = np.concatenate(
        [(unbiased[..., at] / alone[:, place]).ravel() for at, place in enumerate((FIRST, SECOND))]
    )
    return Beside(middle, measured, inside(low, high, measured))


class Chosen(NamedTuple):
    """Quality of the neighbour that is advised for each function, out of three in its group."""

    right: Array  # 1 if the advised neighbour is the best
    lost: Array  # kept share next to the best neighbour - kept share next to the advised one
    lot: Array  # kept share next to the best neighbour - mean over all neighbours


def chosen(found: Beside) -> Chosen:
    """Judge the neighbours that are advised for functions of published groups."""
    reshaped = [
        np.moveaxis(one.reshape(2, -1, len(FIRST)), 1, 0)
        for one in (found.predicted, found.measured)
    ]
    right, lost, lot = list[Array](), list[Array](), list[Array]()
    for member in range(FUNCTIONS):
        predicted, measured = (one[:, np.stack([FIRST, SECOND]) == member] for one in reshaped)
        best, largest = predicted.argmax(1), measured.max(1)
        right.append(np.asarray(best == measured.argmax(1), float))
        lost.append(largest - measured[np.arange(len(measured)), best])
        lot.append(largest - measured.mean(1))
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


def _needed(
    fits: Fits, functions: Functions, settings: Settings, without: str | None = None
) -> Draws:
    """Return the demands of functions, computed from their counts of instructions and accesses.

    Fitted demands of calls of the CRC unit are added.
    """
    prices = prices_of(fits.parameters, without)
    draws = drawn(prices, published(functions), draws=settings.draws, wider=settings.wider)
    no_crc = dict.fromkeys(map(flag, CRC), np.zeros(functions.size))
    without_crc = Functions({**functions.columns, **no_crc})
    every, others = (needed(fits.parameters, one) for one in (functions, without_crc))
    return draws._replace(
        waiting=draws.waiting + (every.waiting - others.waiting)[draws.fit],
        computing=draws.computing + (every.computing - others.computing)[draws.fit],
        shared=draws.shared + (every.shared - others.shared)[draws.fit],
    )
