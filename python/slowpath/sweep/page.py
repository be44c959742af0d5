"""Writes the HTML page of `slowpath sweep`: how costs grow with the values of a macro."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import NamedTuple

from slowpath.core.html import (
    Column,
    Content,
    Html,
    download,
    element,
    page,
    problem,
    prose,
    table,
    warning_boxes,
)
from slowpath.core.html.chart import Chart, Curve, Points, colour, draw
from slowpath.core.html.explorer import card, hero, pairs, style, value
from slowpath.core.quantities import significant
from slowpath.measure import disturbances
from slowpath.measure.page_machine import complete_record, disturbance, machine_facts
from slowpath.sweep.definitions import Definition
from slowpath.sweep.documents import Sweep, SweptProgram
from slowpath.sweep.report import MEASURED, Series, csv_report, panels, table_cells

_CARDS = 3
"""Maximum number of cards (boxes with a key figure) at the top of the page."""
_REMARK = 24
"""Maximum length of a remark in the table; longer ones are below the table."""
_CURVES = 12
"""Maximum number of curves in a chart."""


class _Growth(NamedTuple):
    """The change of a cost from the first to the last value of the swept macro."""

    unit: str
    label: str
    first: tuple[str, float]  # value of the definition, and the cost
    last: tuple[str, float]
    largest: tuple[str, str, float] | None  # step with the largest change: from, to, change


def sweep_page(sweep: Sweep, definitions: Sequence[Definition]) -> str:
    """Return the HTML page of a sweep. `definitions` are the swept macros."""
    file = PurePath(sweep["file"]).name
    names = " and ".join(one.name for one in definitions)
    title = f"{file}: cost by {names}"
    found = panels(definitions, sweep["results"])
    growths = [one for unit, some in found.items() for one in _growths(definitions[0], unit, some)]
    growths.sort(key=lambda one: 1 + ("warm" in one.label) - one.label.startswith(MEASURED))
    parts: list[Content] = [
        element("h1", title),
        element("p", f"{sweep['file']}; {_extent(sweep)}", class_="soft small"),
        hero(*(_card(definitions[0], one) for one in growths[:_CARDS])) if growths else None,
    ]
    if not sweep["complete"]:
        parts.append(warning_boxes(["the sweep was stopped before its end."]))
    figures = [_figure(definitions[0], unit, some) for unit, some in found.items()]
    if figures:
        inside = element("div", *figures, class_="figures")
        parts.append(element("section", element("h2", f"Growth with {names}"), inside))
    parts += [_results(sweep), *_machine(sweep)]
    compiler = f" Compiled by {sweep['compiler']}." if "compiler" in sweep else ""
    about = f"Written by slowpath {sweep['slowpath']}.{compiler} The page needs no network."
    return page(title, *parts, element("footer", about), broad=True, style=style())


def _extent(sweep: Sweep) -> str:
    programs = len(sweep["results"])
    ranges = "; ".join(
        f"{one['name']} from {one['values'][0]} to {one['values'][-1]}"
        if len(one["values"]) > 1
        else f"{one['name']} = {one['values'][0]}"
        for one in sweep["definitions"]
    )
    return f"{programs} program{'s'[: programs != 1]}, {ranges}"


def _growths(definition: Definition, unit: str, series: Sequence[Series]) -> Iterator[_Growth]:
    """Yield the growth of each series that has results for at least two values of the macro.

    `unit` is the unit of all series.
    """
    for one in series:
        known = [(at, one.values[at][0]) for at in definition.values if at in one.values]
        if len(known) < 2:  # noqa: PLR2004 - a single value shows no growth
            continue
        steps = [
            (before, after, cost - previous)
            for (before, previous), (after, cost) in pairwise(known)
        ]
        largest = max(steps, key=lambda step: abs(step[2])) if len(steps) > 1 else None
        yield _Growth(unit, one.label, known[0], known[-1], largest)


def _card(definition: Definition, growth: _Growth) -> Html:
    (start, low), (end, high) = growth.first, growth.last
    known: list[tuple[str, Content]] = [(definition.name, f"{start} to {end}")]
    if low > 0 and low != high:
        known.append(("ratio", f"{high / low:.2f}"))
    if growth.largest is not None and growth.largest[2]:
        before, after, change = growth.largest
        known.append(("largest step", f"{change:+.4g} from {before} to {after}"))
    unit = _axis(growth.unit).replace("nanoseconds", "ns")
    words = f"{_amount(low)} \u2192 {_amount(high)} {unit}"
    if low == high:
        words = f"always {_amount(low)} {unit}"
    return card(growth.label, value(words), pairs(known))


def _amount(cost: float) -> str:
    return f"{cost:,.0f}" if float(cost).is_integer() else significant(cost)


_RATES = ("Mpps", "Gbit/s")


def _axis(unit: str) -> str:
    """Return the label of the y-axis for costs in this unit, such as `nanoseconds per packet`."""
    if unit.endswith(_RATES):
        return unit
    return f"{'nanoseconds' if unit == 'ns' else unit} per packet"


def _figure(definition: Definition, unit: str, series: Sequence[Series]) -> Html:
    """Draw series of costs as curves over the values of a macro.

    `unit` is the unit of all series.
    """
    numbers = definition.numbers
    places = numbers or [float(at) for at in range(len(definition.values))]
    where = dict(zip(definition.values, places, strict=True))
    curves, points = list[Curve](), list[tuple[float, float, str]]()
    for number, one in enumerate(series[:_CURVES]):
        known = sorted((where[at], *ends, at) for at, ends in one.values.items())
        x, y, low, high, _ = zip(*known, strict=True)
        curves.append(Curve(x, y, low, high, number))
        for place, cost, *_, at in known:
            text = f"{one.label}, {definition.name} = {at}: {cost:.6g} {unit}"
            points.append((place, cost, text))
    nothing = [None] * len(points)
    x, y, texts = zip(*points, strict=True)
    chart = Chart(
        f"value of {definition.name}",
        _axis(unit),
        Points(x, y, nothing, nothing, texts),
        curves,
        words=f"{unit} by {definition.name}",
        labels=() if numbers else definition.values,
    )
    keys = (
        element(
            "span",
            element("i", class_="key", style=f"background: {colour(number)}"),
            one.label,
            class_="meaning",
        )
        for number, one in enumerate(series[:_CURVES])
    )
    more = len(series) - _CURVES
    rest = [f"{more} more series are in the table. "] if more > 0 else []
    if any(one.label.startswith(MEASURED) for one in series):
        rest.append("Measured times are those beyond an empty program.")
    return element("figure", element("figcaption", *keys, *rest), draw(chart))


def _results(sweep: Sweep) -> Html:
    cells = table_cells(sweep)
    names = [one["name"] for one in sweep["definitions"]]
    remarks, rows = list[Html](), list[list[Content]]()
    for program, (*row, remark) in zip(sweep["results"], cells.rows, strict=True):
        if len(remark) > _REMARK:
            point = ", ".join(f"{name} = {at}" for name, at in zip(names, row, strict=False))
            remarks.append(problem(f"{point}: {remark}", _only_code(program)))
            remark = "see below"  # noqa: PLW2901 - short in the table
        rows.append([*row, remark])
    shown = {*names, *(name for name in cells.columns if name in cells.right)}
    columns = [
        Column(name or "remark", name in cells.right, wide=name not in shown)
        for name in cells.columns
    ]
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    csv = download("\n".join(csv_report(sweep)) + "\n", "sweep.csv", "CSV")
    return element(
        "section",
        element("h2", "Results"),
        element("p", csv, class_="small"),
        table(columns, rows) if rows else element("p", "There are no results."),
        *(element("p", prose(text), class_="small soft") for text in cells.notes),
        *remarks,
    )


def _only_code(program: SweptProgram) -> str | None:
    """Return the error code of a program's results; None if there is none, or several."""
    found = {one["code"] for one in program["results"]} - {None}
    return found.pop() if len(found) == 1 else None


def _machine(sweep: Sweep) -> Iterator[Html]:
    environment = sweep["environment"]
    if environment is None:
        return
    yield element(
        "section",
        element("h2", "Conditions of the measurement"),
        machine_facts(environment),
        *map(disturbance, sweep["disturbances"] or disturbances.of(environment)),
        complete_record(environment),
    )
