"""Builds HTML and SVG elements and tables, and escapes untrusted text.

Pages show names of files, experiments and machines. Each text is escaped when it becomes part of an
element. Characters that hide or reorder text become escapes (`slowpath.core.printable`).
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from slowpath.core.printable import one_line

_VOID = {"meta", "line", "circle", "polyline", "polygon", "path", "input"}
"""Elements that never have content."""
_BLOCKS = {"section", "table", "tr", "div", "svg", "figure", "details", "ul", "li", "p", "dl"}


class Html(str):
    """Text that is HTML and must not be escaped; only this package creates it."""

    __slots__ = ()


Content = str | None
"""Content of an element: a text to escape, `Html` as it is, or None for no content."""


def element(tag: str, *content: Content, **attributes: str | float | None) -> Html:
    """Return an element; `_` in attribute names becomes `-`, and `class_` becomes `class`."""
    text = "".join(
        f' {_name(name)}="{escape(_written(value), quote=True)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in _VOID:
        return Html(f"<{tag}{text}/>")
    end = "\n" if tag in _BLOCKS else ""
    return Html(f"<{tag}{text}>{join(*content)}</{tag}>{end}")


def prose(text: str) -> Html:
    """Return a sentence as HTML; text between backticks becomes code."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return join(text)
    marked = (element("code", one) if at % 2 else one for at, one in enumerate(pieces))
    return join(*marked)


def join(*content: Content) -> Html:
    """Concatenate pieces of content; texts are escaped."""
    return Html("".join(map(_safe, content)))


def _safe(piece: Content) -> str:
    if piece is None:
        return ""
    return str(piece) if isinstance(piece, Html) else escape(one_line(piece), quote=True)


def _name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _written(value: str | float) -> str:
    """Format an attribute's value; coordinates get one decimal, which is precise enough."""
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return one_line(str(value))


class Column(NamedTuple):
    """A column of an HTML table."""

    heading: str
    number: bool = False  # aligned to the right
    wide: bool = False  # true: phones omit the column

    @property
    def style(self) -> str | None:
        """CSS classes of the cells in the column, separated by spaces."""
        words = ["number" if self.number else "text", *(["wide"] if self.wide else [])]
        return " ".join(words)


def table(
    columns: Sequence[Column], rows: Iterable[Sequence[Content]], *, stack: bool = False
) -> Html:
    """Return an HTML table, in a box that scrolls sideways if the table is too wide.

    With `stack`, for long texts, phones show each row as lines of names and values.
    """
    head = element("tr", *(element("th", one.heading, class_=one.style) for one in columns))
    body = join(*(_row(columns, row) for row in rows))
    style = "stack" if stack else None
    inside = element("table", element("thead", head), element("tbody", body), class_=style)
    # Keys scroll the focused element.
    return element("div", inside, class_="scroll", tabindex=0)


def _row(columns: Sequence[Column], cells: Sequence[Content]) -> Html:
    pairs = zip(columns, cells, strict=True)
    return element(
        "tr",
        *(
            element("td", element("span", cell), class_=one.style, data_name=one.heading)
            for one, cell in pairs
        ),
    )


def preformatted(text: str) -> str:
    """Return a text as HTML that keeps its line breaks and columns."""
    return f"<pre>{escape(text)}</pre>"
