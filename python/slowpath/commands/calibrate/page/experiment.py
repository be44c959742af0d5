"""The part of the page about one experiment."""

from collections.abc import Iterator, Sequence

from slowpath.commands.calibrate.page.figures import figures
from slowpath.commands.calibrate.page.machine import during
from slowpath.experiments.results.documents import CalibratedExperiment, ModelDocument
from slowpath.html.chart import colour
from slowpath.html.elements import Content, Html, element, join
from slowpath.html.page import facts
from slowpath.html.tables import Column, table
from slowpath.measurements.environment import Environment
from slowpath.models.documents import FittedModel, Parameter, Segment
from slowpath.models.reports.text import sentences, written

_STATES = {
    "complete": None,
    "partial": "This experiment was interrupted: the figures are of what was measured by then.",
    "failed": "Nothing could be measured.",
    "written": "The test bed only writes programs; nothing is measured.",
}
OVERVIEW = "overview"
"""What links to the table of all experiments name."""
_SHOWN = 8  # values in a line


def section(number: int, found: CalibratedExperiment, where: Sequence[Environment]) -> Html:
    """The part; links lead to it by the experiment's number."""
    result, measurement = found["result"], found["measurement"]
    parts: list[Content] = [
        element("h2", found["name"]),
        element("p", result["description"], class_="soft"),
        _facts(found),
    ]
    state = _STATES[measurement["state"]]
    parts += [element("p", text, class_="warn") for text in (state,) if text is not None]
    parts += [element("p", text, class_="warn") for text in measurement["notes"]]
    if result["points"]:
        parts.append(figures(found["name"], result))
    if result["model"] is not None:
        parts += [*_model(result["model"])]
    elif result["reason"] is not None and result["points"]:
        parts.append(element("p", f"There is no model: {result['reason']}."))
    back = element("p", element("a", "Overview", href=f"#{OVERVIEW}"), class_="small")
    parts += [_errors(found), _values(result), during(where), back]
    return element("section", *parts, id=anchor(number))


def anchor(number: int) -> str:
    """What links to an experiment name; texts of others are no part of it."""
    return f"experiment-{number}"


def _facts(found: CalibratedExperiment) -> Html:
    result, measurement = found["result"], found["measurement"]
    fixed = ", ".join(f"{name} {value}" for name, value in result["fixed"].items())
    against = "the same program without it" if result["baseline"] == "without" else "an empty one"
    points = f"{len(result['points'])} of {len(measurement['points'])}"
    took = None if result["exact"] else f"{measurement['seconds']:.1f} s"
    return facts(
        ("component", result["kind"]),
        ("swept", result["parameter"]),
        ("points", points),
        ("took", took),
        ("baseline", against),
        ("fixed", fixed or None),
    )


def _model(model: FittedModel) -> Iterator[Html]:
    x, y = model["x"], model["y"]
    columns = [
        Column(f"{x[0]} from", number=True),
        Column("to", number=True),
        Column(f"{y} ="),
        Column("parameters"),
        Column("points", number=True, wide=True),
        Column("sMAPE", number=True),
    ]
    rows = [_segment(number, one, x) for number, one in enumerate(model["segments"])]
    yield element("h3", "Model")
    yield table(columns, rows, stack=True)
    for sentence in sentences(model):
        yield element("p", sentence, class_="small")


def _segment(number: int, segment: Segment, names: list[str]) -> list[Content]:
    key = element("span", "", class_="key", style=f"background: {colour(number)}")
    return [
        f"{segment['from']:,.0f}",
        f"{segment['to']:,.0f}",
        join(key, element("code", written(segment, names))),
        "; ".join(map(_parameter, segment["parameters"])),
        str(segment["points"]),
        f"{segment['errors']['smape']:.1%}",
    ]


def _parameter(one: Parameter) -> str:
    value = f"{one['name']} = {one['value']:.4g}"
    if one["low"] is None or one["high"] is None:
        return value
    return f"{value} ({one['low']:.4g} to {one['high']:.4g})"


def _errors(found: CalibratedExperiment) -> Html | None:
    """Of which values nothing is known, each reason once."""
    by_reason = dict[str, list[int]]()
    for one in found["measurement"]["errors"]:
        by_reason.setdefault(one["reason"], []).append(one["value"])
    if not by_reason:
        return None
    name = found["result"]["parameter"]
    lines = []
    for reason, values in by_reason.items():
        shown = ", ".join(f"{value:,}" for value in values[:_SHOWN])
        more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
        lines.append(element("p", f"{name} = {shown}{more}: {reason}", class_="warn"))
    return join(element("h3", "Not measured"), *lines)


def _values(result: ModelDocument) -> Html | None:
    """All points as a table."""
    if not result["points"]:
        return None
    unit = result["metric"]
    columns = [
        Column(result["parameter"], number=True),
        Column(f"{unit}", number=True),
        Column("from", number=True),
        Column("to", number=True),
        Column("program", number=True, wide=True),
        Column("baseline", number=True, wide=True),
        Column("observations", number=True, wide=True),
    ]
    rows = [
        [
            f"{one['value']:,}",
            *(_cell(one[key]) for key in ("cost", "low", "high", "program", "baseline")),
            str(one["observations"]),
        ]
        for one in result["points"]
    ]
    return element("details", element("summary", "All points"), table(columns, rows))


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"  # noqa: PLR2004 - digits
