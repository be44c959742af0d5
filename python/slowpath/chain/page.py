"""Writes the HTML page about a chain: its programs, facts about packets, guarantees and maps."""

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
from slowpath.chain.guarantees import certainty_words, unit_words, value_text
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
from slowpath.core.html import Column, Content, Html, element, facts, join, page, table

_MAPS = [Column("map"), Column("entries", number=True), Column("the program")]


def _known_content(program: ChainProgram) -> Iterator[Html]:
    """Yield a table of the maps whose content the user gave, and the conditions on this content."""
    facts_with = program["facts_with"]
    if not (program["frozen"] or facts_with):
        return
    yield element("h3", "Known content of maps")
    if program["frozen"]:
        yield table(_MAPS, map(_map_row, program["frozen"]), stack=True)
    if facts_with:
        yield element(
            "p", f"Facts about packets assume the given content of {maps_text(facts_with)}."
        )
    for line in map_conditions(program):
        yield element("p", f"{line[:1].upper()}{line[1:]}.")


def _map_row(one: Frozen) -> list[str]:
    uses = "relies on it" if one["used"] else "does not rely on it"
    why_not = one["why_not"]
    return [one["map"], str(one["entries"]), uses if why_not is None else f"not frozen: {why_not}"]


_GUARANTEE_COLUMNS = [
    Column("target"),
    Column("what"),
    Column("before", number=True),
    Column("after", number=True),
    Column("certainty"),
]


def _guarantee_table(guarantees: Sequence[Guarantee]) -> Iterator[Html]:
    """Yield the table of guarantees before and after rewriting, and notes about them."""
    if not guarantees:
        return
    yield element("h3", "Guarantees before and after")
    yield table(_GUARANTEE_COLUMNS, map(_guarantee_row, guarantees), stack=True)
    about = dict.fromkeys(text for one in guarantees for text in one["about"])
    if about:
        yield element("p", f"Both values assume: {'; '.join(about)}.")
    notes = dict.fromkeys(
        f"{one['target']}: {words}"
        for one in guarantees
        for words in (*one["reasons"], *(f"if {text}" for text in one["assumptions"]))
    )
    if notes:
        yield element("ul", *(element("li", words) for words in notes))


def _guarantee_row(one: Guarantee) -> list[str]:
    both = zip((one["before"], one["after"]), one["bottlenecks"], strict=True)
    values = [value_text(one, value, bottleneck) for value, bottleneck in both]
    is_known = one["before"] is not None or one["after"] is not None
    certainty = ", ".join(certainty_words(one)) if is_known else "unknown"
    return [one["target"], unit_words(one), *values, certainty]


_FACTS = [Column("fact"), Column("established by")]
_DROPPED = [
    Column("line"),
    Column("slot", number=True, wide=True),
    Column("instruction"),
    Column("change"),
    Column("reason"),
]


def _anchor(number: int) -> str:
    """Return the HTML id of the section about a program, given by its number from 1."""
    return f"program-{number}"


def _program_section(number: int, program: ChainProgram, pair: Pair | None) -> Html:
    """Return the page's section about a program; `number` counts from 1.

    `pair` has the program's control-flow graphs before and after rewriting; None if there are none.
    """
    name = _anchor(number)
    parts: list[Content] = [
        element("h2", program["name"]),
        element("p", f"{program['program']}: {arrivals_text(program)}", class_="soft small"),
    ]
    remarks = [*program["never"], *program["remarks"]]
    parts += [element("p", remark, class_="warn") for remark in remarks]
    if program["facts"]:
        title = element("h3", f"Facts about every packet that arrives ({len(program['facts'])})")
        parts += [title, _facts_table(program["facts"])]
    parts += _known_content(program)
    parts += _guarantee_table(program["guarantees"])
    if pair is not None:
        parts += _graph_parts(name, pair, Reasons(program["facts"]))
    parts += _proof_parts(program["proof"], program["assumptions"])
    lines = list(rehearsal_lines(program["name"], program["rehearsal"]))
    if lines:
        parts.append(element("h3", "In the running kernel"))
        parts += [element("p", line.removeprefix(f"{program['name']}: ")) for line in lines]
    return element("section", *parts, id=name)


