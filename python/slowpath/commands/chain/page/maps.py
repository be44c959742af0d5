"""The maps of a program whose content is given, and what it relies on of them, in the page."""

from collections.abc import Iterator

from slowpath.commands.chain.documents import ChainProgram, Frozen
from slowpath.commands.chain.facts import maps_text
from slowpath.commands.chain.report import relied_on
from slowpath.html.elements import Html, element
from slowpath.html.tables import Column, table

_COLUMNS = [Column("map"), Column("entries", number=True), Column("the program")]


def known_content(program: ChainProgram) -> Iterator[Html]:
    """The maps in a table, and what has to stay so; nothing where no content is given."""
    facts_with, relied = program["facts_with"], list(relied_on(program))
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
