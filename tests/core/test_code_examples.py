"""Runs the examples of the registry of error codes, and checks that they report these codes."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from code_registry import Entry, entries
from support import MEMORY, ROOT
from warm_starts import run_forked

_FEWEST = 70
"""Minimum number of examples that are terminal sessions instead of single messages."""
_PLAIN = re.compile(r"""slowpath(?: (?:[\w./:,=+%@-]+|'[^']*'|"[^"$`\\]*"))*""")
"""Pattern of a command line of slowpath without shell features, which can be split into words."""


def sessions() -> list[Entry]:
    """Return the error codes whose example is a terminal session."""
    return [one for one in entries() if one.example.strip().startswith("$ ")]


def commands(entry: Entry) -> list[str]:
    """Return the lines of an example as a shell script, without prompts."""
    return [line.removeprefix("$ ") for line in entry.example.strip().splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the folder `examples`, with a command `slowpath`."""
    for file in (ROOT / "examples").iterdir():
        (tmp_path / file.name).symlink_to(file)
    binary = tmp_path / ".bin"
    binary.mkdir()
    script = f'#!/bin/sh\nexec "{sys.executable}" -m slowpath "$@"\n'
    (binary / "slowpath").write_text(script)
    (binary / "slowpath").chmod(0o755)
    return tmp_path


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script in a folder.

    If its last line is a plain slowpath command, it runs in a fork of a process that has imported
    slowpath, to save time.
    """
    variables = {
        "COLUMNS": "80",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "PATH": f"{folder / '.bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "python"),
        "XDG_CACHE_HOME": str(folder / ".cache"),
    }
    *before, last = script.splitlines()
    plain = _PLAIN.fullmatch(last) and not any(
        line.startswith(("cd ", "export")) for line in before
    )
    called = subprocess.run(
        ["/bin/bash", "-c", "\n".join(before) if plain else script],
        cwd=folder,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if not plain:
        return called
    words = shlex.split(last)[1:]
    done = run_forked(words, folder, os.environ | variables, MEMORY, 120)
    done.stdout, done.stderr = called.stdout + done.stdout, called.stderr + done.stderr
    return done


def values(document: object, key: str) -> Iterator[object]:
    """Yield the values of a key anywhere in a JSON document."""
    if isinstance(document, dict):
        if key in document:
            yield document[key]
        for inner in document.values():
            yield from values(inner, key)
    elif isinstance(document, list):
        for inner in document:
            yield from values(inner, key)


def test_many_examples_are_sessions() -> None:
    assert len(sessions()) >= _FEWEST


@pytest.mark.usefixtures("with_clang")
@pytest.mark.parametrize("entry", sessions(), ids=lambda one: one.name)
def test_an_example_reports_its_code(folder: Path, entry: Entry) -> None:
    script = "\n".join(commands(entry))
    done = run(folder, script)
    shown = done.stdout + done.stderr
    assert "internal error" not in shown
    assert entry.code in shown, shown
    if entry.kind != "finding":
        assert done.returncode in {1, 2, 3, 4}, shown
        assert re.search(rf"^(error|warning|note): .*\[{entry.code}\]$", shown, re.MULTILINE), shown


@pytest.mark.usefixtures("with_clang")
@pytest.mark.parametrize(
    "entry",
    [one for one in sessions() if commands(one)[-1].split()[:2] == ["slowpath", "bound"]],
    ids=lambda one: one.name,
)
def test_a_failed_analysis_has_its_code_in_json(folder: Path, entry: Entry) -> None:
    if "--format" in commands(entry)[-1]:
        return
    done = run(folder, "\n".join(commands(entry)) + " --format json")
    if not done.stdout:
        assert f"[{entry.code}]" in done.stderr
        return
    document = json.loads(done.stdout)
    failed = [each for each in document["results"] if each["error"] is not None]
    assert all(each["code"] is not None for each in failed)
    if failed:
        assert entry.code in {*values(failed, "code")}
    else:
        assert f"[{entry.code}]" in done.stderr  # a requirement, or an option without effect
