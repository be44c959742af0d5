"""Writes the HTML report of a calibration."""

from collections.abc import Iterator, Sequence
from typing import cast

from slowpath.calibrate.experiments.documents import CalibratedExperiment, ModelDocument
from slowpath.calibrate.experiments.folder import ExperimentFolder
from slowpath.calibrate.page_figures import figures, small
from slowpath.calibrate.report import cost_text, model_text
from slowpath.core import engine
from slowpath.core.errors import InputError
from slowpath.core.html import (
    Column,
    Content,
    Html,
    element,
    facts,
    join,
    page,
    prose,
    table,
    warning_boxes,
)
from slowpath.core.html.chart import colour
from slowpath.core.schema.validation import ShapeError, check_shape, schema
from slowpath.measure import disturbances
from slowpath.measure.disturbances import Disturbance
from slowpath.measure.environment import Environment
from slowpath.measure.page_machine import (
    COLUMNS,
    complete_record,
    disturbance,
    machine_facts,
    record_rows,
)
from slowpath.models.documents import FittedModel, Parameter, Segment
from slowpath.models.report import sentences, written


def environments_of(folder: ExperimentFolder) -> list[Environment]:
    """Return the state of the machine in each block (period of measuring) of an experiment.

    Records of other versions of slowpath, which lack parts, are left out.
    """
    try:
        found = folder.environments()
    except InputError:
        return []
    return [cast("Environment", one) for one in found if _is_environment(one)]


def _is_environment(record: object) -> bool:
    definitions = schema("measure")["$defs"]
    try:
        check_shape(record, definitions["Environment"], definitions, "environment")
    except ShapeError:
        return False
    return True


def machine(records: Sequence[Sequence[Environment]]) -> Html | None:
    """Describe the machine of a run and its disturbances as HTML; None if nothing is known.

    `records` has the state of the machine in each block of each experiment.
    """
    known = [blocks for blocks in records if blocks]
    if not known:
        return None
    first = known[0][0]
    parts = {name: first[name] for name in ("kernel", "processor", "host")}
    disturbed = _run_disturbances(known)
    return element(
        "section",
        element("h2", "Machine"),
        machine_facts(first),
        *disturbed,
        complete_record(parts),
    )


def during(blocks: Sequence[Environment]) -> Html | None:
    """Describe the state of the machine while an experiment was measured; None if it is unknown.

    `blocks` has the state in each block (period of measuring).
    """
    if not blocks:
        return None
    warnings = [disturbance(one) for one in _disturbances(blocks) if one["severity"] == "warning"]
    parts = [{name: block[name] for name in ("run", "pace")} for block in blocks]
    rows = record_rows(parts, "block") if len(parts) > 1 else record_rows(parts[0])
    inside = join(*warnings, table(COLUMNS, rows))
    return element("details", element("summary", "Machine during this experiment"), inside)


def _disturbances(blocks: Sequence[Environment]) -> list[Disturbance]:
    """Return the disturbances in all blocks of an experiment, each kind once."""
    return list({one["code"]: one for block in blocks for one in disturbances.of(block)}.values())


def _run_disturbances(records: Sequence[Sequence[Environment]]) -> Iterator[Html]:
    """Describe each kind of disturbance of a run, with the number of experiments that have it.

    `records` has the state of the machine in each block of each experiment.
    """
    found = dict[str, list[Disturbance]]()
    for blocks in records:
        for one in _disturbances(blocks):
            found.setdefault(one["code"], []).append(one)
    for same in sorted(found.values(), key=lambda some: some[0]["severity"] == "note"):
        count = f" ({len(same)} of {len(records)} experiments)" if len(records) > 1 else ""
        if same[0]["severity"] == "warning":
            yield disturbance(same[0], count)
        else:
            yield element("p", prose(same[0]["what"]), class_="small soft")


_STATES = {
    "complete": None,
    "partial": "This experiment was interrupted. The figures use the measurements until then.",
    "failed": "All measurements failed.",
    "written": "The test bed only writes programs and does not measure.",
}
OVERVIEW = "overview"
"""HTML id of the table of all experiments, for links."""
_SHOWN = 8  # maximum number of values in a line


