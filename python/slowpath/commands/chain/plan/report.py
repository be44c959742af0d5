"""The text of `slowpath chain plan`."""

from collections.abc import Iterator, Sequence

from slowpath.cli.printable import one_line
from slowpath.cli.terminal import Line
from slowpath.commands.chain.plan.documents import AsIs, GreatestCost, HotSpot, PlanReport
from slowpath.report.grid import grid

_SHOWN = 20  # lines of a kind, of many
_NAMES = 4  # of nodes in a cell


def plan_report(report: PlanReport) -> Iterator[Line | str]:
    """The variants that pay, those that gain most first; then what stays, and why."""
    spots = report["hot_spots"]
    if spots:
        numbers = ("traffic", "before", "after", "left", "executes", "now", "gain")
        columns = ("node", "program", "variant", *numbers, "rests on", "object")
        yield from grid(columns, [_row(one) for one in spots], right=numbers, margin="")
    else:
        yield "no variant of any program pays"
    never = [path["never"] for path in report["paths"] if path["never"]]
    yield from _some(never)
    yield from _some([_irrelevant(one) for one in spots if one["irrelevant"]])
    yield from _some([f"{_named(one)}: {text}" for one in spots for text in one["remarks"]])
    yield from _some([_as_is(one) for one in report["as_is"]])
    if report["not_looked_at"]:
        yield one_line(f"not looked at, for lack of time: {', '.join(report['not_looked_at'])}")
    if report["unused"]:
        yield one_line(f"on no path: {', '.join(report['unused'])}")
    yield from _some(sorted({f"if {text}" for one in spots for text in one["assumptions"]}))
    yield from (f"note: {one_line(note)}" for note in report["notes"])
    yield from _ending(report)


def _ending(report: PlanReport) -> Iterator[str]:
    results = report["kept"] + report["computed"]
    if report["changed"]:
        names = ", ".join(report["changed"])
        yield one_line(
            f"{names} changed since the last plan: {report['computed']} of {results} results "
            "computed anew"
        )
    else:
        yield f"{results} results: {report['computed']} computed, {report['kept']} from the cache"
    yield f"{report['queries']} questions to the solver, {report['seconds']:.2f} s in all"
    if report["stopped"]:
        yield f"stopped: {one_line(report['stopped'])}"


def _row(one: HotSpot) -> tuple[str, ...]:
    before, guard = one["instructions_before"], one["guard"]
    after = guard["instructions"] if guard else one["instructions_after"]
    return (
        one["node"],
        one["program"],
        one["variant"],
        f"{100 * one['share']:.1f} %",
        str(before),
        str(after),
        f"{100 * after / before:.0f} %" if before else "-",
        _cost(one["cost_before"]),
        _cost(one["cost_after"]),
        "-" if one["gain"] is None else f"{one['gain']:.1f}",
        _names(one["rests_on"]),
        one["file"] or "not written",
    )


def _cost(cost: GreatestCost | None) -> str:
    if cost is None:
        return "-"
    return f"{'' if cost['exact'] else '<= '}{cost['instructions']}"


def _names(names: Sequence[str]) -> str:
    more = len(names) - _NAMES
    shown = ", ".join(names[:_NAMES])
    return f"{shown}, {more} more" if more > 0 else shown or "-"


def _named(one: HotSpot) -> str:
    return f"{one['program']} at {one['node']} ({one['variant']})"


def _irrelevant(one: HotSpot) -> str:
    nodes = one["irrelevant"]
    are = "is" if len(nodes) == 1 else "are"
    return f"{_named(one)}: {_names(nodes)} {are} irrelevant, nothing from there is used"


def _as_is(one: AsIs) -> str:
    from_where = _names(one["ingresses"])
    why = "; ".join(one["why"])
    return f"{one['program']} at {one['node']} stays as it was for packets from {from_where}: {why}"


def _some(lines: Sequence[str]) -> Iterator[str]:
    """The first of many lines."""
    yield from (one_line(text) for text in lines[:_SHOWN])
    if len(lines) > _SHOWN:
        yield f"{len(lines) - _SHOWN} more like that; --format json has all"
