"""Formats lists of figures, and comparisons with published values, as text and CSV."""

import math
from collections.abc import Iterator
from typing import cast

from slowpath.core.printable import csv_line
from slowpath.core.terminal import Line, grid
from slowpath.reproduce.comparison import Quantity, quantities
from slowpath.reproduce.documents import (
    ComparedValue,
    Deviations,
    FigureList,
    PaperFigures,
    Reproduction,
)

_LIST = ("paper", "figure", "title", "needs", "address", "revision", "licence", "page")
_VALUES = ("published", "ours", "deviation", "deviation_percent")
_COLUMNS = ("item", "published", "ours", "deviation", "%", "")


def table(document: FigureList | Reproduction) -> Iterator[Line]:
    """Yield the lines of a text report: a list of figures, or a comparison."""
    papers = _papers(document)
    if papers is None:
        yield from _comparison(cast("Reproduction", document))
        return
    for number, paper in enumerate(papers):
        yield from [Line("")] if number else []
        yield from _paper_lines(paper)


def _papers(document: FigureList | Reproduction) -> list[PaperFigures] | None:
    """Return the papers if the document is a list of figures; None if it is a comparison."""
    return cast("FigureList", document)["papers"] if "papers" in document else None


def _paper_lines(paper: PaperFigures) -> Iterator[Line]:
    yield Line(f"{paper['name']}: {reference(paper)}", "bold")
    for figure in paper["figures"]:
        yield Line(f"  {figure['name']}: {figure['title']}")
        why = figure["unavailable"]
        yield Line(f"    needs: {figure['needs']}" if why is None else f"    not here: {why}")
        if figure["artefact"] is not None:
            yield Line(f"    from: {_place(paper)[figure['name']]}")
        yield Line(f"    compared in: docs/{figure['page']}")


def _place(paper: PaperFigures) -> dict[str, str]:
    """Return address, revision and licence of a paper's artefacts, by the name of the figure."""
    places = dict[str, str]()
    for figure in paper["figures"]:
        artefact = figure["artefact"]
        if artefact is not None:
            revision = artefact["revision"]
            at = "" if revision is None else f" at {revision[:7]}"
            places[figure["name"]] = f"{artefact['address']}{at}, licence {artefact['licence']}"
    return places


def reference(paper: PaperFigures) -> str:
    """Return a bibliographic reference: authors, title and DOI."""
    doi = "" if paper["doi"] is None else f", doi.org/{paper['doi']}"
    return f"{paper['authors']}, {paper['title']}{doi}"


def _comparison(document: Reproduction) -> Iterator[Line]:
    [figure] = document["paper"]["figures"]
    yield Line(f"{document['paper']['name']} {figure['name']}: {figure['title']}", "bold")
    yield Line(f"paper: {reference(document['paper'])}")
    place = _place(document["paper"]).get(figure["name"])
    if place is not None:
        yield Line(f"artefact: {place}")
    yield Line(f"data: {', '.join(document['paths'])}{revisions(document)}")
    summaries = {(one["quantity"], one["unit"]): one for one in document["summary"]}
    for quantity, rows in quantities(document["results"]):
        yield Line("")
        yield Line(title(quantity), "bold")
        yield from grid(_COLUMNS, list(map(cells, rows)), right=_COLUMNS[1:5])
        yield Line(summary_text(summaries[quantity]))
    yield Line("")
    for condition in document["conditions"]:
        yield Line(f"condition: {condition}")


def revisions(document: Reproduction) -> str:
    """Return a text with the Git commits of the user's copy of the data: ` at commit 1a2b3c4`."""
    known = [one[:7] for one in document["revisions"]]
    if known:
        return f" at commit {', '.join(known)}"
    artefacts = [figure["artefact"] for figure in document["paper"]["figures"]]
    published = any(one is not None and one["revision"] is not None for one in artefacts)
    return ", commit unknown" if published else ""


def title(quantity: Quantity) -> str:
    """Return the name of a quantity with its unit, for the head of a table."""
    return f"{quantity.name}, {quantity.unit}" if quantity.unit else quantity.name


def cells(row: ComparedValue) -> list[str]:
    """Return the cells of a compared value for a table: item, both values, and deviation."""
    values = [row["published"], row["ours"]]
    whole = all(one is None or float(one).is_integer() for one in values)
    digits = [0 if whole or one is None else _decimals(one) for one in values]
    if abs(digits[0] - digits[1]) == 1:  # a power of ten is between them
        digits = [max(digits)] * 2
    percent = row["deviation_percent"]
    return [
        row["item"],
        *map(_fixed, values, digits),
        _signed(row["deviation"], digits[0]),
        "" if percent is None else _signed(percent, 2),
        row["note"] or "",
    ]


def _decimals(value: float) -> int:
    """Return the number of decimals with which a value has four significant digits."""
    shown = 4
    size = math.floor(math.log10(abs(value))) if value else 0
    return min(max(shown - 1 - size, 0), 6)


def _fixed(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _signed(value: float | None, digits: int) -> str:
    """Format a deviation with its sign; if it rounds to zero, without a sign."""
    if value is None:
        return ""
    plain = f"{value:+,.{digits}f}"
    return plain[1:] if not plain.strip("+-0.,") else plain


def summary_text(one: Deviations) -> str:
    """Return a line that summarises the deviations of a quantity."""
    if one["median_percent"] is None or one["largest_percent"] is None:
        return "no deviation in percent"
    visible = 0.005  # a smaller deviation is shown as 0.00
    where = f" ({one['largest_item']})" if one["largest_percent"] >= visible else ""
    return (
        f"{one['compared']} compared: median deviation {one['median_percent']:.2f} %, largest "
        f"{one['largest_percent']:.2f} %{where}; {one['within']} within "
        f"{one['within_percent']:g} %"
    )


def csv_report(document: FigureList | Reproduction) -> Iterator[str]:
    """Yield the lines of a CSV report: a list of figures, or a comparison."""
    papers = _papers(document)
    if papers is None:
        yield from _comparison_csv(cast("Reproduction", document))
        return
    yield csv_line(_LIST)
    for paper in papers:
        for figure in paper["figures"]:
            artefact = figure["artefact"]
            place: list[str | None] = [None, None, None]
            if artefact is not None:
                place = [artefact["address"], artefact["revision"], artefact["licence"]]
            needs = figure["unavailable"] or figure["needs"]
            words = [paper["name"], figure["name"], figure["title"], needs]
            yield csv_line([*words, *place, figure["page"]])


def _comparison_csv(document: Reproduction) -> Iterator[str]:
    yield csv_line(("item", "quantity", "unit", *_VALUES, "note"))
    for row in document["results"]:
        values = (row["published"], row["ours"], row["deviation"], row["deviation_percent"])
        yield csv_line([row["item"], row["quantity"], row["unit"], *values, row["note"]])
