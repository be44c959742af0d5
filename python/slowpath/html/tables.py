"""Tables: columns of texts and of numbers, some of which only wide screens show."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from slowpath.html.elements import Content, Html, element, join


class Column(NamedTuple):
    """A column of a table."""

    heading: str
    number: bool = False  # aligned to the right
    wide: bool = False  # left out on phones

    @property
    def style(self) -> str | None:
        """The classes of its cells."""
        words = ["number" if self.number else "text", *(["wide"] if self.wide else [])]
        return " ".join(words)


def table(
    columns: Sequence[Column], rows: Iterable[Sequence[Content]], *, stack: bool = False
) -> Html:
    """A table, which can be scrolled where it does not fit.

    With `stack`, phones show a row as lines of names and values: for long texts.
    """
    head = element("tr", *(element("th", one.heading, class_=one.style) for one in columns))
    body = join(*(_row(columns, row) for row in rows))
    style = "stack" if stack else None
    inside = element("table", element("thead", head), element("tbody", body), class_=style)
    return element("div", inside, class_="scroll")


def _row(columns: Sequence[Column], cells: Sequence[Content]) -> Html:
    pairs = zip(columns, cells, strict=True)
    made = (
        element("td", element("span", cell), class_=one.style, data_name=one.heading)
        for one, cell in pairs
    )
    return element("tr", *made)
