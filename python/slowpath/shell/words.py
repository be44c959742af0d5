"""Collects the words that completions offer: commands, options, and values of options."""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from slowpath.app import ROOT
from slowpath.core.command import ARGUMENTS, Command, Group, Option, load
from slowpath.core.parser import Parser

FILE_COMMAND = "FILE"
"""Last word of the name of a group's command for files, such as `insights FILE`."""


class Kind(Enum):
    """Kinds of values of options."""

    NONE = "none"  # a flag
    CHOICE = "choice"
    FILE = "file"
    FOLDER = "folder"
    PROGRAM = "programs"  # also the argument of `slowpath complete`
    SECTION = "sections"
    TEXT = "text"  # numbers and other texts, which nothing completes


class Word(NamedTuple):
    """An option with its names, its help, and the kind of its value."""

    names: tuple[str, ...]
    help: str
    kind: Kind
    choices: tuple[str, ...]


class Place(NamedTuple):
    """A command or group: what can follow its name."""

    path: str  # `slowpath chain facts`
    help: str
    commands: dict[str, str]  # with their help
    options: list[Word]
    takes_files: bool
    takes_other: bool  # a group in which a file can stand in place of a command


def places() -> list[Place]:
    """Return all commands and groups; groups come before their commands."""
    return list(_places("slowpath", ROOT))


def _places(path: str, member: Command | Group) -> Iterator[Place]:
    options = [_word(entry) for entry in Parser(path, member).entries if entry.group != ARGUMENTS]
    if isinstance(member, Command):
        files = any(_takes_file(entry) for entry in member.options if entry.group == ARGUMENTS)
        yield Place(path, member.help[0], {}, options, files, takes_other=False)
        return
    commands = {name: load(reference) for name, reference in member.commands.items()}
    summaries = {name: command.help[0] for name, command in commands.items()}
    other = member.file_command is not None
    yield Place(path, member.help[0], summaries, options, other, other)
    if member.file_command is not None:
        yield from _places(f"{path} {FILE_COMMAND}", load(member.file_command))
    for name, command in commands.items():
        yield from _places(f"{path} {name}", command)


_NO_FILES = frozenset({"NAME", "COMMAND", "SHELL", "WHAT"})
"""Names of arguments that are not files."""


def _takes_file(entry: Option) -> bool:
    return entry.settings["metavar"] not in _NO_FILES


def _word(entry: Option) -> Word:
    choices = tuple(map(str, entry.settings.get("choices", ())))
    return Word(entry.names, entry.summary, _kind(entry, choices), choices)


def _kind(entry: Option, choices: tuple[str, ...]) -> Kind:
    metavar = str(entry.settings.get("metavar", ""))
    if entry.is_flag:
        return Kind.NONE
    if choices:
        return Kind.CHOICE
    if "--prog-name" in entry.names:
        return Kind.PROGRAM
    if "--section" in entry.names:
        return Kind.SECTION
    if metavar in {"DIR", "FOLDER"}:
        return Kind.FOLDER
    return Kind.FILE if "FILE" in metavar or metavar == "TRACE" else Kind.TEXT
