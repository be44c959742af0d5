"""Tests that the reports of a result contain the warnings about it in every format."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowpath.core import codes, formats, terminal
from slowpath.core.errors import Coded, with_code
from slowpath.core.formats import warn, warning_lines
from support import ROOT, slowpath, without_codes
from test_html import parsed, texts

PACKAGE = ROOT / "python/slowpath"
ALLOWED = {
    "bounds/caching.py": "warns of the cache, not of results",
    "core/code_texts.py": "examples",
    "core/formats.py": "writes them",
    "core/results.py": "the view of a result in notebooks",
    "core/spelling.py": "warns of spellings, not of results",
    "diff/filters.py": "warns of spellings, not of results",
    "measure/report.py": "a part of the table",
    "measure/report_document.py": "a part of the table",
}
"""Source files with a text that begins with `warning:`, and the reason for allowing it."""


def literals(file: Path) -> Iterator[str]:
    """Yield the string constants in a Python source, including those within f-strings."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_one_module_writes_warnings() -> None:
    found = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if any(text.lstrip().startswith("warning: ") for text in literals(file))
    }
    assert found == {*ALLOWED}


@pytest.mark.parametrize(
    ("terminals", "in_table", "shown"),
    [(2, True, False), (2, False, True), (1, True, True), (0, True, True)],
)
def test_a_terminal_shows_a_warning_once(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    terminals: int,
    *,
    in_table: bool,
    shown: bool,
) -> None:
    """Check that a terminal that shows a table with warnings does not get them twice.

    Standard error has no warnings if it leads to the same terminal as the table.
    """
    left = iter([True] * terminals + [False] * 2)
    monkeypatch.setattr(formats, "is_terminal", lambda _: next(left))
    warn([Coded(codes.EXTRAPOLATED, "a.csv: a guess")], in_table=in_table)
    assert capsys.readouterr().err == ("warning: a.csv: a guess [SP0902]\n" if shown else "")


@pytest.mark.parametrize(
    ("redirection", "times"), [("2>&1 | cat", 1), ("2>both >&2", 1), ("2>warnings | cat", 2)]
)
def test_a_pipe_or_file_shows_a_warning_once(tmp_path: Path, redirection: str, times: int) -> None:
    """Check that a reader of both output streams gets a warning once.

    Separate readers get it once each.
    """
    program = (
        "from slowpath.core import codes\n"
        "from slowpath.core.errors import Coded\n"
        "from slowpath.core.formats import warn, warning_lines\n"
        "from slowpath.core.terminal import out_lines\n"
        "warnings = [Coded(codes.EXTRAPOLATED, 'a.csv: a guess')]\n"
        "out_lines(warning_lines(warnings))\n"
        "warn(warnings, in_table=True)\n"
    )
    (tmp_path / "warns.py").write_text(program)
    shell = f"{sys.executable} warns.py {redirection}"
    run = subprocess.run(["/bin/sh", "-c", shell], cwd=tmp_path, capture_output=True, check=True)
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.suffix != ".py")
    assert (run.stdout + run.stderr + kept).count(b"warning: a.csv: a guess [SP0902]\n") == times


def test_tables_without_warnings_end_as_before() -> None:
    assert [*warning_lines([])] == []
    warnings = [Coded(codes.EXTRAPOLATED, "a: b"), Coded(codes.IMPRECISE, "c: \x1b")]
    assert [line.text for line in warning_lines(warnings)] == [
        "",
        "warning: a: b [SP0902]",
        "warning: c: \\x1b [SP0861]",
    ]
    assert {line.style for line in warning_lines(warnings)} == {"", "yellow"}


def test_quiet_keeps_warnings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal._Settings, "quiet", True)
    warn([Coded(codes.EXTRAPOLATED, "a: b")])
    assert capsys.readouterr().err == "warning: a: b [SP0902]\n"


