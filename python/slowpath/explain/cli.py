"""Declares and runs `slowpath explain`: finds error codes by number or name, and explains them."""

import re
from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal

from slowpath.core import codes
from slowpath.core.command import Command, Example, argument
from slowpath.core.errors import ExitCode, OptionError
from slowpath.core.formats import JSON, OUTPUT, STABLE, Formats, Reporter
from slowpath.core.terminal import Line, grid

if TYPE_CHECKING:
    from slowpath.core.code_texts import Entry
    from slowpath.explain.documents import ExplainDocument

_NUMBER = re.compile(r"\[?(?:sp)?([0-9]{1,4})\]?", re.IGNORECASE | re.ASCII)
"""A code in any spelling: `SP0201`, `[SP0201]`, `sp201`, `201`."""
_WIDTH = 78

_RUN = "slowpath.explain.cli"
_FORMATS = Formats(_RUN, text="codes_text", json=JSON)
EXPLAIN = Command(
    (
        "Explain the code of an error, refusal, warning or finding",
        "Errors end with a code such as [SP0201]. Prints its cause, what to do, and an example. "
        "For a block such as SP02, prints one line for each code of the block.",
        "A code keeps its meaning in all later versions; docs/reference/codes.md lists all codes.",
        "Exit codes: 0 success, 2 wrong usage or an unknown code.",
    ),
    (
        argument(
            "CODE",
            "A code (SP0201, sp201 or 201), its name (no-such-file), or a block (SP02)",
            "*",
        ),
        OUTPUT.flag("--list", "Print one line for each code; with CODE, for each named one"),
        _FORMATS.option(STABLE),
    ),
    _FORMATS.call(f"{_RUN}:explain"),
    (
        Example("slowpath explain SP0201", "Explain a code"),
        Example("slowpath explain unbounded-loop no-price", "Explain two codes by their names"),
        Example("slowpath explain --list", "List all codes"),
    ),
)


def explain(args: Namespace, reporter: Reporter) -> ExitCode:
    """Print explanations of the named codes, or a list of codes.

    Raises:
        OptionError: if a code is unknown, or none is named.
    """
    named = [entries_of(text) for text in args.code]
    if not named and not args.list:
        raise OptionError(codes.MISSING_ARGUMENT, "CODE", "name a code, or list all with --list")
    found = list(dict.fromkeys(chain.from_iterable(named)))
    listed = args.list or any(len(some) > 1 for some in named)
    reporter.write(_document(found or _entries()), "list" if listed else "texts")
    return ExitCode.FINE


def entries_of(text: str) -> "list[Entry]":
    """Return the entry of a code, given by number or name, or the entries of a block of codes.

    A block is given by the first digits of its codes: `SP02` stands for SP0200 to SP0299.

    Raises:
        OptionError: if the code is unknown; the error suggests a similar one.
    """
    entries = _entries()
    number = _NUMBER.fullmatch(text)
    if number is not None:
        digits = number[1]
        whole = [one for one in entries if one.code == f"SP{int(digits):04}"]
        found = whole or [one for one in entries if one.code.startswith(f"SP{digits}")]
        near = f"; the nearest is {_nearest(int(digits))}"
    else:
        name = text.lower().replace("_", "-")
        found = [one for one in entries if one.name == name]
        near = _similar(name)
    if not found:
        what = f"no code {text!r}{near}; --list prints all codes"
        raise OptionError(codes.UNKNOWN_CODE, "CODE", what)
    return found


def _entries() -> "Sequence[Entry]":
    from slowpath.core.code_texts import ENTRIES  # help does without the texts

    return ENTRIES


def _nearest(number: int) -> str:
    """Return the existing code whose number is nearest to `number`, with its name."""
    one = min(_entries(), key=lambda one: abs(int(one.code[2:]) - number))
    return f"{one.code} ({one.name})"


def _similar(name: str) -> str:
    """Return a hint with codes whose names are similar or share a word; empty if there are none."""
    from slowpath.core.spelling import did_you_mean, with_common_words

    names = [one.name for one in _entries()]
    return did_you_mean(name, names) or with_common_words(name, names)


def _document(entries: "Sequence[Entry]") -> "ExplainDocument":
    from slowpath.core import engine

    return {
        **engine.head("explain", "explain"),
        "results": [
            {
                "code": one.code,
                "name": one.name,
                "kind": one.kind,
                "title": one.title,
                "cause": one.cause,
                "remedy": one.remedy,
                "example": one.example,
                "retired": one.retired,
            }
            for one in entries
        ],
    }


def codes_text(document: "ExplainDocument", form: Literal["list", "texts"]) -> Iterator[Line]:
    """Yield the full explanations of codes or, in the form `list`, one line for each code."""
    if form == "list":
        columns = ("code", "kind", "name", "title")
        rows = [
            [one["code"], one["kind"], one["name"], one["title"]] for one in document["results"]
        ]
        yield from grid(columns, rows, margin="")
        return
    for number, one in enumerate(document["results"]):
        if number:
            yield Line("")
        yield Line(f"{one['code']} {one['name']} ({one['kind']})", "bold")
        yield Line(f"{one['title']}.")
        if one["retired"] is not None:
            yield Line(f"Versions from {one['retired']} on do not report this code.", "yellow")
        yield from _paragraph("Cause:", one["cause"])
        yield from _paragraph("Remedy:", one["remedy"])
        yield Line("")
        yield Line("Example:")
        for line in one["example"].splitlines():
            yield Line(f"  {line}")


def _paragraph(head: str, text: str) -> Iterator[Line]:
    from textwrap import wrap

    yield Line("")
    for line in wrap(f"{head} {text}", _WIDTH, break_on_hyphens=False, break_long_words=False):
        yield Line(line)
