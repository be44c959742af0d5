"""Tests that tutorials are short, and that their commands print what the pages show."""

import difflib
import doctest
import re
from pathlib import Path

import pytest

from support import BLESS, ROOT
from test_docs import shell

PAGES = sorted((ROOT / "docs/tutorials").glob("*.md"))
WORDS = 300
BLOCK = re.compile(r"^```(?:sh)?\n\$ (.+)\n([^`]*)^```", re.MULTILINE)
LACKS = re.compile(r"^error: (?:this machine: .+|.+ clang is neither in PATH)", re.MULTILINE)
"""Errors of commands for lack of privileges, clang, or an optional package."""
COMPILED = "\ncompiled by "
"""Start of the line that results of C and P4 sources have.

Such results vary, because each version of clang generates other code.
"""

by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def test_each_role_has_a_tutorial() -> None:
    assert [page.stem for page in PAGES] == [
        "ci",
        "operator",
        "p4",
        "researcher",
        "smartnic",
        "xdp",
    ]


@by_page
def test_tutorials_are_short(page: Path) -> None:
    assert len(page.read_text().split()) <= WORDS


@by_page
def test_tutorials_end_with_three_links(page: Path) -> None:
    last = page.read_text().rstrip().rpartition("\n\n")[2]
    assert len(re.findall(r"\]\(\.\./(?:how-to|explanation)/", last)) == 3


@by_page
def test_tutorials_show_real_output(page: Path, tmp_path: Path) -> None:
    """Run the commands of a tutorial in order, and compare their output with the page.

    If a command needs something that this machine lacks, the test is skipped at the end.
    """
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = page.read_text()
    steps = BLOCK.findall(text)
    assert len(steps) >= 3
    skipped = []
    for command, excerpt in steps:
        run = shell(f"exec 2>&1\n{command}", tmp_path, {"COLUMNS": "80"})
        if run.returncode == 3 and (reason := LACKS.search(run.stdout)):
            skipped.append(f"{command}: {reason[0]}")
            continue
        assert run.returncode == 0, (command, run.stdout)
        varies = command.startswith("slowpath measure") or COMPILED in run.stdout
        shown = renewed(excerpt, run.stdout) if BLESS and not varies else excerpt
        assert not missing(shown, run.stdout, varies), (command, run.stdout)
        text = text.replace(f"$ {command}\n{excerpt}", f"$ {command}\n{shown}")
    if BLESS:
        page.write_text(text)
    if skipped:
        pytest.skip("; ".join(skipped))


@by_page
def test_python_examples_work(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert doctest.testfile(str(page), module_relative=False)[0] == 0


def missing(excerpt: str, output: str, varies: bool = False) -> list[str]:
    """Return the lines of an excerpt on a page that are missing, or misplaced, in the output.

    A line `…` stands for any lines, and `…` at the end of a line for its remainder. If the output
    `varies`, numbers and widths of columns may differ.
    """
    left = [_comparable(line, varies) for line in output.splitlines()]
    gap = False
    found = []
    for line in excerpt.splitlines():
        if line == "…":
            gap = True
            continue
        shown = _comparable(line, varies)
        places = range(len(left) if gap else min(1, len(left)))
        place = next((at for at in places if _shows(shown, left[at])), None)
        if place is None:
            found.append(line)
        else:
            del left[: place + 1]
            gap = False
    if left and not gap:
        found.append("…")
    return found


def _comparable(line: str, varies: bool) -> str:
    if not varies:
        return line.rstrip()
    return " ".join(re.sub(r"\d[\d,.]*", "N", line).split())


def _shows(shown: str, line: str) -> bool:
    return line.startswith(shown[:-1]) if shown.endswith("…") else line == shown


def renewed(excerpt: str, output: str) -> str:
    """Return an excerpt with each wrong line replaced by the most similar line of the output."""
    lines = [line.rstrip() for line in output.splitlines()]
    parts = []
    for shown in excerpt.splitlines():
        if shown == "…" or any(_shows(shown, line) for line in lines):
            parts.append(shown)
            continue
        (line,) = difflib.get_close_matches(shown, lines, 1, 0.3)
        parts.append(line[: len(shown) - 1] + "…" if shown.endswith("…") else line)
    return "".join(f"{part}\n" for part in parts)


OUTPUT = "a 1\nb 2\n\nc 3\n"


@pytest.mark.parametrize(
    ("excerpt", "lines"),
    [
        (OUTPUT, []),
        ("a 1\n…\n", []),
        ("…\nb…\n…\n", []),
        ("…\nc 3\n", []),
        ("a 1\n", ["…"]),
        ("a 1\nc 3\n…\n", ["c 3"]),
        ("…\nb 3\n…\n", ["b 3"]),
        ("…\nc 3\na 1\n", ["a 1"]),
    ],
)
def test_lines_that_are_not_in_the_output_are_found(excerpt: str, lines: list[str]) -> None:
    assert missing(excerpt, OUTPUT) == lines


def test_varying_output_may_differ_in_numbers_only() -> None:
    assert not missing("a 12.5\n…\n", OUTPUT, varies=True)
    assert missing("x 1\n…\n", OUTPUT, varies=True) == ["x 1"]


def test_renewed_excerpts_keep_their_gaps() -> None:
    assert renewed("a 9\n…\nc 9\n", OUTPUT) == "a 1\n…\nc 3\n"
