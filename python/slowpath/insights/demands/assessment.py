"""Assesses how well a network function would run on a SmartNIC, from its work per packet."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from slowpath.insights.cores import pairs
from slowpath.insights.cores.functions import Array
from slowpath.insights.cores.knee import CORES
from slowpath.insights.demands.documents import (
    CardCores,
    CardNeighbour,
    CardPrice,
    CardUse,
    CardWork,
)
from slowpath.insights.demands.draws import DRAWS, Draws, drawn, interval
from slowpath.insights.demands.neighbours import Neighbour, typical
from slowpath.insights.demands.prices import Price, Prices, prices_of, shipped_fits
from slowpath.insights.demands.published import packets_of
from slowpath.insights.demands.sharing import CORE_COUNTS, advise, beside, curve
from slowpath.insights.output import rounded

CONFIDENCE = 0.9
_few = partial(rounded, digits=4)
"""Function that rounds a number to as many digits as estimates have."""
_ITSELF = "itself"


class Card(NamedTuple):
    """Properties of the SmartNIC, such as prices of operations, from published measurements."""

    alone: Prices  # prices from fits to curves, for both kinds of traffic
    noise: Array  # covariance of measured curves around the network's predictions
    paired: Prices  # prices from the fit to pairs
    parameters: Array  # network parameters of the fit to pairs


def card() -> Card:
    """Return the SmartNIC's properties, derived from the fitted models in the package."""
    fits, parameters = shipped_fits(), pairs.shipped().parameters
    return Card(prices_of(fits.parameters), fits.noise, prices_of([parameters]), parameters)


def assess(known: Card, work: CardWork, others: Sequence[Neighbour] = ()) -> CardUse:
    """Assess a function: useful number of cores, and throughput next to other functions.

    The other functions are a typical one for each bottleneck, a copy of the assessed function, and
    `others`.

    Args:
        known: properties of the SmartNIC.
        work: work of a packet.
        others: additional neighbours, such as functions that the user names.
    """
    packets = packets_of(work)
    own = drawn(known.paired, packets)
    itself = Neighbour(_ITSELF, "a second copy of the function", False, own)
    neighbours = [*typical(known.parameters, DRAWS), itself, *others]
    found = [_beside(own, one) for one in neighbours]
    return {
        "work": work,
        "prices": _prices(known.alone),
        "confidence": CONFIDENCE,
        "cores": _cores(drawn(known.alone, packets), known.noise),
        "neighbours": sorted(found, key=lambda one: -one["kept"]),
    }


def neighbour_of(known: Card, name: str, about: str, work: CardWork) -> Neighbour:
    """Return a function with the given work per packet, as a neighbour of the assessed function."""
    # With another seed, its prices are independent of the assessed function's prices.
    return Neighbour(name, about, False, drawn(known.paired, packets_of(work), seed=1))


def _cores(draws: Draws, noise: Array) -> CardCores:
    advice, limited = advise(draws, noise, CONFIDENCE)
    low, middle, high = curve(draws, CONFIDENCE)[:, 0]
    knee = int(advice.cores[0])
    at = CORE_COUNTS.index(knee)
    limits = sorted(limited[0].items(), key=lambda one: -one[1])
    return {
        "knee_cores": knee,
        "knee_low": int(advice.low[0]),
        "knee_high": int(advice.high[0]),
        "throughput_pps": _few(middle[at]),
        "low_pps": _few(low[at]),
        "high_pps": _few(high[at]),
        "share": _few(middle[at] / middle[-1]),
        "limits": [{"limit": name, "share": share} for name, share in limits if share],
        "points": [
            {
                "cores": cores,
                "throughput_pps": _few(middle[index]),
                "low_pps": _few(low[index]),
                "high_pps": _few(high[index]),
                "outside": cores < CORES[0],
            }
            for index, cores in enumerate(CORE_COUNTS)
        ],
    }


def _beside(own: Draws, other: Neighbour) -> CardNeighbour:
    kept = beside(own, other.draws)
    low, middle, high = (float(one[0]) for one in interval(kept.own, CONFIDENCE))
    return {
        "neighbour": other.name,
        "about": other.about,
        "typical": other.typical,
        "kept": _few(middle),
        "low": _few(low),
        "high": _few(high),
        "others": _few(float(np.median(kept.others))),
    }


def _prices(prices: Prices) -> list[CardPrice]:
    near, far = "internal memory", "external memory"
    base = prices.base
    return [
        _price(
            "a packet on a core, without instructions and accesses",
            Price(base.computing, float(base.computing.std() / base.computing.mean())),
        ),
        _price("an LLVM instruction", prices.instruction),
        _price(f"wait for an access to {near}", prices.waiting[0]),
        _price(f"wait for an access to {far}", prices.waiting[1]),
        _price(f"time that an access occupies {near}", prices.service[0]),
        _price(f"time that an access occupies {far}", prices.service[1]),
    ]


def _price(what: str, price: Price) -> CardPrice:
    return {"what": what, "ns": _few(price.each.mean()), "spread": _few(price.spread)}
