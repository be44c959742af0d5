"""Levels that are forbidden because something has no price there, and what they would change."""

import math

from slowpath.insights.placement.advice.documents import Unpriced, UnpricedLevel
from slowpath.insights.placement.costs import copy_price, costs, price, throughput
from slowpath.insights.placement.problem import COPY, Case, Spread
from slowpath.insights.placement.solving import OutOfTime, Placement, place
from slowpath.insights.placement.value import Objective


def without_price(case: Case, spread: Spread) -> dict[str, set[str]]:
    """By level, what a placement does there that has no price; copies, at the level they read."""
    found = dict[str, set[str]]()
    at = {one.name: index for index, one in enumerate(case.structures)}
    levels = case.card.levels
    for one, counts in zip(case.structures, spread, strict=True):
        for level in (name for name, count in zip(levels, counts, strict=True) if count):
            for access in one.accesses:
                to = None if access.to is None else spread[at[access.to]]
                prices = (
                    [price(case.card, access.operation, level, free=False)]
                    if to is None
                    else [
                        copy_price(case.card, level, other, free=False)
                        for other, count in zip(levels, to, strict=True)
                        if count
                    ]
                )
                if access.times and math.inf in prices:
                    found.setdefault(level, set()).add(access.operation)
    return found


def _lacks_prices(case: Case) -> bool:
    """Whether a structure fits on a level that has no price for something that it does."""
    card = case.card
    copies = any(
        math.isinf(copy_price(card, read, to, free=False))
        for read in card.levels
        for to in card.levels
    )
    return any(
        copies
        if access.to is not None
        else math.isinf(price(card, access.operation, level, free=False))
        for one in case.structures
        for level in card.levels
        if one.part_size <= card.capacity[level]
        for access in one.accesses
        if access.times
    )


def unpriced(
    case: Case, objective: Objective, advised: Placement, seconds: float | None
) -> Unpriced | None:
    """What would be better if all that has no price were free; None where nothing."""
    if not _lacks_prices(case):
        return None
    try:
        found = place(case, objective, free=True, seconds=seconds)
    except OutOfTime:
        return None
    if found is None or not found.value < advised.value:
        return None
    levels = without_price(case, found.spread)
    if not levels:
        return None
    cost = math.fsum(costs(case, found.spread, free=True))
    rates = case.rates
    return {
        "levels": [_level(name, levels[name]) for name in case.card.levels if name in levels],
        "structures": _structures(case, found.spread),
        "cost": cost,
        "packetrate_pps": None
        if rates is None
        else throughput(case, rates, found.spread, cost).rate,
        "verdict": "optimal" if found.proven else "stopped",
    }


def _level(name: str, operations: set[str]) -> UnpricedLevel:
    return {"level": name, "operations": sorted(operations)}


def _structures(case: Case, spread: Spread) -> list[str]:
    """Those whose own accesses have no price."""
    each = costs(case, spread, free=False)
    return [one.name for one, cost in zip(case.structures, each, strict=True) if math.isinf(cost)]


def reason_for_none(case: Case) -> str:
    """Why a case has no placement: a structure without a level, or too little room."""
    card = case.card
    for one in case.structures:
        room = [level for level in card.levels if one.part_size <= card.capacity[level]]
        lacking = {
            level: sorted(
                {
                    access.operation
                    for access in one.accesses
                    if access.times
                    and access.operation != COPY
                    and math.isinf(price(card, access.operation, level, free=False))
                }
            )
            for level in room
        }
        if all(lacking.values()):
            said = "; ".join(f"{level} {', '.join(each)}" for level, each in lacking.items())
            return (
                f"structure {one.name} fits on no level with prices for what it does (no price: "
                f"{said}); --unpriced free counts these as nothing"
            )
    total = sum(one.part_size * one.parts for one in case.structures)
    capacity = sum(card.capacity.values())
    return (
        f"{total:,} bytes of structures find no place on levels with prices, which have "
        f"{capacity:,} in all"
    )
