"""A chain as an HTML page: its programs, facts, guarantees and maps."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from slowpath.chain.documents import ChainProgram, ChainReport, Fact, Guarantee
from slowpath.chain.facts import (
    ASSUMED,
    arrivals_text,
    decided_branches,
    fact_text,
    lines_text,
    maps_text,
)
from slowpath.chain.guarantees import how, unit_words, value_text
from slowpath.chain.page_graphs import (
    Reasons,
    counted,
    heading,
    legend,
    listings,
    shapes,
)
from slowpath.chain.report import (
    COLUMNS,
    RIGHT,
    fused_lines,
    map_conditions,
    program_row,
    rehearsal_lines,
)
from slowpath.chain.report_types import Dropped, Frozen, Graphs, Pair, Proof, SourceLine
from slowpath.core.html.elements import Column, Content, Html, element, join, table
from slowpath.core.html.page import facts, page

_COLUMNS = [Column("map"), Column("entries", number=True), Column("the program")]


def known_content(program: ChainProgram) -> Iterator[Html]:
    """Yield a table of maps with given content, and the conditions on it; nothing without any."""
    facts_with, relied = program["facts_with"], list(map_conditions(program))
    if not (program["frozen"] or facts_with):
        return
    yield element("h3", "Known content of maps")
    if program["frozen"]:
        yield table(_COLUMNS, map(_row, program["frozen"]), stack=True)
    if facts_with:
        yield element("p", f"What holds of packets is for {maps_text(facts_with)} as given.")
    yield from (element("p", f"{line[:1].upper()}{line[1:]}.") for line in relied)


def _row(one: Frozen) -> list[str]:
    uses = "relies on it" if one["used"] else "does not rely on it"
    why_not = one["why_not"]
    return [one["map"], str(one["entries"]), uses if why_not is None else f"not frozen: {why_not}"]


_GUARANTEE_COLUMNS = [
    Column("target"),
    Column("what"),
    Column("before", number=True),
    Column("after", number=True),
    Column("known to be"),
]


def guarantee_table(guarantees: Sequence[Guarantee]) -> Iterator[Html]:
    """Yield the table of guarantees and notes about them; nothing if there are none."""
    if not guarantees:
        return
    yield element("h3", "Guaranteed before and after")
    yield table(_GUARANTEE_COLUMNS, map(_guarantee_row, guarantees), stack=True)
    about = dict.fromkeys(text for one in guarantees for text in one["about"])
    if about:
        yield element("p", f"Both are for {'; '.join(about)}.")
    said = dict.fromkeys(
        f"{one['target']}: {words}"
        for one in guarantees
        for words in (*one["reasons"], *(f"if {text}" for text in one["assumptions"]))
    )
    if said:
        yield element("ul", *(element("li", words) for words in said))


def _guarantee_row(one: Guarantee) -> list[str]:
    both = zip((one["before"], one["after"]), one["bottlenecks"], strict=True)
    values = [value_text(one, value, bottleneck) for value, bottleneck in both]
    is_known = one["before"] is not None or one["after"] is not None
    return [one["target"], unit_words(one), *values, how(one) if is_known else "unknown"]


_FACTS = [Column("fact"), Column("established by")]
_DROPPED = [
    Column("line"),
    Column("slot", number=True, wide=True),
    Column("instruction"),
    Column("change"),
    Column("reason"),
]


def anchor(number: int) -> str:
    """Return the HTML anchor of a program's section, by the program's number from 1."""
    return f"program-{number}"


def program_section(number: int, program: ChainProgram, pair: Pair | None) -> Html:
    """Return the section about a program; `pair` has its graphs, if there are any."""
    name = anchor(number)
    parts: list[Content] = [
        element("h2", program["name"]),
        element("p", f"{program['program']}: {arrivals_text(program)}", class_="soft small"),
    ]
    remarks = [*program["never"], *program["remarks"]]
    parts += [element("p", remark, class_="warn") for remark in remarks]
    if program["facts"]:
        title = element("h3", f"What holds of every packet that arrives ({len(program['facts'])})")
        parts += [title, _facts_table(program["facts"])]
    parts += known_content(program)
    parts += guarantee_table(program["guarantees"])
    if pair is not None:
        parts += graph_parts(name, pair, Reasons(program["facts"]))
    parts += _proved(program["proof"], program["assumptions"])
    tried = list(rehearsal_lines(program))
    if tried:
        parts.append(element("h3", "In the running kernel"))
        parts += [element("p", line.removeprefix(f"{program['name']}: ")) for line in tried]
    return element("section", *parts, id=name)


def graph_parts(name: str, pair: Pair, reasons: Reasons) -> Iterator[Html]:
    """Yield both control-flow graphs and the changes; `name` is the id of the section."""
    both = "before and after" if pair["after"] else "and what facts decide in it"
    yield element("h3", f"Control flow {both}")
    yield legend(pair)
    yield element(
        "p",
        "In the small pictures, boxes are as high as they have instructions; a click on one leads "
        "to its block, and a click on a block opens it. No packet takes the faint arrows.",
        class_="soft small",
    )
    sides = [("before", pair["before"]), ("after", pair["after"])]
    titles = [heading(side, graph) for side, graph in sides if graph is not None]
    columns = zip(titles, shapes(name, pair), listings(name, pair, reasons), strict=True)
    panes = [
        element(
            "div",
            element("h4", title),
            element(
                "div",
                # Keys scroll the focused element.
                element("div", small, class_="pane", tabindex=0),
                element("div", large, class_="pane", tabindex=0),
                class_="beside",
            ),
        )
        for title, small, large in columns
    ]
    yield element("div", *panes, class_="panes" if len(panes) > 1 else None)
    if pair["dropped"]:
        words = f"What was changed, and why: {counted(len(pair['dropped']), 'instruction')}"
        made = table(_DROPPED, (_dropped_row(one, reasons) for one in pair["dropped"]), stack=True)
        yield element("details", element("summary", words), made)


def _facts_table(known: Sequence[Fact]) -> Html:
    rows = (
        [
            element("code", fact_text(one)),
            ASSUMED if one["assumed"] else _texts(one["established"]),
        ]
        for one in known
    )
    return table(_FACTS, rows, stack=True)


def _texts(lines: Sequence[SourceLine]) -> Html:
    """Return the source lines that establish a fact, each with its program."""
    shown = (
        element(
            "div",
            f"{one['program']}, {Path(one['file']).name}:{one['line']} ",
            element("code", one["text"]),
        )
        for one in lines
    )
    return join(*shown)


def _dropped_row(one: Dropped, reasons: Reasons) -> list[Content]:
    line = one["line"]
    where = lines_text([line]) if line else ""
    code = element("code", one["instruction"])
    return [where, str(one["slot"]), code, one["change"], reasons.of(one)]


def _proved(proof: Proof | None, conditions: Sequence[str]) -> Iterator[Html]:
    """Yield the effort of the proof and its conditions."""
    if proof is not None:
        yield element("h3", "Proof")
        yield facts(
            ("paths of the original", f"{proof['paths']:,}"),
            ("pairs of paths compared", f"{proof['pairs']:,}"),
            ("questions to the solver", f"{proof['queries']:,}"),
            ("took", f"{proof['seconds']:.2f} s"),
        )
    relied = sorted({*conditions, *(proof["assumptions"] if proof else [])})
    if relied:
        yield element("p", "It holds if:")
        yield element("ul", *(element("li", one) for one in relied))


_PROGRAM_COLUMNS = [
    Column("program"),
    Column("instructions", number=True),
    Column("facts", number=True),
    Column("decided branches", number=True),
]


class WrittenFiles(NamedTuple):
    """Files of the written objects."""

    files: list[str | None]  # one per program; None: not written
    whole: str | None  # of the fused program


def chain_page(
    label: str, report: ChainReport, graphs: Graphs, written: WrittenFiles | None
) -> str:
    """Return the HTML of the page; `written` is None for `slowpath chain facts`."""
    title = f"{'Chain' if len(report['programs']) > 1 else 'Program'}: {label}"
    parts: list[Content] = [_head(title, report), _overview(report, written)]
    both = zip(report["programs"], graphs["programs"], strict=True)
    parts += [program_section(number, *one) for number, one in enumerate(both, 1)]
    parts += _fused(report, graphs, written)
    words = (
        f"Written by slowpath {report['slowpath']}. Instructions are slots of 8 bytes. The page "
        "needs no network."
    )
    return page(title, *parts, element("footer", words), broad=True)


def _head(title: str, report: ChainReport) -> Html:
    known = facts(
        ("programs", str(len(report["programs"]))),
        ("took", f"{report['seconds']:.2f} s"),
        ("stopped", report["stopped"]),
    )
    return element("header", element("h1", title), known)


def _overview(report: ChainReport, written: WrittenFiles | None) -> Html:
    if written is None:
        columns = _PROGRAM_COLUMNS
        cells: list[tuple[str, ...]] = [
            (
                one["name"],
                str(one["instructions_before"]),
                str(len(one["facts"])),
                str(len(list(decided_branches(one["dropped"])))),
            )
            for one in report["programs"]
        ]
    else:
        columns = [Column(name, number=name in RIGHT, wide=name == "object") for name in COLUMNS]
        both = zip(report["programs"], written.files, strict=True)
        cells = [program_row(program, file) for program, file in both]
    rows = [
        [element("a", name, href=f"#{anchor(number)}"), *rest]
        for number, (name, *rest) in enumerate(cells, 1)
    ]
    return element("section", element("h2", "Overview"), table(columns, rows), id="overview")


def _fused(report: ChainReport, graphs: Graphs, written: WrittenFiles | None) -> Iterator[Html]:
    """Yield the section about the fused program, if any."""
    whole = None if written is None else written.whole
    told = [element("p", line) for line in fused_lines(report, whole)]
    if not told:
        return
    pair = graphs["fused"]
    shown = [] if pair is None else graph_parts("fused", pair, Reasons([]))
    yield element("section", element("h2", "All as one"), *told, *shown, id="fused")
