"""What a program is guaranteed to take before and after, as a table of the page."""

from collections.abc import Iterator, Sequence

from slowpath.commands.chain.documents import Guarantee
from slowpath.commands.chain.guarantee_lines import how, unit_words, value_text
from slowpath.html.elements import Html, element
from slowpath.html.tables import Column, table

_COLUMNS = [
    Column("target"),
    Column("what"),
    Column("before", number=True),
    Column("after", number=True),
    Column("known to be"),
]


def guaranteed(guarantees: Sequence[Guarantee]) -> Iterator[Html]:
    """The table, what it is about, and what is said of it besides; nothing where there is none."""
    if not guarantees:
        return
    yield element("h3", "Guaranteed before and after")
    yield table(_COLUMNS, map(_row, guarantees), stack=True)
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


def _row(one: Guarantee) -> list[str]:
    both = zip((one["before"], one["after"]), one["bottlenecks"], strict=True)
    values = [value_text(one, value, bottleneck) for value, bottleneck in both]
    is_known = one["before"] is not None or one["after"] is not None
    return [one["target"], unit_words(one), *values, how(one) if is_known else "unknown"]
