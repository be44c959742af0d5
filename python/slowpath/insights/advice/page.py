"""Writes the advice as an HTML page."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from slowpath.bounds.source_files import find_source
from slowpath.core.html.elements import Column, Content, Html, element, join, table
from slowpath.core.html.page import download, facts, page
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
    place,
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
    """Return the text of an HTML page with all advice of a report."""
    name = report["file"].rpartition("/")[2]
    data = download("\n".join(advice_csv(report)) + "\n", "advice.csv", "as CSV")
    parts: list[Content] = [
        element("h1", f"Porting advice for {name}"),
        element("p", headline(report), ". ", data),
        _numbers(report),
        _notes(report),
        *(_piece(rank, one) for rank, one in enumerate(report["advice"], 1)),
        _gaps(report),
        *map(_card_table, card_tables(report["card"])),
        *_sources(report),
        _structures(report),
    ]
    about = f"For {report['target']}; slowpath {report['slowpath']}."
    if report["assumptions"]:
        about = f"{order_text(report)} {about}"
    return page(f"Porting advice for {name}", *parts, element("footer", about), broad=True)


def _numbers(report: AdviceReport) -> Html | None:
    traffic = report["traffic"]
    if traffic is None:
        return None
    return facts(
        ("packets", f"{traffic['packets']:,}"),
        ("function", traffic["entry"]),
        (f"{traffic['unit']} for each packet", number(traffic["instructions"])),
        ("cycles for each packet, assumed", number(traffic["cycles"])),
    )


def _notes(report: AdviceReport) -> Html | None:
    traffic = report["traffic"]
    if traffic is None or not traffic["notes"]:
        return None
    notes = (element("li", one) for one in traffic["notes"])
    return element("section", element("h2", NOTES), element("ul", *notes))


def _piece(rank: int, one: AdviceGiven) -> Html:
    location = place(one)
    link = (
        element("a", location, href=f"#{_anchor(one['file'], one['line'])}") if location else None
    )
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
    )


def _code(lines: list[str]) -> Html:
    """Return lines of C as one HTML element each, so that bidirectional text stays in its line."""
    rows = [element("div", _line(line)) for line in lines]
    return element("details", element("summary", "In C"), *rows)


def _line(text: str) -> Html:
    """Return a line of C as an HTML element that keeps its indentation."""
    return element("code", text.replace("\t", "    "), class_="line")


def _gaps(report: AdviceReport) -> Html:
    rows = [(one["what"], one["why"], one["remedy"]) for one in report["unsaid"]]
    columns = [Column("unknown"), Column("reason"), Column("remedy")]
    return element("section", element("h2", "Not known"), table(columns, rows, stack=True))


def _structures(report: AdviceReport) -> Html:
    titles, rows = state(report)
    columns = [Column(one, number=one in ("bytes", CYCLES)) for one in titles]
    return element("section", element("h2", "State"), table(columns, rows, stack=True))


def _card_table(one: CardTable) -> Html:
    first, *others = one.titles
    columns = [Column(first), *(Column(name, number=True) for name in others)]
    return element("section", element("h2", one.heading), table(columns, one.rows, stack=True))


def _anchor(file: str, line: int) -> str:
    return f"{file}:{line}"


def _sources(report: AdviceReport) -> Iterator[Html]:
    """Yield a section for each source file that the report mentions, with its text if available."""
    named = defaultdict[str, set[int]](set)
    for one in (*report["advice"], *report["accesses"], *report["loops"], *report["lines"]):
        if one["line"]:
            named[one["file"]].add(one["line"])
    for file, lines in sorted(named.items()):
        source = find_source(file, report["file"], dict.fromkeys(lines, ""))
        if source.lines:
            yield element("section", element("h2", file), _annotated(report, file, source.lines))
        else:
            why = source.remark or "the file is neither at its recorded path nor beside the input"
            yield element("section", element("h2", file), element("p", f"Not shown: {why}."))


def _annotated(report: AdviceReport, file: str, lines: Sequence[str]) -> Html:
    accesses, counts = (
        _accesses(report, file),
        {one["line"]: one for one in report["lines"] if one["file"] == file},
    )
    loops = {one["line"]: one["depth"] for one in report["loops"] if one["file"] == file}
    advice = defaultdict[int, list[int]](list)
    for rank, one in enumerate(report["advice"], 1):
        if one["file"] == file:
            advice[one["line"]].append(rank)
    rows = list[list[Content]]()
    for at, text in enumerate(lines, 1):
        count = counts.get(at)
        links = join(
            *(element("a", f"advice {rank} ", href=f"#advice-{rank}") for rank in advice[at])
        )
        marks = f"loop, depth {loops[at]}" if at in loops else ""
        memory = "; ".join(one for one in (accesses.get(at, ""), marks) if one)
        rows.append(
            [
                element("span", str(at), id=_anchor(file, at)),
                "" if count is None else number(count["runs_per_packet"]),
                "" if count is None else number(count["instructions_per_packet"]),
                _line(text),
                memory,
                links,
            ]
        )
    return table(_COLUMNS, rows)


def _accesses(report: AdviceReport, file: str) -> Mapping[int, str]:
    found = defaultdict[int, list[str]](list)
    for one in report["accesses"]:
        if one["file"] == file:
            ways = ("reads", one["reads"]), ("writes", one["writes"])
            said = " and ".join(f"{way} {count}" for way, count in ways if count)
            found[one["line"]].append(f"{one['of']}: {said}")
    return {line: "; ".join(said) for line, said in found.items()}
