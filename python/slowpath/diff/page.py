"""Writes the comparison of two versions as an HTML page."""

from collections.abc import Iterator, Sequence

from slowpath.core.html import Column, Content, Html, element, join, page, table
from slowpath.core.html.explorer import card, hero, pairs, style, value
from slowpath.core.schema.derived import cost_words, is_count, verdict_of
from slowpath.diff.changes import Changes, Row, cell, change_of
from slowpath.diff.report import (
    LINE_COLUMNS,
    Report,
    column_names,
    line_cells,
    remarks,
    row_cells,
    row_groups,
    summary_words,
    titled_lines,
)

_STYLE = """
.worse { color: var(--c4); font-weight: 600; } .better { color: var(--c2); font-weight: 600; }
"""
_NUMBERS = 5
"""Number of columns with numbers in a table of source lines; they come first."""


def diff_page(report: Report, version: str) -> str:
    """Return the HTML page of a comparison; `version` is that of slowpath."""
    title = f"{report.old} \u2192 {report.new}"
    about = f"Written by slowpath {version}. The page needs no network."
    largest = _largest(report.rows)
    first = None if largest is None else hero(*_cards(report, largest))
    parts = (element("h1", title), first, diff_view(report), element("footer", about))
    return page(title, *parts, broad=True, style=_STYLE + style())


def diff_view(report: Report) -> Html:
    """Return the content of the page without its head, for the page and for notebooks."""
    parts: list[Content] = [element("p", summary_words(report))]
    for failure, command in zip(report.failures, report.reproduce, strict=True):
        words = element("p", f"{failure.row.pair.label}: {failure.reason}")
        repeat = element("p", "Reproduce: ", element("code", command))
        parts.append(element("div", words, repeat, class_="warn"))
    for (target, metric), members in row_groups(report.rows).items():
        rows = [report.rows[at] for at in members]
        made = _programs(rows, [report.changes[at] for at in members], metric, members)
        parts.append(element("section", element("h2", f"Bounds on {target}"), made))
    notes = [element("li", text) for text in remarks(report.rows)]
    if notes:
        parts.append(element("section", element("h2", "Notes"), element("ul", *notes)))
    for at, (row, changes) in enumerate(zip(report.rows, report.changes, strict=True)):
        parts += _changed(at, row, changes, report.limit)
    return join(*parts)


def _share(row: Row) -> float:
    """Return the absolute change of a program's guarantee in percent; -1 if it is unknown."""
    change = row.number(f"{row.metric}_pct")
    return -1.0 if change is None else abs(change)


def _largest(rows: Sequence[Row]) -> int | None:
    """Return the index of the program whose guarantee changed most; None if no change is known."""
    known = [at for at, row in enumerate(rows) if _share(row) >= 0]
    return max(known, key=lambda at: _share(rows[at]), default=None)


def _cards(report: Report, at: int) -> Iterator[Html]:
    """Yield boxes with key figures: the largest change, its values, and the line that caused it.

    `at` is the index of the row with this change.
    """
    row, metric = report.rows[at], report.rows[at].metric
    words = metric.replace("_", " ")
    change = element("span", cell(row, f"{metric}_pct"), class_=change_of(row))
    title = "Change" if len(report.rows) == 1 else "Largest change"
    known: list[tuple[str, Content]] = [
        ("program", row.pair.name),
        ("target", row.pair.measured["target"]),
        ("quantity", f"{words} per packet" if is_count(row.pair.measured) else words),
    ]
    yield card(title, value(change), pairs(known))
    before, after = (cell(row, f"{metric}_{side}") for side in ("a", "b"))
    verdicts = [None if side is None else verdict_of(side) for side in row.pair]
    yield card(
        "Bound before and after",
        value(f"{before} \u2192 {after}"),
        pairs([("verdict before", verdicts[0]), ("verdict after", verdicts[1])]),
    )
    changes = report.changes[at]
    lines = [one for _, found in titled_lines(row, changes, 1) for one in found]
    if lines:
        largest = max(lines, key=lambda line: abs(line.diff))
        cost_a, cost_b, difference, *_, line_a, line_b, code = line_cells(largest)
        place = element("a", line_b if line_b != "-" else line_a, href=f"#lines-{at}")
        unit = "" if changes is None else cost_words(changes.component, row.pair.measured["metric"])
        costs: list[tuple[str, Content]] = [
            (unit, f"{cost_a} \u2192 {cost_b} ({difference})"),
        ]
        text = element("p", element("code", code))
        yield card("Line with the largest change", value(place), pairs(costs), text)


def _programs(
    rows: Sequence[Row], changes: Sequence[Changes | None], metric: str, members: Sequence[int]
) -> Html:
    names = column_names(metric)
    columns = [Column(name, number=at in range(1, _NUMBERS)) for at, name in enumerate(names)]
    cells = list[list[Content]]()
    for at, row, known, texts in zip(members, rows, changes, row_cells(rows), strict=True):
        line: list[Content] = [*texts]
        if _has_lines(row, known):
            line[0] = element("a", texts[0], href=f"#lines-{at}")
        change = change_of(row)
        place = names.index("change")
        line[place] = element("span", texts[place], class_=change)
        cells.append(line)
    return table(columns, cells, stack=True)


def _has_lines(row: Row, changes: Changes | None) -> bool:
    return next(titled_lines(row, changes, 1), None) is not None


def _changed(at: int, row: Row, changes: Changes | None, limit: int) -> Iterator[Html]:
    """Yield a section with the source lines of a program whose cost changed; nothing without any.

    `at` is the index of the row, `limit` the maximum number of lines for each direction.
    """
    parts = list[Content]()
    columns = [Column(name, number=place < _NUMBERS) for place, name in enumerate(LINE_COLUMNS)]
    for title, lines in titled_lines(row, changes, limit):
        cells = [_with_code(line_cells(line)) for line in lines]
        parts += [element("h3", title), table(columns, cells, stack=True)]
    if _has_lines(row, changes):
        heading = element("h2", f"Changed lines of {row.pair.name}")
        yield element("section", heading, *parts, id=f"lines-{at}")


def _with_code(cells: Sequence[str]) -> list[Content]:
    return [*cells[:-1], element("code", cells[-1], class_="line")]
