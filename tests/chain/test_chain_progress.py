"""Tests progress messages and interrupts during the analysis of a chain."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from io import StringIO
from pathlib import Path

import pytest

from slowpath.bounds import progress
from slowpath.bounds.progress import PartWatcher, WorkWatch, describe_work, ending
from slowpath.core.engine.analyses import Run, StageProgress
from slowpath.core.errors import ExitCode
from support import ROOT

PROVING = StageProgress("balancer", "proving that it does the same", 12, "pairs of paths")
LONG = "examples/chain/load_balancer.bpf.o"
"""A program that takes very long to prove without facts about packets, far longer than the test."""


class Screen(StringIO):
    """A replacement of standard error that claims to be a terminal."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError("no device")


def test_after_a_while_one_line_says_what_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_LONG", 0.0)
    watch = WorkWatch("chain.yaml", ending(60.0, "--deadline"))
    watch.see(PROVING)
    watch.see(PROVING)
    watch.close()
    assert capsys.readouterr().err == (
        "note: chain.yaml: 0 s so far, balancer: proving that it does the same, 12 pairs of paths; "
        "time limit 60 s (--deadline), Ctrl-C stops with the results so far\n"
    )


def test_a_terminal_shows_it_when_it_takes_time(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    watch = WorkWatch("a\nb.yaml", ending(None, "--deadline"))
    watch.see(PROVING)
    assert screen.getvalue() == ""
    monkeypatch.setattr(progress, "_SOON", 0.0)
    run = Run()
    run.take(("stage", "unrolling the program"))
    PartWatcher(watch, "balancer on ebpf").look(run)
    watch.close()
    text = screen.getvalue()
    assert text.startswith("\r\x1b[Ka b.yaml: balancer on ebpf: unrolling the program, 0.")
    assert text.endswith("\r\x1b[K")


def test_what_is_not_known_is_not_said() -> None:
    assert describe_work(StageProgress("", "", 0, "")) == "reading"
    assert describe_work(StageProgress("", "rewriting", 0, "pairs")) == "rewriting"
    assert describe_work(StageProgress("a", "", 7, "")) == "a: reading"
    nothing = "no time limit (set one with --deadline), Ctrl-C stops with the"
    assert ending(None, "--deadline").startswith(nothing)


def test_an_interrupt_ends_it_with_what_is_there(tmp_path: Path) -> None:
    ours, its = pty.openpty()
    termios.tcsetwinsize(its, (24, 200))  # room for the whole line, which is there after a second
    command = [sys.executable, "-m", "slowpath", "chain", "optimize", LONG, "--packets", "0"]
    environment = os.environ | {"TERM": "xterm"}
    with (tmp_path / "report").open("w+b") as report:
        run = subprocess.Popen(
            [*command, "--format", "json"], cwd=ROOT, stdout=report, stderr=its, env=environment
        )
        os.close(its)
        shown = b""
        try:
            while b"pairs of paths" not in shown:
                assert select.select([ours], [], [], 60)[0], shown
                shown += os.read(ours, 4096)
            run.send_signal(signal.SIGINT)
            assert run.wait(30) == ExitCode.UNDECIDED
        finally:
            run.kill()
            run.wait()
            os.close(ours)
        report.seek(0)
        found = json.loads(report.read())
    assert b"load_balancer: proving that it does the same, " in shown
    assert found["stopped"] == "interrupted"
    (program,) = found["programs"]
    assert program["proved"] is None
    assert "interrupted" in " ".join(program["remarks"])