def _graph_parts(name: str, pair: Pair, reasons: Reasons) -> Iterator[Html]:
    """Yield the control-flow graphs of a program before and after rewriting, and the changes.

    `name` is the HTML id of the section, `reasons` has texts for the facts that justify changes.
    """
    both = "before and after" if pair["after"] else "and what facts decide in it"
    yield element("h3", f"Control flow {both}")
    yield legend(pair)
    yield element(
        "p",
        "In the small pictures, the height of a box is its number of instructions. Click a box to "
        "go to its block, and click a block to open it. No packet takes the faint arrows.",
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
                # A pane with the focus can be scrolled by keys.
                element("div", small, class_="pane", tabindex=0),
                element("div", large, class_="pane", tabindex=0),
                class_="beside",
            ),
        )
        for title, small, large in columns
    ]
    yield element("div", *panes, class_="panes" if len(panes) > 1 else None)
    if pair["dropped"]:
        words = f"Changes and reasons: {counted(len(pair['dropped']), 'instruction')}"
        rows = (_dropped_row(one, reasons) for one in pair["dropped"])
        changes = table(_DROPPED, rows, stack=True)
        yield element("details", element("summary", words), changes)


def _facts_table(known: Sequence[Fact]) -> Html:
    rows = (
        [
            element("code", fact_text(one)),
            ASSUMED if one["assumed"] else _source_lines(one["established"]),
        ]
        for one in known
    )
    return table(_FACTS, rows, stack=True)


def _source_lines(lines: Sequence[SourceLine]) -> Html:
    """Format source lines as HTML, each with the name of its program."""
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


def _proof_parts(proof: Proof | None, conditions: Sequence[str]) -> Iterator[Html]:
    """Yield the effort of a program's equivalence proof, and the conditions of its result."""
    if proof is not None:
        yield element("h3", "Proof")
        yield facts(
            ("paths of the original", f"{proof['paths']:,}"),
            ("pairs of paths compared", f"{proof['pairs']:,}"),
            ("solver queries", f"{proof['queries']:,}"),
            ("took", f"{proof['seconds']:.2f} s"),
        )
    conditions = sorted({*conditions, *(proof["assumptions"] if proof else [])})
    if conditions:
        yield element("p", "It holds if:")
        yield element("ul", *(element("li", one) for one in conditions))


_PROGRAM_COLUMNS = [
    Column("program"),
    Column("instructions", number=True),
    Column("facts", number=True),
    Column("decided branches", number=True),
]


class WrittenFiles(NamedTuple):
    """Paths of the object files of rewritten programs, for the overview of the page."""

    files: list[str | None]  # file of each rewritten program; None: the program stays unchanged
    fused: str | None  # file of the fused program, if any


def chain_page(
    label: str, report: ChainReport, graphs: Graphs, written: WrittenFiles | None
) -> str:
    """Return the HTML page about a chain.

    `label` is the name of the chain. `written` has the object files; it is None for `slowpath chain
    facts`.
    """
    title = f"{'Chain' if len(report['programs']) > 1 else 'Program'}: {label}"
    parts: list[Content] = [_head(title, report), _overview(report, written)]
    both = zip(report["programs"], graphs["programs"], strict=True)
    parts += [_program_section(number, *one) for number, one in enumerate(both, 1)]
    parts += _fused_section(report, graphs, None if written is None else written.fused)
    words = (
        f"Written by slowpath {report['slowpath']}. Instructions are slots of 8 bytes. The page "
        "needs no network."
    )
    return page(title, *parts, element("footer", words), broad=True)


def _head(title: str, report: ChainReport) -> Html:
    known = facts(
        ("programs", str(len(report["programs"]))),
        ("whole command", f"{report['seconds']:.2f} s"),
        ("facts, rewriting, proofs", f"{report['engine_seconds']:.2f} s"),
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
        [element("a", name, href=f"#{_anchor(number)}"), *rest]
        for number, (name, *rest) in enumerate(cells, 1)
    ]
    return element("section", element("h2", "Overview"), table(columns, rows), id="overview")


def _fused_section(report: ChainReport, graphs: Graphs, file: str | None) -> Iterator[Html]:
    """Yield the page's section about the fused program; nothing without one.

    `file` is the path of its object file, or None.
    """
    lines = [element("p", line) for line in fused_lines(report, file)]
    if not lines:
        return
    pair = graphs["fused"]
    shown = [] if pair is None else _graph_parts("fused", pair, Reasons([]))
    yield element("section", element("h2", "Fused program"), *lines, *shown, id="fused")
