"""How well published functions are predicted from counts and prices, as if they were sources.

Nothing is told of which elements they are; but their calls of the CRC unit, which no count of a
source stands for, take what was fitted to them.
"""

from typing import NamedTuple

import numpy as np

from slowpath.insights.colocation.groups import FUNCTIONS, Groups, Paired
from slowpath.insights.colocation.learning import favour
from slowpath.insights.colocation.scores import FIRST, SECOND
from slowpath.insights.cores.curves import Curves
from slowpath.insights.cores.evaluation import taken
from slowpath.insights.cores.knee import CORES, at_cores, knees
from slowpath.insights.demands.draws import DRAWS, WIDER, Draws, drawn, throughput
from slowpath.insights.demands.neighbours import of_columns
from slowpath.insights.demands.prices import prices_of
from slowpath.insights.demands.published import ELEMENTS, published
from slowpath.insights.demands.scaling import advise
from slowpath.insights.demands.sharing import beside
from slowpath.insights.functions.functions import Array, Functions
from slowpath.insights.functions.vocabulary import CRC, flag
from slowpath.insights.network.parameters import amounts, demands
from slowpath.insights.network.work import works

_GIGA = 1e9


class Outcome(NamedTuple):
    """Predictions beside measurements, by function."""

    knee: Array  # |advised - measured|, cores
    throughput: Array  # predicted / measured - 1 at each of CORES, shape (functions, 7)
    covered: Array  # 1 where the interval has the measured knee
    width: Array  # of the interval, cores
    within: Array  # 1 where the interval has the measured throughput, shape (functions, 7)
    share: Array  # measured throughput at the advised cores over the most that was measured


class Fits(NamedTuple):
    """What predictions rest on."""

    parameters: tuple[Array, ...]
    noise: Array  # covariance of curves around the network


class Way(NamedTuple):
    """How it is said."""

    confidence: float  # of intervals
    draws: int = DRAWS
    wider: float = WIDER


def compared(fits: Fits, curves: Curves, way: Way, without: str | None = None) -> Outcome:
    """What is said of functions, beside what was measured.

    Args:
        fits: what prices come from.
        curves: measured functions.
        way: how.
        without: an element of which prices know nothing.
    """
    prices = prices_of(fits.parameters, without)
    counted = published(curves.functions)
    bare = drawn(prices, counted, draws=way.draws, wider=way.wider)
    needed = _with_crc(bare, fits, curves.functions)
    rates = throughput(needed, CORES) * _GIGA
    tail = (1 - way.confidence) / 2
    low, middle, high = np.quantile(rates, (tail, 0.5, 1 - tail), axis=0)
    advice = advise(needed, fits.noise, way.confidence)
    truth = knees(curves.throughput)
    return Outcome(
        np.abs(advice.cores - truth).astype(float),
        middle / curves.throughput - 1,
        ((advice.low <= truth) & (truth <= advice.high)).astype(float),
        (advice.high - advice.low).astype(float),
        ((low <= curves.throughput) & (curves.throughput <= high)).astype(float),
        at_cores(curves.throughput, advice.cores.astype(float)) / curves.throughput.max(1),
    )


def left_out(fits: Fits, curves: Curves, way: Way) -> dict[str, Outcome]:
    """The same of functions with an element of which prices know nothing, for each element."""
    found = {}
    for element in ELEMENTS:
        there = np.flatnonzero(_has(curves.functions, element))
        if len(there):
            found[element] = compared(fits, taken(curves, there), way, element)
    return found


def without_filters(curves: Curves) -> Curves:
    """Functions in which nothing visits many rules: most others are told by these alone."""
    return taken(curves, np.flatnonzero(_has(curves.functions, "filter") == 0))


class Beside(NamedTuple):
    """What is kept beside others, shape (functions,)."""

    predicted: Array  # the median
    measured: Array
    covered: Array  # 1 where the interval has the measured share


def beside_others(parameters: Array, groups: Groups, pairs: Paired, way: Way) -> Beside:
    """Members of published pairs as if they were sources, beside others that are known by columns.

    Functions are in the order of groups, members (first, second), and pairs.
    """
    members = np.arange(groups.size)[:, None] * FUNCTIONS
    places = [(members + one).ravel() for one in (FIRST, SECOND)]
    own = groups.functions.taken(np.concatenate(places))
    other = groups.functions.taken(np.concatenate(places[::-1]))
    fits = Fits((parameters,), np.zeros((0, 0)))
    drawn_ones = drawn(prices_of([parameters]), published(own), draws=way.draws, wider=way.wider)
    kept = beside(_with_crc(drawn_ones, fits, own), of_columns(parameters, other, way.draws)).own
    tail = (1 - way.confidence) / 2
    low, middle, high = np.quantile(kept, (tail, 0.5, 1 - tail), axis=0)
    # The places of pairs favour their members, which is an artefact of the measurement.
    fair = pairs.throughput / np.exp(favour(groups, pairs))
    alone = groups.alone.throughput
    measured = np.concatenate(
        [(fair[..., at] / alone[:, place]).ravel() for at, place in enumerate((FIRST, SECOND))]
    )
    return Beside(middle, measured, ((low <= measured) & (measured <= high)).astype(float))


def _has(functions: Functions, element: str) -> Array:
    work = works(functions)
    names = {
        "mapper": ("control",),
        "filter": ("rules",),
        "demux": ("demux", "demux+conn"),
        "conn": ("conn", "demux+conn"),
    }.get(element, (element,))
    return np.asarray(np.sum([work[name] for name in names], axis=0))


def _with_crc(draws: Draws, fits: Fits, functions: Functions) -> Draws:
    """Demands with calls of the CRC unit as fitted."""
    none = dict.fromkeys(map(flag, CRC), np.zeros(functions.size))
    bare = Functions({**functions.columns, **none})
    works_of = [amounts(works(one)) for one in (functions, bare)]
    both = [[demands(one, work) for work in works_of] for one in fits.parameters]
    waiting = np.stack([one.waiting[:, 0] - other.waiting[:, 0] for one, other in both])
    computing = np.stack([one.computing[:, 0] - other.computing[:, 0] for one, other in both])
    shared = np.stack([one.shared[:, 0] - other.shared[:, 0] for one, other in both])
    return draws._replace(
        waiting=draws.waiting + waiting[draws.fit],
        computing=draws.computing + computing[draws.fit],
        shared=draws.shared + shared[draws.fit],
    )
