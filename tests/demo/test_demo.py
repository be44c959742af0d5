"""Tests the command `slowpath demo`, which analyses an example and needs no file."""

from pathlib import Path

import pytest

import slowpath as package
from support import ROOT, slowpath

FOLDER = Path(package.__file__).parent / "demo"


def test_the_report_is_that_of_the_example(tmp_path: Path) -> None:
    run = slowpath("demo", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    report, hints = run.stdout.split("\n\nThe source is ")
    bound = slowpath("bound", "firewall.bpf.o", cwd=ROOT / "examples").stdout
    assert report == bound.rstrip("\n")
    assert "Try next:" in hints
    assert len(hints.splitlines()) == 4


def test_the_next_step_works(tmp_path: Path) -> None:
    hints = slowpath("demo", cwd=tmp_path).stdout.split("Try next:\n")[1]
    words = hints.splitlines()[0].partition("#")[0].split()
    run = slowpath(*words[1:], cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("name", ["firewall.bpf.o", "firewall.bpf.c"])
def test_the_package_has_the_example(name: str) -> None:
    assert (FOLDER / name).read_bytes() == (ROOT / "examples" / name).read_bytes()


def test_the_report_can_go_into_a_file(tmp_path: Path) -> None:
    run = slowpath("demo", "-o", "report.txt", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (0, "")
    assert "Try next:" in (tmp_path / "report.txt").read_text()