def section(number: int, found: CalibratedExperiment, where: Sequence[Environment]) -> Html:
    """Return the page's section about an experiment.

    Args:
        number: number of the experiment on the page, for links.
        found: the experiment with its result.
        where: state of the machine in each block.
    """
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
        parts.append(element("p", f"No model: {result['reason']}."))
    back = element("p", element("a", "Overview", href=f"#{OVERVIEW}"), class_="small")
    parts += [_errors(found), _values(result), during(where), back]
    return element("section", *parts, id=anchor(number))


def anchor(number: int) -> str:
    """Return the HTML id of an experiment's section, from its number on the page.

    The id contains no text from users.
    """
    return f"experiment-{number}"


def _facts(found: CalibratedExperiment) -> Html:
    result, measurement = found["result"], found["measurement"]
    fixed = ", ".join(f"{name} {value}" for name, value in result["fixed"].items())
    against = (
        "Baseline: the same program without the component"
        if result["baseline"] == "without"
        else "an empty program"
    )
    points = f"{len(result['points'])} of {len(measurement['points'])}"
    took = None if result["exact"] else f"{measurement['seconds']:.1f} s"
    return facts(
        ("component", result["kind"]),
        ("swept", result["parameter"]),
        ("points", points),
        ("measured for", took),
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
    """List the parameter values that could not be measured, grouped by reason."""
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
    """Return a table of the costs at all measured values of the parameter."""
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


_OVERVIEW_COLUMNS = [
    Column("experiment"),
    Column("by", wide=True),
    Column("from", number=True, wide=True),
    Column("to", number=True, wide=True),
    Column("first", number=True),
    Column("last", number=True),
    Column("unit", wide=True),
    Column("error", number=True),
    Column("curve", wide=True),
    Column("model", wide=True),
]


def run_page(
    directory: str,
    found: Sequence[CalibratedExperiment],
    where: Sequence[Sequence[Environment]],
    warnings: Sequence[str] = (),
) -> str:
    """Return the HTML report of a run.

    `where` has the state of the machine in each block of each experiment.
    """
    beds = ", ".join(dict.fromkeys(one["measurement"]["testbed"] for one in found)) or "nothing"
    title = f"Calibration: {beds}"
    parts: list[Content] = [_head(title, directory, found), warning_boxes(warnings)]
    if found:
        rows = [_row(number, one) for number, one in enumerate(found, 1)]
        overview = element("h2", "Overview"), table(_OVERVIEW_COLUMNS, rows)
        parts.append(element("section", *overview, id=OVERVIEW))
    parts.append(machine(where))
    both = enumerate(zip(found, where, strict=True), 1)
    parts += [section(number, one, place) for number, (one, place) in both]
    parts.append(_foot())
    return page(title, *parts)


def _head(title: str, directory: str, found: Sequence[CalibratedExperiment]) -> Html:
    dates = sorted(one["measurement"]["date"] for one in found)
    begun = None if not dates else dates[0].replace("T", " ").replace("Z", " UTC")
    took = sum(one["measurement"]["seconds"] for one in found)
    unfinished = [one for one in found if one["measurement"]["state"] in {"partial", "failed"}]
    known = facts(
        ("begun", begun),
        (
            "experiments",
            f"{len(found)}" + (f", {len(unfinished)} incomplete" if unfinished else ""),
        ),
        ("measured for", f"{took / 60:.0f} min" if took >= 90 else f"{took:.0f} s"),  # noqa: PLR2004 - seconds
        ("data", directory),
    )
    return element("header", element("h1", title), known)


def _row(number: int, found: CalibratedExperiment) -> list[Content]:
    result, state = found["result"], found["measurement"]["state"]
    points, model = result["points"], result["model"]
    link = element("a", found["name"], href=f"#{anchor(number)}")
    if not points:
        return [link, result["parameter"], *[""] * 4, result["metric"], "", None, state]
    ends = [f"{one['value']:,}" for one in (points[0], points[-1])]
    costs = [cost_text(one) for one in (points[0], points[-1])]
    error = "" if model is None else f"{model['errors']['smape']:.1%}"
    head = [link, result["parameter"], *ends, *costs, result["metric"], error]
    return [*head, small(result), model_text(found)]


def _foot() -> Html:
    return element(
        "footer",
        f"Written by slowpath {engine.version()}. Costs are per packet, beyond the cost of a "
        "baseline program. Errors are mean relative distances of points from the model "
        "(sMAPE). The page contains all linked data, and needs no network.",
    )
