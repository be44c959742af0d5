"""Recomputes Clara's advice on the memory of network functions (Qiu et al., SOSP 2021).

The problems are placements of data structures in memories, and orders of variables, in the form of
docs/reference/insights-files.md. slowpath proves that its placement or order is the best one.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from slowpath.core.jobs.pool import StopRequested
from slowpath.insights.layout.problem import Described as DescribedElement
from slowpath.insights.layout.problem import Order, accesses, read_elements, weighted
from slowpath.insights.layout.run import layout
from slowpath.insights.placement.problem import (
    COST,
    THROUGHPUT,
    Case,
    PartCounts,
    ThroughputLimits,
    costs,
    throughput,
)
from slowpath.insights.placement.problem import Described as DescribedCase
from slowpath.insights.placement.reading import read_cases
from slowpath.insights.placement.solving import place
from slowpath.insights.source.unit import require_numpy
from slowpath.reproduce.comparison import NOT_COMPUTED, Plan, Quantity, compared
from slowpath.reproduce.documents import ComparedValue
from slowpath.reproduce.registry import Source

_COST = Quantity("cost of the accesses of a packet")
_ACCESSES = "memory accesses for each packet, with windows of {} bytes"
WIDTHS = (8, 16, 32)
_SECONDS = 30.0
"""Time limit of the search for the best placement in one case, in seconds."""


class Found(NamedTuple):
    """The best value that a search found; `proved` is true if no better value exists."""

    value: float
    proved: bool


def placement(source: Source) -> Plan:
    """Return the work that compares the costs of published placements with those of the best ones.

    Raises:
        InputError: if the file is missing, damaged, or has no published placement.
        UnavailableError: if a package is missing.
    """
    require_numpy()
    [file, *_] = source.needed("state-placement/placement.json", "placement.json")
    cases = [
        one
        for one in read_cases(str(file))
        if any(stated.cost is not None for stated in one.before)
    ]
    if not cases:
        raise source.damaged(file, "has no published placement with its cost")
    conditions = [
        "Accesses without a price are free, as in the published program.",
        "The search proves that no placement costs less, unless the last column says otherwise.",
    ]
    names = [one.case.name for one in cases]
    return Plan(names, cases, best_placement, None, _placement_rows, conditions, source.warnings())


def best_placement(
    _common: None, described: DescribedCase, stop_requested: StopRequested
) -> Found | None:
    """Find the placement with the least cost; return None if a stop was requested."""
    if stop_requested():
        return None
    found = place(described.case, COST, free=True, seconds=_SECONDS)
    return None if found is None else Found(found.value.first, found.proven)


def _placement_rows(pairs: Sequence[tuple[DescribedCase, Found | None]]) -> list[ComparedValue]:
    return [
        compared(
            one.case.name,
            _COST,
            next(stated.cost for stated in one.before if stated.cost is not None),
            None if found is None else found.value,
            NOT_COMPUTED if found is None else _proof(proved=found.proved),
        )
        for one, found in pairs
    ]


def _proof(*, proved: bool) -> str:
    return "proved" if proved else "not proved"


class Laid(NamedTuple):
    """A network function whose variables are ordered, and the bytes that an access fetches."""

    described: DescribedElement
    width: int


def coalescing(source: Source) -> Plan:
    """Return the work that compares published orders of variables with the best ones.

    They are compared by the number of memory accesses.

    Raises:
        InputError: if the file is missing, damaged, or has no published order.
        UnavailableError: if a package is missing.
    """
    require_numpy()
    [file, *_] = source.needed("state-placement/coalescing.json", "coalescing.json")
    elements = [one for one in read_elements(str(file)).elements if one.published is not None]
    if not elements:
        raise source.damaged(file, "has no published order of variables")
    items = [Laid(one, width) for width in WIDTHS for one in elements]
    conditions = [
        "Published and own orders are compared by the accesses of the same blocks and weights; the "
        "paper measured other quantities on a card.",
    ]
    names = [item.described.element.name for item in items]
    return Plan(names, items, best_layout, None, _layout_rows, conditions, source.warnings())


def best_layout(_common: None, item: Laid, stop_requested: StopRequested) -> Found | None:
    """Find the order of variables with the fewest accesses; return None if a stop was requested."""
    if stop_requested():
        return None
    known: list[Order] = [] if item.described.published is None else [item.described.published]
    found = layout(item.described.element, item.width, known)
    return Found(float(found.accesses), found.proven)


def _layout_rows(pairs: Sequence[tuple[Laid, Found | None]]) -> list[ComparedValue]:
    rows = list[ComparedValue]()
    for item, found in pairs:
        element, published = item.described.element, item.described.published or []
        merged = weighted(element, item.width)
        theirs = accesses(merged, published) / merged.unit
        source = accesses(merged, range(len(element.variables))) / merged.unit
        quantity = Quantity(_ACCESSES.format(item.width))
        note = NOT_COMPUTED
        if found is not None:
            note = f"order of the source: {float(source):.4g}; {_proof(proved=found.proved)}"
        ours = None if found is None else found.value
        rows.append(compared(element.name, quantity, float(theirs), ours, note))
    return rows


# --- Figure 15: spreading state -------------------------------------------------------------------

_GAIN = Quantity("throughput gained beside the placement of least cost", "%")
_FASTER, _FACTORS = "imem", (1, 2, 4)


class Spread(NamedTuple):
    """A placement problem in which one memory is faster by this factor."""

    case: Case
    factor: int


def spreading(source: Source) -> Plan:
    """Return the work that recomputes Figure 15: throughput gained by spreading state.

    Raises:
        InputError: if the file is missing or damaged.
        UnavailableError: if a package is missing.
    """
    require_numpy()
    [file, *_] = source.needed("udp_counter.json")
    cases = [one.case for one in read_cases(str(file)) if one.case.rates is not None]
    if not cases:
        raise source.damaged(file, "has no case with cores and bandwidths")
    items = [Spread(case, factor) for case in cases for factor in _FACTORS]
    names = [_bandwidth(item) for item in items]
    conditions = [
        "The paper states a gain of at most 7.6 % for functions of its own, by exhaustive search "
        "on a card (section 5.8). It cannot be compared with ours: these gains are predicted for "
        "made-up counters, without the limit of the ports, and for an assumed bandwidth of IMEM.",
    ]
    return Plan(names, items, gain, None, _gain_rows, conditions)


def _bandwidth(item: Spread) -> str:
    ratio = "as fast as EMEM" if item.factor == 1 else f"{item.factor} times as fast as EMEM"
    return f"{item.case.name}, IMEM {ratio}"


def gain(_common: None, item: Spread, stop_requested: StopRequested) -> Found | None:
    """Return by how much the placement of highest throughput is faster than that of least cost.

    The value is in percent. Return None if a stop was requested.
    """
    rates = item.case.rates
    if stop_requested() or rates is None:
        return None
    busy = {
        level: {operation: one / (item.factor if level == _FASTER else 1) for operation, one in of}
        for level, of in ((level, known.items()) for level, known in rates.busy.items())
    }
    rates = rates._replace(busy=busy, wanted=None)
    case = item.case._replace(rates=rates)
    found = [place(case, objective, seconds=_SECONDS) for objective in (THROUGHPUT, COST)]
    if None in found:
        return None
    best, least = (_packet_rate(case, rates, one.spread) for one in found if one is not None)
    return Found(100 * (best / least - 1), all(one is not None and one.proven for one in found))


def _packet_rate(case: Case, rates: ThroughputLimits, spread: PartCounts) -> float:
    cost = math.fsum(costs(case, spread, free=False))
    return throughput(case, rates, spread, cost).rate


def _gain_rows(pairs: Sequence[tuple[Spread, Found | None]]) -> list[ComparedValue]:
    return [
        compared(
            _bandwidth(item),
            _GAIN,
            None,  # the paper states the gain of other functions
            None if found is None else found.value,
            NOT_COMPUTED if found is None else _proof(proved=found.proved),
        )
        for item, found in pairs
    ]