FLEET = ROOT / "examples/fleet"
GUESS = (
    *("contention", "diagnose", FLEET / "ids.model.json"),
    *("--traffic", "flows=900000,size=1500,mtbr=9000", "--sweep", "mtbr=0..9000/7"),
)
MODELS = ("--with", f"{FLEET / 'nat.model.json'},{FLEET / 'scanner.model.json'}")


def warnings_in(document: str) -> list[str]:
    """Return the warnings of a JSON document, each with its code appended."""
    read = json.loads(document)
    pairs = zip(read["warnings"], read["warning_codes"], strict=True)
    return [with_code(text, code) for text, code in pairs]


def warnings_of(stderr: str) -> list[str]:
    return [
        line.removeprefix("warning: ")
        for line in stderr.splitlines()
        if line.startswith("warning: ")
    ]


def test_a_diagnosis_has_its_warnings_in_all_formats(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run = slowpath(*GUESS, *MODELS, "--format", "json", "--html", page, codes=True)
    assert run.returncode == 0, run.stderr
    found = warnings_of(run.stderr)
    assert len(found) == 2
    assert warnings_in(run.stdout) == found
    shown = texts(parsed(page.read_text()))
    assert all(f"Warning: {without_codes(text)}" in shown for text in found)
    table = slowpath(*GUESS, *MODELS, codes=True)
    assert warnings_of(table.stderr) == found
    assert table.stdout.splitlines()[-2:] == [f"warning: {text}" for text in found]
    csv = slowpath(*GUESS, *MODELS, "--format", "csv", codes=True)
    assert warnings_of(csv.stderr) == found


@pytest.mark.parametrize(
    "words",
    [
        (
            *("predict", FLEET / "ids.model.json", *MODELS),
            *("--traffic", "flows=900000,size=1500,mtbr=9000"),
        ),
        (
            *("predict", FLEET / "ids.model.json", *MODELS),
            *("--traffic", "flows=16000,size=1500,mtbr=200", "--alone", "1e12"),
        ),
    ],
)
def test_predictions_have_their_warnings(words: tuple[str | Path, ...]) -> None:
    table = slowpath("contention", *words, codes=True)
    found = warnings_of(table.stderr)
    assert found
    assert table.stdout.splitlines()[-len(found) :] == [f"warning: {text}" for text in found]
    run = slowpath("contention", *words, "--format", "json", codes=True)
    assert warnings_in(run.stdout) == found == warnings_of(run.stderr)


@pytest.mark.parametrize("words", [("place", "--sequences", "1", "--length", "3"), ("suggest",)])
def test_placements_have_their_warnings(tmp_path: Path, words: tuple[str, ...]) -> None:
    command, *options = words
    for model in FLEET.glob("*.json"):
        (tmp_path / model.name).symlink_to(model)
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text((FLEET / "fleet.yaml").read_text().replace("flows: 100000", "flows: 9000000"))
    table = slowpath("contention", command, fleet, *options, codes=True)
    (found,) = warnings_of(table.stderr)
    assert table.stdout.splitlines()[-1] == f"warning: {found}"
    run = slowpath("contention", command, fleet, *options, "--format", "json", codes=True)
    assert warnings_in(run.stdout) == [found] == warnings_of(run.stderr)


def test_functions_outside_the_measured_range_are_named_in_all_formats(tmp_path: Path) -> None:
    query = tmp_path / "query.csv"
    example = ROOT / "examples/insights/functions.csv"
    header, row, *_ = example.read_text().splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=True)) | {"cores": "12"}
    query.write_text(",".join(cells) + "\n" + ",".join(cells.values()) + "\n")
    table = slowpath("insights", "cores", "--query", query, codes=True)
    found = warnings_of(table.stderr)
    assert "only 24 to 60 cores were measured" in found[0]
    assert table.stdout.splitlines()[-len(found) :] == [f"warning: {text}" for text in found]
    run = slowpath("insights", "cores", "--query", query, "--format", "json")
    assert warnings_in(run.stdout) == found
