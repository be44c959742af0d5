"""Runs the commands `slowpath completion`, `slowpath man` and `slowpath complete`."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from slowpath.app import ROOT
from slowpath.core.command import ARGUMENTS, Command, Group, Option, load
from slowpath.core.errors import ExitCode, InputError
from slowpath.core.help import names, usage
from slowpath.core.inputs import read_program, write_error, write_text
from slowpath.core.parser import Parser
from slowpath.core.printable import one_line
from slowpath.core.terminal import out, out_lines
from slowpath.shell.completion import bash, fish, places, zsh

_SCRIPTS = {"bash": bash, "zsh": zsh, "fish": fish}


def print_completion(shell: str) -> ExitCode:
    """Print the completion script of a shell."""
    out_lines(_SCRIPTS[shell](places()))
    return ExitCode.FINE


def write_manual(folder: str | None) -> ExitCode:
    """Write all manual pages into a folder; without one, print the page of `slowpath` itself.

    Raises:
        InputError: if the folder or a page cannot be written.
    """
    pages = manual_pages()
    if folder is None:
        out_lines(pages["slowpath.1"])
        return ExitCode.FINE
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise write_error(folder, problem) from None
    for name, lines in pages.items():
        write_text(str(Path(folder, name)), "\n".join([*lines, ""]))
    out(f"{len(pages)} pages written to {folder}")
    return ExitCode.FINE


def print_names(what: str, words: Sequence[str]) -> ExitCode:
    """Print the names of programs or sections in objects, for the completion of a command line.

    `words` are the words that the user has typed. Errors are ignored, because the command line is
    not finished.
    """
    from slowpath.core.engine import objects  # packages get manual pages before their engine

    names = dict[str, None]()
    for file in filter(os.path.isfile, words):
        try:
            programs = objects.programs(objects.read_object(file, read_program(file)))
        except InputError:
            continue
        for program in programs or ():
            names[program.section if what == "sections" else program.name] = None
    out_lines(name for name in names if name and name == one_line(name))
    return ExitCode.FINE


def manual_pages() -> dict[str, list[str]]:
    """Return the lines of each manual page by file name, such as `slowpath-bound.1`."""
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
    r"""Escape a text for roff: backslashes, hyphens, and a dot or quote at its start."""
    escaped = re.sub(r"[\\-]", lambda found: {"\\": "\\e", "-": "\\-"}[found[0]], text)
    return f"\\&{escaped}" if escaped[:1] in {".", "'"} else escaped
