"""Writes a comparison as an HTML page, with charts of published and recomputed values.

If items are numbers, published values are points, and ours a curve. Other items get a pair of bars
each, on a logarithmic axis if the values differ much.
"""

from collections.abc import Callable, Iterator, Sequence

from slowpath.core.formats import coded
from slowpath.core.html import Column, Html, element, facts, join, page, table, warning_boxes
from slowpath.core.html.chart import Chart, Curve, Points, Scale, colour, scale_of, tick_text
from slowpath.core.html.chart import draw as draw_chart
from slowpath.reproduce.comparison import quantities
from slowpath.reproduce.documents import ComparedValue, Reproduction
from slowpath.reproduce.report import cells, reference, revisions, summary_text, title

_SERIES = ("published", "ours")
_COLUMNS = [
    Column("item"),
    Column("published", number=True),
    Column("ours", number=True),
    Column("deviation", number=True),
    Column("deviation, %", number=True),
    Column("note", wide=True),
]
_WIDTH, _RIGHT, _TOP, _BOTTOM = 460.0, 14.0, 6.0, 42.0
_BAR, _GAP = 7.0, 6.0
_LETTER = 7.0  # width of a letter of a label
_LONGEST = 26  # letters of a label
Place = Callable[[float], float]
"""Function that converts a value to its x position in a chart."""
_STYLE = """
svg .published { fill: var(--c0); } svg .ours { fill: var(--c1); }
svg .point { fill: var(--c0); }
.figures.one { grid-template-columns: minmax(0, 1fr); max-width: 46rem; }
"""


def comparison_page(document: Reproduction, axis: str | None) -> str:
    """Return the HTML page of a comparison.

    `axis` is the name of the x-axis if items are numbers, else None.
    """
    [figure] = document["paper"]["figures"]
    artefact = figure["artefact"]
    about = facts(
        ("paper", reference(document["paper"])),
        ("artefact", None if artefact is None else artefact["address"]),
        ("revision", None if artefact is None else artefact["revision"]),
        ("licence", None if artefact is None else artefact["licence"]),
        ("data", f"{', '.join(document['paths'])}{revisions(document)}"),
        ("complete", "yes" if document["complete"] else "no: stopped before all items"),
    )
    heading = f"{document['paper']['name']} {figure['name']}"
    conditions = element("ul", *(element("li", one) for one in document["conditions"]))
    footer = f"Written by slowpath {document['slowpath']}. The page needs no network."
    return page(
        heading,
        element("h1", heading),
        element("p", f"{figure['title'][:1].upper()}{figure['title'][1:]}."),
        warning_boxes(coded(document["warnings"], document["warning_codes"])),
        about,
        *_sections(document, axis),
        element("section", element("h2", "Conditions"), conditions),
        element("footer", footer),
        style=_STYLE,
    )


def _sections(document: Reproduction, axis: str | None) -> Iterator[Html]:
    summaries = {(one["quantity"], one["unit"]): one for one in document["summary"]}
    for quantity, rows in quantities(document["results"]):
        name = title(quantity)
        yield element(
            "section",
            element("h2", name),
            element("p", summary_text(summaries[quantity])),
            element("div", _figure(name, rows, axis), class_="figures one"),
            table(_COLUMNS, map(cells, rows)),
        )


def _figure(name: str, rows: Sequence[ComparedValue], axis: str | None) -> Html:
    keys = join(
        *(
            element(
                "span",
                element("span", "", class_="key", style=f"background: {colour(number)}"),
                words,
                class_="meaning",
            )
            for number, words in enumerate(_SERIES)
        )
    )
    drawn = _bars(name, rows) if axis is None else _curve(name, rows, axis)
    return element("figure", element("figcaption", keys), drawn)


def _values(rows: Sequence[ComparedValue], series: str) -> list[float | None]:
    return [row["published"] if series == _SERIES[0] else row["ours"] for row in rows]


def _curve(name: str, rows: Sequence[ComparedValue], axis: str) -> Html:
    """Draw published values as points, and our values as a curve, for items that are numbers.

    `name` is the title, `axis` the name of the x-axis.
    """
    points, own = (
        [
            (float(row["item"]), value)
            for row, value in zip(rows, _values(rows, series), strict=True)
            if value is not None
        ]
        for series in _SERIES
    )
    x, y = [at for at, _ in own], [value for _, value in own]
    nothing = [None] * len(points)
    says = [f"{axis} {at:g}, published: {value:.4g}" for at, value in points]
    published = Points(
        [at for at, _ in points], [value for _, value in points], nothing, nothing, says
    )
    curves = [Curve(x, y, y, y, 1)] if own else []
    return draw_chart(Chart(axis, name, published, curves, words=f"{name} by {axis}"))


def _bars(name: str, rows: Sequence[ComparedValue]) -> Html:
    """Draw two bars for each item: the published value and ours. `name` is the title."""
    known = [one for series in _SERIES for one in _values(rows, series) if one is not None]
    positive = all(one > 0 for one in known)
    scale = scale_of(known, from_zero=True)
    if scale.logarithmic and positive:
        scale = scale._replace(low=scale.low / 2)
    label = min(max((len(row["item"]) for row in rows), default=1), _LONGEST)
    left = 12 + label * _LETTER
    group = 2 * _BAR + _GAP
    bottom = _TOP + group * len(rows)

    def place(value: float) -> float:
        return left + scale.share(value) * (_WIDTH - _RIGHT - left)

    zero = place(scale.low if scale.logarithmic else min(max(0.0, scale.low), scale.high))
    inside = [*_axis(scale, zero, bottom, place)]
    for at, row in enumerate(rows):
        top = _TOP + at * group
        text = row["item"] if len(row["item"]) <= _LONGEST else f"{row['item'][: _LONGEST - 3]}..."
        middle = top + _BAR + 4
        inside.append(element("text", text, x=left - 5, y=middle, text_anchor="end"))
        for number, series in enumerate(_SERIES):
            value = _values([row], series)[0]
            if value is not None:
                says = f"{row['item']}, {series}: {value:.4g}"
                height = top + number * _BAR
                inside.append(_bar(zero, place(value), height, series, says))
    middle = (left + _WIDTH - _RIGHT) / 2
    inside.append(element("text", name, x=middle, y=bottom + 36, text_anchor="middle"))
    words = element("title", f"{name}: published and own values by item")
    box = f"0 0 {_WIDTH:g} {bottom + _BOTTOM:g}"
    return element("svg", words, *inside, viewBox=box, role="img")


def _bar(zero: float, end: float, top: float, series: str, says: str) -> Html:
    start, width = min(zero, end), max(abs(end - zero), 0.8)
    bar = element("rect", x=start, y=top, width=width, height=_BAR - 1, class_=series)
    return element("g", element("title", says), bar)


def _axis(scale: Scale, zero: float, bottom: float, place: Place) -> Iterator[Html]:
    free = 0.0
    for value in scale.ticks():
        text, at = tick_text(value), place(value)
        yield element("line", x1=at, y1=_TOP, x2=at, y2=bottom, class_="rule")
        half = len(text) * _LETTER / 2
        if at - half > free and at + half < _WIDTH:
            free = at + half + 4
            yield element("text", text, x=at, y=bottom + 16, text_anchor="middle")
    yield element("line", x1=zero, y1=_TOP, x2=zero, y2=bottom, class_="axis")
