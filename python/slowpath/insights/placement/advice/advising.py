"""The advised placement of a case, with all that is said about it."""

import math
from typing import NamedTuple

from slowpath.cli.errors import InputError
from slowpath.insights.placement.advice.comparing import Asked, compared, shown, used
from slowpath.insights.placement.advice.documents import PlacedPart, PlacementCase
from slowpath.insights.placement.advice.unpriced import reason_for_none, unpriced
from slowpath.insights.placement.costs import costs, throughput
from slowpath.insights.placement.problem import Case, Described, Spread
from slowpath.insights.placement.solving import OutOfTime, place
from slowpath.insights.placement.value import COST, THROUGHPUT, Objective


class Rules(NamedTuple):
    """How to place."""

    free: bool = False
    """Whether accesses without a price cost nothing, rather than being forbidden."""
    objective: Objective | None = None
    """None: throughput where a case has cores, else cost."""
    seconds: float | None = None
    """How long each search may take; None: as long as it takes."""


def advise(file: str, described: Described, rules: Rules) -> PlacementCase:
    """The best placement of a case.

    Raises:
        InputError: when there is none, or none was found in time.
    """
    case = described.case
    objective = rules.objective or (COST if case.rates is None else THROUGHPUT)
    if objective == THROUGHPUT and case.rates is None:
        raise InputError(file, f"case {case.name}: lacks cores, which throughput takes")
    try:
        found = place(case, objective, free=rules.free, seconds=rules.seconds)
    except OutOfTime:
        reason = f"no placement was found in {rules.seconds:g} s; give it more with --deadline"
        raise InputError(file, f"case {case.name}: {reason}") from None
    if found is None:
        raise InputError(file, f"case {case.name}: {reason_for_none(case)}")
    each = costs(case, found.spread, free=rules.free)
    total = math.fsum(each)
    through = None if case.rates is None else throughput(case, case.rates, found.spread, total)
    bound: float | None = found.bound
    if objective == THROUGHPUT:
        bound = 1 / found.bound if found.bound else None
    asked = Asked(case, objective, rules.seconds, found)
    return {
        "case": case.name,
        "scope": described.scope,
        "objective": objective,
        "verdict": "optimal" if found.proven else "stopped",
        "cost": total,
        "throughput": None if through is None else shown(through),
        "bound": bound,
        "structures": _parts(case, found.spread, each, total),
        "levels": [
            {
                "level": level,
                "capacity_bytes": case.card.capacity[level],
                "used_bytes": used(case, found.spread, at),
                "busy": None if through is None else through.busy[at],
            }
            for at, level in enumerate(case.card.levels)
        ],
        "compared": [*compared(asked, described.before)],
        "unpriced": None if rules.free else unpriced(case, objective, found, rules.seconds),
    }


def _parts(case: Case, spread: Spread, each: list[float], total: float) -> list[PlacedPart]:
    found = list[PlacedPart]()
    for at, (one, counts) in enumerate(zip(case.structures, spread, strict=True)):
        for level, parts in zip(case.card.levels, counts, strict=True):
            if parts:
                cost = each[at] if parts == one.parts else _of_parts(case, spread, at, level)
                found.append(
                    {
                        "structure": one.name,
                        "level": level,
                        "parts": parts,
                        "of_parts": one.parts,
                        "size_bytes": min(one.part_size * parts, one.size),
                        "cost": cost,
                        "share": cost / total if total else None,
                    }
                )
    return found


def _of_parts(case: Case, spread: Spread, at: int, level: str) -> float:
    """What the parts of a structure cost that are on one of its levels."""
    there = case.card.levels.index(level)
    counts = [count if where == there else 0 for where, count in enumerate(spread[at])]
    only = [[0] * len(counts) for _ in case.structures]
    only[at] = counts
    return costs(case, only, free=True)[at]
