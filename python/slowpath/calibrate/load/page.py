"""Writes the HTML page of the test bed `load`: losses and latencies of programs by offered rate."""

from collections.abc import Callable, Sequence

from slowpath.calibrate.load.documents import LoadDocument, LoadedProgram, OfferedRate
from slowpath.calibrate.load.report import (
    all_rates,
    highest_text,
    kilo,
    load_csv,
    lost_at,
    micro,
    place_text,
    share_text,
    title,
)
from slowpath.core import engine
from slowpath.core.html import (
    Column,
    Content,
    Html,
    download,
    element,
    facts,
    page,
    problem,
    table,
)
from slowpath.core.html.chart import Chart, Curve, Points, draw

_COLUMNS = [
    Column("offered"),
    Column("kpps", number=True),
    Column("received kpps", number=True),
    Column("loss", number=True),
    Column("p50 µs", number=True),
    Column("p90 µs", number=True, wide=True),
    Column("p99 µs", number=True),
    Column("p99.9 µs", number=True),
    Column("lost at", wide=True),
]
_QUANTILES = (("p50", "50 %"), ("p90", "90 %"), ("p99", "99 %"), ("p999", "99.9 %"))


def load_page(document: LoadDocument) -> str:
    """Return the HTML page: received rate, loss and latency of each program, by offered rate."""
    heading = "Programs under offered load"
    text = "\n".join([*load_csv(document), ""])
    head = element(
        "header",
        element("h1", heading),
        facts(
            ("begun", document["date"].replace("T", " ").replace("Z", " UTC")),
            ("programs run as", place_text(document)),
            ("sender and receiver", f"CPU {document['sender_cpu']}"),
            ("program", f"CPU {document['program_cpu']}"),
            ("programs", document["directory"]),
        ),
        element("p", "All figures as CSV: ", download(text, "load.csv", "load.csv")),
    )
    parts = [_section(one, document["tolerance"]) for one in document["programs"]]
    notes = element("footer", *(element("p", one) for one in document["notes"]), _written_by())
    return page(heading, head, *parts, notes)


def _written_by() -> Html:
    return element(
        "p",
        f"Written by slowpath {engine.version()}. Latencies are times from sending to return, "
        "medians over the trials of a rate. The page contains all data, and needs no network.",
    )


def _section(program: LoadedProgram, tolerance: float) -> Html:
    content: list[Content] = [element("h2", title(program))]
    sentence = highest_text(program, tolerance)
    if sentence is not None:
        content.append(element("p", sentence))
    if program["reason"] is not None:
        content.append(problem(f"Not measured: {program['reason']}."))
    rates = sorted(all_rates(program), key=lambda one: one["offered_pps"])
    if rates:
        figures = _received(rates), _loss(rates), _latency(rates)
        content.append(element("div", *figures, class_="figures"))
        content.append(table(_COLUMNS, [_row(one) for one in rates]))
    return element("section", *content)


def _row(one: OfferedRate) -> list[Content]:
    latency = one["latency"]
    quantiles = [
        "" if latency is None else micro(latency[key])  # type: ignore[literal-required]
        for key, _ in _QUANTILES
    ]
    rates = kilo(one["offered_pps"]), kilo(one["received_pps"])
    return [share_text(one), *rates, f"{one['loss']:.3%}", *quantiles, lost_at(one)]


_AXIS = "offered rate in thousand packets a second"


def _received(rates: Sequence[OfferedRate]) -> Html:
    return _figure("Received rate by offered rate", "received, kpps", rates, _kilo_received)


def _kilo_received(one: OfferedRate) -> float:
    return one["received_pps"] / 1e3


def _loss(rates: Sequence[OfferedRate]) -> Html:
    return _figure("Lost packets by offered rate", "% lost", rates, lambda one: 100 * one["loss"])


def _figure(
    what: str, unit: str, rates: Sequence[OfferedRate], read: Callable[[OfferedRate], float]
) -> Html:
    x, y = [one["offered_pps"] / 1e3 for one in rates], [read(one) for one in rates]
    says = [f"{at:,.1f} kpps: {value:,.4g} {unit}" for at, value in zip(x, y, strict=True)]
    points = Points(x, y, [None] * len(x), [None] * len(x), says)
    chart = Chart(_AXIS, unit, points, [Curve(x, y, y, y, 0)], words=what)
    return element("figure", element("figcaption", what), draw(chart))


def _latency(rates: Sequence[OfferedRate]) -> Html:
    known = [(one["offered_pps"] / 1e3, one["latency"]) for one in rates]
    x, y, says, curves = list[float](), list[float](), list[str](), list[Curve]()
    for number, (key, name) in enumerate(_QUANTILES):
        places = [at for at, latency in known if latency is not None]
        values = [latency[key] for _, latency in known if latency is not None]  # type: ignore[literal-required]
        curves.append(Curve(places, values, values, values, number))
        x += places
        y += values
        says += [f"{name} at {at:,.1f} kpps: {micro(one)} µs" for at, one in zip(places, values)]  # noqa: B905
    points = Points(x, y, [None] * len(x), [None] * len(x), says)
    names = ", ".join(name for _, name in _QUANTILES)
    what = f"Latency by offered rate; quantiles from below: {names}"
    chart = Chart(_AXIS, "µs", points, curves, words=what)
    return element("figure", element("figcaption", what), draw(chart))
