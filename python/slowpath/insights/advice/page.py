"""Writes the advice on a source file as an HTML page.

The page has the advice, tables of predictions, and the source with counts for each line.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from slowpath.core.html import (
    Column,
    Content,
    Html,
    download,
    element,
    facts,
    join,
    page,
    table,
)
from slowpath.core.programs.sources import find_source
from slowpath.core.quantities import number
from slowpath.insights.advice.documents import AdviceGiven, AdviceReport
from slowpath.insights.advice.report import (
    CYCLES,
    NOTES,
    CardTable,
    advice_csv,
    card_tables,
    effect,
    headline,
    numbers,
    order_text,
    state,
)

_COLUMNS = (
    Column("line", number=True),
    Column("runs", number=True, wide=True),
    Column("instructions", number=True, wide=True),
    Column("source"),
    Column("memory", wide=True),
    Column("advice"),
)


def advice_page(report: AdviceReport) -> str:
    """Return the text of the HTML page for a report with advice."""
    name = report["file"].rpartition("/")[2]
    data = download("\n".join(advice_csv(report)) + "\n", "advice.csv", "as CSV")
    parts: list[Content] = [
        element("h1", f"Porting advice for {name}"),
        element("p", headline(report), ". ", data),
        _numbers(report),
        advice_view(report),
        *map(_card_table, card_tables(report["card"])),
        *_sources(report),
        _structures(report),
    ]
    about = f"For {report['target']}; slowpath {report['slowpath']}."
    if report["assumptions"]:
        about = f"{order_text(report)} {about}"
    return page(f"Porting advice for {name}", *parts, element("footer", about), broad=True)


def advice_view(report: AdviceReport) -> Html:
    """Return the HTML of all advice in a report, for the page and for notebooks."""
    pieces = (_piece(report, rank, one) for rank, one in enumerate(report["advice"], 1))
    return join(_contents(report), _notes(report), *pieces, _gaps(report))


def _numbers(report: AdviceReport) -> Html | None:
    traffic = report["traffic"]
    if traffic is None:
        return None
    return facts(
        ("packets", f"{traffic['packets']:,}"),
        ("function", traffic["entry"]),
        (f"{traffic['unit']} for each packet", number(traffic["instructions"])),
        ("cycles for each packet (assumed prices)", number(traffic["cycles"])),
    )


_PRINTED = 5
"""Number of pieces of advice whose reasons are printed on paper."""
_CONTENTS = (Column("advice"), Column("effect"), Column("line"))


def _contents(report: AdviceReport) -> Html | None:
    """Return a table that lists the advice, with links to its details; None without advice."""
    if not report["advice"]:
        return None
    rows = [
        (
            element("a", f"{rank}. {one['title']}", href=f"#advice-{rank}"),
            effect(one),
            _line_link(report, one),
        )
        for rank, one in enumerate(report["advice"], 1)
    ]
    return element("nav", table(_CONTENTS, rows, stack=True), aria_label="advice")


def _line_link(report: AdviceReport, one: AdviceGiven) -> Html | None:
    """Return a link to the source line that a piece of advice concerns; None without a line."""
    if not one["line"]:
        return None
    location = f"{_shown_name(report, one['file'])}:{one['line']}"
    return element("a", location, href=f"#{_anchor(report, one['file'], one['line'])}")


def _notes(report: AdviceReport) -> Html | None:
    traffic = report["traffic"]
    if traffic is None or not traffic["notes"]:
        return None
    notes = (element("li", one) for one in traffic["notes"])
    return element("section", element("h2", NOTES), element("ul", *notes))


def _piece(report: AdviceReport, rank: int, one: AdviceGiven) -> Html:
    return advice_section(rank, one, _line_link(report, one))


def advice_section(rank: int, one: AdviceGiven, link: Html | None) -> Html:
    """Return a section with a piece of advice; `link` leads to its line."""
    code = one["code"].splitlines()
    return element(
        "section",
        element("h2", f"{rank}. {one['title']}"),
        element("p", effect(one), "; " if link else None, link, class_="soft"),
        element("p", f"Reason: {one['reason']}."),
        element("p", numbers(one)) if numbers(one) else None,
        element("p", f"{one['certainty'].capitalize()}: {one['sure']}.", class_="small"),
        _code(code) if code else None,
        id=f"advice-{rank}",
        # Paper has all advice in the table at the start.
        class_="unprinted" if rank > _PRINTED else None,
    )


def _code(lines: list[str]) -> Html:
    """Return lines of C code, each as an HTML element of its own.

    Bidirectional text in one line then cannot change the order of other lines.
    """
    rows = [element("div", _line(line)) for line in lines]
    return element("details", element("summary", "In C"), *rows)


def _line(text: str) -> Html:
    """Return a line of C code as an HTML element that keeps the indentation."""
    return element("code", text.replace("\t", "    "), class_="line")


def _gaps(report: AdviceReport) -> Html:
    rows = [(one["what"], one["why"], one["remedy"]) for one in report["unsaid"]]
    columns = [Column("unknown"), Column("reason"), Column("remedy")]
    return element(
        "section", element("h2", "Advice that is not possible"), table(columns, rows, stack=True)
    )


def _structures(report: AdviceReport) -> Html:
    titles, rows = state(report)
    columns = [Column(one, number=one in ("bytes", CYCLES)) for one in titles]
    made = table(columns, rows, stack=True)
    return element("section", element("h2", "State"), made, class_="unprinted")


def _card_table(one: CardTable) -> Html:
    first, *others = one.titles
    columns = [Column(first), *(Column(name, number=True) for name in others)]
    made = table(columns, one.rows, stack=True)
    return element("section", element("h2", one.heading), made, class_="brief")


def _named_lines(report: AdviceReport) -> dict[str, set[int]]:
    """Return the line numbers that the report mentions, by file.

    The user's source and files with advice come first.
    """
    named = defaultdict[str, set[int]](set)
    for one in (*report["advice"], *report["accesses"], *report["loops"], *report["lines"]):
        if one["line"]:
            named[one["file"]].add(one["line"])
    own = _own(report)
    return dict(sorted(named.items(), key=lambda one: (one[0] not in own, one[0])))


def _own(report: AdviceReport) -> set[str]:
    """Return the files that the page shows in full: the user's source, and files with advice.

    Other files are folded.
    """
    source = PurePath(report["file"]).name
    mentioned = (*report["accesses"], *report["loops"], *report["lines"])
    own = {one["file"] for one in mentioned if PurePath(one["file"]).name == source}
    return own | {one["file"] for one in report["advice"] if one["line"]}


def _anchor(report: AdviceReport, file: str, line: int) -> str:
    return f"f{list(_named_lines(report)).index(file)}-{line}"


def _sources(report: AdviceReport) -> Iterator[Html]:
    """Yield HTML sections with the source lines that the report mentions.

    The user's source and files with advice have a section each. All other files are in one folded
    section.
    """
    own, others = _own(report), list[Html]()
    for file, lines in _named_lines(report).items():
        name = _shown_name(report, file)
        source = find_source(file, report["file"], dict.fromkeys(lines, ""))
        if source.lines:
            body = _annotated(report, file, source.lines)
        else:
            why = source.remark or (
                "the source file is neither at its recorded path nor beside the input"
            )
            body = element("p", f"The source is not shown: {why}.")
        if file in own:
            yield element("section", element("h2", name), body, class_="unprinted")
        else:
            count = f"{len(lines)} line{'s'[: len(lines) > 1]}"
            others.append(element("details", element("summary", f"{name}: {count}"), body))
    if others:
        yield element("section", element("h2", "Other files"), *others, class_="unprinted")


def _shown_name(report: AdviceReport, file: str) -> str:
    """Return the name under which the page shows a file.

    This is its path below the folder of the user's source; for files elsewhere, only the file name.
    """
    folder = PurePath(report["file"]).parent
    path = PurePath(file)
    return str(path) if path.is_relative_to(folder) and not path.is_absolute() else path.name


_CONTEXT = 2
"""Number of lines that are shown around each line with counts, accesses or advice."""


def _annotated(report: AdviceReport, file: str, lines: Sequence[str]) -> Html:
    """Return a table of source lines with their counts, memory accesses, loops and advice.

    `lines` are all lines of the file. Those without any of these remarks are left out, except a few
    neighbours of lines with remarks.
    """
    accesses, counts = (
        _accesses(report, file),
        {one["line"]: one for one in report["lines"] if one["file"] == file},
    )
    loops = {one["line"]: one["depth"] for one in report["loops"] if one["file"] == file}
    advice = defaultdict[int, list[int]](list)
    for rank, one in enumerate(report["advice"], 1):
        if one["file"] == file:
            advice[one["line"]].append(rank)
    concerned = {*accesses, *counts, *loops, *advice}
    near = {at + step for at in concerned for step in range(-_CONTEXT, _CONTEXT + 1)}
    rows, before = list[list[Content]](), 0
    number_of_file = list(_named_lines(report)).index(file)
    for at, text in enumerate(lines, 1):
        if at not in near:
            continue
        if at > before + 1:
            rows.append(_gap(before, at))
        before = at
        count = counts.get(at)
        links = join(
            *(element("a", f"advice {rank} ", href=f"#advice-{rank}") for rank in advice[at])
        )
        marks = f"loop, depth {loops[at]}" if at in loops else ""
        memory = "; ".join(one for one in (accesses.get(at, ""), marks) if one)
        rows.append(
            [
                element("span", str(at), id=f"f{number_of_file}-{at}"),
                "" if count is None else number(count["runs_per_packet"]),
                "" if count is None else number(count["instructions_per_packet"]),
                _line(text),
                memory,
                links,
            ]
        )
    if before < len(lines):
        rows.append(_gap(before, len(lines) + 1))
    return table(_COLUMNS, rows)


def _gap(before: int, after: int) -> list[Content]:
    """Return a table row that stands for the lines left out between two shown lines.

    It states their number. `before` and `after` are the numbers of the shown lines.
    """
    count = after - before - 1
    words = element("span", f"... {count} line{'s'[: count > 1]}", class_="soft")
    return ["", "", "", words, "", ""]


def _accesses(report: AdviceReport, file: str) -> Mapping[int, str]:
    found = defaultdict[int, list[str]](list)
    for one in report["accesses"]:
        if one["file"] == file:
            ways = ("reads", one["reads"]), ("writes", one["writes"])
            said = " and ".join(f"{way} {count}" for way, count in ways if count)
            found[one["line"]].append(f"{one['of']}: {said}")
    return {line: "; ".join(said) for line, said in found.items()}
