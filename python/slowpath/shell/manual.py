"""Formats manual pages of all commands in the macros of man(7)."""

import re
from collections.abc import Iterable, Iterator

from slowpath.app import ROOT
from slowpath.core.command import ARGUMENTS, Command, Group, Option, load
from slowpath.core.help import names, usage
from slowpath.core.parser import Parser


def manual_pages() -> dict[str, list[str]]:
    """Return the lines of each manual page by the name of its file."""
    return {f"{path.replace(' ', '-')}.1": list(page) for path, page in _pages("slowpath", ROOT)}


def _pages(path: str, member: Command | Group) -> Iterator[tuple[str, Iterable[str]]]:
    yield path, _page(path, member)
    if isinstance(member, Group):
        if member.file_command is not None:
            yield f"{path} file", _page(path, load(member.file_command))
        for name, reference in member.commands.items():
            yield from _pages(f"{path} {name}", load(reference))


def _page(path: str, member: Command | Group) -> Iterator[str]:
    title = path.replace(" ", "-")
    summary, *paragraphs = member.help
    yield f'.TH {_escaped(title.upper())} 1 "" slowpath "User commands"'
    yield ".SH NAME"
    yield f"{_escaped(title)} \\- {_escaped(summary[:1].lower() + summary[1:])}"
    yield ".SH SYNOPSIS"
    yield f".B {_escaped(usage(path, member))}"
    if paragraphs:
        yield ".SH DESCRIPTION"
    for paragraph in paragraphs:
        yield ".PP"
        yield _escaped(paragraph)
    if isinstance(member, Group):
        yield ".SH COMMANDS"
        for name, reference in member.commands.items():
            yield from _item(f"{path} {name}".replace(" ", "-") + "(1)", load(reference).help[0])
    entries = Parser(path, member).entries
    for group in dict.fromkeys(entry.group for entry in entries):
        yield f".SH {_escaped((group if group == ARGUMENTS else f'Options: {group}').upper())}"
        for entry in entries:
            if entry.group == group:
                yield from _item(names(entry), *_texts(entry))
    yield ".SH EXAMPLES"
    for example in member.examples:
        yield from _item(example.command, example.shows)


def _texts(entry: Option) -> tuple[str, ...]:
    return (f"{entry.summary}.", *([entry.more] if entry.more else []))


def _item(head: str, *texts: str) -> Iterator[str]:
    yield ".TP"
    yield f".B {_escaped(head)}"
    yield from map(_escaped, texts)


def _escaped(text: str) -> str:
    r"""Escape a text for roff: backslashes, hyphens, and a dot or quote at its beginning."""
    escaped = re.sub(r"[\\-]", lambda found: {"\\": "\\e", "-": "\\-"}[found[0]], text)
    return f"\\&{escaped}" if escaped[:1] in {".", "'"} else escaped
