"""Elements of HTML and SVG. What others wrote stays text: only `Html` is taken as it is.

A page shows names of files, experiments and machines. Each text is escaped where it becomes part of
an element, and nothing in it hides or turns letters around (`cli/printable.py`).
"""

from html import escape

from slowpath.cli.printable import one_line

_VOID = {"meta", "line", "circle", "polyline", "polygon", "path"}
"""Elements without content."""
_BLOCKS = {"section", "table", "tr", "div", "svg", "figure", "details", "ul", "li", "p", "dl"}


class Html(str):
    """Text that is HTML already; made by this kit alone."""

    __slots__ = ()


Content = str | None
"""A text, which is escaped, or `Html`; None is nothing."""


def element(tag: str, *content: Content, **attributes: str | float | None) -> Html:
    """An element; in names of attributes `_` is `-`, but `class_` is `class`."""
    given = "".join(
        f' {_name(name)}="{escape(_written(value), quote=True)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in _VOID:
        return Html(f"<{tag}{given}/>")
    end = "\n" if tag in _BLOCKS else ""
    return Html(f"<{tag}{given}>{join(*content)}</{tag}>{end}")


def prose(text: str) -> Html:
    """A sentence in which words between backticks are code."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return join(text)
    marked = (element("code", one) if at % 2 else one for at, one in enumerate(pieces))
    return join(*marked)


def join(*content: Content) -> Html:
    """Pieces one after the other."""
    return Html("".join(map(_safe, content)))


def _safe(piece: Content) -> str:
    if piece is None:
        return ""
    return str(piece) if isinstance(piece, Html) else escape(one_line(piece), quote=True)


def _name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _written(value: str | float) -> str:
    """An attribute's value; coordinates with one decimal, which no eye tells apart from more."""
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return one_line(str(value))
