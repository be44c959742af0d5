"""Runs the command `slowpath insights placement`."""

import math
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slowpath.core import codes, engine
from slowpath.core.errors import ExitCode, InputError
from slowpath.core.formats import Reporter
from slowpath.insights.placement.documents import (
    ComparedPlacement,
    PlacedPart,
    PlacementCase,
    StatePlacement,
    Through,
    Unpriced,
)
from slowpath.insights.placement.problem import (
    COPY,
    COST,
    THROUGHPUT,
    Case,
    Described,
    Objective,
    PartCounts,
    StatedPlacement,
    Throughput,
    copy_price,
    costs,
    price,
    throughput,
)
from slowpath.insights.placement.solving import OutOfTime, Placement, place
from slowpath.insights.source.unit import require_numpy


def without_price(case: Case, spread: PartCounts) -> dict[str, set[str]]:
    """Return, by memory level, the operations in a placement that have no price on this level.

    A copy is listed under the level that it reads.
    """
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
    """Return true if a structure fits on a memory level that lacks a price for its accesses."""
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


def best_unpriced(
    case: Case, objective: Objective, advised: Placement, seconds: float | None
) -> Unpriced | None:
    """Return the best placement if accesses without a price are free.

    Return None if this placement is no better than the advised one, or if none is found in time.
    """
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
        "levels": [
            {"level": name, "operations": sorted(levels[name])}
            for name in case.card.levels
            if name in levels
        ],
        "structures": _structures(case, found.spread),
        "cost": cost,
        "packetrate_pps": None
        if rates is None
        else throughput(case, rates, found.spread, cost).rate,
        "verdict": "optimal" if found.proven else "stopped",
    }


def _structures(case: Case, spread: PartCounts) -> list[str]:
    """Return the names of structures whose accesses lack a price in this placement."""
    each = costs(case, spread, free=False)
    return [one.name for one, cost in zip(case.structures, each, strict=True) if math.isinf(cost)]


def reason_for_none(case: Case) -> str:
    """Return the reason why a case has no placement, as a text for the user.

    Either a structure fits on no level with prices, or the structures together exceed the
    capacities.
    """
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
            listed = "; ".join(f"{level} {', '.join(each)}" for level, each in lacking.items())
            return (
                f"the structure {one.name} does not fit into a memory level with prices for "
                f"its operations (no price: {listed}); --unpriced free makes these operations "
                "free"
            )
    total = sum(one.part_size * one.parts for one in case.structures)
    capacity = sum(card.capacity.values())
    return (
        f"the structures, {total:,} bytes in all, do not fit into memory levels with prices, "
        f"which have {capacity:,} bytes"
    )


class _Advised(NamedTuple):
    """A placement problem with its objective, and the advised placement."""

    case: Case
    objective: Objective
    seconds: float | None
    """Time limit of a search in seconds; None for no limit."""
    advised: Placement


def compared(result: _Advised, before: Sequence[StatedPlacement]) -> Iterator[ComparedPlacement]:
    """Yield placements for comparison with the advised one.

    They are the stated placements, everything on the largest level, and the placement of least
    cost.
    """
    case = result.case
    for one in before:
        spread = _spread(case, [one.placement[each.name] for each in case.structures])
        yield _compared(result, one.title, spread, one.cost)
    largest = max(case.card.levels, key=lambda level: case.card.capacity[level])
    everything = _spread(case, [largest] * len(case.structures))
    if not _overfull(case, everything):
        yield _compared(result, f"all in {largest}", everything)
    if result.objective == THROUGHPUT:
        try:
            least = place(case, COST, seconds=result.seconds)
        except OutOfTime:
            return
        if least is not None:
            yield _compared(result, "least cost", least.spread)


def _spread(case: Case, levels: list[str]) -> PartCounts:
    return [
        [one.parts if name == level else 0 for name in case.card.levels]
        for one, level in zip(case.structures, levels, strict=True)
    ]


def _overfull(case: Case, spread: PartCounts) -> list[str]:
    return [
        level
        for at, level in enumerate(case.card.levels)
        if used(case, spread, at) > case.card.capacity[level]
    ]


def used(case: Case, spread: PartCounts, level: int) -> int:
    """Return the bytes of a memory level that structures occupy."""
    return sum(
        one.part_size * counts[level] for one, counts in zip(case.structures, spread, strict=True)
    )


