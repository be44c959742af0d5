"""The part of the page about a program: what is known of its packets, and what that changes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from slowpath.commands.chain.documents import ChainProgram, Dropped, Fact, Proof, SourceLine
from slowpath.commands.chain.facts import ASSUMED, arrives, fact_text, lines_text
from slowpath.commands.chain.page.graphs import Pair
from slowpath.commands.chain.page.guarantees import guaranteed
from slowpath.commands.chain.page.listing import listings
from slowpath.commands.chain.page.maps import known_content
from slowpath.commands.chain.page.reasons import Reasons
from slowpath.commands.chain.page.shapes import counted, heading, legend, shapes
from slowpath.commands.chain.report import rehearsed
from slowpath.html.elements import Content, Html, element, join
from slowpath.html.page import facts
from slowpath.html.tables import Column, table

_FACTS = [Column("fact"), Column("established by")]
_DROPPED = [
    Column("line"),
    Column("slot", number=True, wide=True),
    Column("instruction"),
    Column("change"),
    Column("reason"),
]


def anchor(number: int) -> str:
    """What the part about a program is called, by its number from 1."""
    return f"program-{number}"


def program_section(number: int, program: ChainProgram, pair: Pair | None) -> Html:
    """The part about a program; the pair of its graphs, if it was rewritten."""
    name = anchor(number)
    parts: list[Content] = [
        element("h2", program["name"]),
        element("p", f"{program['program']}: {arrives(program)}", class_="soft small"),
    ]
    remarks = [*program["never"], *program["remarks"]]
    parts += [element("p", remark, class_="warn") for remark in remarks]
    if program["facts"]:
        title = element("h3", f"What holds of every packet that arrives ({len(program['facts'])})")
        parts += [title, _facts_table(program["facts"])]
    parts += known_content(program)
    parts += guaranteed(program["guarantees"])
    if pair is not None:
        parts += graph_parts(name, pair, Reasons(program["facts"]))
    parts += _proved(program["proof"], program["assumptions"])
    tried = list(rehearsed(program))
    if tried:
        parts.append(element("h3", "In the running kernel"))
        parts += [element("p", line.removeprefix(f"{program['name']}: ")) for line in tried]
    return element("section", *parts, id=name)


def graph_parts(name: str, pair: Pair, reasons: Reasons) -> Iterator[Html]:
    """Both control-flow graphs, and what was dropped; `name` is that of the part of the page."""
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
                # What has the focus is scrolled by keys.
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
    """Lines of source that establish a fact, each with its program."""
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
    """How much work the proof was, and what it relies on."""
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
