"""Writes the source of a program as an HTML table, with costs as colours.

Programs without debug information get a table of instructions instead.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from slowpath.bounds.page_paths import Anchors, LineCost, Place, Way
from slowpath.bounds.report_rates import format_cycles
from slowpath.core.html import Content, Html, element, join
from slowpath.core.html.explorer import region
from slowpath.core.programs.sources import Source, find_source
from slowpath.core.schema.derived import cost_words
from slowpath.core.schema.results import Detail, Instruction, Result

_FILL = 6
"""If more than this number of consecutive lines have no code, a gap (one row) replaces them."""
_LEAD = 3
"""Maximum number of lines without code that are shown between a gap and the next line with code."""
_PRINTED = 25
"""Number of table rows that are printed on paper: those with the highest costs."""
_RANGES = 3
"""Maximum number of ranges of packet bytes that the row of a branch names."""
_CELLS = 3
"""Number of table columns for each path."""


class _Row(NamedTuple):
    """A row of the source table: a line with code, a line without code, or a gap."""

    number: str = ""
    text: str | None = None  # None: a gap
    anchor: str | None = None
    costs: Sequence[LineCost | None] = ()  # for each path; empty: not code
    notes: Sequence[Html] = ()
    heading: bool = False


def source_section(result: Result, detail: Detail, ways: Sequence[Way], anchors: Anchors) -> Html:
    """Return the page section with the source lines and their costs.

    Without debug information, it shows instructions instead.
    """
    if anchors.by_line:
        rows, remarks = _source_rows(result, detail, ways, anchors)
        title = "Source"
    else:
        rows, remarks = list(_instruction_rows(detail, ways, anchors)), []
        title = "Instructions (no debug information)"
    unit = cost_words(ways[0].component, result["metric"])
    return element(
        "section",
        element("h2", title),
        element("p", f"Colours show the share of {unit} on the chosen path.", class_="soft small"),
        *(element("p", text, class_="warn") for text in remarks),
        _table(rows, ways, unit),
        id=f"{anchors.name}-source",
    )


def _table(rows: Sequence[_Row], ways: Sequence[Way], unit: str) -> Html:
    titles = [("line", "n"), ("share", "n"), (unit, "n wide"), ("runs", "n wide"), ("code", None)]
    cells = (element("th", name, class_=kind, scope="col") for name, kind in titles)
    printed = _printed(rows)
    body = (_row(row, ways, printed=at in printed) for at, row in enumerate(rows))
    head, inside = element("thead", element("tr", *cells)), element("tbody", *body)
    return region("code", element("table", head, inside, class_="dense heat"))


def _printed(rows: Sequence[_Row]) -> set[int]:
    """Return the indices of rows to print on paper: those with the highest costs on the first path.

    They include the headings of their files.
    """
    costs = [(one.costs[0], at) for at, one in enumerate(rows) if one.costs]
    shares = sorted(((cost.share, -at) for cost, at in costs if cost is not None), reverse=True)
    printed = {-at for _, at in shares[:_PRINTED]}
    # A file without a printed row needs no heading.
    headings = [at for at, one in enumerate(rows) if one.heading]
    for start, end in pairwise([*headings, len(rows)]):
        if printed & set(range(start, end)):
            printed.add(start)
    return printed


def _row(row: _Row, ways: Sequence[Way], *, printed: bool) -> Html:
    kind = None if printed else "unprinted"
    if row.heading:
        heading = element("th", row.text, colspan=2 + _CELLS, scope="rowgroup")
        return element("tr", heading, class_="file" if printed else "file unprinted")
    if row.text is None:
        return element("tr", element("td", "⋯", colspan=2 + _CELLS, class_="gap"), class_=kind)
    cells = list[Html]()
    for way, cost in zip(ways, row.costs, strict=False):
        cells += _cost_cells(way, cost)
    if not row.costs:
        cells += _no_cost()
    code = element("code", row.text.replace("\t", "    "), class_="line")
    notes = join(*row.notes)
    number = element("td", row.number, class_="at")
    return element(
        "tr", number, *cells, element("td", code, notes, class_="code"), id=row.anchor, class_=kind
    )


def _no_cost(classes: str = "") -> Iterator[Html]:
    """Yield empty table cells for a row without cost.

    Narrow screens hide the second cell, as they hide its columns in other rows.
    """
    yield element("td", class_=classes.strip() or None)
    yield element("td", colspan=_CELLS - 1, class_=f"wide{classes}")


def _cost_cells(way: Way, cost: LineCost | None) -> Iterator[Html]:
    if cost is None:
        yield from _no_cost(f" {way.classes}")
        return
    percent = f"{100 * cost.share:.1f} %"
    heat = f"--h: {min(100, round(100 * cost.share**0.5))}%"
    yield element("td", percent, class_=f"hot {way.classes}", style=heat)
    yield element(
        "td", format_cycles(cost.cost.get(way.component, 0)), class_=f"n wide {way.classes}"
    )
    yield element("td", str(cost.runs), class_=f"n wide {way.classes}")


def _notes(ways: Sequence[Way], anchors: Anchors) -> dict[str, list[Html]]:
    """Return links to the packet bytes that branches read, for each table row by its id."""
    found = dict[str, list[Html]]()
    for way in ways:
        offsets = dict[str, set[int]]()
        for branch in way.branches:
            target = anchors.of_instruction(branch["instruction"])
            if target is not None and branch["bytes"]:
                offsets.setdefault(target, set()).update(branch["bytes"])
        for target, read in offsets.items():
            links = list(anchors.byte_links(way, sorted(read)))
            pieces: list[Content] = [" reads bytes "]
            for number, link in enumerate(links[:_RANGES]):
                pieces += [", " if number else None, link]
            pieces += [" and more"] if len(links) > _RANGES else []
            note = element("span", *pieces, class_=f"reads {way.classes}")
            found.setdefault(target, []).append(note)
    return found


def _source_rows(
    result: Result, detail: Detail, ways: Sequence[Way], anchors: Anchors
) -> tuple[list[_Row], list[str]]:
    """Return the rows of all source files, and remarks about sources that are missing or differ."""
    texts = dict[str, dict[int, str]]()
    lost = list[Instruction]()
    for code in detail["code"]:
        if code["source"] is None:
            lost.append(code)
        else:
            texts.setdefault(code["source"]["file"], {})[code["source"]["line"]] = code["source"][
                "text"
            ]
    costs = [way.lines() for way in ways]
    first = [file for file, _ in costs[0]] if costs else []
    notes, rows, remarks = _notes(ways, anchors), list[_Row](), list[str]()
    for file in dict.fromkeys([*first, *texts]):
        known = texts.get(file, {})
        source = find_source(file, result["file"], known)
        if source.remark is not None:
            remarks.append(source.remark)
        rows.append(_Row(text=file, heading=True))
        rows += _file_rows(file, known, source, (costs, notes, anchors))
    if lost:
        by_number = [way.instructions() for way in ways]
        run = [one for one in lost if any(one["instruction"] in known for known in by_number)]
        if run:
            rows.append(_Row(text="instructions without a source line", heading=True))
            rows += [
                _Row(
                    f".{one['instruction']}",
                    one["text"],
                    None,
                    [known.get(one["instruction"]) for known in by_number],
                )
                for one in run
            ]
    return rows, remarks


def _file_rows(
    file: str,
    known: Mapping[int, str],
    source: Source,
    context: tuple[Sequence[Mapping[Place, LineCost]], Mapping[str, list[Html]], Anchors],
) -> Iterator[_Row]:
    costs, notes, anchors = context
    before: int | None = None
    for line in sorted(known):
        yield from _between(before, line, source)
        text = known[line] or source.text(line) or ""
        if source.text(line) is not None:
            text = source.text(line) or text
        target = anchors.of_line((file, line))
        each = [one.get((file, line)) for one in costs]
        yield _Row(str(line), text, target, each, notes.get(target, []))
        before = line


def _between(before: int | None, after: int, source: Source) -> Iterator[_Row]:
    """Yield the source lines without code between two lines with code.

    If there are too many, yield a gap instead. `before` is None for the first line with code.
    """
    start = 0 if before is None else before
    numbers = range(start + 1, after)
    texts = [source.text(number) for number in numbers]
    if before is None or len(numbers) > _FILL or None in texts:
        if before is not None:
            yield _Row()
        lead = list[tuple[int, str]]()
        for number in reversed(numbers):
            text = source.text(number)
            if not text or len(lead) == _LEAD:
                break
            lead.append((number, text))
        yield from (_Row(str(number), text) for number, text in reversed(lead))
        return
    for number, known in zip(numbers, texts, strict=True):
        yield _Row(str(number), known or "")


def _instruction_rows(detail: Detail, ways: Sequence[Way], anchors: Anchors) -> Iterator[_Row]:
    """Yield a row for each instruction of a program without debug information."""
    costs, notes = [way.instructions() for way in ways], _notes(ways, anchors)
    for code in detail["code"]:
        number = code["instruction"]
        target = anchors.of_instruction(number) or ""
        each = [one.get(number) for one in costs]
        yield _Row(f".{number}", code["text"], target, each, notes.get(target, []))
