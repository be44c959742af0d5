"""Tests structure, commands and figures of the cookbook, without the public programs."""

import re
import shlex
from argparse import Namespace
from statistics import median

import pytest

from slowpath.core.command import Command
from slowpath.core.parser import Parser, read
from support import ROOT
from test_cli_help import find

TEXT = (ROOT / "docs/how-to/cookbook.md").read_text()
SECTIONS = dict(re.findall(r"^## (\d+\. .+)\n((?:(?!## ).*\n?)*)", TEXT, re.MULTILINE))
ROWS = [
    [cell.strip() for cell in row.strip("|\n").split("|")]
    for row in re.findall(r"^\| \d+ \|.*\n", TEXT, re.MULTILINE)
]
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
PARTS = ("Program", "Finding", "Change", "Same behaviour")
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"
PAIR = re.compile(rf"^{NUMBER} → {NUMBER}$")

by_section = pytest.mark.parametrize("title", SECTIONS)
by_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])


def pair(cell: str) -> tuple[float, float]:
    """Read the two figures, before and after a change, in a table cell such as `36.1 → 15.8`."""
    found = PAIR.match(cell)
    assert found, cell
    before, after = (float(one.replace(",", "")) for one in found.groups())
    return before, after


def test_the_page_is_short() -> None:
    assert len(TEXT.splitlines()) <= 300


def test_each_row_leads_to_its_section() -> None:
    shown = []
    for number, link, *_ in ROWS:
        found = re.fullmatch(r"\[(.+)\]\(#(.+)\)", link)
        assert found, link
        title = f"{number}. {found[1]}"
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        assert found[2] == slug
        shown.append(title)
    assert shown == list(SECTIONS)
    assert len(shown) == 10


@by_section
def test_each_section_names_its_source_and_its_reasons(title: str) -> None:
    text = SECTIONS[title]
    assert re.findall(r"^- \*\*(.+?):\*\*", text, re.MULTILINE) == list(PARTS)
    source = r"\]\(https://github\.com/[\w-]+/[\w-]+\), `[\w./-]+\.c`, `\w+`, commit `\w{12}`"
    assert re.search(source, text)


@by_section
def test_changes_are_short(title: str) -> None:
    changes = re.findall(r"^```diff\n(.*?)^```", SECTIONS[title], re.MULTILINE | re.DOTALL)
    commands = re.findall(r"^```sh\n", SECTIONS[title], re.MULTILINE)
    assert len(changes) + len(commands) == 1
    for change in changes:
        lines = change.splitlines()
        assert len(lines) <= 12
        assert all(line[:1] in {"+", "-", " "} for line in lines)


@by_row
def test_figures_of_a_row_agree(row: list[str]) -> None:
    _number, _title, instructions, warm, cold, measured, ratio = row
    before, after = pair(measured)
    assert after < before
    assert abs(float(ratio) - after / before) < 0.006
    for cell in (instructions, warm, cold):
        pair(cell)


@by_row
def test_a_figure_stands_once(row: list[str]) -> None:
    for text in SECTIONS.values():
        for cell in row[3:6]:
            for figure in cell.split(" → "):
                assert f"{figure} ns" not in text


def test_the_summary_is_that_of_the_table() -> None:
    summary = re.search(r"a median of (\d+) %", TEXT)
    assert summary
    assert int(summary[1]) == round(100 * (1 - median(float(row[-1]) for row in ROWS)))


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_valid(command: str) -> None:
    words = shlex.split(command, comments=True)
    assert words[0] == "slowpath"
    path, member, rest = find(words[1:])
    assert isinstance(member, Command), path
    assert isinstance(read(Parser(path, member), rest), Namespace)


def test_the_page_has_commands_for_each_step() -> None:
    used = {" ".join(shlex.split(one)[1:3]) for one in COMMANDS}
    for needed in ("annotate", "bound", "measure", "chain verify", "chain optimize"):
        assert any(one.startswith(needed) for one in used), needed
