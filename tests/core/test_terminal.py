"""Tests output on terminals: styles, and the progress line of an analysis."""

import os
import pty
import subprocess
import sys
from contextlib import suppress
from io import StringIO

import pytest

from slowpath.bounds.progress import Watch, cut
from slowpath.core.engine.analyses import Run
from support import ROOT

COMMAND = [sys.executable, "-m", "slowpath", "bound", "examples/two_protocols.asm"]


class Screen(StringIO):
    """A fake terminal without a size."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError("no device")


def replace_errors(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Replace standard error by a fake terminal.

    It is not a fixture, because pytest replaces standard error again after fixtures.
    """
    made = Screen()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    return made


def test_the_live_line_shows_news_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, run = replace_errors(monkeypatch), Run()
    watch = Watch("a\nb.asm", "bitrate", None)
    run.take(("stage", "unrolling the program"))
    watch.look(run)
    run.take(("bound", 24e9, 1.0, 34, 12))
    watch.look(run)
    watch.close()
    text = screen.getvalue()
    assert "\r\x1b[Ka b.asm: unrolling the program, 0." in text
    assert "a b.asm: at least 24.0 Gbit/s, 34 paths tried, 12 nogoods, 0." in text
    assert text.endswith("\r\x1b[K")
    assert "\n" not in text


@pytest.mark.parametrize("terminal", ["dumb", ""])
def test_no_live_line_on_dumb_terminals(monkeypatch: pytest.MonkeyPatch, terminal: str) -> None:
    screen = replace_errors(monkeypatch)
    monkeypatch.setenv("TERM", terminal)
    watch = Watch("a.asm", "bitrate", None)
    watch.look(Run())
    watch.close()
    assert screen.getvalue() == ""


def test_the_live_line_fits_into_the_terminal() -> None:
    wide = "\N{CJK UNIFIED IDEOGRAPH-4E2D}"
    assert cut("0123456789", 10) == "0123456789"
    assert cut("0123456789", 4) == "0123"
    assert cut(wide * 4, 5) == wide * 2
    assert cut("x", 0) == ""


def on_terminal(**variables: str) -> str:
    """Return the output that a command writes to a terminal."""
    ours, its = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    output = b""
    with subprocess.Popen(COMMAND, cwd=ROOT, env=environment | variables, stdout=its) as process:
        os.close(its)
        with suppress(OSError):  # the other end is closed
            while part := os.read(ours, 4096):
                output += part
    os.close(ours)
    assert process.returncode == 0
    return output.decode().replace("\r\n", "\n")


def test_styles() -> None:
    plain = on_terminal(TERM="dumb")
    assert "\x1b" not in plain
    coloured = on_terminal(TERM="xterm")
    assert "\x1b[1;32mguaranteed " in coloured
    careful = on_terminal(TERM="xterm", NO_COLOR="1")
    assert "\x1b[1mguaranteed " in careful
    for text in (coloured, careful):
        stripped = text.replace("\x1b[1;32m", "").replace("\x1b[1m", "").replace("\x1b[0m", "")
        assert stripped == plain
