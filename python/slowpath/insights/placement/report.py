"""Prints the report of `slowpath insights placement` as text or CSV."""

from collections.abc import Iterator

from slowpath.core.printable import csv_line, one_line
from slowpath.core.quantities import number, significant
from slowpath.core.terminal import Line, grid
from slowpath.insights.output import percent
from slowpath.insights.placement.documents import (
    ComparedPlacement,
    PlacedPart,
    PlacementCase,
    StatePlacement,
    Through,
    Unpriced,
)

COLUMNS = (
    *("case", "structure", "size_bytes", "level", "parts", "of_parts", "cost", "share"),
    *("case_cost", "case_packetrate_pps", "case_bound", "verdict"),
)
_MILLION = 1e6


def placement_csv(report: StatePlacement) -> Iterator[str]:
    """Yield the lines of a CSV report: a header, and a line for each structure and memory level.

    Levels that hold no part of a structure are left out.
    """
    yield csv_line(COLUMNS)
    for case in report["results"]:
        through = case["throughput"]
        rate = None if through is None else through["packetrate_pps"]
        results = (case["cost"], rate, case["bound"], case["verdict"])
        for one in case["structures"]:
            place = (one["structure"], one["size_bytes"], one["level"])
            parts = (one["parts"], one["of_parts"], one["cost"], one["share"])
            yield csv_line((case["case"], *place, *parts, *results))


def placement_text(report: StatePlacement) -> Iterator[Line]:
    """Yield the lines of a text report: the advised placement of each case, and others."""
    for at, case in enumerate(report["results"]):
        if at:
            yield Line("")
        yield from _case(case)
    if report["without_price"] == "free":
        yield Line("")
        yield Line(
            "Accesses without a price in a memory level cost nothing there (--unpriced free)."
        )


def _case(case: PlacementCase) -> Iterator[Line]:
    yield Line(one_line(f"{case['case']} ({case['scope']}): {_headline(case)}"), "bold")
    yield Line("")
    columns = ("structure", "bytes", "level", "cost", "share")
    rows = [
        (
            _name(one),
            f"{one['size_bytes']:,}",
            one["level"],
            number(one["cost"]),
            percent(one["share"]),
        )
        for one in case["structures"]
    ]
    yield from grid(columns, rows, right=("bytes", "cost", "share"))
    yield Line("")
    yield from _levels(case)
    yield Line("")
    yield from _compared(case)
    if case["unpriced"] is not None:
        yield Line("")
        yield from _unpriced(case["unpriced"])


def _headline(case: PlacementCase) -> str:
    through, bound = case["throughput"], case["bound"]
    found, best = f"cost {number(case['cost'])}", "costs less"
    if case["objective"] == "throughput":
        found = f"{_rate(through)}, limited by {_limit(through)}, {found}"
        best = "has a higher throughput"
    if case["verdict"] == "optimal":
        return f"{found}; no placement {best}"
    if bound is None:
        return f"{found}; the search stopped early, so better placements may exist"
    limit = (
        number(bound) if case["objective"] == "cost" else f"{significant(bound / _MILLION)} Mpkt/s"
    )
    return f"{found}; the search stopped early, and no placement {best} than {limit}"


def _rate(through: Through | None) -> str:
    if through is None:
        return "any rate"
    return f"{significant(through['packetrate_pps'] / _MILLION)} Mpkt/s"


def _limit(through: Through | None) -> str:
    words = {
        "waiting": "waiting contexts",
        "computing": "computation on the cores",
        "wanted": "the requested rate",
    }
    if through is None:
        return "nothing"
    limit = through["bottleneck"]
    return words.get(limit, f"the bandwidth of {limit}")


def _name(one: PlacedPart) -> str:
    if one["of_parts"] == 1:
        return one["structure"]
    return f"{one['structure']} ({one['parts']} of {one['of_parts']} parts)"


def _levels(case: PlacementCase) -> Iterator[Line]:
    timed = any(one["busy"] is not None for one in case["levels"])
    columns = ("level", "used", "of bytes", *(("busy",) if timed else ()))
    rows = [
        (
            one["level"],
            f"{one['used_bytes']:,}",
            f"{one['capacity_bytes']:,}",
            *((percent(one["busy"] or 0.0, 0),) if timed else ()),
        )
        for one in case["levels"]
    ]
    yield from grid(columns, rows, right=columns[1:])


def _compared(case: PlacementCase) -> Iterator[Line]:
    timed = case["throughput"] is not None
    columns = (
        "placement",
        "cost",
        *(("throughput",) if timed else ()),
        "gain of the advised one",
        "",
    )
    rows = [
        (
            one["placement"],
            number(one["cost"]),
            *((_rate(one["throughput"]),) if timed else ()),
            percent(one["better"]),
            ", ".join(_remarks(one)),
        )
        for one in case["compared"]
    ]
    yield from grid(columns, rows, right=columns[1:-1])


def _remarks(one: ComparedPlacement) -> Iterator[str]:
    if one["unpriced"]:
        yield "accesses without a price cost nothing"
    yield from (f"the memory level {level} is too small" for level in one["overfull"])
    stated = one["stated_cost"]
    if stated is not None and abs(stated - one["cost"]) > 1e-9 * abs(stated):
        yield f"cost stated in the file: {number(stated)}"


def _unpriced(found: Unpriced) -> Iterator[Line]:
    levels = "; ".join(f"{one['level']}: {', '.join(one['operations'])}" for one in found["levels"])
    rate = found["packetrate_pps"]
    through = "" if rate is None else f", {significant(rate / _MILLION)} Mpkt/s"
    yield Line(
        one_line(
            "Memory levels without a price for an operation of a structure are "
            f"excluded ({levels})."
        )
    )
    names = ", ".join(found["structures"])
    yield Line(
        one_line(
            "If these operations were free, these structures would use the excluded "
            f"levels: {names};"
        )
    )
    yield Line(
        f"the cost would be {number(found['cost'])}{through}. With real prices, the best "
        "placement is between both."
    )
