"""The page of a run: an overview, the machine, and a part for each experiment."""

from collections.abc import Sequence

from slowpath.commands.calibrate.page.experiment import OVERVIEW, anchor, section
from slowpath.commands.calibrate.page.figures import small
from slowpath.commands.calibrate.page.machine import machine
from slowpath.commands.calibrate.report import cost_text, model_text
from slowpath.engine import identity
from slowpath.experiments.results.documents import CalibratedExperiment
from slowpath.html.elements import Content, Html, element
from slowpath.html.page import facts, page
from slowpath.html.tables import Column, table
from slowpath.measurements.environment import Environment

_COLUMNS = [
    Column("experiment"),
    Column("by", wide=True),
    Column("from", number=True, wide=True),
    Column("to", number=True, wide=True),
    Column("first", number=True),
    Column("last", number=True),
    Column("unit", wide=True),
    Column("error", number=True),
    Column("", wide=True),
    Column("model", wide=True),
]


def run_page(
    directory: str,
    found: Sequence[CalibratedExperiment],
    where: Sequence[Sequence[Environment]],
) -> str:
    """The text of the page; of each experiment, where its blocks were measured."""
    beds = ", ".join(dict.fromkeys(one["measurement"]["testbed"] for one in found)) or "nothing"
    title = f"Calibration: {beds}"
    parts: list[Content] = [_head(title, directory, found)]
    if found:
        rows = [_row(number, one) for number, one in enumerate(found, 1)]
        overview = element("h2", "Overview"), table(_COLUMNS, rows)
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
        ("experiments", f"{len(found)}" + (f", {len(unfinished)} not whole" if unfinished else "")),
        ("took", f"{took / 60:.0f} min" if took >= 90 else f"{took:.0f} s"),  # noqa: PLR2004 - seconds
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
        f"Written by slowpath {identity.version()}. Costs are of a packet, beyond a baseline "
        "program; error is the mean distance of points from the model (sMAPE). The page needs no "
        "network, and the links to data are data in it.",
    )
