"""Configuration strings: comments, arguments, quotations, and variables.

The source of the rules is the manual page click(5), section CONFIGURATION STRINGS.
"""

import re
from collections.abc import Callable, Iterator

_PIECE = re.compile(
    r"(?P<double>\"(?:\\.|[^\"\\])*\")|(?P<single>'[^']*')"
    r"|(?P<bytes>\\<(?:/\*.*?\*/|//[^\n\r]*|[^>])*>)"
    r"|(?P<comment>//[^\n\r]*|/\*.*?\*/)",
    re.DOTALL,
)
_VARIABLE = re.compile(
    r"\$(?:(?P<plain>[A-Za-z0-9_]+)|\{(?P<braced>[A-Za-z0-9_]+)(?:-(?P<default>[^}]*))?\})"
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
Lookup = Callable[[str], str | None]
"""Returns the value of a variable by its name without `$`; None if it is not defined."""


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a configuration string with their kinds, in order.

    Kinds are `double`, `single` and `bytes` for quotations, `comment`, and `plain`.
    """
    at = 0
    for found in _PIECE.finditer(text):
        if found.start() > at:
            yield "plain", text[at : found.start()]
        yield found.lastgroup or "plain", found[0]
        at = found.end()
    if at < len(text):
        yield "plain", text[at:]


def without_comments(text: str) -> str:
    """Replace each comment by a blank, and remove blanks at both ends."""
    return "".join(" " if kind == "comment" else part for kind, part in pieces(text)).strip()


def arguments(text: str) -> list[str]:
    """Split a configuration string at its commas outside of quotations and parentheses.

    An empty last argument is dropped.
    """
    found, depth = [""], 0
    for kind, part in pieces(text):
        if kind == "comment":
            found[-1] += " "
        elif kind != "plain":
            found[-1] += part
        else:
            for one in part:
                depth += (one in "([{") - (one in ")]}" and depth > 0)
                if one == "," and not depth:
                    found.append("")
                else:
                    found[-1] += one
    stripped = [one.strip() for one in found]
    return stripped if stripped[-1] else stripped[:-1]


def unquoted(text: str) -> str:
    """Return the value of a text without its quotations."""
    return "".join(
        part[1:-1]
        if kind == "single"
        else _ESCAPED.sub(r"\1", part[1:-1])
        if kind == "double"
        else part
        for kind, part in pieces(text)
    )


def expanded(text: str, lookup: Lookup) -> str:
    """Replace variables by their values; undefined ones without a default stay.

    Variables in single quotation marks also stay.
    """

    def value(found: re.Match[str]) -> str:
        named = lookup(found["plain"] or found["braced"])
        return (
            found["default"]
            if named is None and found["default"] is not None
            else named
            if named is not None
            else found[0]
        )

    def quoted(found: re.Match[str]) -> str:
        new = value(found)
        return new if new == found[0] else re.sub(r'([\\"])', r"\\\1", unquoted(new))

    made = list[str]()
    for kind, part in pieces(text):
        if kind == "plain":
            made.append(_VARIABLE.sub(value, part))
        else:
            made.append(_VARIABLE.sub(quoted, part) if kind == "double" else part)
    return "".join(made)
