"""Tests the help screens of all commands: their size, wording and examples."""

import re
import shlex
from argparse import Namespace
from collections.abc import Iterator

import pytest

from slowpath.app import ROOT as ALL
from slowpath.core.command import ARGUMENTS, Command, Group, Option, load
from slowpath.core.parser import Parser, read
from support import slowpath

LINES, COLUMNS = 45, 80
_VERBS = """
Abort Accept Add Advise Analyse Annotate Assume Cache Calibrate Check Choose Compare Compile
Complete Compute Configure Consider Count Cut Derive Describe Diff Draw Estimate Evaluate Examine
Exit Explain Fail Fetch Fill Find Fit Forbid Fuse Generate Guarantee Install Judge Keep Let Limit
List Map Match Measure Minimise Model Move Name Neither Offer Omit Order Pass Place Plan Plot
Predict Print Profile Prove Raise Rank Read Recommend Remove Repeat Report Require Restrict Resume
Rewrite Run Search Seed Select Set Show Skip Sort Start Stop Suggest Suppress Sweep Time Train Use
Weight Write
"""
"""First words of imperative sentences."""
VERBS = frozenset(_VERBS.split())


def screens(member: Command | Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words that select each command and group, such as `("chain", "facts")`."""
    yield words
    if isinstance(member, Group):
        if member.file_command is not None:
            yield (*words, "nf.c")
        for name, reference in member.commands.items():
            yield from screens(load(reference), (*words, name))


SCREENS = list(screens(ALL))


def find(words: list[str]) -> tuple[str, Command | Group, list[str]]:
    """Find the command that `words` start with; return its full name, the command, and the rest."""
    path, member, rest = "slowpath", ALL, list(words)
    while isinstance(member, Group):
        if rest and rest[0] in member.commands:
            path, member = f"{path} {rest[0]}", load(member.commands[rest.pop(0)])
        elif rest and member.file_command is not None:
            member = load(member.file_command)
        else:
            break
    return path, member, rest


@pytest.mark.parametrize("words", SCREENS, ids=" ".join)
def test_help_fits_on_a_screen_and_is_imperative(words: tuple[str, ...]) -> None:
    run = slowpath(*words, "--help")
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    assert lines[0].split()[0] in VERBS
    assert lines[2].startswith(" ".join(["Usage: slowpath", *words[:-1]]))
    assert re.search(r"\nExamples:\n  (slowpath|source <\(slowpath) ", run.stdout)
    assert "%(" not in run.stdout
    assert "%%" not in run.stdout


@pytest.mark.parametrize("words", SCREENS, ids=" ".join)
def test_help_all_has_every_option_and_its_default(words: tuple[str, ...]) -> None:
    text = slowpath(*words, "--help-all").stdout
    _, member, _ = find(list(words))
    for option in member.options:
        shown = option.settings["metavar"] if option.group == ARGUMENTS else option.names[-1]
        assert shown in text
        default = option.settings.get("default")
        if default not in (None, False, "", [], "==SUPPRESS=="):
            assert "[default: " in option.summary
    assert "--color" in text
    assert " ".join(member.help[-1].split()) in " ".join(text.split())


def described() -> Iterator[tuple[str, Option]]:
    for words in SCREENS:
        path, member, _ = find(list(words))
        for option in member.options:
            yield f"{path} {option.names[-1]}", option


@pytest.mark.parametrize(("name", "option"), list(described()), ids=lambda one: str(one)[:60])
def test_help_of_options_is_one_imperative_phrase(name: str, option: Option) -> None:
    assert not option.help.endswith("."), name
    assert "(default" not in option.help + option.more, name
    assert len(option.help) <= 80, name
    if option.more:
        assert option.more.endswith("."), name
    if option.group != ARGUMENTS:
        assert option.help.split()[0] in VERBS, name


@pytest.mark.parametrize("words", SCREENS, ids=" ".join)
def test_examples_are_valid_command_lines(words: tuple[str, ...]) -> None:
    path, member, _ = find(list(words))
    least = 2 if isinstance(member, Command) else 1
    assert least <= len(member.examples) <= 4
    for example in member.examples:
        assert "slowpath " in example.command
        assert example.shows.split()[0] in VERBS | {"Also"}, example
        assert not example.shows.endswith(".")
        line = example.command.removeprefix("source <(").removesuffix(")")
        called, command, rest = find(shlex.split(line)[1:])
        assert isinstance(command, Command), example.command
        assert called.startswith(path) or isinstance(member, Command)
        assert isinstance(read(Parser(called, command), rest), Namespace)


@pytest.mark.parametrize("words", [(), ("bound",), ("chain", "facts"), ("insights",)])
def test_the_command_help_prints_the_same(words: tuple[str, ...]) -> None:
    assert slowpath("help", *words).stdout == slowpath(*words, "--help").stdout


def test_short_names_of_general_options() -> None:
    assert slowpath("-V").stdout == slowpath("--version").stdout
    assert slowpath("bound", "-h").stdout == slowpath("bound", "--help").stdout


def test_lines_break_at_spaces_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    path, member, _ = find(["bound"])
    page = Parser(path, member).help_page(everything=True)
    assert (
        max(len(line) for line in page.splitlines() if not re.search(r"slowpath |head=", line)) < 60
    )
    assert "[default:\n" not in page
