"""The command line itself: help, version, wrong usage, targets, start-up."""

import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT, slowpath


def test_version() -> None:
    run = slowpath("--version")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.split()[0] == "slowpath"


@pytest.mark.parametrize(
    "arguments",
    [
        ["bound"],
        ["bound", "x.asm", "--metric", "speed"],
        ["bound", "x.asm", "--cores", "0"],
        ["bound", "x.asm", "--mtu", "59"],
        ["bound", "x.asm", "--mtu", "65536"],
        ["bound", "x.asm", "--paths", "none"],
        ["bound", "x.asm", "--unroll", "many"],
        ["bound", "x.asm", "--deadline", "-1"],
        ["bound", "x.asm", "--deadline", "inf"],
        ["bound", "x.asm", "--require", "40"],
        ["bound", "x.asm", "--require", "40Gbit/s", "--metric", "packetrate"],
        ["bound", "x.asm", "--target", "unheard-of"],
        ["bound", "x.asm", "--format", "yaml"],
        ["bound", "x.asm", "--no-such-option"],
        ["no-such-command"],
        ["targets", "show", "unheard-of"],
    ],
)
def test_wrong_usage(arguments: list[str]) -> None:
    run = slowpath(*arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    assert "Error: " in run.stderr
    assert "Traceback" not in run.stderr


def test_targets() -> None:
    names = [line.split()[0] for line in slowpath("targets", "list").stdout.splitlines()]
    assert "agilio-cx-2x40" in names
    for name in names:
        shown = slowpath("targets", "show", name)
        assert shown.stdout == (ROOT / f"targets/{name}.toml").read_text()


def test_targets_check(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("schema = 1\nnonsense = true\n")
    good = ROOT / "targets/agilio-cx-2x40.toml"
    run = slowpath("targets", "check", good, broken, tmp_path, tmp_path / "missing.toml")
    assert run.returncode == 3
    assert run.stdout == f"{good}: fine\n"
    errors = run.stderr.splitlines()
    assert all(line.startswith("error: ") for line in errors)
    assert any(line.startswith(f"error: {broken}") for line in errors)
    assert f"error: {tmp_path}: is a directory; name the files in it" in errors
    assert f"error: {tmp_path / 'missing.toml'}: no such file" in errors
    assert slowpath("targets", "check", good).returncode == 0


def test_a_reader_that_leaves_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "slowpath", "targets", "show", "agilio-cx-2x40"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