def throughput_document(found: Throughput) -> Through | None:
    """Convert a throughput to an entry of the JSON document; None if packets take no time."""
    if math.isinf(found.rate):
        return None
    return {"packetrate_pps": found.rate, "bottleneck": found.limit}


def _compared(
    result: _Advised, title: str, spread: PartCounts, stated: float | None = None
) -> ComparedPlacement:
    case, objective, _, advised = result
    cost = math.fsum(costs(case, spread, free=True))
    through = None if case.rates is None else throughput(case, case.rates, spread, cost)
    if objective == COST:
        better = 1 - advised.value.first / cost if cost else None
    else:
        # Fewer seconds between packets mean a higher throughput.
        seconds = advised.value.first
        better = None if through is None or not seconds else through.seconds / seconds - 1
    return {
        "placement": title,
        "cost": cost,
        "stated_cost": stated,
        "unpriced": bool(without_price(case, spread)),
        "overfull": _overfull(case, spread),
        "throughput": None if through is None else throughput_document(through),
        "better": better,
    }


class Rules(NamedTuple):
    """Options of the search for a placement, such as its objective and its time limit."""

    free: bool = False
    """True if accesses without a price are free, false if they are forbidden."""
    objective: Objective | None = None
    """Objective; None for throughput in cases with cores, and cost in other cases."""
    seconds: float | None = None
    """Time limit of each search in seconds; None for no limit."""


def advise(file: str, described: Described, rules: Rules) -> PlacementCase:
    """Return the best placement of a case, compared with other placements.

    Raises:
        InputError: when no placement exists, or none was found in time.
    """
    case = described.case
    objective = rules.objective or (COST if case.rates is None else THROUGHPUT)
    if objective == THROUGHPUT and case.rates is None:
        raise InputError(
            codes.INVALID_ROW,
            file,
            f"case {case.name}: the case lacks the key cores, which --objective throughput needs",
        )
    try:
        found = place(case, objective, free=rules.free, seconds=rules.seconds)
    except OutOfTime:
        reason = f"no placement was found in {rules.seconds:g} s; allow more time with --deadline"
        raise InputError(codes.STOPPED_AT_DEADLINE, file, f"case {case.name}: {reason}") from None
    if found is None:
        raise InputError(
            codes.PLACEMENT_NOT_POSSIBLE, file, f"case {case.name}: {reason_for_none(case)}"
        )
    each = costs(case, found.spread, free=rules.free)
    total = math.fsum(each)
    through = None if case.rates is None else throughput(case, case.rates, found.spread, total)
    bound: float | None = found.bound
    if objective == THROUGHPUT:
        bound = 1 / found.bound if found.bound else None
    result = _Advised(case, objective, rules.seconds, found)
    return {
        "case": case.name,
        "scope": described.scope,
        "objective": objective,
        "verdict": "optimal" if found.proven else "stopped",
        "cost": total,
        "throughput": None if through is None else throughput_document(through),
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
        "compared": [*compared(result, described.before)],
        "unpriced": None if rules.free else best_unpriced(case, objective, found, rules.seconds),
    }


def _parts(case: Case, spread: PartCounts, each: list[float], total: float) -> list[PlacedPart]:
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


def _of_parts(case: Case, spread: PartCounts, at: int, level: str) -> float:
    """Return the cost of accesses to the parts of structure `at` that are on a memory level."""
    index = case.card.levels.index(level)
    counts = [count if other == index else 0 for other, count in enumerate(spread[at])]
    only = [[0] * len(counts) for _ in case.structures]
    only[at] = counts
    return costs(case, only, free=True)[at]


def run(given: Namespace, reporter: Reporter) -> ExitCode:
    """Place the data structures of all cases in a file, and report the placements.

    Raises:
        InputError: when the file is invalid, or a case has no placement.
        UnavailableError: when a package is missing.
    """
    require_numpy()
    from slowpath.insights.placement.reading import read_cases

    rules = Rules(given.unpriced == "free", given.objective, given.deadline or None)
    report: StatePlacement = {
        **engine.head("insights placement", "state_placement"),
        "file": given.file,
        "without_price": given.unpriced,
        "results": [advise(given.file, one, rules) for one in read_cases(given.file)],
    }
    reporter.write(report)
    return ExitCode.FINE
